//! What herm shows and never owes: typing, posting, changing, deleting, reacting, answering a button.

use reqwest::Method;
use serde_json::json;

use super::api::Failed;
use super::commands::EPHEMERAL;
use super::outbound::{answers, change, create, nothing};
use super::wire::{Sent, Written};
use super::{Discord, locked, refusal};
use crate::platforms::{Act, SendFailure};

pub(super) async fn act(discord: &Discord, act: &Act) -> Result<Option<String>, SendFailure> {
    done(discord, act).await.map_err(refusal::of_message)
}

async fn done(discord: &Discord, act: &Act) -> Result<Option<String>, Failed> {
    match act {
        Act::Post { chat, text, reply_to } => {
            let message_reference = reply_to.as_deref().map(answers);
            let body = Written { content: Some(&text.text), message_reference, ..nothing() };
            return create(discord, chat, &body).await.map(Some);
        }
        Act::Typing { chat } => {
            let channel = discord.channel(&chat.chat).await?;
            discord.api.tell(Method::POST, &["channels", &channel, "typing"]).await?;
        }
        Act::Edit { chat, message_id, text } => {
            change(discord, chat, message_id, &text.text, &[]).await?;
        }
        Act::Delete { chat, message_id } => {
            let channel = discord.channel(&chat.chat).await?;
            let segments = ["channels", &channel, "messages", message_id];
            match discord.api.tell(Method::DELETE, &segments).await {
                Err(failed) if refusal::is_deleted_already(&failed) => {}
                other => other?,
            }
        }
        // Which one to take back would have to be said.
        Act::React { emoji, .. } if emoji.is_empty() => {}
        Act::React { chat, message_id, emoji } => {
            let channel = discord.channel(&chat.chat).await?;
            let segments = ["channels", &channel, "messages", message_id, "reactions", emoji, "@me"];
            discord.api.tell(Method::PUT, &segments).await?;
        }
        Act::Answered { chat, message_id, press, text } => {
            let channel = discord.channel(&chat.chat).await?;
            let body = Written { components: Some(Vec::new()), ..nothing() };
            let segments = ["channels", &channel, "messages", message_id];
            let changed = discord.api.patch::<Sent>(&segments, &body).await;
            follow_up(discord, press, text).await?;
            changed?;
        }
    }
    Ok(None)
}

/// Says something to who pressed, and to nobody else; a pressing of before a restart has the message alone.
async fn follow_up(discord: &Discord, press: &str, text: &str) -> Result<(), Failed> {
    let found = {
        let presses = locked(&discord.presses);
        let found = presses.iter().find(|known| known.id == press);
        found.map(|known| (known.application.clone(), known.token.clone()))
    };
    let Some((application, token)) = found.filter(|_| !text.is_empty()) else { return Ok(()) };
    let body = json!({"content": text, "flags": EPHEMERAL, "allowed_mentions": {"parse": []}});
    discord.api.post_quietly(&["webhooks", &application, token.reveal()], &body).await
}
