//! What the configuration says about who may speak to herm, where it answers, and which profile does:
//! the sections `gateway` and `platforms` of `config.yaml`, with the variables laid over them.
//!
//! What an adapter needs for itself, such as a token, stands in the same section `platforms.NAME` and
//! is its own to read ([`crate::platforms::table`]); here it is only known not to be a slip.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use herm_schema::events::BusyPolicy;
use regex::Regex;
use serde_json::Value;

use super::platform_keys::PLATFORM_KEYS;
use super::reading::{self, Reading};
pub use super::reading::{Ids, Warning};
use super::route::{self, Route};
use super::session_key::Sharing;
use crate::config::{Error, keys};
use crate::platforms::table::{PLATFORMS, Row};

/// The profile of a home that names none.
pub const DEFAULT_PROFILE: &str = "default";

/// Everything that the gateway goes by.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Those that this gateway serves; never none.
    pub profiles: BTreeSet<String>,
    /// Who answers where no route says otherwise; one of `profiles`.
    pub default_profile: String,
    /// In the order of the file.
    pub routes: Vec<Route>,
    pub sharing: Sharing,
    platforms: BTreeMap<String, PlatformSettings>,
    /// Of a platform that has no section of its own.
    elsewhere: PlatformSettings,
}

/// Who is listened to on a platform, and when.
#[derive(Clone, Debug, Default)]
pub struct PlatformSettings {
    pub allowed_users: Ids,
    /// Everybody; said in so many words, never by an empty list.
    pub allow_all: bool,
    /// May ask what only owners may. Empty: those whom `allowed_users` names.
    pub admins: Ids,
    /// Groups that are answered in; empty: any. Direct chats are not asked about.
    pub allowed_chats: Ids,
    /// Groups in which everybody is listened to.
    pub group_allowed_chats: Ids,
    /// Chats, and parents of threads, in which nobody needs to name herm; one thread of a chat is
    /// `CHAT:THREAD`, here as in the other lists of chats.
    pub free_response_channels: Ids,
    /// Chats, and parents of threads, in which herm is deaf.
    pub ignored_channels: Ids,
    pub addressing: Addressing,
    pub strangers: Strangers,
    pub bots: Bots,
    pub home: Option<Home>,
    pub reply_to: ReplyTo,
    /// What a message does that arrives during a turn; `None`: as elsewhere.
    pub busy: Option<BusyPolicy>,
}

/// The settings of a gateway that runs: what is read anew holds from then on, for all who look here.
pub struct LiveSettings(RwLock<Arc<GatewaySettings>>);

impl LiveSettings {
    pub fn new(settings: GatewaySettings) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Arc::new(settings))))
    }

    pub fn now(&self) -> Arc<GatewaySettings> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set(&self, settings: GatewaySettings) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}

/// When something said in a group is said to herm.
#[derive(Clone, Debug)]
pub struct Addressing {
    /// It must be named, or answered to.
    pub mention: bool,
    /// Also in a thread that herm takes part in.
    pub mention_in_threads: bool,
    /// Words that name it besides its name; case makes no difference.
    pub patterns: Vec<Regex>,
}

impl Default for Addressing {
    fn default() -> Self {
        Self { mention: true, mention_in_threads: false, patterns: vec![] }
    }
}

/// What happens to a stranger's direct message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strangers {
    /// A code is offered that an owner can approve.
    #[default]
    Pair,
    Ignore,
}

/// Whether other programs are listened to; they must be allowed as people must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bots {
    #[default]
    Never,
    /// Where they name herm, in whatever chat.
    Mentions,
    Always,
}

/// Which parts of an answer show the message that they answer; the first only where several people speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyTo {
    Off,
    #[default]
    First,
    All,
}

/// Where what has no other place goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    pub chat: String,
    pub thread: Option<String>,
}

impl GatewaySettings {
    /// Of the whole file, of which only `gateway` and `platforms` are read, and of the variables.
    ///
    /// # Errors
    /// Everything in it that is not known or does not fit.
    pub fn parse(file: &Value, env: &dyn Fn(&str) -> Option<String>) -> Result<(Self, Vec<Warning>), Error> {
        Self::parse_with(PLATFORMS, file, env)
    }

    /// As [`Self::parse`], where other platforms than the built-in ones are known.
    ///
    /// # Errors
    /// As those of [`Self::parse`].
    pub fn parse_with(
        rows: &[Row],
        file: &Value,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<Warning>), Error> {
        let mut reading = Reading::default();
        let mut settings = Self::of_gateway(file.get("gateway"), &mut reading);
        let (everyone, everybody) = global(env, &mut reading);
        let sections: BTreeMap<_, _> =
            reading.section("platforms", file.get("platforms")).into_iter().collect();
        let named: BTreeSet<&str> =
            rows.iter().map(|row| row.name).chain(sections.keys().map(|name| name.as_str())).collect();
        for name in named {
            let row = rows.iter().find(|row| row.name == name);
            if row.is_none() {
                unbuilt(name, rows, &mut reading);
            }
            let section = sections.get(&name.to_owned()).copied();
            let mut platform = PlatformSettings::of_file(name, section, row, &mut reading);
            platform.lay_over(name, env, &mut reading);
            platform.widen(&everyone, everybody);
            platform.doubt(name, &mut reading);
            settings.platforms.insert(name.to_owned(), platform);
        }
        settings.elsewhere.widen(&everyone, everybody);
        let warnings = reading.end()?;
        Ok((settings, warnings))
    }

    /// Those of a platform.
    pub fn platform(&self, name: &str) -> &PlatformSettings {
        self.platforms.get(name).unwrap_or(&self.elsewhere)
    }

    fn of_gateway(section: Option<&Value>, reading: &mut Reading) -> Self {
        let mut settings = Self {
            profiles: BTreeSet::new(),
            default_profile: String::new(),
            routes: vec![],
            sharing: Sharing::default(),
            platforms: BTreeMap::new(),
            elsewhere: PlatformSettings::default(),
        };
        for (name, value) in reading.section("gateway", section) {
            settings.gateway_key(name, value, reading);
        }
        if settings.default_profile.is_empty() {
            let only = settings.profiles.iter().next().filter(|_| settings.profiles.len() == 1);
            settings.default_profile = only.cloned().unwrap_or_else(|| DEFAULT_PROFILE.to_owned());
        }
        if settings.profiles.is_empty() {
            settings.profiles.insert(settings.default_profile.clone());
        }
        if !settings.profiles.contains(&settings.default_profile) {
            let known: Vec<String> = settings.profiles.iter().map(|name| format!("`{name}`")).collect();
            let reason = format!(
                "is `{}`, which is none of `gateway.profiles`: {}",
                settings.default_profile,
                known.join(", ")
            );
            let fix = "${EDITOR:-vi} config.yaml   # and write it into `gateway.profiles`";
            reading.problem("gateway.default_profile", reason, Some(fix.into()));
        }
        settings
    }

    fn gateway_key(&mut self, name: &str, value: &Value, reading: &mut Reading) {
        let path = format!("gateway.{name}");
        match name {
            "profiles" => {
                let names = reading.value(&path, (value, "[default]"), reading::texts);
                self.profiles = names.into_iter().flatten().collect();
            }
            // Nothing there is the usual one, not a wrong one.
            "default_profile" if value.is_null() || value == "" => {}
            "default_profile" => {
                self.default_profile =
                    reading.value(&path, (value, "default"), reading::text).unwrap_or_default();
            }
            "profile_routes" => self.routes = route::read(value, reading),
            "group_sessions_per_user" => {
                let yes = reading.value(&path, (value, "true"), reading::yes);
                self.sharing.group_per_user = yes.unwrap_or_default();
            }
            "thread_sessions_per_user" => {
                let yes = reading.value(&path, (value, "false"), reading::yes);
                self.sharing.thread_per_user = yes.unwrap_or_default();
            }
            // What the table of settings knows is read, and refused, elsewhere.
            _ if keys::find(&path).is_some() || keys::is_section(&path) => {}
            _ => reading.unknown(&path, GATEWAY_KEYS),
        }
    }
}

const GATEWAY_KEYS: [&str; 5] =
    ["profiles", "default_profile", "profile_routes", "group_sessions_per_user", "thread_sessions_per_user"];

/// Whom the variables let in everywhere.
fn global(env: &dyn Fn(&str) -> Option<String>, reading: &mut Reading) -> (Ids, bool) {
    let everyone = env("GATEWAY_ALLOWED_USERS").unwrap_or_default();
    let everybody = env("GATEWAY_ALLOW_ALL_USERS").filter(|word| !word.trim().is_empty());
    let everybody = everybody.map(|word| (reading::yes(&Value::from(word.as_str())), word));
    let everybody = match everybody {
        Some((Err(expected), word)) => {
            reading.misfit("GATEWAY_ALLOW_ALL_USERS", &word, expected);
            false
        }
        Some((Ok(yes), _)) => yes,
        None => false,
    };
    (everyone.split(',').collect(), everybody)
}

fn unbuilt(name: &str, rows: &[Row], reading: &mut Reading) {
    let path = format!("platforms.{name}");
    match reading::nearest(name, rows.iter().map(|row| row.name)) {
        Some(_) => reading.unknown(&path, rows.iter().map(|row| row.name)),
        None => reading.warn(&path, "no platform of this name is built in".to_owned()),
    }
}

impl PlatformSettings {
    fn of_file(name: &str, section: Option<&Value>, row: Option<&Row>, reading: &mut Reading) -> Self {
        let mut settings = Self::default();
        let prefix = format!("platforms.{name}");
        for (key, value) in reading.section(&prefix, section) {
            let path = format!("{prefix}.{key}");
            let own = row.is_some_and(|row| row.field(key).is_some());
            match PLATFORM_KEYS.iter().find(|known| known.is(key)) {
                Some(known) => {
                    let set = |value: &Value| (known.set)(&mut settings, value);
                    reading.value(&path, (value, known.example), set);
                }
                // What an adapter that is not built in would read, nobody knows.
                None if own || key == ENABLED || row.is_none() => {}
                None => {
                    let fields = row.map(|row| row.fields).unwrap_or_default().iter();
                    let known =
                        PLATFORM_KEYS.iter().map(|key| key.name).chain(fields.map(|field| field.name));
                    reading.unknown(&path, known);
                }
            }
        }
        settings
    }

    /// Variables win over the file.
    fn lay_over(&mut self, name: &str, env: &dyn Fn(&str) -> Option<String>, reading: &mut Reading) {
        let prefix = name.to_ascii_uppercase().replace('-', "_");
        for key in PLATFORM_KEYS {
            let variable = format!("{prefix}_{}", key.variable);
            let Some(word) = env(&variable).filter(|word| !word.trim().is_empty()) else { continue };
            if let Err(expected) = (key.set)(self, &Value::from(word.as_str())) {
                reading.misfit(&variable, &word, expected);
            }
        }
        let thread = env(&format!("{prefix}_HOME_CHANNEL_THREAD_ID")).filter(|id| !id.is_empty());
        if let (Some(home), Some(thread)) = (&mut self.home, thread) {
            home.thread = Some(thread);
        }
    }

    fn widen(&mut self, everyone: &Ids, everybody: bool) {
        self.allowed_users.ids.extend(everyone.ids.iter().cloned());
        self.allow_all |= everybody || everyone.every || self.allowed_users.every;
        // From here on it is `allow_all` that says so: whom the list names is somebody special.
        self.allowed_users.every = false;
    }

    /// What is allowed and seldom meant.
    fn doubt(&self, name: &str, reading: &mut Reading) {
        if self.allow_all {
            let why = "everybody who finds herm there may give it orders".to_owned();
            reading.warn(&format!("platforms.{name}.allow_all"), why);
        }
        if self.admins.every {
            let why = "everybody who is listened to may do what only owners may".to_owned();
            reading.warn(&format!("platforms.{name}.admins"), why);
        }
    }
}

/// Whether the platform is switched on, which its adapter's wiring reads.
const ENABLED: &str = "enabled";

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
