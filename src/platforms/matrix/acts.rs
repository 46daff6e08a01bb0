//! What herm shows and never owes: typing, posting, changing, taking back, reacting.

use serde_json::{Value, json};

use super::api::{Call, Failed};
use super::wire::Sent;
use super::{Matrix, TYPING, outbound, refusal};
use crate::platforms::{Act, SendFailure};

/// Own reactions that are remembered, so that they can be taken back.
const REACTIONS_MAX: usize = 256;

pub(super) async fn act(matrix: &Matrix, act: &Act) -> Result<Option<String>, SendFailure> {
    done(matrix, act).await.map_err(refusal::of_message)
}

async fn done(matrix: &Matrix, act: &Act) -> Result<Option<String>, Failed> {
    match act {
        Act::Typing { chat } => {
            let me = matrix.me().await?;
            let path = ["client", "v3", "rooms", chat.chat.as_str(), "typing", me.id.as_str()];
            let millis = u64::try_from(TYPING.as_millis()).unwrap_or(u64::MAX);
            let body = json!({"typing": true, "timeout": millis});
            matrix.api.call::<Value>(Call::put(&path, body)).await.map(|_| None)
        }
        Act::Post { chat, text, reply_to } => {
            let content = outbound::message(matrix, chat, text, reply_to.as_deref());
            outbound::put(matrix, &chat.chat, &matrix.transaction(), content).await.map(Some)
        }
        Act::Edit { chat, message_id, text } => {
            let content = outbound::change(message_id, text);
            outbound::put(matrix, &chat.chat, &matrix.transaction(), content).await.map(|_| None)
        }
        Act::Delete { chat, message_id } => match redact(matrix, &chat.chat, message_id).await {
            Err(failed) if failed.is_missing() => Ok(None),
            other => other.map(|()| None),
        },
        Act::React { chat, message_id, emoji } => react(matrix, &chat.chat, message_id, emoji).await,
        // There are no buttons, so nobody presses one.
        Act::Answered { .. } => Ok(None),
    }
}

async fn redact(matrix: &Matrix, room_id: &str, event_id: &str) -> Result<(), Failed> {
    let key = matrix.transaction();
    let path = ["client", "v3", "rooms", room_id, "redact", event_id, key.as_str()];
    matrix.api.call::<Sent>(Call::put(&path, json!({}))).await.map(|_| ())
}

/// Gives a reaction; an empty one takes back those that were given.
async fn react(
    matrix: &Matrix,
    room_id: &str,
    message_id: &str,
    emoji: &str,
) -> Result<Option<String>, Failed> {
    if emoji.is_empty() {
        for reaction in matrix.reactions_taken(message_id) {
            redact(matrix, room_id, &reaction).await?;
        }
        return Ok(None);
    }
    let key = matrix.transaction();
    let path = ["client", "v3", "rooms", room_id, "send", "m.reaction", key.as_str()];
    let relation = json!({"rel_type": "m.annotation", "event_id": message_id, "key": emoji});
    match matrix.api.call::<Sent>(Call::put(&path, json!({"m.relates_to": relation}))).await {
        Ok(sent) => matrix.reaction_given(message_id, sent.event_id, REACTIONS_MAX),
        // It stands there already.
        Err(failed) if failed.has_code("M_DUPLICATE_ANNOTATION") => {}
        Err(failed) => return Err(failed),
    }
    Ok(None)
}
