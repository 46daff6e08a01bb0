//! What the double knows: channels, messages, sessions, what herm sent, what goes wrong next.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use herm::platforms::contract::{Fault, Happening, Record, Said, Seen, Who};
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::{Value, json};

use super::{GUILD, HERM, Mischief};

/// Channels of each kind begin here.
const DIRECT: u64 = 1_100_000_000_000_000_000;
const CHANNEL: u64 = 1_110_000_000_000_000_000;
const PRIVATE_THREAD: u64 = 1_120_000_000_000_000_000;
/// What the threads hang on.
pub const PARENT: &str = "1130000000000000000";
/// So many channels there are of a kind.
const OF_A_KIND: u64 = 10_000;
const FIRST_ID: u64 = 1_300_000_000_000_000_000;

/// How the double is, as tests set it.
pub struct Tempers {
    pub heartbeat: Duration,
    /// It answers heartbeats.
    pub answers: bool,
    /// The switch of the developer portal.
    pub message_content: bool,
    pub sessions_left: u64,
    /// The next answer to a sending says that no more is let through for so long.
    pub exhausted: Option<Duration>,
    /// A session that begins is given what happened since the one before began, or the adapter was made.
    /// Discord would not: it is for tests that let people speak before herm is connected for the first time.
    pub gives_early: bool,
}

/// A session of the gateway: all that was given in it.
#[derive(Default)]
pub struct Session {
    pub log: Vec<Value>,
    /// The connection that has it.
    pub connection: usize,
}

pub struct State {
    pub sessions: HashMap<String, Session>,
    pub connections: usize,
    pub identified: usize,
    pub resumed: usize,
    pub gateway_url: String,
    pub files_url: String,
    next_id: u64,
    /// All messages, of people and of herm.
    pub messages: BTreeMap<u64, Value>,
    pub files: HashMap<String, (String, Vec<u8>)>,
    pub nonces: HashMap<String, String>,
    /// Interactions by token: id, and whether it was answered.
    pub interactions: HashMap<String, (String, bool)>,
    pub callbacks: Vec<Value>,
    pub commands: Vec<Value>,
    pub removed: HashSet<String>,
    pub record: Record,
    pub fault: Option<Fault>,
    pub unauthorised: bool,
    pub mischief: Mischief,
    pub said: usize,
    /// What happened since the last session began or the last adapter was made.
    pub early: Vec<(String, Value)>,
    pub beats: usize,
    /// All gateways are to break now.
    pub cut_due: bool,
    pub tempers: Tempers,
    pub problems: Vec<String>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            sessions: HashMap::new(),
            connections: 0,
            identified: 0,
            resumed: 0,
            gateway_url: String::new(),
            files_url: String::new(),
            next_id: FIRST_ID,
            messages: BTreeMap::new(),
            files: HashMap::new(),
            nonces: HashMap::new(),
            interactions: HashMap::new(),
            callbacks: Vec::new(),
            commands: Vec::new(),
            removed: HashSet::new(),
            record: Record::default(),
            fault: None,
            unauthorised: false,
            mischief: Mischief::default(),
            said: 0,
            early: Vec::new(),
            beats: 0,
            cut_due: false,
            tempers: Tempers {
                heartbeat: Duration::from_millis(41_250),
                answers: true,
                message_content: true,
                sessions_left: 1000,
                exhausted: None,
                gives_early: true,
            },
            problems: Vec::new(),
        }
    }
}

pub fn user_id(who: Who) -> String {
    match who {
        Who::Person(number) => (1_010_000_000_000_000_000 + u64::try_from(number).unwrap()).to_string(),
        Who::Bot => "1020000000000000001".to_owned(),
        Who::Herm => HERM.to_owned(),
    }
}

pub fn user(who: Who) -> Value {
    let (name, shown, bot) = match who {
        Who::Person(number) => (format!("person_{number}"), json!(format!("Person {number}")), false),
        Who::Bot => ("other_bot".to_owned(), Value::Null, true),
        Who::Herm => ("herm".to_owned(), Value::Null, true),
    };
    json!({
        "id": user_id(who), "username": name, "global_name": shown, "discriminator": "0", "avatar": null,
        "bot": bot,
    })
}

pub fn channel_id(kind: ChatKind, number: usize) -> String {
    let first = match kind {
        ChatKind::Direct => DIRECT,
        ChatKind::Channel => CHANNEL,
        ChatKind::Group => PRIVATE_THREAD,
    };
    (first + u64::try_from(number).unwrap()).to_string()
}

pub fn place(channel: &str) -> ChatRef {
    ChatRef { platform: "discord".to_owned(), chat: channel.to_owned(), thread: None }
}

/// The channel object of an id; nothing if there is no such channel.
pub fn channel(id: &str) -> Option<Value> {
    let number: u64 = id.parse().ok()?;
    let within = |first: u64| (first..first + OF_A_KIND).contains(&number);
    // Every other channel is a thread.
    let kind = match number {
        _ if within(DIRECT) => {
            return Some(json!({"id": id, "type": 1, "recipients": [user(Who::Person(0))]}));
        }
        _ if within(CHANNEL) && number.is_multiple_of(2) => 0,
        _ if within(CHANNEL) => 11,
        _ if within(PRIVATE_THREAD) => 12,
        _ => return None,
    };
    let parent = if kind == 0 { "1140000000000000000" } else { PARENT };
    Some(json!({
        "id": id, "type": kind, "guild_id": GUILD, "name": format!("place-{}", number % OF_A_KIND),
        "parent_id": parent,
    }))
}

pub fn is_direct(channel: &str) -> bool {
    channel.parse::<u64>().is_ok_and(|id| (DIRECT..DIRECT + OF_A_KIND).contains(&id))
}

impl State {
    pub fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Gives an event to every session.
    pub fn dispatch(&mut self, name: &str, data: Value) {
        self.early.push((name.to_owned(), data.clone()));
        for session in self.sessions.values_mut() {
            session.give(name, data.clone());
        }
    }

    pub fn happen(&mut self, happening: &Happening) -> Option<String> {
        match happening {
            Happening::Said(said) => self.said(said),
            Happening::Edited { message_id, text, .. } => {
                let message = self.messages.get_mut(&message_id.parse().ok()?)?;
                message["content"] = text.as_str().into();
                message["edited_timestamp"] = "2025-11-30T12:00:00.123000+00:00".into();
                let message = message.clone();
                self.dispatch("MESSAGE_UPDATE", message);
                Some(message_id.clone())
            }
            Happening::Reacted { chat, message_id, who, emoji } => {
                let mut reaction = json!({
                    "user_id": user_id(*who), "channel_id": chat.chat, "message_id": message_id,
                    "emoji": {"id": null, "name": emoji}, "burst": false, "type": 0,
                });
                if !is_direct(&chat.chat) {
                    reaction["guild_id"] = GUILD.into();
                    reaction["member"] = json!({"user": user(*who), "nick": null, "roles": []});
                }
                self.dispatch("MESSAGE_REACTION_ADD", reaction);
                Some(message_id.clone())
            }
            Happening::Pressed { chat, message_id, who, data } => self.pressed(chat, message_id, *who, data),
            Happening::Deleted { chat, message_id } => {
                self.messages.remove(&message_id.parse().ok()?);
                if let Some(seen) = self.record.sent.iter_mut().find(|seen| seen.message_id == *message_id) {
                    seen.deleted = true;
                }
                self.dispatch("MESSAGE_DELETE", json!({"id": message_id, "channel_id": chat.chat}));
                Some(message_id.clone())
            }
            Happening::Removed { chat } => {
                if is_direct(&chat.chat) {
                    return None;
                }
                self.removed.insert(chat.chat.clone());
                let channel = channel(&chat.chat)?;
                let name = if channel["type"] == 0 { "CHANNEL_DELETE" } else { "THREAD_DELETE" };
                self.dispatch(name, channel);
                Some(String::new())
            }
            Happening::Redelivered { message_id } => {
                let message = self.messages.get(&message_id.parse().ok()?)?.clone();
                self.dispatch("MESSAGE_CREATE", message);
                Some(message_id.clone())
            }
        }
    }

    fn said(&mut self, said: &Said) -> Option<String> {
        channel(&said.chat.chat)?;
        let id = self.new_id();
        let content = if said.mention { format!("<@{HERM}> {}", said.text) } else { said.text.clone() };
        let mut message = self.message(id, &said.chat.chat, said.who, &content);
        if said.mention {
            message["mentions"] = json!([user(Who::Herm)]);
        }
        if let Some(to) = &said.reply_to {
            let answered = self.messages.get(&to.parse().ok()?)?.clone();
            message["type"] = 19.into();
            message["message_reference"] = json!({"type": 0, "message_id": to, "channel_id": said.chat.chat});
            message["referenced_message"] = answered;
        }
        if let Some((name, media_type, bytes)) = &said.file {
            let path = format!("/attachments/{}/{id}/file", said.chat.chat);
            message["attachments"] = json!([{
                "id": id.to_string(), "filename": name, "content_type": media_type, "size": bytes.len(),
                "url": format!("{}{path}", self.files_url), "proxy_url": "https://media.discordapp.net/x",
            }]);
            self.files.insert(path, (media_type.clone(), bytes.clone()));
        }
        self.messages.insert(id, message.clone());
        self.said += 1;
        let is_due = |every: usize| every > 0 && self.said.is_multiple_of(every);
        let (twice, cut) = (is_due(self.mischief.duplicate_every), is_due(self.mischief.cut_gateway_every));
        if twice {
            self.dispatch("MESSAGE_CREATE", message.clone());
        }
        self.dispatch("MESSAGE_CREATE", message);
        self.cut_due |= cut;
        Some(id.to_string())
    }

    /// A message as the gateway gives it.
    pub fn message(&self, id: u64, channel: &str, who: Who, content: &str) -> Value {
        let mut message = json!({
            "id": id.to_string(), "channel_id": channel, "type": 0, "content": content, "author": user(who),
            "timestamp": "2025-11-30T11:00:00.000000+00:00", "edited_timestamp": null, "tts": false,
            "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
            "components": [], "pinned": false, "flags": 0,
        });
        if !is_direct(channel) {
            message["guild_id"] = GUILD.into();
            message["member"] = json!({"nick": null, "roles": [], "joined_at": "2025-01-01T00:00:00+00:00"});
        }
        message
    }

    pub fn seen(&mut self, message_id: &str) -> Option<&mut Seen> {
        self.record.sent.iter_mut().find(|seen| seen.message_id == message_id && !seen.deleted)
    }

    fn interaction(&mut self, chat: &ChatRef, who: Who, kind: u8) -> (String, Value) {
        let id = self.new_id().to_string();
        let token = format!("aW50ZXJhY3Rpb246{id}:{}", "k".repeat(180));
        self.interactions.insert(token.clone(), (id.clone(), false));
        let mut interaction = json!({
            "id": id, "application_id": HERM, "type": kind, "token": token, "version": 1,
            "channel_id": chat.chat,
        });
        if is_direct(&chat.chat) {
            interaction["user"] = user(who);
        } else {
            interaction["guild_id"] = GUILD.into();
            interaction["member"] = json!({"user": user(who), "nick": null, "roles": []});
        }
        (id, interaction)
    }

    fn pressed(&mut self, chat: &ChatRef, message_id: &str, who: Who, data: &str) -> Option<String> {
        let seen = self.seen(message_id)?;
        if !seen.buttons.iter().any(|button| button.data == data) {
            return None;
        }
        let (_, mut interaction) = self.interaction(chat, who, 3);
        interaction["message"] = self.messages.get(&message_id.parse().ok()?)?.clone();
        interaction["data"] = json!({"custom_id": data, "component_type": 2});
        self.dispatch("INTERACTION_CREATE", interaction);
        Some(message_id.to_owned())
    }

    pub fn slash(&mut self, chat: &ChatRef, name: &str, args: Option<&str>) -> String {
        let (id, mut interaction) = self.interaction(chat, Who::Person(0), 2);
        interaction["data"] = json!({"id": "1", "name": name, "type": 1});
        if let Some(args) = args {
            interaction["data"]["options"] = json!([{"name": "args", "type": 3, "value": args}]);
        }
        self.dispatch("INTERACTION_CREATE", interaction);
        id
    }
}

impl Session {
    pub fn give(&mut self, name: &str, data: Value) {
        let seq = self.log.len() + 1;
        self.log.push(json!({"op": 0, "s": seq, "t": name, "d": data}));
    }
}
