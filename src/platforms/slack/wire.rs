//! PURE: what goes over the wire, as far as herm reads and writes it.
//!
//! Source: docs.slack.dev (read December 2026): "Using Socket Mode", "The Events API", "message event",
//! "reaction_added event", "block_actions payload", "Slash commands", the Web API's methods. Slack numbers no
//! versions.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What every answer says.
#[derive(Debug, Deserialize)]
pub(super) struct Verdict {
    pub ok: bool,
    #[serde(default)]
    pub error: Option<String>,
}

/// The answer of `auth.test`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Me {
    pub user_id: String,
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub team: String,
    #[serde(default)]
    pub team_id: String,
    #[serde(default)]
    pub bot_id: Option<String>,
}

/// The answer of `apps.connections.open`; the address holds a ticket.
#[derive(Deserialize)]
pub(super) struct Opened {
    pub url: String,
}

/// A frame of Socket Mode.
#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub envelope_id: Option<String>,
    #[serde(default)]
    pub payload: Value,
    /// Of a `disconnect`.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What the Events API delivers, over the socket and over HTTP.
#[derive(Debug, Deserialize)]
pub(super) struct Callback {
    #[serde(default)]
    pub event_id: String,
    #[serde(default)]
    pub event_time: Option<i64>,
    #[serde(default)]
    pub team_id: Option<String>,
    #[serde(default)]
    pub event: Value,
}

/// A `message` or `app_mention`, and what stands below `message` in a `message_changed`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub subtype: Option<String>,
    #[serde(default)]
    pub channel: String,
    #[serde(default)]
    pub channel_type: Option<String>,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub username: Option<String>,
    #[serde(default)]
    pub bot_id: Option<String>,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub ts: String,
    #[serde(default)]
    pub thread_ts: Option<String>,
    /// Who wrote what the thread hangs on.
    #[serde(default)]
    pub parent_user_id: Option<String>,
    #[serde(default)]
    pub files: Vec<File>,
    #[serde(default)]
    pub edited: Option<Edited>,
    /// Of a `message_changed`.
    #[serde(default)]
    pub message: Option<Box<Message>>,
    #[serde(default)]
    pub previous_message: Option<Box<Message>>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Edited {
    pub ts: String,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct File {
    pub id: String,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub mimetype: Option<String>,
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default)]
    pub url_private_download: Option<String>,
    #[serde(default)]
    pub url_private: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reaction {
    pub user: String,
    pub reaction: String,
    pub item: Item,
    #[serde(default)]
    pub event_ts: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Item {
    #[serde(default)]
    pub channel: String,
    #[serde(default)]
    pub ts: String,
}

/// `member_left_channel`, `channel_archive` and their like.
#[derive(Debug, Deserialize)]
pub(super) struct Left {
    #[serde(default)]
    pub user: Option<String>,
    pub channel: String,
}

/// A `block_actions` payload.
#[derive(Debug, Deserialize)]
pub(super) struct Interaction {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub trigger_id: String,
    #[serde(default)]
    pub user: Presser,
    #[serde(default)]
    pub channel: Option<Named>,
    #[serde(default)]
    pub message: Option<Message>,
    #[serde(default)]
    pub actions: Vec<Action>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Presser {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub username: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Action {
    #[serde(default)]
    pub value: Option<String>,
    #[serde(default)]
    pub action_ts: String,
}

/// A slash command; over HTTP it is a form.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Command {
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub user_id: String,
    #[serde(default)]
    pub user_name: Option<String>,
    #[serde(default)]
    pub channel_id: String,
    #[serde(default)]
    pub trigger_id: String,
}

/// The answer of `conversations.info`.
#[derive(Debug, Deserialize)]
pub(super) struct ConversationInfo {
    pub channel: Conversation,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Conversation {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub is_im: bool,
    #[serde(default)]
    pub is_mpim: bool,
    #[serde(default)]
    pub is_private: bool,
}

/// The answer of `users.info`.
#[derive(Debug, Deserialize)]
pub(super) struct UserInfo {
    pub user: User,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct User {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub real_name: Option<String>,
    #[serde(default)]
    pub is_bot: bool,
    #[serde(default)]
    pub profile: Profile,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Profile {
    #[serde(default)]
    pub display_name: Option<String>,
    #[serde(default)]
    pub email: Option<String>,
}

/// A message of herm's, new or with another text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Written<'a> {
    pub channel: &'a str,
    /// Of the message to be changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ts: Option<&'a str>,
    pub text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_ts: Option<&'a str>,
    /// It is shown in the channel as well.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reply_broadcast: bool,
    /// Empty to take away those that are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Value>>,
}

/// What was sent.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub ts: String,
}

/// The answer of `files.getUploadURLExternal`.
#[derive(Deserialize)]
pub(super) struct UploadUrl {
    pub upload_url: String,
    pub file_id: String,
}

/// A file that was put where Slack said.
#[derive(Debug, Serialize)]
pub(super) struct Upload<'a> {
    pub id: &'a str,
    pub title: &'a str,
}

/// Shows it.
#[derive(Debug, Serialize)]
pub(super) struct Completed<'a> {
    pub files: [Upload<'a>; 1],
    pub channel_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_ts: Option<&'a str>,
}

/// A message that one person sees.
#[derive(Debug, Serialize)]
pub(super) struct Ephemeral<'a> {
    pub channel: &'a str,
    pub user: &'a str,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_ts: Option<&'a str>,
}

/// The answer of `files.completeUploadExternal`; where it is shown may come later.
#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    #[serde(default)]
    pub files: Vec<Value>,
}

/// The answer of `conversations.history`.
#[derive(Debug, Deserialize)]
pub(super) struct History {
    #[serde(default)]
    pub messages: Vec<Message>,
}
