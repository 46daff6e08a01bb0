//! PURE: what goes over the wire, as far as herm reads and writes it.
//!
//! Source: docs.discord.com/developers, API v10: "Gateway", "Gateway Events", "Message", "Channel",
//! "Receiving and Responding to Interactions", "Opcodes and Status Codes".

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the API and of the gateway.
pub(super) const VERSION: &str = "10";

/// What herm wants to be told: servers and their channels, messages and reactions in them and in direct
/// chats, and what messages say, which Discord grants by a switch of its own.
pub(super) const INTENTS: u64 = GUILDS
    | GUILD_MESSAGES
    | GUILD_MESSAGE_REACTIONS
    | DIRECT_MESSAGES
    | DIRECT_MESSAGE_REACTIONS
    | MESSAGE_CONTENT;
const GUILDS: u64 = 1;
const GUILD_MESSAGES: u64 = 1 << 9;
const GUILD_MESSAGE_REACTIONS: u64 = 1 << 10;
const DIRECT_MESSAGES: u64 = 1 << 12;
const DIRECT_MESSAGE_REACTIONS: u64 = 1 << 13;
const MESSAGE_CONTENT: u64 = 1 << 15;

/// What the gateway sends: an operation, and for a dispatch its number and name.
#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    pub op: u8,
    #[serde(default)]
    pub d: Value,
    #[serde(default)]
    pub s: Option<u64>,
    #[serde(default)]
    pub t: Option<String>,
}

pub(super) mod op {
    pub const DISPATCH: u8 = 0;
    pub const HEARTBEAT: u8 = 1;
    pub const IDENTIFY: u8 = 2;
    pub const RESUME: u8 = 6;
    pub const RECONNECT: u8 = 7;
    pub const INVALID_SESSION: u8 = 9;
    pub const HELLO: u8 = 10;
    pub const HEARTBEAT_ACK: u8 = 11;
}

#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub heartbeat_interval: u64,
}

/// The answer of `GET /gateway/bot`.
#[derive(Debug, Deserialize)]
pub(super) struct GatewayBot {
    pub url: String,
    pub session_start_limit: Option<StartLimit>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StartLimit {
    pub remaining: u64,
    /// In milliseconds.
    pub reset_after: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    pub session_id: String,
    pub resume_gateway_url: String,
    pub application: Application,
}

#[derive(Debug, Deserialize)]
pub(super) struct Application {
    pub id: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct User {
    pub id: String,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    pub global_name: Option<String>,
    #[serde(default)]
    pub bot: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Member {
    #[serde(default)]
    pub nick: Option<String>,
    /// Where the member does not stand beside a user.
    #[serde(default)]
    pub user: Option<User>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Message {
    pub id: String,
    pub channel_id: String,
    #[serde(default)]
    pub guild_id: Option<String>,
    #[serde(default)]
    pub author: Option<User>,
    #[serde(default)]
    pub member: Option<Member>,
    #[serde(default)]
    pub webhook_id: Option<String>,
    /// Missing in changes of something else.
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub timestamp: Option<String>,
    #[serde(default)]
    pub edited_timestamp: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: u8,
    #[serde(default)]
    pub mention_roles: Vec<String>,
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    #[serde(default)]
    pub sticker_items: Vec<Sticker>,
    #[serde(default)]
    pub message_reference: Option<Reference>,
    #[serde(default)]
    pub referenced_message: Option<Box<Message>>,
    #[serde(default)]
    pub message_snapshots: Vec<Snapshot>,
}

/// Kinds of messages that people write; all others are news of the channel.
pub(super) const WRITTEN: [u8; 2] = [0, 19];

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reference {
    #[serde(default)]
    pub message_id: Option<String>,
    /// 0 for an answer, 1 for something passed on.
    #[serde(default, rename = "type")]
    pub kind: u8,
}

/// A message that was passed on, as it was then.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Snapshot {
    pub message: Passed,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Passed {
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub attachments: Vec<Attachment>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Attachment {
    pub filename: String,
    #[serde(default)]
    pub content_type: Option<String>,
    #[serde(default)]
    pub size: Option<u64>,
    pub url: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sticker {
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reaction {
    pub user_id: String,
    pub channel_id: String,
    pub message_id: String,
    #[serde(default)]
    pub guild_id: Option<String>,
    #[serde(default)]
    pub member: Option<Member>,
    pub emoji: Emoji,
}

#[derive(Debug, Deserialize)]
pub(super) struct Emoji {
    #[serde(default)]
    pub id: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Channel {
    pub id: String,
    #[serde(default, rename = "type")]
    pub kind: u8,
    #[serde(default)]
    pub guild_id: Option<String>,
    #[serde(default)]
    pub name: Option<String>,
    /// The category of a channel, the channel of a thread.
    #[serde(default)]
    pub parent_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Guild {
    pub id: String,
    #[serde(default)]
    pub channels: Vec<Channel>,
    #[serde(default)]
    pub threads: Vec<Channel>,
    #[serde(default)]
    pub roles: Vec<Role>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Role {
    pub id: String,
    #[serde(default)]
    pub tags: Option<RoleTags>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RoleTags {
    /// The bot that the role was made for.
    #[serde(default)]
    pub bot_id: Option<String>,
}

/// A server is not there any more: herm was put out, unless it is `unavailable` for a while.
#[derive(Debug, Deserialize)]
pub(super) struct GuildGone {
    pub id: String,
    #[serde(default)]
    pub unavailable: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Interaction {
    pub id: String,
    pub application_id: String,
    #[serde(rename = "type")]
    pub kind: u8,
    pub token: String,
    #[serde(default)]
    pub guild_id: Option<String>,
    #[serde(default)]
    pub channel_id: Option<String>,
    #[serde(default)]
    pub member: Option<Member>,
    #[serde(default)]
    pub user: Option<User>,
    #[serde(default)]
    pub message: Option<Pressed>,
    #[serde(default)]
    pub data: InteractionData,
}

/// Kinds of interactions.
pub(super) const SLASH_COMMAND: u8 = 2;
pub(super) const COMPONENT: u8 = 3;

#[derive(Debug, Deserialize)]
pub(super) struct Pressed {
    pub id: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct InteractionData {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub custom_id: String,
    #[serde(default)]
    pub options: Vec<CommandValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommandValue {
    #[serde(default)]
    pub value: Value,
}

/// What a refusal says.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ApiError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    /// In seconds.
    #[serde(default)]
    pub retry_after: Option<f64>,
    #[serde(default)]
    pub global: bool,
    /// Of each field that is wrong, in a tree.
    #[serde(default)]
    pub errors: Value,
}

impl ApiError {
    /// The message, and the first reason below `errors`.
    pub fn said(&self) -> String {
        match reason(&self.errors) {
            Some(reason) => format!("{}: {reason}", self.message),
            None => self.message.clone(),
        }
    }
}

fn reason(errors: &Value) -> Option<&str> {
    match errors {
        Value::Object(fields) => match fields.get("message") {
            Some(Value::String(message)) => Some(message),
            _ => fields.values().find_map(reason),
        },
        Value::Array(all) => all.iter().find_map(reason),
        _ => None,
    }
}

/// A message of herm's; in changes without what cannot be changed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Written<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<&'a str>,
    /// By which a repeat is recognised for some minutes; at most 25 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub enforce_nonce: bool,
    pub allowed_mentions: Mentions,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_reference: Option<Answers<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<ActionRow<'a>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attached<'a>>,
}

/// Whom a message of herm's calls: nobody, whatever is in its text.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Mentions {
    pub parse: [&'static str; 0],
    pub replied_user: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Answers<'a> {
    pub message_id: &'a str,
    pub fail_if_not_exists: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ActionRow<'a> {
    #[serde(rename = "type")]
    pub kind: u8,
    pub components: Vec<WireButton<'a>>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct WireButton<'a> {
    #[serde(rename = "type")]
    pub kind: u8,
    pub style: u8,
    pub label: String,
    pub custom_id: &'a str,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Attached<'a> {
    pub id: u8,
    pub filename: &'a str,
}

/// What was sent.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub id: String,
}
