//! What herm shows and never owes: posting, changing, deleting, reacting, answering a button.

use serde::de::IgnoredAny;
use serde_json::json;

use super::api::Failed;
use super::outbound::{change, post, set};
use super::wire::{Ephemeral, History};
use super::{Press, Slack, emoji, inbound, locked, mrkdwn, refusal};
use crate::platforms::{Act, SendFailure};
use herm_schema::events::ChatRef;

pub(super) async fn act(slack: &Slack, act: &Act) -> Result<Option<String>, SendFailure> {
    done(slack, act).await.map_err(refusal::of_message)
}

async fn done(slack: &Slack, act: &Act) -> Result<Option<String>, Failed> {
    match act {
        Act::Post { chat, text, reply_to } => {
            return post(slack, chat, text, reply_to.as_deref(), &[]).await.map(Some);
        }
        // A bot of the Web API cannot show it.
        Act::Typing { .. } => {}
        Act::Edit { chat, message_id, text } => change(slack, chat, message_id, text, &[]).await?,
        Act::Delete { chat, message_id } => {
            let body = json!({"channel": chat.chat, "ts": message_id});
            match slack.api.post::<IgnoredAny>("chat.delete", &body).await {
                Err(failed) if !refusal::is_deleted_already(&failed) => return Err(failed),
                _ => {}
            }
        }
        Act::React { chat, message_id, emoji } => {
            // A command is no message, and not every character has a name here.
            let Some(name) = emoji::name_of(emoji).filter(|_| inbound::is_ts(message_id)) else {
                return Ok(None);
            };
            let body = json!({"channel": chat.chat, "timestamp": message_id, "name": name});
            match slack.api.post::<IgnoredAny>("reactions.add", &body).await {
                Err(failed) if !refusal::is_reacted_already(&failed) => return Err(failed),
                _ => {}
            }
        }
        Act::Answered { chat, message_id, press, text } => {
            let pressed = locked(&slack.presses).iter().find(|known| known.id == *press).cloned();
            without_buttons(slack, chat, message_id, pressed.as_ref()).await?;
            if let Some(pressed) = pressed.filter(|_| !text.is_empty()) {
                let body = Ephemeral {
                    channel: &chat.chat,
                    user: &pressed.user,
                    text: mrkdwn::escaped(text),
                    thread_ts: chat.thread.as_deref(),
                };
                slack.api.post::<IgnoredAny>("chat.postEphemeral", &body).await?;
            }
        }
    }
    Ok(None)
}

/// Takes the buttons away. The text has to be said again; after a restart Slack is asked for it.
async fn without_buttons(
    slack: &Slack,
    chat: &ChatRef,
    message_id: &str,
    pressed: Option<&Press>,
) -> Result<(), Failed> {
    let text = match pressed {
        Some(pressed) => Some(pressed.text.clone()),
        None => {
            // Of a thread, or of the conversation.
            let (method, thread) = match &chat.thread {
                Some(thread) => ("conversations.replies", thread.as_str()),
                None => ("conversations.history", message_id),
            };
            let query = [
                ("channel", chat.chat.as_str()),
                ("ts", thread),
                ("oldest", message_id),
                ("latest", message_id),
                ("inclusive", "true"),
                ("limit", "2"),
            ];
            let history: History = slack.api.get(method, &query).await?;
            history.messages.into_iter().find(|known| known.ts == message_id).map(|known| known.text)
        }
    };
    match text {
        Some(text) => set(slack, &chat.chat, message_id, &text, Vec::new()).await,
        None => Ok(()),
    }
}
