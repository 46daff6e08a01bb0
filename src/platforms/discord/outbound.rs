//! What herm says, as calls of the API: one request, and a second only after a certain refusal.
//!
//! Source: API v10, "Message", "Create Message", "Edit Message", "Uploading Files", "Component Reference".

use herm_schema::events::{ChatRef, DeliveryFailure};
use reqwest::multipart::{Form, Part};

use super::api::Failed;
use super::wire::{ActionRow, Answers, Attached, Mentions, Sent, WireButton, Written};
use super::{Discord, FILE_BYTES_MAX, refusal};
use crate::platforms::{Button, Outgoing, Say, SendFailure};

/// Longest nonce, in characters.
const NONCE_CHARS: usize = 25;
/// Buttons side by side, rows of them, and the longest label in characters.
const BUTTONS_IN_ROW: usize = 5;
const ROWS_MAX: usize = 5;
const LABEL_CHARS_MAX: usize = 80;
/// Kinds of components, and the style of a button that presses for nothing.
const ACTION_ROW: u8 = 1;
const BUTTON: u8 = 2;
const SECONDARY: u8 = 2;

/// Sends a chunk; the id of the message.
pub(super) async fn send(discord: &Discord, outgoing: &Outgoing) -> Result<Option<String>, SendFailure> {
    let sent = match &outgoing.content {
        Say::Text(written) => text(discord, outgoing, &written.text).await,
        Say::File { name, media_type, bytes } => {
            if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES_MAX {
                let message =
                    format!("the file has {} bytes, over the limit of {FILE_BYTES_MAX}", bytes.len());
                return Err(SendFailure { class: DeliveryFailure::Refused, message, retry_after: None });
            }
            file(discord, outgoing, (name, media_type, bytes)).await
        }
    };
    sent.map(Some).map_err(refusal::of_message)
}

async fn text(discord: &Discord, outgoing: &Outgoing, text: &str) -> Result<String, Failed> {
    if let Some(standing) = outgoing.replaces.as_deref() {
        let changed = change(discord, &outgoing.target, standing, text, &outgoing.buttons).await;
        match changed {
            Err(failed) if refusal::is_message_gone(&failed) => {}
            Err(failed) => return Err(failed),
            Ok(()) => return Ok(standing.to_owned()),
        }
    }
    let body = Written { content: Some(text), ..written(outgoing) };
    create(discord, &outgoing.target, &body).await
}

/// What is the same for every message that is sent.
fn written(outgoing: &Outgoing) -> Written<'_> {
    // Letters and digits of the key would do, but it may be longer than a nonce can be.
    let nonce = blake3::hash(outgoing.key.as_bytes()).to_hex().chars().take(NONCE_CHARS).collect();
    Written {
        nonce: Some(nonce),
        enforce_nonce: true,
        message_reference: outgoing.reply_to.as_deref().map(answers),
        components: Some(rows(&outgoing.buttons)).filter(|rows| !rows.is_empty()),
        ..nothing()
    }
}

pub(super) fn nothing<'a>() -> Written<'a> {
    Written {
        content: None,
        nonce: None,
        enforce_nonce: false,
        allowed_mentions: Mentions::default(),
        message_reference: None,
        components: None,
        attachments: Vec::new(),
    }
}

pub(super) fn answers(message_id: &str) -> Answers<'_> {
    Answers { message_id, fail_if_not_exists: false }
}

/// Sends a new message.
pub(super) async fn create(discord: &Discord, chat: &ChatRef, body: &Written<'_>) -> Result<String, Failed> {
    let channel = discord.channel(&chat.chat).await?;
    let sent: Sent = discord.api.post(&["channels", &channel, "messages"], body).await?;
    Ok(sent.id)
}

/// Gives a message another text and other buttons.
pub(super) async fn change(
    discord: &Discord,
    chat: &ChatRef,
    message_id: &str,
    text: &str,
    buttons: &[Button],
) -> Result<(), Failed> {
    let body = Written { content: Some(text), components: Some(rows(buttons)), ..nothing() };
    let channel = discord.channel(&chat.chat).await?;
    let segments = ["channels", &channel, "messages", message_id];
    discord.api.patch::<Sent>(&segments, &body).await.map(|_| ())
}

async fn file(
    discord: &Discord,
    outgoing: &Outgoing,
    (name, media_type, bytes): (&str, &str, &[u8]),
) -> Result<String, Failed> {
    // As it is, but for what would end it in the form.
    let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\' | '/')).collect();
    let body = Written { attachments: vec![Attached { id: 0, filename: &name }], ..written(outgoing) };
    // A structure of texts and numbers can always be written.
    let payload = serde_json::to_string(&body).unwrap_or_default();
    let part = || Part::bytes(bytes.to_vec()).file_name(name.clone());
    let typed = part().mime_str(media_type).unwrap_or_else(|_| part());
    let payload = Part::text(payload);
    let payload = payload.mime_str("application/json").unwrap_or_else(|_| Part::text(String::new()));
    let form = Form::new().percent_encode_noop().part("payload_json", payload).part("files[0]", typed);
    let channel = discord.channel(&outgoing.target.chat).await?;
    let sent: Sent = discord.api.upload(&["channels", &channel, "messages"], form).await?;
    Ok(sent.id)
}

fn rows(buttons: &[Button]) -> Vec<ActionRow<'_>> {
    let button = |button: &'_ Button| WireButton {
        kind: BUTTON,
        style: SECONDARY,
        label: button.label.chars().take(LABEL_CHARS_MAX).collect(),
        custom_id: "",
    };
    let rows = buttons.chunks(BUTTONS_IN_ROW).take(ROWS_MAX);
    rows.map(|row| {
        let components =
            row.iter().map(|given| WireButton { custom_id: &given.data, ..button(given) }).collect();
        ActionRow { kind: ACTION_ROW, components }
    })
    .collect()
}
