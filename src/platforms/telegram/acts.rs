//! What herm shows and never owes: typing, posting, changing, deleting, reacting, answering a button.

use serde::de::IgnoredAny;

use super::api::{CALL_MAX, Failed};
use super::inbound::press_of;
use super::outbound::{change, number, place, post};
use super::wire::{AnswerCallbackQuery, ChatAction, Keyboard, OnMessage, Reaction};
use super::{Telegram, refusal};
use crate::platforms::{Act, SendFailure};

/// Longest answer to a pressed button, in characters.
const ANSWER_CHARS_MAX: usize = 200;

pub(super) async fn act(telegram: &Telegram, act: &Act) -> Result<Option<String>, SendFailure> {
    let done = match act {
        Act::Post { chat, text, reply_to } => {
            return post(telegram, chat, text, reply_to.as_deref(), None).await.map(Some);
        }
        Act::Typing { chat } => {
            let request = ChatAction { place: place(chat), action: "typing" };
            call(telegram, "sendChatAction", &request).await
        }
        Act::Edit { chat, message_id, text } => change(telegram, chat, message_id, text, None).await,
        Act::Delete { chat, message_id } => {
            let request = number(message_id).map(|id| on(&chat.chat, id));
            match with(telegram, "deleteMessage", request).await {
                Err(failed) if refusal::is_deleted_already(&failed) => Ok(()),
                other => other,
            }
        }
        Act::React { chat, message_id, emoji } => {
            let reaction = Some(emoji).filter(|emoji| !emoji.is_empty());
            let reaction = reaction.map(|emoji| Reaction::Emoji { emoji: emoji.clone() });
            let reaction = Some(reaction.into_iter().collect());
            let request = number(message_id).map(|id| OnMessage { reaction, ..on(&chat.chat, id) });
            with(telegram, "setMessageReaction", request).await
        }
        Act::Answered { chat, message_id, press, text } => {
            let text: String = text.chars().take(ANSWER_CHARS_MAX).collect();
            let answer = AnswerCallbackQuery { callback_query_id: press_of(press), text: &text };
            // Telegram takes the answer for a few minutes only; the buttons have to go all the same.
            let answered = call(telegram, "answerCallbackQuery", &answer).await;
            let reply_markup = Some(Keyboard { inline_keyboard: Vec::new() });
            let request = number(message_id).map(|id| OnMessage { reply_markup, ..on(&chat.chat, id) });
            match with(telegram, "editMessageReplyMarkup", request).await {
                Err(failed) if !refusal::is_unchanged(&failed) => Err(failed),
                _ if matches!(answered, Err(Failed::Refused { code: 400, .. })) => Ok(()),
                _ => answered,
            }
        }
    };
    done.map(|()| None).map_err(refusal::of_message)
}

fn on(chat: &str, message_id: i64) -> OnMessage {
    OnMessage { chat_id: chat.to_owned(), message_id, reaction: None, reply_markup: None }
}

async fn with(telegram: &Telegram, method: &str, request: Result<OnMessage, Failed>) -> Result<(), Failed> {
    call(telegram, method, &request?).await
}

async fn call(telegram: &Telegram, method: &str, request: &impl serde::Serialize) -> Result<(), Failed> {
    telegram.api.call::<IgnoredAny>(method, request, CALL_MAX).await.map(|_| ())
}
