//! `herm tools`: which tools there are, which of them a platform has, and changing that.

pub mod toolbox;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{Exit, Failure, Out, Start};
use crate::config::Loaded;
use crate::tools::Tools;
use crate::tools::toolsets::{self, Source, Toolsets};

/// The platform that is meant where none is named.
const PLATFORM: &str = "cli";

/// Show tools and toolsets, and say who has which.
#[derive(Args, Debug)]
pub struct ToolsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show every tool and toolset, and what a platform has of them.
    #[command(after_help = "\
Examples:
  herm tools list
  herm tools list --platform telegram
  herm tools list --json")]
    List {
        /// Such as `cli`, `telegram`, `webhook`, `cron`.
        #[arg(long, value_name = "NAME", default_value = PLATFORM)]
        platform: String,
        /// One JSON object a tool, then one a toolset.
        #[arg(long)]
        json: bool,
    },
    /// Give a toolset or a tool back, or to a platform that has it not.
    #[command(after_help = "\
Examples:
  herm tools enable web
  herm tools enable terminal --platform telegram")]
    Enable {
        /// A toolset or a tool.
        name: String,
        /// On this platform alone.
        #[arg(long, value_name = "NAME")]
        platform: Option<String>,
    },
    /// Take a toolset or a tool away, everywhere or from a platform.
    #[command(after_help = "\
Examples:
  herm tools disable image_gen
  herm tools disable terminal --platform telegram")]
    Disable {
        /// A toolset or a tool.
        name: String,
        /// On this platform alone.
        #[arg(long, value_name = "NAME")]
        platform: Option<String>,
    },
}

pub fn run(arguments: &ToolsCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List { platform, json } => list(platform, *json, start, out)?,
        Action::Enable { name, platform } => change(name, platform.as_deref(), true, start, out)?,
        Action::Disable { name, platform } => change(name, platform.as_deref(), false, start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

/// Nothing is called so.
pub fn unknown<'k>(what: &str, name: &str, known: impl IntoIterator<Item = &'k str>) -> Failure {
    let near = toolsets::suggestion(toolsets::nearest(name, known).as_deref());
    Failure::message(Exit::Usage, format!("there is no {what} `{name}`{near}")).hint("herm tools list")
}

fn platform_of<'s>(sets: &'s Toolsets, name: &str) -> Result<&'s str, Failure> {
    let known = sets.platforms().map(|(name, _)| name);
    sets.platform(name).ok_or_else(|| unknown("platform", name, known))
}

/// Why a tool is not offered; `None` if it is.
fn reason(tools: &Tools, has: &std::collections::BTreeSet<String>, index: usize) -> Option<String> {
    let tool = tools.get(index)?;
    if !has.contains(&tool.facts().name) {
        return Some("not among the toolsets of this platform".to_owned());
    }
    tools.available(tool).err()
}

fn list(platform: &str, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let tools = toolbox::tools(&loaded)?;
    let sets = toolbox::sets(&loaded, &tools)?;
    let platform = platform_of(&sets, platform)?;
    let has = sets.of_platform(platform);
    let bridges = |name: &str| name.starts_with("tool_");
    let rows: Vec<(String, String, Option<String>)> = (0..tools.len())
        .filter_map(|index| {
            let tool = tools.get(index)?;
            let name = tool.facts().name;
            let why = reason(&tools, &has, index);
            (!bridges(&name)).then(|| (name, tool.description().to_owned(), why))
        })
        .collect();
    if json {
        for (name, description, why) in &rows {
            out.json(&json!({
                "tool": name, "toolset": sets.home_of(name), "platform": platform, "offered": why.is_none(),
                "reason": why, "description": description,
            }))?;
        }
        for (name, source, set) in sets.sets() {
            let resolved = sets.resolve(name);
            out.json(&json!({
                "toolset": name, "source": word(source), "description": set.description, "tools": resolved,
            }))?;
        }
        return Ok(());
    }
    out.line(&format!("Tools on {platform}:"))?;
    for (name, _, why) in &rows {
        let line = match why {
            None => format!("  + {name}"),
            Some(why) => format!("  - {name:<16} {why}"),
        };
        out.line(&line)?;
    }
    out.line("\nToolsets:")?;
    for (name, source, set) in sets.sets() {
        let there: Vec<String> = sets
            .resolve(name)
            .into_iter()
            .filter(|name| tools.iter().any(|t| t.facts().name == *name))
            .collect();
        if !there.is_empty() || source != Source::BuiltIn {
            out.line(&format!("  {name:<16} {} ({})", set.description, there.join(", ")))?;
        }
    }
    Ok(())
}

fn word(source: Source) -> &'static str {
    match source {
        Source::BuiltIn => "built-in",
        Source::Platform => "platform",
        Source::Configuration => "configuration",
        Source::Plugin => "plugin",
    }
}

fn change(name: &str, platform: Option<&str>, on: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let loaded = start.load(&[])?;
    let tools = toolbox::tools(&loaded)?;
    let sets = toolbox::sets(&loaded, &tools)?;
    let platform = platform.map(|platform| platform_of(&sets, platform)).transpose()?;
    let is_set = sets.sets().any(|(set, _, _)| set == name) || sets.platform(name).is_some();
    if !is_set && !tools.iter().any(|tool| tool.facts().name == name) {
        let own: Vec<String> = tools.iter().map(|tool| tool.facts().name).collect();
        let known = sets.sets().map(|(name, _, _)| name).chain(own.iter().map(String::as_str));
        return Err(unknown("toolset or tool", name, known));
    }
    if platform.is_none() {
        everywhere(name, on, &loaded, start, out)?;
    }
    if let (Some(platform), false) = (platform, on) {
        let mut names = chosen(&loaded, &sets, platform);
        names.retain(|known| known != name);
        names.push(format!("-{name}"));
        return write(platform, names, &loaded, &sets, start, out);
    }
    if on {
        let loaded = start.load(&[])?;
        let platform = platform.unwrap_or(PLATFORM);
        return give(name, platform, &loaded, start, out);
    }
    Ok(())
}

/// What no platform has.
fn everywhere(name: &str, on: bool, loaded: &Loaded, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let mut names = loaded.config.tools.disabled.clone();
    let before = names.clone();
    names.retain(|known| known != name);
    if !on {
        names.push(name.to_owned());
    }
    if names == before {
        return Ok(());
    }
    super::config::set("agent.disabled_toolsets", &json!(names).to_string(), start, out)
}

/// Makes sure that a platform has what is named, in as few words as that takes.
fn give(name: &str, platform: &str, loaded: &Loaded, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let tools = toolbox::tools(loaded)?;
    let sets = toolbox::sets(loaded, &tools)?;
    let wanted = sets.resolve(name);
    let lacks = |sets: &Toolsets| !wanted.is_subset(&sets.of_platform(platform));
    if !lacks(&sets) {
        return Ok(out.line(&format!("`{name}` is enabled on {platform}"))?);
    }
    let mut names = chosen(loaded, &sets, platform);
    let less = format!("-{name}");
    let was_less = names.contains(&less);
    names.retain(|known| *known != less && known != name);
    if !was_less {
        // The usual ones stay where nothing was chosen before.
        if names.iter().all(|known| known.starts_with('-')) {
            names.insert(0, platform.to_owned());
        }
        names.push(name.to_owned());
    }
    write(platform, names, loaded, &sets, start, out)?;
    let loaded = start.load(&[])?;
    if lacks(&toolbox::sets(&loaded, &tools)?) {
        let rule = "agent.disabled_toolsets or another entry of platform_toolsets takes it away again";
        return Err(Failure::message(Exit::Config, format!("`{name}` is still not on {platform}: {rule}"))
            .hint("herm config show platform_toolsets"));
    }
    Ok(())
}

/// What is configured for a platform, under whatever name of it.
fn chosen(loaded: &Loaded, sets: &Toolsets, platform: &str) -> Vec<String> {
    let all = loaded.config.tools.platforms.as_object();
    let named = all.into_iter().flatten().find(|(name, _)| sets.platform(name) == Some(platform));
    let names = named.and_then(|(_, value)| value.as_array()).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn write(
    platform: &str,
    names: Vec<String>,
    loaded: &Loaded,
    sets: &Toolsets,
    start: &Start,
    out: &mut Out,
) -> Result<(), Failure> {
    let all = loaded.config.tools.platforms.as_object().cloned().unwrap_or_default();
    let mut all: Map<String, Value> =
        all.into_iter().filter(|(name, _)| sets.platform(name) != Some(platform)).collect();
    if !names.is_empty() {
        all.insert(platform.to_owned(), json!(names));
    }
    super::config::set("platform_toolsets", &Value::Object(all).to_string(), start, out)
}
