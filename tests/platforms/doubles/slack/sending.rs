//! What herm sends, changes and shows: checked as Slack checks it, and recorded.

use std::collections::HashSet;

use herm::platforms::Button;
use herm::platforms::contract::{Seen, Who};
use herm_schema::events::ChatRef;
use serde_json::{Value, json};

use super::HERM_BOT;
use super::state::{State, conversation, user_id};

/// Longest text, in characters.
const TEXT_CHARS_MAX: usize = 40_000;
const SECTION_CHARS_MAX: usize = 3000;
const VALUE_CHARS_MAX: usize = 2000;

type Answer = Result<Value, &'static str>;

/// The conversation of a call; a person's id is the direct chat with the person.
fn channel(state: &State, call: &Value, name: &str) -> Result<String, &'static str> {
    let id = call[name].as_str().unwrap_or_default();
    let id = id.strip_prefix("U0PERSON").map_or_else(|| id.to_owned(), |number| format!("D0CHAT{number}"));
    match conversation(&id) {
        None => Err("channel_not_found"),
        Some(_) if state.removed.contains(&id) => Err("not_in_channel"),
        Some(_) => Ok(id),
    }
}

fn readable(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn buttons(call: &Value) -> Result<Vec<Button>, &'static str> {
    let (mut buttons, mut ids) = (Vec::new(), HashSet::new());
    for block in call["blocks"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("section") => {
                let chars = block["text"]["text"].as_str().unwrap_or_default().chars().count();
                if !(1..=SECTION_CHARS_MAX).contains(&chars) {
                    return Err("invalid_blocks");
                }
            }
            Some("actions") => {
                for key in block["elements"].as_array().into_iter().flatten() {
                    let label = key["text"]["text"].as_str().ok_or("invalid_blocks")?;
                    let value = key["value"].as_str().ok_or("invalid_blocks")?;
                    let is_right = (1..=75).contains(&label.chars().count())
                        && value.chars().count() <= VALUE_CHARS_MAX
                        && key["text"]["type"] == "plain_text";
                    if !is_right || !ids.insert(key["action_id"].as_str().ok_or("invalid_blocks")?) {
                        return Err("invalid_blocks");
                    }
                    buttons.push(Button { label: label.to_owned(), data: value.to_owned() });
                }
            }
            _ => return Err("invalid_blocks"),
        }
    }
    Ok(buttons)
}

fn text(call: &Value) -> Result<String, &'static str> {
    let text = call["text"].as_str().unwrap_or_default();
    match text.chars().count() {
        0 => Err("no_text"),
        chars if chars > TEXT_CHARS_MAX => Err("msg_too_long"),
        _ => Ok(text.to_owned()),
    }
}

/// Where it is shown, and what it answers: in a thread of the tests it is said there, below any other
/// message it answers that.
fn place(state: &State, channel: &str, call: &Value) -> Result<(ChatRef, Option<String>), &'static str> {
    let chat = |thread| ChatRef { platform: "slack".to_owned(), chat: channel.to_owned(), thread };
    let Some(thread) = call["thread_ts"].as_str() else { return Ok((chat(None), None)) };
    let key = (channel.to_owned(), thread.to_owned());
    if state.threads.contains(&key) {
        return Ok((chat(Some(thread.to_owned())), None));
    }
    match state.messages.contains_key(&key) {
        true => Ok((chat(None), Some(thread.to_owned()))),
        false => Err("thread_not_found"),
    }
}

fn shown(state: &mut State, seen: Seen, raw: &str, thread: &Value) {
    let key = (seen.chat.chat.clone(), seen.message_id.clone());
    let mut message = json!({
        "type": "message", "user": user_id(Who::Herm), "bot_id": HERM_BOT, "text": raw, "ts": seen.message_id,
    });
    if !thread.is_null() {
        message["thread_ts"] = thread.clone();
    }
    state.messages.insert(key, message.clone());
    // A bot hears itself.
    message["channel"] = seen.chat.chat.as_str().into();
    state.event(message, None);
    state.record.sent.push(seen);
}

pub fn post(state: &mut State, call: &Value) -> Answer {
    let id = channel(state, call, "channel")?;
    let (raw, buttons) = (text(call)?, buttons(call)?);
    let (chat, reply_to) = place(state, &id, call)?;
    let ts = state.new_ts();
    let (message_id, text) = (ts.clone(), readable(&raw));
    let seen = Seen { chat, message_id, text, reply_to, file: None, buttons, edits: 0, deleted: false };
    shown(state, seen, &raw, &call["thread_ts"]);
    Ok(json!({"channel": id, "ts": ts, "message": {"text": raw, "ts": ts}}))
}

pub fn update(state: &mut State, call: &Value) -> Answer {
    let id = channel(state, call, "channel")?;
    let (raw, buttons) = (text(call)?, buttons(call)?);
    let ts = call["ts"].as_str().unwrap_or_default().to_owned();
    let key = (id.clone(), ts.clone());
    let Some(seen) = state.seen(&id, &ts) else {
        let is_anothers = state.messages.contains_key(&key);
        return Err(if is_anothers { "cant_update_message" } else { "message_not_found" });
    };
    seen.text = readable(&raw);
    seen.edits += 1;
    if !call["blocks"].is_null() {
        seen.buttons = buttons;
    }
    let old = state.messages[&key].clone();
    let mut new = old.clone();
    new["text"] = raw.as_str().into();
    new["edited"] = json!({"user": user_id(Who::Herm), "ts": state.new_ts()});
    state.messages.insert(key, new.clone());
    let event = json!({
        "type": "message", "subtype": "message_changed", "channel": id, "message": new,
        "previous_message": old, "hidden": true,
    });
    state.event(event, None);
    Ok(json!({"channel": id, "ts": ts, "text": raw}))
}

pub fn complete_upload(state: &mut State, call: &Value) -> Answer {
    let id = channel(state, call, "channel_id")?;
    let (chat, reply_to) = place(state, &id, call)?;
    let file_id = call["files"][0]["id"].as_str().unwrap_or_default().to_owned();
    let (name, length, bytes) = state.uploads.get(&file_id).cloned().ok_or("file_not_found")?;
    let bytes = bytes.filter(|bytes| bytes.len() == length).ok_or("file_upload_size_mismatch")?;
    let ts = state.new_ts();
    let seen = Seen {
        chat,
        message_id: ts.clone(),
        text: String::new(),
        reply_to,
        file: Some((name.clone(), bytes)),
        buttons: Vec::new(),
        edits: 0,
        deleted: false,
    };
    shown(state, seen, "", &call["thread_ts"]);
    // Sometimes the message is there when it is answered, sometimes not yet.
    let shares = match state.uploads.len() % 2 {
        0 => json!({}),
        _ => json!({"private": {id: [{"ts": ts}]}}),
    };
    Ok(json!({"files": [{"id": file_id, "title": name, "shares": shares}]}))
}

/// What is shown and never owed.
pub fn act(state: &mut State, method: &str, call: &Value) -> Answer {
    let id = channel(state, call, "channel")?;
    let word = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
    match method {
        "chat.delete" => {
            let ts = word("ts");
            state.seen(&id, &ts).ok_or("message_not_found")?.deleted = true;
            state.messages.remove(&(id, ts));
        }
        "chat.postEphemeral" => {
            if word("user").is_empty() || word("text").is_empty() {
                return Err("invalid_arguments");
            }
            state.record.answers.push(readable(&word("text")));
        }
        "reactions.add" => {
            let ts = word("timestamp");
            if !state.messages.contains_key(&(id, ts.clone())) {
                return Err("message_not_found");
            }
            let emoji = match word("name").as_str() {
                "eyes" => "👀",
                "+1" => "👍",
                "white_check_mark" => "✅",
                _ => return Err("invalid_name"),
            };
            let reaction = (ts, emoji.to_owned());
            if state.record.reactions.contains(&reaction) {
                return Err("already_reacted");
            }
            state.record.reactions.push(reaction);
        }
        _ => return Err("unknown_method"),
    }
    Ok(json!({}))
}
