//! What herm says, as events of rooms.
//!
//! The key of a chunk becomes the transaction id of its event, by which a homeserver recognises a repeat
//! from the same device and answers with the event of the first try (client-server API 1.11, "Transaction
//! identifiers"). Synapse keeps them for a day. A token stays with one device, so a restart changes
//! nothing.

use std::sync::Arc;

use herm_schema::events::{ChatRef, DeliveryFailure};
use serde_json::{Value, json};

use super::api::{Call, Failed};
use super::rooms::Room;
use super::wire::{Sent, Uploaded, at};
use super::{FILE_BYTES_MAX, Matrix, encryption, refusal, rooms};
use crate::platforms::{Outgoing, Say, SendFailure, Written};

/// Longest text of an edited message for clients that do not know edits, in characters; an event has
/// 65,536 bytes, and the new text is in it as well, with markup and without.
const FALLBACK_CHARS_MAX: usize = 1000;

type Result<T> = std::result::Result<T, SendFailure>;

/// Sends a chunk; the id of the message.
pub(super) async fn send(matrix: &Matrix, outgoing: &Outgoing) -> Result<Option<String>> {
    match &outgoing.content {
        Say::Text(written) => text(matrix, outgoing, written).await.map(Some),
        Say::File { name, media_type, bytes } => {
            file(matrix, outgoing, (name, media_type, bytes)).await.map(Some)
        }
    }
}

async fn text(matrix: &Matrix, outgoing: &Outgoing, written: &Written) -> Result<String> {
    let Outgoing { target, key, reply_to, replaces, .. } = outgoing;
    if let Some(standing) = replaces.as_deref()
        && stands(matrix, &target.chat, standing).await.map_err(refusal::before_sending)?
    {
        // Another id than that of a new message: a repeat must not be taken for the edit of before.
        let sent = put(matrix, &target.chat, &format!("{key}.edit"), change(standing, written)).await;
        return sent.map(|_| standing.to_owned()).map_err(refusal::of_message);
    }
    let content = message(matrix, target, written, reply_to.as_deref());
    put(matrix, &target.chat, key, content).await.map_err(refusal::of_message)
}

/// Whether a message is still there. A homeserver takes edits of one that is not, and shows nothing.
async fn stands(matrix: &Matrix, room_id: &str, event_id: &str) -> std::result::Result<bool, Failed> {
    let event = rooms::raw_event(&matrix.api, room_id, event_id).await?;
    // Who takes a message back takes its content, sealed or not.
    let told = |key| event.as_ref().and_then(|event| at(event, &["content", key])).is_some();
    Ok(told("msgtype") || told("ciphertext"))
}

/// Puts a message into a room, sealed where the room is encrypted; its id. A repeat is sealed anew, and
/// recognised by its key all the same.
pub(super) async fn put(
    matrix: &Matrix,
    room_id: &str,
    key: &str,
    content: Value,
) -> std::result::Result<String, Failed> {
    let room = room(matrix, room_id).await?;
    let (kind, content) = matrix.encryption.sealed(&matrix.api, room_id, &room, content).await?;
    let path = ["client", "v3", "rooms", room_id, "send", kind, key];
    matrix.api.call::<Sent>(Call::put(&path, content)).await.map(|sent| sent.event_id)
}

async fn room(matrix: &Matrix, room_id: &str) -> std::result::Result<Arc<Room>, Failed> {
    matrix.rooms.get(&matrix.api, matrix.me().await?, room_id).await.map_err(not_sent)
}

/// Nothing was sent yet, so nothing may have arrived.
fn not_sent(failed: Failed) -> Failed {
    match failed {
        Failed::Unanswered(why) => Failed::Unreachable(why),
        other => other,
    }
}

/// A new message.
pub(super) fn message(matrix: &Matrix, chat: &ChatRef, written: &Written, reply_to: Option<&str>) -> Value {
    related(matrix, body(written), chat, reply_to)
}

/// A text as the content of a message. It is no notice: that is what programs say to programs, and
/// clients show it greyed and tell nobody of it.
fn body(written: &Written) -> Value {
    let Written { text, plain } = written;
    match text == plain {
        true => json!({"msgtype": "m.text", "body": plain, "m.mentions": {}}),
        false => json!({
            "msgtype": "m.text", "body": plain, "m.mentions": {},
            "format": "org.matrix.custom.html", "formatted_body": text,
        }),
    }
}

/// Another text for a message.
pub(super) fn change(message_id: &str, written: &Written) -> Value {
    let fallback: String = written.plain.chars().take(FALLBACK_CHARS_MAX).collect();
    json!({
        "msgtype": "m.text",
        "body": format!("* {fallback}"),
        "m.mentions": {},
        "m.new_content": body(written),
        "m.relates_to": {"rel_type": "m.replace", "event_id": message_id},
    })
}

/// The content, in its thread and as an answer.
fn related(matrix: &Matrix, mut content: Value, chat: &ChatRef, reply_to: Option<&str>) -> Value {
    let Some(fields) = content.as_object_mut() else { return content };
    let answered = reply_to.map(|id| json!({"event_id": id}));
    let relation = match (&chat.thread, answered) {
        (Some(root), answered) => Some(json!({
            "rel_type": "m.thread",
            "event_id": root,
            // For clients without threads it is an answer to the first message of its own.
            "is_falling_back": answered.is_none(),
            "m.in_reply_to": answered.unwrap_or_else(|| json!({"event_id": root})),
        })),
        (None, Some(answered)) => Some(json!({"m.in_reply_to": answered})),
        (None, None) => None,
    };
    if let Some(relation) = relation {
        fields.insert("m.relates_to".to_owned(), relation);
    }
    // Who is answered is told of it, as by every client.
    if let Some(known) = reply_to.and_then(|id| matrix.memory.get(id)) {
        fields.insert("m.mentions".to_owned(), json!({"user_ids": [known.sender]}));
    }
    content
}

async fn file(
    matrix: &Matrix,
    outgoing: &Outgoing,
    (name, media_type, bytes): (&str, &str, &[u8]),
) -> Result<String> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        let message = format!("the file has {} bytes, over the limit of {FILE_BYTES_MAX}", bytes.len());
        return Err(SendFailure { class: DeliveryFailure::Refused, message, retry_after: None });
    }
    let source = uploaded(matrix, &outgoing.target.chat, (name, media_type, bytes)).await;
    let (field, source) = source.map_err(refusal::before_sending)?;
    let kind = match media_type.split_once('/').map(|(kind, _)| kind) {
        Some("image") => "m.image",
        Some("audio") => "m.audio",
        Some("video") => "m.video",
        _ => "m.file",
    };
    let content = json!({
        "msgtype": kind, "body": name, "filename": name, field: source, "m.mentions": {},
        "info": {"mimetype": media_type, "size": bytes.len()},
    });
    let content = related(matrix, content, &outgoing.target, outgoing.reply_to.as_deref());
    put(matrix, &outgoing.target.chat, &outgoing.key, content).await.map_err(refusal::of_message)
}

/// Uploads a file, sealed where the room is encrypted: the field of its message that says where it is,
/// and what that says. A repeat uploads once more: nothing refers to the first one, and nobody sees it.
async fn uploaded(
    matrix: &Matrix,
    room_id: &str,
    (name, media_type, bytes): (&str, &str, &[u8]),
) -> std::result::Result<(&'static str, Value), Failed> {
    let room = room(matrix, room_id).await?;
    if !matrix.encryption.is_sealed(&matrix.api, room_id, &room).await? {
        let uploaded: Uploaded = matrix.api.upload(name, media_type, bytes).await?;
        return Ok(("url", json!(uploaded.content_uri)));
    }
    let (sealed, mut told) =
        encryption::seal_file(bytes).map_err(|why| Failed::Unsealed { why, may_pass: false })?;
    // Neither its name nor its kind is for the server.
    let uploaded: Uploaded = matrix.api.upload("file", "application/octet-stream", &sealed).await?;
    told.insert("url".to_owned(), json!(uploaded.content_uri));
    Ok(("file", Value::Object(told)))
}
