//! PURE: what a dispatch of the gateway says, and what it stands for.
//!
//! Source: API v10, "Gateway Events" and "Message". Where it happened is a channel's id here; `places` knows
//! what kind of place that is.

use herm_schema::Micros;
use serde::Deserialize;
use serde_json::Value;

use super::places::Places;
use super::wire::{Attachment, COMPONENT, Emoji, Interaction, Member, Message, Reaction, User};
use super::wire::{SLASH_COMMAND, WRITTEN};
use crate::config::Secret;
use crate::platforms::{Author, Message as Said, Reply, What};

pub(super) const NAME: &str = "discord";

/// A channel, and what happened there; the place and the files are still to be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Came {
    /// Empty for what has none but its number in the session.
    pub id: String,
    pub channel: String,
    /// Empty in a direct chat; `None` if it is not said.
    pub guild: Option<String>,
    pub author: Author,
    pub what: What,
    pub at: Option<Micros>,
    pub files: Vec<Attachment>,
    pub press: Option<Answerable>,
}

/// What an interaction is answered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answerable {
    pub application: String,
    pub token: Secret,
}

/// What a dispatch of this name brings; nothing for what concerns nobody.
///
/// # Errors
/// It cannot be read.
pub(super) fn read(
    name: &str,
    data: &Value,
    me: &User,
    places: &Places,
) -> Result<Option<Came>, serde_json::Error> {
    Ok(match name {
        "MESSAGE_CREATE" => message(parsed(data)?, me, places).map(from_gateway),
        "MESSAGE_UPDATE" => edited(parsed(data)?, me, places).map(from_gateway),
        "MESSAGE_REACTION_ADD" => Some(from_gateway(reaction(parsed(data)?, me, true))),
        "MESSAGE_REACTION_REMOVE" => Some(from_gateway(reaction(parsed(data)?, me, false))),
        "INTERACTION_CREATE" => interaction(parsed(data)?, me).map(from_gateway),
        _ => None,
    })
}

fn parsed<'a, T: Deserialize<'a>>(data: &'a Value) -> Result<T, serde_json::Error> {
    T::deserialize(data)
}

/// The gateway always says the server, so none means a direct chat; pages of messages never do.
fn from_gateway(came: Came) -> Came {
    Came { guild: came.guild.or(Some(String::new())), ..came }
}

/// A message of somebody.
pub(super) fn message(message: Message, me: &User, places: &Places) -> Option<Came> {
    if !WRITTEN.contains(&message.kind) {
        return None;
    }
    let author = author(message.author.as_ref()?, message.member.as_ref(), message.webhook_id.is_some(), me);
    let (mut text, called) = without_mention(message.content.as_deref().unwrap_or_default(), me);
    let mut files = message.attachments.clone();
    for snapshot in &message.message_snapshots {
        add_line(&mut text, &format!("[forwarded] {}", snapshot.message.content));
        files.extend(snapshot.message.attachments.iter().cloned());
    }
    for sticker in &message.sticker_items {
        add_line(&mut text, &format!("[sticker: {}]", sticker.name));
    }
    let by_role = message.mention_roles.iter().any(|role| places.is_own_role(role));
    let said = Said {
        message_id: message.id.clone(),
        text,
        mentioned: called || by_role,
        reply: reply(&message, me),
        media: Vec::new(),
    };
    let at = message.timestamp.as_deref().and_then(moment);
    let what = What::Message(said);
    let (id, channel, guild) = (message.id, message.channel_id, message.guild_id);
    Some(Came { id, channel, guild, author, what, at, files, press: None })
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line.trim_end());
}

fn reply(message: &Message, me: &User) -> Option<Reply> {
    let reference = message.message_reference.as_ref().filter(|reference| reference.kind == 0)?;
    let answered = message.referenced_message.as_deref();
    let text = answered.and_then(|message| message.content.clone()).filter(|text| !text.is_empty());
    let ours = answered.and_then(|message| message.author.as_ref()).is_some_and(|user| user.id == me.id);
    Some(Reply { message_id: reference.message_id.clone()?, text, ours })
}

/// A message with another text. Discord also tells of previews of links so, with no time of an edit.
fn edited(message: Message, me: &User, places: &Places) -> Option<Came> {
    let moment_text = message.edited_timestamp.clone()?;
    message.content.as_ref()?;
    let id = format!("{}.{moment_text}", message.id);
    let came = self::message(message, me, places)?;
    let What::Message(said) = came.what else { return None };
    let what = What::Edited { message_id: said.message_id, text: said.text };
    Some(Came { id, what, at: moment(&moment_text), files: Vec::new(), ..came })
}

fn reaction(reaction: Reaction, me: &User, added: bool) -> Came {
    let member = reaction.member.unwrap_or_default();
    let user = member.user.clone().unwrap_or_else(|| User { id: reaction.user_id, ..User::default() });
    Came {
        id: String::new(),
        channel: reaction.channel_id,
        guild: reaction.guild_id,
        author: author(&user, Some(&member), false, me),
        what: What::Reaction { message_id: reaction.message_id, emoji: emoji(&reaction.emoji), added },
        at: None,
        files: Vec::new(),
        press: None,
    }
}

/// As the API takes it again: the character, or a server's own as `name:id`.
fn emoji(emoji: &Emoji) -> String {
    let name = emoji.name.clone().unwrap_or_default();
    match &emoji.id {
        Some(id) => format!("{name}:{id}"),
        None => name,
    }
}

fn interaction(interaction: Interaction, me: &User) -> Option<Came> {
    let member = interaction.member.unwrap_or_default();
    let user = member.user.clone().or(interaction.user)?;
    let what = match interaction.kind {
        COMPONENT => {
            What::Button { message_id: interaction.message?.id, data: interaction.data.custom_id.clone() }
        }
        SLASH_COMMAND => What::Message(Said {
            message_id: interaction.id.clone(),
            text: typed(&interaction.data.name, &interaction.data.options),
            mentioned: true,
            ..Said::default()
        }),
        _ => return None,
    };
    let press = Answerable { application: interaction.application_id, token: Secret::new(interaction.token) };
    Some(Came {
        at: moment_of_id(&interaction.id),
        id: interaction.id,
        channel: interaction.channel_id?,
        guild: interaction.guild_id,
        author: author(&user, Some(&member), false, me),
        what,
        files: Vec::new(),
        press: Some(press),
    })
}

/// A slash command as if it had been typed.
pub(super) fn typed(name: &str, options: &[super::wire::CommandValue]) -> String {
    let mut text = format!("/{name}");
    for option in options {
        let word = match &option.value {
            Value::String(text) => text.trim().to_owned(),
            Value::Null => continue,
            other => other.to_string(),
        };
        if !word.is_empty() {
            text.push(' ');
            text.push_str(&word);
        }
    }
    text
}

fn author(user: &User, member: Option<&Member>, webhook: bool, me: &User) -> Author {
    let nick = member.and_then(|member| member.nick.clone());
    let aliases = Some(user.username.clone()).filter(|name| !name.is_empty()).into_iter().collect();
    Author {
        id: user.id.clone(),
        name: nick.or_else(|| user.global_name.clone()).or_else(|| Some(user.username.clone())),
        aliases,
        bot: user.bot || webhook,
        ours: user.id == me.id,
    }
}

/// The text without herm's name, and whether it was there.
fn without_mention(text: &str, me: &User) -> (String, bool) {
    let names = [format!("<@{}>", me.id), format!("<@!{}>", me.id)];
    if !names.iter().any(|name| text.contains(name)) {
        return (text.to_owned(), false);
    }
    let mut out = text.to_owned();
    for name in &names {
        // With the space that stood between it and what follows.
        out = out.replace(&format!("{name} "), "").replace(name, "");
    }
    (out.trim().to_owned(), true)
}

fn moment(text: &str) -> Option<Micros> {
    text.parse::<jiff::Timestamp>().ok().map(|at| Micros(at.as_microsecond()))
}

/// An id says when it was made, in milliseconds since 2015 (API v10, "Snowflakes").
fn moment_of_id(id: &str) -> Option<Micros> {
    const EPOCH_MS: u64 = 1_420_070_400_000;
    let millis = (id.parse::<u64>().ok()? >> 22) + EPOCH_MS;
    i64::try_from(millis).ok().map(|millis| Micros(millis.saturating_mul(1000)))
}

#[cfg(test)]
mod tests;
