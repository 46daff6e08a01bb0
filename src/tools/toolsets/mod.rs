//! Toolsets: names for groups of tools, made of tools and of other toolsets, and what of them each
//! platform has.
//!
//! Sets come from three places: built in ([`built_in`]), from the configuration (`toolsets:`), and from
//! whoever brings tools along ([`Toolsets::add`]). What a platform has is its preset, or what
//! `platform_toolsets.<platform>` says; `agent.disabled_toolsets` takes away from that. A platform's
//! bundle that is taken away takes only what that platform alone has: whoever disables `hermes-discord`
//! does not want Discord's tools, and has said nothing about the terminal.
//!
//! Names here are words. Which tools there are, and which can be used, is [`super::registry`]'s.

pub mod built_in;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

pub use built_in::{CORE, UNTRUSTED};

/// Before the name of a platform's bundle, where there may be a set of the same name.
const BUNDLE_PREFIX: &str = "hermes-";
/// How alike a suggestion must be, from 0 to 1.
const LIKENESS_MIN: f64 = 0.7;

/// A group of tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolset {
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub tools: Vec<String>,
    /// Names of other sets.
    #[serde(default)]
    pub includes: Vec<String>,
}

/// Where a set comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    Platform,
    Configuration,
    Plugin,
}

/// What is said about toolsets, and cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("`{place}` names `{name}`, which is no toolset{}", suggestion(.nearest.as_deref()))]
    UnknownSet { place: String, name: String, nearest: Option<String> },
    #[error("`platform_toolsets` names `{name}`, which is no platform{}", suggestion(.nearest.as_deref()))]
    UnknownPlatform { name: String, nearest: Option<String> },
    #[error("`{place}`: {reason}")]
    Unreadable { place: String, reason: String },
}

pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// The tools of a built-in set; none where there is no such set.
pub fn tools_of_set(name: &str) -> &'static [&'static str] {
    built_in::SETS.iter().find(|row| row.name == name).map_or(&[], |row| row.tools)
}

/// The one of `known` that `name` most looks like.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    let scored = known.into_iter().map(|known| (strsim::jaro_winkler(known, name), known));
    let best = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (best.0 >= LIKENESS_MIN).then(|| best.1.to_owned())
}

/// Every set there is, and what is configured about them.
#[derive(Clone, Debug)]
pub struct Toolsets {
    sets: BTreeMap<String, (Source, Toolset)>,
    platforms: BTreeMap<String, Toolset>,
    /// By platform: names of sets and of tools, those to leave out with a `-` before them.
    chosen: BTreeMap<String, Vec<String>>,
    disabled: Vec<String>,
}

impl Default for Toolsets {
    fn default() -> Self {
        let set = |row: &built_in::Row| Toolset {
            description: row.description.to_owned(),
            tools: row.tools.iter().map(ToString::to_string).collect(),
            includes: row.includes.iter().map(ToString::to_string).collect(),
        };
        Self {
            sets: built_in::SETS
                .iter()
                .map(|row| (row.name.to_owned(), (Source::BuiltIn, set(row))))
                .collect(),
            platforms: built_in::PLATFORMS.iter().map(|row| (row.name.to_owned(), set(row))).collect(),
            chosen: BTreeMap::new(),
            disabled: Vec::new(),
        }
    }
}

impl Toolsets {
    /// With what the configuration says: `toolsets`, `platform_toolsets`, `agent.disabled_toolsets`.
    /// `tools` are the names of the tools there are: those may be named like a set of their own.
    ///
    /// # Errors
    /// A name that nothing has, with the nearest that something has.
    pub fn of(sets: &Value, platforms: &Value, disabled: &[String], tools: &[String]) -> Result<Self, Error> {
        let mut all = Self::default();
        for (name, value) in sets.as_object().into_iter().flatten() {
            let place = format!("toolsets.{name}");
            let set = match value {
                Value::Array(_) => Toolset::deserialize(serde_json::json!({"tools": value})),
                _ => Toolset::deserialize(value),
            };
            let set = set.map_err(|error| Error::Unreadable { place, reason: error.to_string() })?;
            all.sets.insert(name.clone(), (Source::Configuration, set));
        }
        for (name, (_, set)) in all.sets.iter().filter(|(_, (source, _))| *source == Source::Configuration) {
            for (field, names) in [("includes", &set.includes), ("tools", &set.tools)] {
                let place = format!("toolsets.{name}.{field}");
                names.iter().try_for_each(|name| all.known(&place, name, tools))?;
            }
        }
        for (platform, value) in platforms.as_object().into_iter().flatten() {
            let place = format!("platform_toolsets.{platform}");
            let names = Vec::<String>::deserialize(value)
                .map_err(|error| Error::Unreadable { place: place.clone(), reason: error.to_string() })?;
            names.iter().try_for_each(|name| all.known(&place, name.trim_start_matches('-'), tools))?;
            let Some(platform) = all.platform(platform) else {
                let nearest = nearest(platform, all.platforms.keys().map(String::as_str));
                return Err(Error::UnknownPlatform { name: platform.clone(), nearest });
            };
            all.chosen.insert(platform.to_owned(), names);
        }
        disabled.iter().try_for_each(|name| all.known("agent.disabled_toolsets", name, tools))?;
        all.disabled = disabled.to_vec();
        Ok(all)
    }

    /// A set that a plugin brings along; one of the person's own of that name stays.
    pub fn add(&mut self, name: &str, set: Toolset) {
        self.sets.entry(name.to_owned()).or_insert((Source::Plugin, set));
    }

    fn known(&self, place: &str, name: &str, tools: &[String]) -> Result<(), Error> {
        let is_tool = tools.iter().any(|tool| tool == name) || CORE.contains(&name);
        if self.find(name).is_some() || is_tool || self.mentions(name) {
            return Ok(());
        }
        let known = self.sets.keys().chain(self.platforms.keys()).chain(tools).map(String::as_str);
        let nearest = nearest(name, known);
        Err(Error::UnknownSet { place: place.to_owned(), name: name.to_owned(), nearest })
    }

    /// Whether a built-in set names such a tool, though it may not exist here.
    fn mentions(&self, tool: &str) -> bool {
        let built_in = self.sets.values().filter(|(source, _)| *source == Source::BuiltIn);
        built_in.into_iter().any(|(_, set)| set.tools.iter().any(|name| name == tool))
    }

    /// The platform that is called so, here or in the reference.
    pub fn platform(&self, name: &str) -> Option<&str> {
        let name = name.strip_prefix(BUNDLE_PREFIX).unwrap_or(name);
        let alias = built_in::ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, real)| *real);
        self.platforms.get_key_value(alias.unwrap_or(name)).map(|(name, _)| name.as_str())
    }

    pub fn platforms(&self) -> impl Iterator<Item = (&str, &Toolset)> {
        self.platforms.iter().map(|(name, set)| (name.as_str(), set))
    }

    /// Every set by name that is no platform's bundle.
    pub fn sets(&self) -> impl Iterator<Item = (&str, Source, &Toolset)> {
        self.sets.iter().map(|(name, (source, set))| (name.as_str(), *source, set))
    }

    /// A set, or the bundle of a platform.
    fn find(&self, name: &str) -> Option<(Source, &Toolset)> {
        let set = self.sets.get(name).map(|(source, set)| (*source, set));
        set.or_else(|| Some((Source::Platform, self.platforms.get(self.platform(name)?)?)))
    }

    /// The tools of a set and of those it includes, however they include each other; a name that no set
    /// has is that of a tool.
    pub fn resolve(&self, name: &str) -> BTreeSet<String> {
        let (mut tools, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting = vec![name.to_owned()];
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            match self.find(&name) {
                Some((_, set)) => {
                    tools.extend(set.tools.iter().cloned());
                    waiting.extend(set.includes.iter().cloned());
                }
                None => drop(tools.insert(name)),
            }
        }
        tools
    }

    /// What goes when a name is taken away: of a platform's bundle only what is not core.
    fn taken_by(&self, name: &str) -> BTreeSet<String> {
        let mut tools = self.resolve(name);
        let is_bundle = self.find(name).is_some_and(|(source, _)| source == Source::Platform);
        if is_bundle {
            tools.retain(|tool| !CORE.contains(&tool.as_str()));
        }
        tools
    }

    /// The tools that a platform has, whether they exist or not. Brought along are those of plugins, on
    /// every platform that has the core; a platform that nobody knows gets the untrusted set.
    pub fn of_platform(&self, platform: &str) -> BTreeSet<String> {
        let known = self.platform(platform);
        let chosen = known.and_then(|name| self.chosen.get(name));
        let mut tools = BTreeSet::new();
        let only_less = chosen.is_some_and(|names| names.iter().all(|name| name.starts_with('-')));
        match chosen {
            Some(names) if !only_less => {
                for name in names.iter().filter(|name| !name.starts_with('-')) {
                    // Here the name of a platform is its bundle: `discord: [discord]` is meant so.
                    tools.extend(self.resolve(name));
                    if known == Some(name.as_str()) {
                        tools.extend(self.preset(name));
                    }
                }
            }
            _ => tools = known.map_or_else(|| named(UNTRUSTED), |name| self.preset(name)),
        }
        let less = chosen.into_iter().flatten().filter_map(|name| name.strip_prefix('-'));
        for name in less.chain(self.disabled.iter().map(String::as_str)) {
            let taken = self.taken_by(name);
            tools.retain(|tool| !taken.contains(tool));
        }
        tools
    }

    fn preset(&self, platform: &str) -> BTreeSet<String> {
        let mut tools = self.resolve(&format!("{BUNDLE_PREFIX}{platform}"));
        if CORE.iter().all(|core| tools.contains(*core)) {
            let plugins = self.sets.values().filter(|(source, _)| *source == Source::Plugin);
            tools.extend(plugins.flat_map(|(_, set)| set.tools.iter().cloned()));
        }
        tools
    }

    /// The smallest set that a tool is in.
    pub fn home_of(&self, tool: &str) -> Option<&str> {
        let holding = self.sets.iter().filter(|(_, (_, set))| set.tools.iter().any(|name| name == tool));
        let smallest = holding.min_by_key(|(name, (source, set))| {
            (*source == Source::Configuration, set.tools.len(), *name != tool)
        });
        smallest.map(|(name, _)| name.as_str())
    }
}

fn named(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;
