//! What herm sends, changes and shows: checked as Discord checks it, and recorded.

use std::collections::HashSet;

use axum::http::Method;
use herm::platforms::Button;
use herm::platforms::contract::{Seen, Who};
use serde_json::{Value, json};

use super::calls::{Call, Refusal, UNKNOWN_CHANNEL};
use super::state::{State, channel, place};

/// Longest text, in characters.
const TEXT_CHARS_MAX: usize = 2000;
const NONCE_CHARS_MAX: usize = 25;
const CUSTOM_ID_CHARS_MAX: usize = 100;
const UNKNOWN_MESSAGE: Refusal = Refusal(404, 10008, "Unknown Message");
const INVALID: Refusal = Refusal(400, 50035, "Invalid Form Body");

fn is_there(state: &State, id: &str) -> Result<(), Refusal> {
    match channel(id).is_some() && !state.removed.contains(id) {
        true => Ok(()),
        false => Err(UNKNOWN_CHANNEL),
    }
}

fn buttons(body: &Value) -> Result<Vec<Button>, Refusal> {
    let (mut buttons, mut ids) = (Vec::new(), HashSet::new());
    let rows = body["components"].as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.len() > 5 {
        return Err(INVALID);
    }
    for row in rows {
        let keys = row["components"].as_array().filter(|keys| (1..=5).contains(&keys.len()));
        for key in keys.filter(|_| row["type"] == 1).ok_or(INVALID)? {
            let (label, id) =
                (key["label"].as_str().ok_or(INVALID)?, key["custom_id"].as_str().ok_or(INVALID)?);
            let is_right = key["type"] == 2
                && (1..=4).contains(&key["style"].as_u64().unwrap_or(0))
                && (1..=80).contains(&label.chars().count())
                && (1..=CUSTOM_ID_CHARS_MAX).contains(&id.chars().count());
            if !is_right || !ids.insert(id) {
                return Err(INVALID);
            }
            buttons.push(Button { label: label.to_owned(), data: id.to_owned() });
        }
    }
    Ok(buttons)
}

fn text(state: &mut State, body: &Value) -> Result<String, Refusal> {
    if body["allowed_mentions"]["parse"] != json!([]) {
        state.problems.push("a message may call people".to_owned());
    }
    let text = body["content"].as_str().unwrap_or_default();
    match text.chars().count() > TEXT_CHARS_MAX {
        true => Err(INVALID),
        false => Ok(text.trim().to_owned()),
    }
}

/// The message that a new one answers, if it is there.
fn answered(state: &State, body: &Value) -> Result<Option<String>, Refusal> {
    let reference = &body["message_reference"];
    let Some(id) = reference["message_id"].as_str() else { return Ok(None) };
    let is_there = id.parse().is_ok_and(|id: u64| state.messages.contains_key(&id));
    match (is_there, reference["fail_if_not_exists"] == false) {
        (true, _) => Ok(Some(id.to_owned())),
        (false, true) => Ok(None),
        (false, false) => Err(INVALID),
    }
}

/// Sends a message; the message.
pub fn create(state: &mut State, id: &str, call: &Call) -> Result<Value, Refusal> {
    is_there(state, id)?;
    let body = &call.body;
    let (text, buttons) = (text(state, body)?, buttons(body)?);
    if text.is_empty() && call.file.is_none() {
        return Err(Refusal(400, 50006, "Cannot send an empty message"));
    }
    let reply_to = answered(state, body)?;
    let nonce = body["nonce"].as_str().map(str::to_owned);
    if let Some(nonce) = nonce.as_ref().filter(|_| body["enforce_nonce"] == true) {
        if nonce.chars().count() > NONCE_CHARS_MAX {
            return Err(INVALID);
        }
        let known = state.nonces.get(nonce).and_then(|id| state.messages.get(&id.parse().ok()?));
        if let Some(known) = known {
            return Ok(known.clone());
        }
    }
    let number = state.new_id();
    let message_id = number.to_string();
    let mut message = state.message(number, id, Who::Herm, &text);
    message["components"] = body["components"].clone();
    let file = call.file.as_ref().map(|(name, bytes)| (name.clone(), bytes.to_vec()));
    if let Some(nonce) = nonce {
        message["nonce"] = nonce.as_str().into();
        state.nonces.insert(nonce, message_id.clone());
    }
    let chat = place(id);
    state.record.sent.push(Seen {
        chat,
        message_id,
        text,
        reply_to,
        file,
        buttons,
        edits: 0,
        deleted: false,
    });
    state.messages.insert(number, message.clone());
    // A bot hears itself.
    state.dispatch("MESSAGE_CREATE", message.clone());
    Ok(message)
}

/// Changes a message; the message.
pub fn change(state: &mut State, id: &str, message_id: &str, call: &Call) -> Result<Value, Refusal> {
    is_there(state, id)?;
    let body = &call.body;
    let (text, buttons) = (text(state, body)?, buttons(body)?);
    if state.seen(message_id).is_none() {
        let number = message_id.parse().unwrap_or(0);
        return Err(match state.messages.contains_key(&number) {
            true => Refusal(403, 50005, "Cannot edit a message authored by another user"),
            false => UNKNOWN_MESSAGE,
        });
    }
    let number: u64 = message_id.parse().unwrap();
    let mut message = state.messages[&number].clone();
    let seen = state.seen(message_id).unwrap();
    if !body["content"].is_null() {
        message["content"] = text.as_str().into();
        message["edited_timestamp"] = "2025-11-30T12:30:00.000000+00:00".into();
        seen.text = text;
        seen.edits += 1;
    }
    if !body["components"].is_null() {
        message["components"] = body["components"].clone();
        seen.buttons = buttons;
    }
    state.messages.insert(number, message.clone());
    state.dispatch("MESSAGE_UPDATE", message.clone());
    Ok(message)
}

/// What is shown and never owed.
pub fn act(state: &mut State, method: &Method, segments: &[&str]) -> Result<Option<Value>, Refusal> {
    match (method.as_str(), segments) {
        ("POST", ["channels", id, "typing"]) => {
            is_there(state, id)?;
            state.record.typing.push(place(id));
        }
        ("DELETE", ["channels", id, "messages", message_id]) => {
            is_there(state, id)?;
            state.seen(message_id).ok_or(UNKNOWN_MESSAGE)?.deleted = true;
            state.messages.remove(&message_id.parse().unwrap_or(0));
        }
        ("PUT", ["channels", id, "messages", message_id, "reactions", emoji, "@me"]) => {
            is_there(state, id)?;
            if !state.messages.contains_key(&message_id.parse().unwrap_or(0)) {
                return Err(UNKNOWN_MESSAGE);
            }
            if emoji.is_ascii() && !emoji.contains(':') {
                return Err(Refusal(400, 10014, "Unknown Emoji"));
            }
            state.record.reactions.push(((*message_id).to_owned(), (*emoji).to_owned()));
        }
        _ => return Err(Refusal(404, 0, "404: Not Found")),
    }
    Ok(None)
}
