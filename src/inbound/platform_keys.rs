//! The table of settings that every platform has below `platforms.NAME`: a row each, with its
//! variable, an example, and how its value is read.

use herm_schema::events::BusyPolicy;
use regex::Regex;
use serde_json::Value;

use super::reading::{self, Expected};
use super::settings::{Bots, Home, PlatformSettings, ReplyTo, Strangers};

/// A setting that every platform has.
pub struct PlatformKey {
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// What follows the platform's name in the variable.
    pub variable: &'static str,
    pub example: &'static str,
    pub set: fn(&mut PlatformSettings, &Value) -> Result<(), Expected>,
}

impl PlatformKey {
    pub fn is(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// A row of the table below.
macro_rules! platform_keys {
    ($($name:literal $aliases:expr, $variable:literal, $example:literal, |$settings:ident, $value:ident| $set:expr;)*) => {
        pub const PLATFORM_KEYS: &[PlatformKey] = &[$(PlatformKey {
            name: $name,
            aliases: &$aliases,
            variable: $variable,
            example: $example,
            set: |$settings, $value| {
                $set;
                Ok(())
            },
        },)*];
    };
}

platform_keys! {
    "allowed_users" ["allow_from"], "ALLOWED_USERS", "['123456789']", |to, v| to.allowed_users = reading::ids(v)?;
    "allow_all" ["allow_all_users"], "ALLOW_ALL_USERS", "false", |to, v| to.allow_all = reading::yes(v)?;
    "admins" ["admin_users"], "ADMIN_USERS", "['123456789']", |to, v| to.admins = reading::ids(v)?;
    "allowed_chats" ["allowed_channels"], "ALLOWED_CHATS", "['-100123']", |to, v| to.allowed_chats = reading::ids(v)?;
    "group_allowed_chats" [], "GROUP_ALLOWED_CHATS", "['-100123']", |to, v| to.group_allowed_chats = reading::ids(v)?;
    "free_response_channels" ["free_response_chats"], "FREE_RESPONSE_CHANNELS", "['-100123']", |to, v| to.free_response_channels = reading::ids(v)?;
    "ignored_channels" ["ignored_chats"], "IGNORED_CHANNELS", "['-100123']", |to, v| to.ignored_channels = reading::ids(v)?;
    "require_mention" [], "REQUIRE_MENTION", "true", |to, v| to.addressing.mention = reading::yes(v)?;
    "thread_require_mention" [], "THREAD_REQUIRE_MENTION", "false", |to, v| to.addressing.mention_in_threads = reading::yes(v)?;
    "mention_patterns" [], "MENTION_PATTERNS", r"['\bherm\b']", |to, v| to.addressing.patterns = patterns(v)?;
    "unauthorized_dm_behavior" [], "UNAUTHORIZED_DM_BEHAVIOR", "pair", |to, v| to.strangers = one_of(v, STRANGERS, "`pair` or `ignore`")?;
    "allow_bots" [], "ALLOW_BOTS", "none", |to, v| to.bots = one_of(v, BOTS, "`none`, `mentions` or `all`")?;
    "home_channel" [], "HOME_CHANNEL", "'123456789'", |to, v| to.home = Some(home(v)?);
    "reply_to_mode" [], "REPLY_TO_MODE", "first", |to, v| to.reply_to = one_of(v, REPLIES, "`off`, `first` or `all`")?;
    "busy_input_mode" ["busy_mode"], "BUSY_INPUT_MODE", "queue", |to, v| to.busy = Some(one_of(v, BUSY, "`queue`, `steer` or `interrupt`")?);
}

const STRANGERS: &[(&str, Strangers)] = &[("pair", Strangers::Pair), ("ignore", Strangers::Ignore)];
/// YAML reads an unquoted `off` or `no` as `false`.
const BOTS: &[(&str, Bots)] =
    &[("none", Bots::Never), ("false", Bots::Never), ("mentions", Bots::Mentions), ("all", Bots::Always)];
const REPLIES: &[(&str, ReplyTo)] =
    &[("off", ReplyTo::Off), ("false", ReplyTo::Off), ("first", ReplyTo::First), ("all", ReplyTo::All)];
const BUSY: &[(&str, BusyPolicy)] =
    &[("queue", BusyPolicy::Queue), ("steer", BusyPolicy::Steer), ("interrupt", BusyPolicy::Interrupt)];

fn one_of<T: Copy>(value: &Value, words: &[(&str, T)], expected: Expected) -> Result<T, Expected> {
    let word = reading::text(value).map_err(|_| expected)?;
    words.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant).ok_or(expected)
}

fn patterns(value: &Value) -> Result<Vec<Regex>, Expected> {
    // In a variable one pattern stands alone: a comma may be part of it.
    let words = match value {
        Value::String(pattern) => vec![pattern.clone()],
        other => reading::texts(other)?,
    };
    let compiled = words.iter().map(|word| regex::RegexBuilder::new(word).case_insensitive(true).build());
    compiled.collect::<Result<_, _>>().map_err(|_| "a list of regular expressions")
}

fn home(value: &Value) -> Result<Home, Expected> {
    const HOME: Expected = "a chat's id, or a mapping with `chat_id` and `thread_id`";
    let Some(fields) = value.as_object() else {
        return Ok(Home { chat: reading::text(value).map_err(|_| HOME)?, thread: None });
    };
    if fields.keys().any(|key| !["chat_id", "thread_id", "name"].contains(&key.as_str())) {
        return Err(HOME);
    }
    let text = |name: &str| fields.get(name).map(reading::text).transpose().map_err(|_| HOME);
    Ok(Home { chat: text("chat_id")?.ok_or(HOME)?, thread: text("thread_id")? })
}
