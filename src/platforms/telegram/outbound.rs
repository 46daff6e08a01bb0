//! What herm says, as calls of the Bot API; one request, and a second only after a certain refusal.

use herm_schema::events::{ChatRef, DeliveryFailure};
use reqwest::multipart::{Form, Part};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::api::{CALL_MAX, Failed};
use super::wire::{Key, Keyboard, LinkPreview, Place, ReplyParameters, Sent, Text};
use super::{FILE_BYTES_MAX, Telegram, refusal};
use crate::platforms::{Button, Outgoing, Say, SendFailure, Written};

/// Largest image that is sent as a photo.
const PHOTO_BYTES_MAX: usize = 10_000_000;
/// Image types that Telegram shows as photos.
const PHOTO_TYPES: &[&str] = &["image/jpeg", "image/png", "image/webp"];
/// Buttons side by side.
const BUTTONS_IN_ROW: usize = 2;
/// Telegram's number for the general topic of a forum, which must not be named when sending.
const GENERAL_TOPIC: i64 = 1;

type Result<T> = std::result::Result<T, SendFailure>;

/// Sends a chunk; the id of the message.
pub(super) async fn send(telegram: &Telegram, outgoing: &Outgoing) -> Result<Option<String>> {
    match &outgoing.content {
        Say::Text(written) => text(telegram, outgoing, written).await,
        Say::File { name, media_type, bytes } => file(telegram, outgoing, (name, media_type, bytes)).await,
    }
}

async fn text(telegram: &Telegram, outgoing: &Outgoing, written: &Written) -> Result<Option<String>> {
    let buttons = keyboard(&outgoing.buttons);
    if let Some(standing) = outgoing.replaces.as_deref() {
        let changed = change(telegram, &outgoing.target, standing, written, buttons.clone()).await;
        match changed {
            Ok(()) => return Ok(Some(standing.to_owned())),
            Err(failed) if refusal::is_message_gone(&failed) => {}
            Err(failed) => return Err(refusal::of_message(failed)),
        }
    }
    post(telegram, &outgoing.target, written, outgoing.reply_to.as_deref(), buttons).await.map(Some)
}

/// Sends a new message.
pub(super) async fn post(
    telegram: &Telegram,
    chat: &ChatRef,
    written: &Written,
    reply_to: Option<&str>,
    buttons: Option<Keyboard>,
) -> Result<String> {
    let request = Text {
        place: place(chat),
        message_id: None,
        text: "",
        parse_mode: None,
        reply_parameters: reply(reply_to),
        reply_markup: buttons,
        link_preview_options: previews(telegram),
    };
    let sent: std::result::Result<Sent, Failed> = write(telegram, "sendMessage", request, written).await;
    sent.map(|sent| sent.message_id.to_string()).map_err(refusal::of_message)
}

/// Gives a message another text; that it stands so already is no failure.
pub(super) async fn change(
    telegram: &Telegram,
    chat: &ChatRef,
    message_id: &str,
    written: &Written,
    buttons: Option<Keyboard>,
) -> std::result::Result<(), Failed> {
    let request = Text {
        place: Place { message_thread_id: None, ..place(chat) },
        message_id: Some(number(message_id)?),
        text: "",
        parse_mode: None,
        reply_parameters: None,
        reply_markup: buttons,
        link_preview_options: previews(telegram),
    };
    // A message, or `true` for one that was sent through a chat's inline mode.
    match write::<IgnoredAny>(telegram, "editMessageText", request, written).await {
        Err(failed) if !refusal::is_unchanged(&failed) => Err(failed),
        _ => Ok(()),
    }
}

/// Says a text with its markup, and if that cannot be read, without.
async fn write<T: DeserializeOwned>(
    telegram: &Telegram,
    method: &str,
    request: Text<'_>,
    written: &Written,
) -> std::result::Result<T, Failed> {
    // Where both are the same there is nothing to read, and a full stop would be a mistake in it.
    if written.text != written.plain {
        let marked = Text { text: &written.text, parse_mode: Some("MarkdownV2"), ..request.clone() };
        match telegram.api.call(method, &marked, CALL_MAX).await {
            Err(failed) if refusal::is_bad_markup(&failed) => {}
            other => return other,
        }
    }
    let plain = Text { text: &written.plain, ..request };
    telegram.api.call(method, &plain, CALL_MAX).await
}

async fn file(
    telegram: &Telegram,
    outgoing: &Outgoing,
    (name, media_type, bytes): (&str, &str, &[u8]),
) -> Result<Option<String>> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
        let message = format!("the file has {} bytes, over the limit of {FILE_BYTES_MAX}", bytes.len());
        return Err(SendFailure { class: DeliveryFailure::Refused, message, retry_after: None });
    }
    let upload = async |method: &str, field: &'static str| {
        let form = form(outgoing, field, (name, media_type, bytes));
        let sent: std::result::Result<Sent, Failed> = telegram.api.upload(method, form).await;
        sent.map(|sent| Some(sent.message_id.to_string()))
    };
    if PHOTO_TYPES.contains(&media_type) && bytes.len() <= PHOTO_BYTES_MAX {
        match upload("sendPhoto", "photo").await {
            Err(failed) if refusal::is_no_photo(&failed) => {}
            other => return other.map_err(refusal::of_message),
        }
    }
    upload("sendDocument", "document").await.map_err(refusal::of_message)
}

fn form(outgoing: &Outgoing, field: &'static str, (name, media_type, bytes): (&str, &str, &[u8])) -> Form {
    let Place { chat_id, message_thread_id } = place(&outgoing.target);
    // Telegram reads names as browsers write them: as they are, but for what would end them.
    let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\' | '/')).collect();
    let part = || Part::bytes(bytes.to_vec()).file_name(name.clone());
    let typed = part().mime_str(media_type).unwrap_or_else(|_| part());
    let mut form = Form::new().percent_encode_noop().text("chat_id", chat_id).part(field, typed);
    if let Some(thread) = message_thread_id {
        form = form.text("message_thread_id", thread.to_string());
    }
    for (name, json) in [
        ("reply_parameters", reply(outgoing.reply_to.as_deref()).map(|reply| json(&reply))),
        ("reply_markup", keyboard(&outgoing.buttons).map(|keyboard| json(&keyboard))),
    ] {
        if let Some(json) = json {
            form = form.text(name, json);
        }
    }
    form
}

fn json(value: &impl Serialize) -> String {
    // Structures of texts and numbers can always be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// Where to send to.
pub(super) fn place(chat: &ChatRef) -> Place {
    let thread = chat.thread.as_deref().and_then(|thread| thread.parse().ok());
    Place { chat_id: chat.chat.clone(), message_thread_id: thread.filter(|thread| *thread != GENERAL_TOPIC) }
}

/// A message's number; one that is none cannot be there.
pub(super) fn number(message_id: &str) -> std::result::Result<i64, Failed> {
    message_id.parse().map_err(|_| Failed::Refused {
        code: 400,
        description: format!("message to edit not found: `{message_id}` is no id of a message"),
        retry_after: None,
        migrated_to: None,
    })
}

fn reply(to: Option<&str>) -> Option<ReplyParameters> {
    let message_id = to?.parse().ok()?;
    Some(ReplyParameters { message_id, allow_sending_without_reply: true })
}

fn previews(telegram: &Telegram) -> Option<LinkPreview> {
    (!telegram.link_previews).then_some(LinkPreview { is_disabled: true })
}

fn keyboard(buttons: &[Button]) -> Option<Keyboard> {
    let key = |button: &Button| Key { text: button.label.clone(), callback_data: button.data.clone() };
    let rows = buttons.chunks(BUTTONS_IN_ROW).map(|row| row.iter().map(key).collect());
    (!buttons.is_empty()).then(|| Keyboard { inline_keyboard: rows.collect() })
}
