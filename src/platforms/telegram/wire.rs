//! PURE: what Telegram's servers say and take, as far as herm reads and writes it.
//!
//! Source: "Telegram Bot API", core.telegram.org/bots/api, version 9.3 (December 2025). Objects have many
//! more fields; those that are not named here are passed over.

use serde::{Deserialize, Serialize};

/// What every method answers.
#[derive(Debug, Deserialize)]
pub(super) struct Reply<T> {
    pub ok: bool,
    pub result: Option<T>,
    pub error_code: Option<u16>,
    pub description: Option<String>,
    pub parameters: Option<Parameters>,
}

/// What helps after an error.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Parameters {
    /// The group has become a supergroup with this id.
    pub migrate_to_chat_id: Option<i64>,
    /// Seconds.
    pub retry_after: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    pub update_id: i64,
    #[serde(flatten)]
    pub kind: Kind,
}

/// At most one of them is there.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Kind {
    pub message: Option<Box<Message>>,
    pub edited_message: Option<Box<Message>>,
    pub channel_post: Option<Box<Message>>,
    pub edited_channel_post: Option<Box<Message>>,
    pub message_reaction: Option<MessageReaction>,
    pub callback_query: Option<CallbackQuery>,
    pub my_chat_member: Option<ChatMemberUpdated>,
}

/// What herm asks for; without the list reactions would not come.
pub(super) const ALLOWED_UPDATES: &[&str] = &[
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "message_reaction",
    "callback_query",
    "my_chat_member",
];

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub id: i64,
    #[serde(default)]
    pub is_bot: bool,
    #[serde(default)]
    pub first_name: String,
    pub last_name: Option<String>,
    pub username: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Chat {
    pub id: i64,
    /// `private`, `group`, `supergroup` or `channel`.
    #[serde(rename = "type")]
    pub kind: String,
    pub title: Option<String>,
    pub username: Option<String>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub message_id: i64,
    pub message_thread_id: Option<i64>,
    #[serde(default)]
    pub is_topic_message: bool,
    pub from: Option<User>,
    /// Who speaks, where it is no person: the channel, or a group for its hidden administrators.
    pub sender_chat: Option<Chat>,
    pub chat: Chat,
    /// Seconds since the epoch; 0 for a message that cannot be seen any more.
    #[serde(default)]
    pub date: i64,
    pub edit_date: Option<i64>,
    pub reply_to_message: Option<Box<Message>>,
    /// There if this is the beginning of a topic, which every message of the topic seems to answer.
    pub forum_topic_created: Option<serde::de::IgnoredAny>,
    pub media_group_id: Option<String>,
    pub text: Option<String>,
    #[serde(default)]
    pub entities: Vec<Entity>,
    pub caption: Option<String>,
    #[serde(default)]
    pub caption_entities: Vec<Entity>,
    #[serde(default)]
    pub photo: Vec<PhotoSize>,
    pub document: Option<File>,
    pub voice: Option<File>,
    pub audio: Option<File>,
    pub video: Option<File>,
    pub video_note: Option<File>,
    pub animation: Option<File>,
    pub sticker: Option<Sticker>,
    pub location: Option<Location>,
    pub venue: Option<Venue>,
    pub contact: Option<Contact>,
}

/// A part of a text that means something; counted in UTF-16 code units.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Entity {
    /// `mention`, `text_mention`, `bot_command` …
    #[serde(rename = "type")]
    pub kind: String,
    pub offset: usize,
    pub length: usize,
    pub user: Option<User>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct PhotoSize {
    pub file_id: String,
    pub width: u64,
    pub height: u64,
    pub file_size: Option<u64>,
}

/// A document, voice, audio, video or animation: what they have in common.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct File {
    pub file_id: String,
    pub file_name: Option<String>,
    pub mime_type: Option<String>,
    pub file_size: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Sticker {
    pub file_id: String,
    #[serde(default)]
    pub is_animated: bool,
    #[serde(default)]
    pub is_video: bool,
    pub emoji: Option<String>,
    pub file_size: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Location {
    pub latitude: f64,
    pub longitude: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Venue {
    pub location: Location,
    pub title: String,
    pub address: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Contact {
    pub phone_number: String,
    pub first_name: String,
    pub last_name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageReaction {
    pub chat: Chat,
    pub message_id: i64,
    pub user: Option<User>,
    pub actor_chat: Option<Chat>,
    pub date: i64,
    pub old_reaction: Vec<Reaction>,
    pub new_reaction: Vec<Reaction>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Reaction {
    Emoji {
        emoji: String,
    },
    CustomEmoji {
        custom_emoji_id: String,
    },
    #[serde(other)]
    Paid,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallbackQuery {
    pub id: String,
    pub from: User,
    pub message: Option<Box<Message>>,
    pub data: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatMemberUpdated {
    pub chat: Chat,
    pub from: User,
    pub date: i64,
    pub new_chat_member: ChatMember,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatMember {
    /// `creator`, `administrator`, `member`, `restricted`, `left` or `kicked`.
    pub status: String,
}

/// What `getFile` answers.
#[derive(Debug, Deserialize)]
pub(super) struct StoredFile {
    pub file_size: Option<u64>,
    pub file_path: Option<String>,
}

/// What sending answers.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub message_id: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct GetUpdates<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    pub limit: u32,
    /// Seconds.
    pub timeout: u64,
    pub allowed_updates: &'a [&'a str],
}

#[derive(Debug, Serialize)]
pub(super) struct SetWebhook<'a> {
    pub url: &'a str,
    pub secret_token: &'a str,
    pub max_connections: u32,
    pub allowed_updates: &'a [&'a str],
}

#[derive(Debug, Serialize)]
pub(super) struct GetFile<'a> {
    pub file_id: &'a str,
}

/// A place to send to.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Place {
    pub chat_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_thread_id: Option<i64>,
}

/// `sendMessage`, and `editMessageText` where there is a message id.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Text<'a> {
    #[serde(flatten)]
    pub place: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<i64>,
    pub text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parse_mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_parameters: Option<ReplyParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_preview_options: Option<LinkPreview>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct ReplyParameters {
    pub message_id: i64,
    pub allow_sending_without_reply: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct LinkPreview {
    pub is_disabled: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Keyboard {
    pub inline_keyboard: Vec<Vec<Key>>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Key {
    pub text: String,
    pub callback_data: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ChatAction {
    #[serde(flatten)]
    pub place: Place,
    pub action: &'static str,
}

/// `deleteMessage`, `setMessageReaction` and `editMessageReplyMarkup`.
#[derive(Debug, Serialize)]
pub(super) struct OnMessage {
    pub chat_id: String,
    pub message_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reaction: Option<Vec<Reaction>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_markup: Option<Keyboard>,
}

#[derive(Debug, Serialize)]
pub(super) struct AnswerCallbackQuery<'a> {
    pub callback_query_id: &'a str,
    pub text: &'a str,
}

/// No settings at all.
#[derive(Debug, Serialize)]
pub(super) struct Nothing {}
