//! Which profile answers: the routes of the configuration, the most specific that fits, else the
//! default profile.
//!
//! A route is a conjunction: everything that it names must be so. A thread counts as its channel or
//! forum too. Of several that fit, the one that names the most specific things wins: the guild counts
//! 2, the chat 4, the thread 8, as in the reference; besides, the platform counts 1 and the sender
//! 16, so that any two routes with the same weight name the same kinds of things. Among those the
//! first in the file wins. A route to a profile that is not served here is a rejection, never a
//! silent fall back to another profile: its message would be answered by the wrong one.

use std::fmt;

use serde_json::Value;

use super::reading::{self, Reading};
use super::settings::GatewaySettings;
use crate::platforms::{Chat, Inbound};

/// A row of `gateway.profile_routes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// For people; the place in the file where it has none.
    pub name: String,
    pub profile: String,
    pub enabled: bool,
    pub platform: Option<String>,
    pub guild: Option<String>,
    pub chat: Option<String>,
    pub thread: Option<String>,
    pub sender: Option<String>,
}

/// Where a message goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed {
    Served {
        profile: String,
        /// The route that says so; `None` where none does.
        route: Option<String>,
    },
    /// A route says so, and this gateway does not serve that profile.
    Rejected { profile: String, why: String },
}

/// What there is to say about one route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    pub name: String,
    pub profile: String,
    pub weight: u8,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// It fits as well, and another is more specific or stands before it.
    Outdone {
        by: String,
    },
    Disabled,
    /// The first thing that it names and that is otherwise.
    Differs {
        field: &'static str,
        wanted: String,
        found: Option<String>,
    },
}

impl fmt::Display for Considered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, profile, weight, verdict } = self;
        write!(f, "`{name}` to `{profile}` (weight {weight}): ")?;
        match verdict {
            Verdict::Taken => f.write_str("taken"),
            Verdict::Outdone { by } => write!(f, "fits, but `{by}` goes before"),
            Verdict::Disabled => f.write_str("switched off"),
            Verdict::Differs { field, wanted, found: Some(found) } => {
                write!(f, "{field} is `{found}`, not `{wanted}`")
            }
            Verdict::Differs { field, wanted, found: None } => {
                write!(f, "there is no {field}, and it wants `{wanted}`")
            }
        }
    }
}

/// The profile that answers what came in.
pub fn route(inbound: &Inbound, settings: &GatewaySettings) -> Routed {
    let Some(route) = best(inbound, &settings.routes) else {
        return Routed::Served { profile: settings.default_profile.clone(), route: None };
    };
    let profile = route.profile.clone();
    if settings.profiles.contains(&profile) {
        return Routed::Served { profile, route: Some(route.name.clone()) };
    }
    let why =
        format!("the route `{}` leads to the profile `{profile}`, which is not served here", route.name);
    Routed::Rejected { profile, why }
}

/// What there is to say about each route, in the order of the file.
pub fn explain(inbound: &Inbound, settings: &GatewaySettings) -> Vec<Considered> {
    let taken = best(inbound, &settings.routes);
    let verdict = |route: &Route| match (route.differs(inbound), taken) {
        _ if !route.enabled => Verdict::Disabled,
        (Some(verdict), _) => verdict,
        (None, Some(taken)) if !std::ptr::eq(taken, route) => Verdict::Outdone { by: taken.name.clone() },
        (None, _) => Verdict::Taken,
    };
    let considered = |route: &Route| Considered {
        name: route.name.clone(),
        profile: route.profile.clone(),
        weight: route.weight(),
        verdict: verdict(route),
    };
    settings.routes.iter().map(considered).collect()
}

fn best<'a>(inbound: &Inbound, routes: &'a [Route]) -> Option<&'a Route> {
    let fitting = routes.iter().filter(|route| route.enabled && route.differs(inbound).is_none());
    // The first of the heaviest: `max_by_key` alone would give the last.
    fitting.rev().max_by_key(|route| route.weight())
}

impl Route {
    /// How specific it is; the same only for routes that name the same kinds of things.
    pub fn weight(&self) -> u8 {
        let named =
            [(&self.platform, 1), (&self.guild, 2), (&self.chat, 4), (&self.thread, 8), (&self.sender, 16)];
        named.into_iter().filter(|(field, _)| field.is_some()).map(|(_, weight)| weight).sum()
    }

    /// The first thing that is otherwise than it wants; `None` if it fits.
    fn differs(&self, inbound: &Inbound) -> Option<Verdict> {
        let Inbound { chat, author, .. } = inbound;
        let senders = std::iter::once(author.id.as_str()).chain(author.aliases.iter().map(String::as_str));
        let wanted: [(&'static str, &Option<String>, Vec<&str>); 5] = [
            ("platform", &self.platform, vec![chat.place.platform.as_str()]),
            ("thread", &self.thread, threads(chat)),
            ("chat", &self.chat, chats(chat)),
            ("guild", &self.guild, chat.guild.iter().map(String::as_str).collect()),
            ("sender", &self.sender, senders.filter(|id| !id.is_empty()).collect()),
        ];
        wanted.into_iter().find_map(|(field, wanted, found)| {
            let wanted = wanted.as_ref().filter(|wanted| !found.contains(&wanted.as_str()))?;
            let found = found.first().map(|found| (*found).to_owned());
            Some(Verdict::Differs { field, wanted: wanted.clone(), found })
        })
    }

    fn says_the_same_as(&self, other: &Self) -> bool {
        let all = |route: &Self| {
            let Self { platform, guild, chat, thread, sender, .. } = route.clone();
            (platform, guild, chat, thread, sender)
        };
        all(self) == all(other)
    }
}

/// The chat, and the channel or forum that it hangs on.
fn chats(chat: &Chat) -> Vec<&str> {
    std::iter::once(&chat.place.chat).chain(&chat.parent).map(String::as_str).collect()
}

/// The thread; a chat that hangs on another is one as well.
fn threads(chat: &Chat) -> Vec<&str> {
    let own = chat.parent.as_ref().map(|_| &chat.place.chat);
    chat.place.thread.iter().chain(own).map(String::as_str).collect()
}

/// Reads `gateway.profile_routes`.
pub(super) fn read(value: &Value, reading: &mut Reading) -> Vec<Route> {
    const PATH: &str = "gateway.profile_routes";
    let rows = match value {
        Value::Null => return vec![],
        Value::Array(rows) => rows,
        _ => {
            reading.problem(PATH, "must be a list of routes".to_owned(), None);
            return vec![];
        }
    };
    let mut routes: Vec<Route> = vec![];
    for (index, row) in rows.iter().enumerate() {
        let path = format!("{PATH}[{index}]");
        let mut route = read_row(row, &path, reading);
        if route.name.is_empty() {
            route.name = format!("route {}", index + 1);
        }
        if let Some(before) = routes.iter().find(|before| before.enabled && route.says_the_same_as(before))
            && route.enabled
        {
            let why =
                format!("names the same as `{}`, which stands before it and is always taken", before.name);
            reading.warn(&path, why);
        }
        routes.push(route);
    }
    routes
}

const ROW_KEYS: [&str; 8] =
    ["name", "profile", "enabled", "platform", "guild_id", "chat_id", "thread_id", "sender"];

fn read_row(row: &Value, path: &str, reading: &mut Reading) -> Route {
    let mut route = Route { enabled: true, ..Route::default() };
    for (key, value) in reading.section(path, Some(row)) {
        let at = format!("{path}.{key}");
        let mut text = || reading.value(&at, (value, "'123456789'"), reading::text);
        match key.as_str() {
            "name" => route.name = text().unwrap_or_default(),
            "profile" => route.profile = text().unwrap_or_default(),
            "platform" => route.platform = text(),
            "guild_id" | "guild" => route.guild = text(),
            "chat_id" | "chat" => route.chat = text(),
            "thread_id" | "thread" => route.thread = text(),
            "sender" | "sender_id" | "user_id" => route.sender = text(),
            "enabled" => {
                route.enabled = reading.value(&at, (value, "true"), reading::yes).unwrap_or_default();
            }
            _ => reading.unknown(&at, ROW_KEYS),
        }
    }
    if route.profile.is_empty() {
        let fix = "${EDITOR:-vi} config.yaml   # and write `profile: NAME` there".to_owned();
        reading.problem(path, "names no `profile`".to_owned(), Some(fix));
    }
    if route.weight() == 0 && !route.profile.is_empty() {
        reading.warn(path, "names no condition: it is taken before the default profile, always".to_owned());
    }
    route
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
