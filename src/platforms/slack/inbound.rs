//! PURE: what a delivery of Slack's says, and what it stands for.
//!
//! A mention in a channel comes twice, as `message` and as `app_mention`, with two ids of events: a message
//! is known by where and when it was said, everything else by the id of its event.

use std::borrow::Cow;

use herm_schema::Micros;
use serde::Deserialize;
use serde_json::Value;

use super::wire::{Callback, Command, File, Interaction, Left, Me, Message, Reaction};
use super::{Press, emoji, mrkdwn};
use crate::inbound::slash_table::{COMMANDS, Where};
use crate::platforms::{Author, Message as Said, Reply, What};

pub(super) const NAME: &str = "slack";

/// The command under which all of herm's can be reached.
const OWN_COMMAND: &str = "/herm";

/// What happened in a conversation; the place, the person and the files are still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Came {
    pub id: String,
    pub channel: String,
    pub channel_type: Option<String>,
    pub thread: Option<String>,
    pub author: Author,
    pub what: What,
    pub at: Option<Micros>,
    pub files: Vec<File>,
    pub press: Option<Press>,
}

/// What an event brings; nothing for what concerns nobody.
///
/// # Errors
/// It cannot be read.
pub(super) fn event(callback: &Callback, me: &Me) -> Result<Option<Came>, serde_json::Error> {
    let id = &callback.event_id;
    let event = &callback.event;
    Ok(match event.get("type").and_then(Value::as_str).unwrap_or_default() {
        "message" | "app_mention" => said(Message::deserialize(event)?, me),
        "reaction_added" => reaction(id, Reaction::deserialize(event)?, me, true),
        "reaction_removed" => reaction(id, Reaction::deserialize(event)?, me, false),
        "member_left_channel" => {
            let left = Left::deserialize(event)?;
            let ours = left.user.as_deref() == Some(me.user_id.as_str());
            ours.then(|| removed(id, callback, &left, "the bot was put out of the conversation"))
        }
        "channel_archive" | "group_archive" => {
            Some(removed(id, callback, &Left::deserialize(event)?, "the conversation was archived"))
        }
        "channel_deleted" | "group_deleted" => {
            Some(removed(id, callback, &Left::deserialize(event)?, "the conversation was deleted"))
        }
        _ => None,
    })
}

/// What a message brings.
pub(super) fn said(event: Message, me: &Me) -> Option<Came> {
    match event.subtype.as_deref() {
        None | Some("file_share" | "thread_broadcast" | "me_message" | "bot_message") => message(event, me),
        Some("message_changed") => changed(event, me),
        // Deletions, and news of the conversation.
        _ => None,
    }
}

fn author(event: &Message, me: &Me) -> Option<Author> {
    let id = event.user.clone().or_else(|| event.bot_id.clone())?;
    let ours = id == me.user_id || (event.bot_id.is_some() && event.bot_id == me.bot_id);
    let bot = event.bot_id.is_some() || event.subtype.as_deref() == Some("bot_message");
    // Slack has two ids for a bot; where both are told, an allow-list may name either.
    let aliases = event.bot_id.iter().filter(|bot| **bot != id).cloned().collect();
    Some(Author { id, name: event.username.clone(), aliases, bot, ours })
}

/// The thread that a message is in; one that begins a thread is in the conversation itself.
fn thread_of(event: &Message) -> Option<String> {
    event.thread_ts.clone().filter(|thread| *thread != event.ts)
}

fn message(event: Message, me: &Me) -> Option<Came> {
    let author = author(&event, me)?;
    let (text, mentioned) = mrkdwn::read(&event.text, &me.user_id);
    let thread = thread_of(&event);
    let ours = event.parent_user_id.as_deref() == Some(me.user_id.as_str());
    // To write below a message of herm's is to answer it; below another's, it is a thread like any.
    let reply = thread.clone().filter(|_| ours).map(|message_id| Reply { message_id, text: None, ours });
    let said = Said { message_id: event.ts.clone(), text, mentioned, reply, media: Vec::new() };
    Some(Came {
        id: format!("{}.{}", event.channel, event.ts),
        at: moment(&event.ts),
        channel: event.channel,
        channel_type: event.channel_type,
        thread,
        author,
        what: What::Message(said),
        files: event.files,
        press: None,
    })
}

/// A message with another text. Slack tells of previews of links so as well, and of what it did to a
/// message itself.
fn changed(event: Message, me: &Me) -> Option<Came> {
    let new = event.message?;
    let edited = new.edited.as_ref()?.ts.clone();
    if event.previous_message.is_some_and(|old| old.text == new.text) {
        return None;
    }
    let (text, _) = mrkdwn::read(&new.text, &me.user_id);
    Some(Came {
        id: format!("{}.{}.{edited}", event.channel, new.ts),
        channel: event.channel,
        channel_type: event.channel_type,
        thread: thread_of(&new),
        author: author(&new, me)?,
        at: moment(&edited),
        what: What::Edited { message_id: new.ts, text },
        files: Vec::new(),
        press: None,
    })
}

fn person(id: String, name: Option<String>, me: &Me) -> Author {
    let ours = id == me.user_id;
    Author { id, name, ours, ..Author::default() }
}

/// A reaction; in which thread its message is, Slack does not say.
fn reaction(id: &str, reaction: Reaction, me: &Me, added: bool) -> Option<Came> {
    if reaction.item.channel.is_empty() {
        return None;
    }
    let what =
        What::Reaction { message_id: reaction.item.ts, emoji: emoji::of_name(&reaction.reaction), added };
    Some(Came {
        id: id.to_owned(),
        channel: reaction.item.channel,
        channel_type: None,
        thread: None,
        author: person(reaction.user, None, me),
        what,
        at: moment(&reaction.event_ts),
        files: Vec::new(),
        press: None,
    })
}

fn removed(id: &str, callback: &Callback, left: &Left, why: &str) -> Came {
    Came {
        id: id.to_owned(),
        channel: left.channel.clone(),
        channel_type: None,
        thread: None,
        author: Author::default(),
        what: What::Removed { why: why.to_owned() },
        at: callback.event_time.map(|seconds| Micros(seconds.saturating_mul(1_000_000))),
        files: Vec::new(),
        press: None,
    }
}

/// A pressed button; nothing for other things that can be done to a message.
pub(super) fn interaction(interaction: Interaction, me: &Me) -> Option<Came> {
    if interaction.kind != "block_actions" {
        return None;
    }
    let (message, action) = (interaction.message?, interaction.actions.into_iter().next()?);
    let author = person(interaction.user.id.clone(), interaction.user.username, me);
    let id = interaction.trigger_id;
    let press = Press { id: id.clone(), user: interaction.user.id, text: message.text.clone() };
    Some(Came {
        id,
        channel: interaction.channel?.id,
        channel_type: None,
        thread: thread_of(&message),
        author,
        what: What::Button { message_id: message.ts, data: action.value.unwrap_or_default() },
        at: moment(&action.action_ts),
        files: Vec::new(),
        press: Some(press),
    })
}

/// A slash command: `/herm new` is `/new`, and `/herm anything else` is said to herm.
pub(super) fn command(command: Command, me: &Me) -> Came {
    let text = command.text.trim();
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    let is_known = COMMANDS.iter().any(|row| row.place.includes(Where::Chat) && row.is(word));
    let text: Cow<'_, str> = match (command.command.as_str(), is_known) {
        (OWN_COMMAND, false) if text.is_empty() => "/help".into(),
        (OWN_COMMAND, false) => text.into(),
        (OWN_COMMAND, true) => format!("/{text}").into(),
        (other, _) => format!("{other} {text}").trim_end().to_owned().into(),
    };
    let said = Said {
        // No message stands in the conversation; nothing can be answered to.
        message_id: command.trigger_id.clone(),
        text: text.into_owned(),
        mentioned: true,
        ..Said::default()
    };
    Came {
        id: command.trigger_id,
        channel: command.channel_id,
        channel_type: None,
        thread: None,
        author: person(command.user_id, command.user_name, me),
        what: What::Message(said),
        at: None,
        files: Vec::new(),
        press: None,
    }
}

/// Whether it is the id of a message: seconds, and six digits that make it unique.
pub(super) fn is_ts(id: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    id.split_once('.').is_some_and(|(seconds, rest)| digits(seconds) && digits(rest) && rest.len() == 6)
}

fn moment(ts: &str) -> Option<Micros> {
    let (seconds, micros) = ts.split_once('.').filter(|_| is_ts(ts))?;
    let seconds: i64 = seconds.parse().ok()?;
    Some(Micros(seconds.saturating_mul(1_000_000).saturating_add(micros.parse().ok()?)))
}

#[cfg(test)]
mod tests;
