//! `herm explain route`: whether herm would listen to somebody in a chat, which profile would answer,
//! and in which conversation.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::{Value, json};

use crate::config::{Config, RawConfig, Settings};
use crate::entry::{Exit, Failure, Out, Start};
use crate::gateway::hub;
use crate::inbound::access::{Admission, Rules, admit};
use crate::inbound::route::{self, Routed};
use crate::inbound::session_key::SessionKey;
use crate::inbound::settings::GatewaySettings;
use crate::platforms::{Author, Capabilities, Chat, Inbound, Message, Reply, What};

/// Say whether herm would listen to somebody in a chat, which profile would answer and why, and in
/// which conversation.
///
/// Nothing is looked up: who has been paired, and where herm takes part, is what the options say.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm explain route --platform telegram --chat 123456789
  herm explain route --platform telegram --chat -100123 --user 42 --mentioned
  herm explain route --platform discord --guild 7 --chat 70 --parent 8 --user 42 --json")]
pub struct RouteQuery {
    /// Name of the platform, such as `telegram`.
    #[arg(long, value_name = "NAME")]
    platform: String,

    /// The platform's own id of the chat.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    chat: String,

    /// The thread or topic in it.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,

    /// The platform's own id of whoever writes; in a direct chat without it, the chat's.
    #[arg(long, value_name = "ID")]
    user: Option<String>,

    /// Another id of the same account; may be given several times.
    #[arg(long, value_name = "ID")]
    alias: Vec<String>,

    /// The server, workspace or team.
    #[arg(long, value_name = "ID")]
    guild: Option<String>,

    /// The channel or forum that the chat hangs on, where it is a thread.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    parent: Option<String>,

    /// Without it: `channel` where a guild or a parent is given, `group` where the id of the chat
    /// begins with `-`, as on Telegram, or somebody else writes there, else `direct`.
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,

    /// What is said; `mention_patterns` are looked for in it.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    text: String,

    /// herm is named in it.
    #[arg(long)]
    mentioned: bool,

    /// It answers a message of herm's.
    #[arg(long)]
    reply: bool,

    /// herm takes part in the thread already.
    #[arg(long)]
    takes_part: bool,

    /// Whoever writes was let in by an owner.
    #[arg(long)]
    paired: bool,

    /// Another program writes.
    #[arg(long)]
    bot: bool,

    /// Settings to go by, instead of those of the home.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Direct,
    Group,
    Channel,
}

impl RouteQuery {
    fn kind(&self) -> ChatKind {
        match self.kind {
            Some(Kind::Direct) => ChatKind::Direct,
            Some(Kind::Group) => ChatKind::Group,
            Some(Kind::Channel) => ChatKind::Channel,
            None if self.guild.is_some() || self.parent.is_some() => ChatKind::Channel,
            None if self.chat.starts_with('-') => ChatKind::Group,
            None if self.user.as_ref().is_some_and(|user| *user != self.chat) => ChatKind::Group,
            None => ChatKind::Direct,
        }
    }

    /// What would come in.
    fn inbound(&self) -> Inbound {
        let kind = self.kind();
        let own = (kind == ChatKind::Direct).then(|| self.chat.clone());
        let message_id = "0".to_owned();
        let reply = self.reply.then(|| Reply { message_id: message_id.clone(), text: None, ours: true });
        let place =
            ChatRef { platform: self.platform.clone(), chat: self.chat.clone(), thread: self.thread.clone() };
        Inbound {
            id: message_id.clone(),
            chat: Chat { place, kind, title: None, guild: self.guild.clone(), parent: self.parent.clone() },
            author: Author {
                id: self.user.clone().or(own).unwrap_or_default(),
                name: None,
                aliases: self.alias.clone(),
                bot: self.bot,
                ours: false,
            },
            what: What::Message(Message {
                message_id,
                text: self.text.clone(),
                mentioned: self.mentioned,
                reply,
                media: vec![],
            }),
            at: None,
        }
    }
}

pub fn run(arguments: &RouteQuery, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let (settings, warnings) = settings(arguments, start)?;
    let inbound = arguments.inbound();
    let told = Told::of(&inbound, arguments, &settings, &warnings);
    match arguments.json {
        true => out.json(&told.json())?,
        false => told.lines().iter().try_for_each(|line| out.line(line))?,
    }
    Ok(())
}

/// Those that the gateway would go by.
fn settings(arguments: &RouteQuery, start: &Start) -> Result<(GatewaySettings, Vec<String>), Failure> {
    let path = arguments.config.clone().unwrap_or_else(|| start.home.config_file());
    if arguments.config.is_some() && !path.exists() {
        let message = format!("`{}` is not there", path.display());
        return Err(Failure::message(Exit::Usage, message));
    }
    let environment = start.environment()?;
    let decided = Settings::decide(&start.home, &RawConfig::read(&path)?, &environment, &[])?;
    Ok(hub::settings(&Config::of(&decided).gateway, &environment)?)
}

/// What there is to say.
struct Told {
    admission: Admission,
    routed: Routed,
    considered: Vec<route::Considered>,
    key: SessionKey,
    warnings: Vec<String>,
}

impl Told {
    fn of(
        inbound: &Inbound,
        arguments: &RouteQuery,
        settings: &GatewaySettings,
        warnings: &[String],
    ) -> Self {
        let rules = Rules {
            settings: settings.platform(&arguments.platform),
            // Who is let in by the platform's own rules does not come by an id that could be asked for.
            capabilities: &Capabilities::plain("explained"),
            paired: &|id| arguments.paired && id == inbound.author.id,
            takes_part: arguments.takes_part,
        };
        Self {
            admission: admit(inbound, &rules),
            routed: route::route(inbound, settings),
            considered: route::explain(inbound, settings),
            key: SessionKey::of(inbound, settings.sharing),
            warnings: warnings.to_vec(),
        }
    }

    /// The word for scripts, and the sentence for people.
    fn admitted(&self) -> (&'static str, String) {
        match self.admission {
            Admission::Allowed { admin: true } => {
                ("allowed", "It is listened to, and the sender is an owner.".into())
            }
            Admission::Allowed { admin: false } => ("allowed", "It is listened to.".into()),
            Admission::AskPairing => (
                "ask_pairing",
                "The sender is not known, and is offered a code that an owner can approve.".into(),
            ),
            Admission::Ignored(reason) => ("ignored", format!("It is ignored: {}.", reason.words())),
        }
    }

    fn json(&self) -> Value {
        let (admission, why) = self.admitted();
        let (profile, served, by, why_not) = match &self.routed {
            Routed::Served { profile, route } => (profile, true, route.as_ref(), None),
            Routed::Rejected { profile, why } => (profile, false, None, Some(why)),
        };
        let routes: Vec<Value> = self
            .considered
            .iter()
            .map(|row| {
                json!({
                    "name": row.name, "profile": row.profile, "weight": row.weight,
                    "taken": row.verdict == route::Verdict::Taken, "why": row.to_string(),
                })
            })
            .collect();
        json!({
            "admission": admission,
            "why": why,
            "admin": self.admission == Admission::Allowed { admin: true },
            "profile": profile,
            "served": served,
            "route": by,
            "rejected": why_not,
            "routes": routes,
            "session_key": self.key.to_string(),
            "shared": self.key.shared(),
            "warnings": self.warnings,
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.admitted().1];
        lines.push(match &self.routed {
            Routed::Served { profile, route: Some(route) } => {
                format!("The profile `{profile}` answers, by the route `{route}`.")
            }
            Routed::Served { profile, route: None } => {
                format!("The profile `{profile}` answers, as by default.")
            }
            Routed::Rejected { why, .. } => format!("It is rejected: {why}."),
        });
        lines.extend(self.considered.iter().map(|row| format!("  {row}")));
        let shared = if self.key.shared() { "shared by all who speak there" } else { "the sender's own" };
        lines.push(format!("Conversation: {} ({shared})", self.key));
        lines.extend(self.warnings.iter().map(|warning| format!("Warning: {warning}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::config::Home;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        query: RouteQuery,
    }

    const FILE: &str = "\
gateway:
  profiles: [default, work]
  profile_routes:
    - {name: office, platform: telegram, chat_id: -100123, profile: work}
    - {name: away, platform: telegram, chat_id: -7, profile: elsewhere}
platforms:
  telegram:
    allowed_users: [42]
";

    fn told(line: &str) -> Told {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::write(scratch.path().join("config.yaml"), FILE).unwrap();
        let words = std::iter::once("route").chain(line.split_whitespace());
        let query = Line::parse_from(words).query;
        let start = Start { home: Home::at(scratch.path()) };
        let (settings, warnings) = settings(&query, &start).unwrap();
        Told::of(&query.inbound(), &query, &settings, &warnings)
    }

    #[test]
    fn a_group_that_has_a_route_is_told_with_everything() {
        let told = told("--platform telegram --chat -100123 --user 42 --mentioned");
        let json = told.json();
        assert_eq!(json["admission"], "allowed");
        assert_eq!(
            (&json["admin"], &json["profile"], &json["route"]),
            (&json!(true), &json!("work"), &json!("office"))
        );
        assert_eq!(json["session_key"], "telegram:group:-100123:user=42");
        let lines = told.lines();
        assert_eq!(lines[1], "The profile `work` answers, by the route `office`.");
        assert_eq!(lines[2], "  `office` to `work` (weight 5): taken");
        assert_eq!(lines[3], "  `away` to `elsewhere` (weight 5): chat is `-100123`, not `-7`");
        assert_eq!(lines[4], "Conversation: telegram:group:-100123:user=42 (the sender's own)");
    }

    #[test]
    fn what_is_ignored_and_what_is_rejected_say_why() {
        let told = told("--platform telegram --chat -7 --user 42");
        assert_eq!(told.json()["admission"], "ignored");
        assert!(told.lines()[0].contains("`require_mention`"), "{:?}", told.lines());
        assert_eq!(told.json()["served"], false);
        assert!(told.lines()[1].contains("`elsewhere`, which is not served here"));
    }

    #[test]
    fn a_stranger_is_offered_a_code_and_a_paired_one_is_not() {
        let stranger = "--platform telegram --chat 9";
        assert_eq!(told(stranger).json()["admission"], "ask_pairing");
        assert_eq!(told(stranger).key.to_string(), "telegram:direct:9:user=9");
        assert_eq!(told(&format!("{stranger} --paired")).json()["admission"], "allowed");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_only_if_it_was_asked_for() {
        let start = Start { home: Home::at("/nowhere/herm") };
        let words = ["route", "--platform", "x", "--chat", "1"];
        let query = Line::parse_from(words).query;
        assert!(settings(&query, &start).is_ok());
        let query = RouteQuery { config: Some(Path::new("/nowhere/x.yaml").into()), ..query };
        assert!(settings(&query, &start).is_err());
    }
}
