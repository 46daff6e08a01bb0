//! What herm sends, changes and shows: checked as Telegram checks it, and recorded.

use herm::platforms::Button;
use herm::platforms::contract::Seen;
use herm_schema::events::ChatRef;
use serde_json::{Value, json};

use super::calls::{Call, Refusal, bad};
use super::markdown;
use super::state::{State, chat, herm};

/// Longest text, in UTF-16 code units, without markup.
const TEXT_UNITS_MAX: usize = 4096;
/// Most bytes that a button carries.
const BUTTON_BYTES_MAX: usize = 64;
/// Largest photo.
const PHOTO_BYTES_MAX: usize = 10_000_000;

/// A number that may be written as a text.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The chat that a call is about.
fn place(state: &State, settings: &Value) -> Result<(i64, ChatRef), Refusal> {
    let id = number(&settings["chat_id"]).filter(|id| chat(*id).is_some());
    let id = id.ok_or_else(|| bad("chat not found"))?;
    if let Some(to) = state.migrated.get(&id) {
        let why = "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
        return Err(Refusal(400, why, Some(json!({"migrate_to_chat_id": to}))));
    }
    if state.removed.contains(&id) {
        return Err(Refusal(403, "Forbidden: bot was kicked from the supergroup chat".to_owned(), None));
    }
    let thread = number(&settings["message_thread_id"]);
    if thread.is_some_and(|thread| thread <= 1 || id > 0) {
        return Err(bad("message thread not found"));
    }
    let thread = thread.map(|thread| thread.to_string());
    Ok((id, ChatRef { platform: "telegram".to_owned(), chat: id.to_string(), thread }))
}

fn text(settings: &Value, field: &str) -> Result<String, Refusal> {
    let text = settings[field].as_str().unwrap_or_default();
    let text = match settings["parse_mode"].as_str() {
        Some("MarkdownV2") => {
            let parsed = markdown::parse(text);
            parsed.map_err(|why| bad(&format!("can't parse entities: {why}")))?.text
        }
        Some(_) => return Err(bad("unsupported parse_mode")),
        None => text.to_owned(),
    };
    if text.trim().is_empty() && field == "text" {
        return Err(bad("message text is empty"));
    }
    if markdown::units(&text) > TEXT_UNITS_MAX {
        return Err(bad("message is too long"));
    }
    Ok(text.trim().to_owned())
}

fn buttons(settings: &Value) -> Result<Vec<Button>, Refusal> {
    let mut buttons = Vec::new();
    let rows = settings["reply_markup"]["inline_keyboard"].as_array();
    for key in rows.into_iter().flatten().flat_map(|row| row.as_array().into_iter().flatten()) {
        let part = |name: &str| key[name].as_str().unwrap_or_default().to_owned();
        let (label, data) = (part("text"), part("callback_data"));
        if data.is_empty() || data.len() > BUTTON_BYTES_MAX {
            return Err(bad("BUTTON_DATA_INVALID"));
        }
        buttons.push(Button { label, data });
    }
    Ok(buttons)
}

/// The message that a new one answers, if it is there.
fn answered(state: &State, chat_id: i64, settings: &Value) -> Result<Option<String>, Refusal> {
    let to = &settings["reply_parameters"];
    let Some(id) = number(&to["message_id"]) else { return Ok(None) };
    let is_there = state.messages.contains_key(&(chat_id, id))
        || state.record.sent.iter().any(|seen| seen.message_id == id.to_string() && !seen.deleted);
    match (is_there, to["allow_sending_without_reply"] == true) {
        (true, _) => Ok(Some(id.to_string())),
        (false, true) => Ok(None),
        (false, false) => Err(bad("message to be replied not found")),
    }
}

/// Sends or changes a message; what is answered.
pub fn send(state: &mut State, method: &str, call: &Call) -> Result<Value, Refusal> {
    let settings = &call.settings;
    let (chat_id, place) = place(state, settings)?;
    if method == "editMessageText" {
        return edit(state, settings);
    }
    let (field, part) = match method {
        "sendPhoto" => ("caption", Some("photo")),
        "sendDocument" => ("caption", Some("document")),
        _ => ("text", None),
    };
    let file = match part.map(|part| call.files.get(part)) {
        None => None,
        Some(None) => return Err(bad("there is no file in the request")),
        Some(Some((_, bytes))) if bytes.is_empty() => return Err(bad("file must be non-empty")),
        Some(Some((_, bytes))) if method == "sendPhoto" && bytes.len() > PHOTO_BYTES_MAX => {
            return Err(Refusal(413, "Request Entity Too Large".to_owned(), None));
        }
        // What is no image is none, whatever it is called.
        Some(Some((_, bytes))) if method == "sendPhoto" && !is_image(bytes) => {
            return Err(bad("IMAGE_PROCESS_FAILED"));
        }
        Some(Some((name, bytes))) => Some((name.clone(), bytes.to_vec())),
    };
    let (text, buttons) = (text(settings, field)?, buttons(settings)?);
    let reply_to = answered(state, chat_id, settings)?;
    let id = state.new_message();
    let message_id = id.to_string();
    let seen = Seen { chat: place, message_id, text, reply_to, file, buttons, edits: 0, deleted: false };
    let result = json!({
        "message_id": id, "chat": chat(chat_id), "date": 1_764_500_000 + id, "from": herm(), "text": seen.text,
    });
    state.record.sent.push(seen);
    Ok(result)
}

fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG") || bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"RIFF")
}

/// A message of herm's that stands.
fn standing<'a>(state: &'a mut State, settings: &Value, missing: &str) -> Result<&'a mut Seen, Refusal> {
    let id = number(&settings["message_id"]).unwrap_or_default().to_string();
    let chat = number(&settings["chat_id"]).unwrap_or_default().to_string();
    let mut sent = state.record.sent.iter_mut();
    let found = sent.find(|seen| seen.message_id == id && seen.chat.chat == chat && !seen.deleted);
    found.ok_or_else(|| bad(missing))
}

fn unchanged() -> Refusal {
    bad("message is not modified: specified new message content and reply markup are exactly the same as a \
         current content and reply markup of the message")
}

fn edit(state: &mut State, settings: &Value) -> Result<Value, Refusal> {
    let (text, buttons) = (text(settings, "text")?, buttons(settings)?);
    let seen = standing(state, settings, "message to edit not found")?;
    if seen.text == text && seen.buttons == buttons {
        return Err(unchanged());
    }
    (seen.text, seen.buttons) = (text, buttons);
    seen.edits += 1;
    Ok(
        json!({"message_id": number(&settings["message_id"]), "chat": {"id": seen.chat.chat}, "text": seen.text}),
    )
}

/// What is shown and never owed.
pub fn act(state: &mut State, method: &str, settings: &Value) -> Result<Value, Refusal> {
    if method == "answerCallbackQuery" {
        let press = settings["callback_query_id"].as_str().unwrap_or_default();
        if !state.presses.contains(press) {
            return Err(bad("query is too old and response timeout expired or query ID is invalid"));
        }
        state.record.answers.push(settings["text"].as_str().unwrap_or_default().to_owned());
        return Ok(true.into());
    }
    let (chat_id, place) = place(state, settings)?;
    match method {
        "sendChatAction" => state.record.typing.push(place),
        "editMessageReplyMarkup" => {
            let buttons = buttons(settings)?;
            let seen = standing(state, settings, "message to edit not found")?;
            if seen.buttons == buttons {
                return Err(unchanged());
            }
            seen.buttons = buttons;
        }
        "deleteMessage" => standing(state, settings, "message to delete not found")?.deleted = true,
        "setMessageReaction" => {
            let id = number(&settings["message_id"]).unwrap_or_default();
            if !state.messages.contains_key(&(chat_id, id)) {
                return Err(bad("message to react not found"));
            }
            for reaction in settings["reaction"].as_array().into_iter().flatten() {
                let emoji = reaction["emoji"].as_str().ok_or_else(|| bad("REACTION_INVALID"))?;
                state.record.reactions.push((id.to_string(), emoji.to_owned()));
            }
        }
        _ => return Err(Refusal(404, "Not Found".to_owned(), None)),
    }
    Ok(true.into())
}
