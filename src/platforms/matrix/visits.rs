//! Coming into rooms, and saying in an encrypted one that herm cannot read it.
//!
//! An adapter does not know who may speak to herm, so by default it follows every invitation: being in a
//! room answers nobody, and what is said there passes the access rules like everything else. Whoever
//! does not want that sets `auto_join: false` and lets herm's account join by another client.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use herm_schema::events::ChatRef;
use reqwest::Method;
use serde_json::{Value, json};

use super::api::{Call, Failed};
use super::mentions::Me;
use super::{Matrix, inbound, outbound, refusal};
use crate::platforms::{Stopped, Written};

/// How long a join may take: the room may be on a slow server of others.
const JOIN_MAX: Duration = Duration::from_secs(60);
/// How often a join that fails for a reason that may pass is tried.
const JOINS_MAX: usize = 3;
/// Rooms that are remembered for either purpose.
const ROOMS_MAX: usize = 1000;
/// In the account's data of a room: it was told there.
const TOLD: &str = "herm.encrypted_room_told";
const NOTICE: &str = "This room is encrypted, and herm cannot read encrypted messages. \
                      Please write to herm in a room without encryption.";

/// A message that cannot be opened, and why.
pub(super) struct Unread {
    pub room_id: String,
    pub event_id: String,
    pub why: String,
}

/// What was done about rooms.
#[derive(Default)]
pub(super) struct Visits {
    /// Joins that failed, and how often.
    failed: Mutex<HashMap<String, usize>>,
    /// Encrypted rooms where it was said.
    told: Mutex<HashSet<String>>,
}

/// Follows an invitation. One that cannot be followed, now or after some tries, is passed over.
pub(super) async fn invited(matrix: &Matrix, room_id: &str) -> Result<(), Stopped> {
    if !matrix.auto_join {
        return Ok(());
    }
    let path = ["client", "v3", "join", room_id];
    let call = Call { method: Method::POST, body: Some(json!({})), time_max: JOIN_MAX, ..Call::get(&path) };
    let joined = matrix.api.call::<Value>(call).await;
    let mut tries = matrix.visits.failed.lock().unwrap_or_else(PoisonError::into_inner);
    let Err(failed) = joined else {
        tries.remove(room_id);
        return Ok(());
    };
    let may_pass = match &failed {
        Failed::Unreachable(_) | Failed::Unanswered(_) => true,
        Failed::Unsealed { may_pass, .. } => *may_pass,
        Failed::Refused { code, .. } => matches!(code, 401 | 429 | 500..),
    };
    if tries.len() > ROOMS_MAX {
        tries.clear();
    }
    let count = tries.entry(room_id.to_owned()).or_default();
    *count += 1;
    if may_pass && *count < JOINS_MAX {
        // The invitation is told once: the cursor must not go past it.
        return Err(refusal::of_account(failed));
    }
    tries.remove(room_id);
    tracing::warn!(room_id, ?failed, "an invitation cannot be followed");
    Ok(())
}

/// Says once in a room that herm cannot read it. That it was said is kept with the account, so that a
/// restart does not say it again; if it cannot be said now, the next encrypted message tries again.
pub(super) async fn tell_encrypted(matrix: &Matrix, me: &Me, room_id: &str) {
    {
        let mut told = matrix.visits.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() > ROOMS_MAX {
            told.clear();
        }
        if !told.insert(room_id.to_owned()) {
            return;
        }
    }
    if let Err(failed) = tell(matrix, me, room_id).await {
        tracing::warn!(room_id, ?failed, "it cannot be said that the room is encrypted");
        matrix.visits.told.lock().unwrap_or_else(PoisonError::into_inner).remove(room_id);
    }
}

async fn tell(matrix: &Matrix, me: &Me, room_id: &str) -> Result<(), Failed> {
    let mark = ["client", "v3", "user", me.id.as_str(), "rooms", room_id, "account_data", TOLD];
    match matrix.api.call::<Value>(Call::get(&mark)).await {
        Ok(_) => return Ok(()),
        Err(failed) if failed.is_missing() => {}
        Err(failed) => return Err(failed),
    }
    let key = format!("told-{}", blake3::hash(room_id.as_bytes()).to_hex());
    let content = json!({"msgtype": "m.notice", "body": NOTICE, "m.mentions": {}});
    let path = ["client", "v3", "rooms", room_id, "send", "m.room.message", key.as_str()];
    matrix.api.call::<Value>(Call::put(&path, content)).await?;
    matrix.api.call::<Value>(Call::put(&mark, json!({"told": true}))).await?;
    Ok(())
}

/// Says in a room that a message cannot be read; as an answer to it, and encrypted as all there.
pub(super) async fn tell_unread(matrix: &Matrix, unread: &Unread) -> Result<(), Failed> {
    let Unread { room_id, event_id, why } = unread;
    let text = format!(
        "I cannot read this message: {why}. I take it as soon as I can; if this stays so, please send it again."
    );
    let chat = ChatRef { platform: inbound::NAME.to_owned(), chat: room_id.clone(), thread: None };
    let content = outbound::message(matrix, &chat, &Written::plain(text), Some(event_id));
    let key = format!("unread-{}", blake3::hash(event_id.as_bytes()).to_hex());
    outbound::put(matrix, room_id, &key, content).await.map(|_| ())
}
