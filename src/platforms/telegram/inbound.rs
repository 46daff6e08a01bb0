//! PURE: an update of Telegram's as what happened, with its files still to be fetched.
//!
//! Nothing here asks anybody anything: which files there are is said by [`Wanted`], and `media` fetches
//! them.

use herm_schema::Micros;
use herm_schema::events::{ChatKind, ChatRef};

use super::entities;
use super::wire::{
    CallbackQuery, Chat as WireChat, ChatMemberUpdated, Message as WireMessage, MessageReaction, Reaction,
    Update, User,
};
use crate::platforms::{Author, Chat, Inbound, Message, Reply, What};

/// Name of the platform.
pub(super) const NAME: &str = "telegram";

/// Something that came in, and the files that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Came {
    pub inbound: Inbound,
    pub files: Vec<Wanted>,
    /// The album that it is a part of.
    pub album: Option<String>,
}

/// A file to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub file_id: String,
    pub name: String,
    pub media_type: String,
    /// As far as it is known.
    pub bytes: Option<u64>,
}

/// What an update says; nothing for what concerns nobody, such as a new title.
pub(super) fn read(update: Update, me: &User) -> Vec<Came> {
    let id = update.update_id.to_string();
    let kind = update.kind;
    if let Some(message) = kind.message.or(kind.channel_post) {
        return said(id, &message, me).into_iter().collect();
    }
    if let Some(message) = kind.edited_message.or(kind.edited_channel_post) {
        return edited(id, &message, me).into_iter().collect();
    }
    let others = match (kind.message_reaction, kind.callback_query, kind.my_chat_member) {
        (Some(reaction), _, _) => reacted(&id, &reaction, me),
        (_, Some(query), _) => pressed(&id, &query, me).into_iter().collect(),
        (_, _, Some(change)) => removed(id, &change, me).into_iter().collect(),
        _ => Vec::new(),
    };
    others.into_iter().map(|inbound| Came { inbound, files: Vec::new(), album: None }).collect()
}

/// The id of a pressing, which [`press_of`] takes apart again.
fn press_id(update_id: &str, query: &str) -> String {
    format!("{update_id}:{query}")
}

/// Telegram's id of a pressed button, of the [`Inbound::id`] that it came in as.
pub(super) fn press_of(inbound_id: &str) -> &str {
    inbound_id.split_once(':').map_or(inbound_id, |(_, query)| query)
}

fn said(id: String, message: &WireMessage, me: &User) -> Option<Came> {
    let files = super::media::wanted(message);
    let read = body(message, me);
    if files.is_empty() && read.text.is_empty() && !read.mentioned {
        // A change of the chat, such as a new member or a pinned message.
        return None;
    }
    let reply = message.reply_to_message.as_deref().filter(|replied| replied.forum_topic_created.is_none());
    let reply = reply.map(|replied| Reply {
        message_id: replied.message_id.to_string(),
        text: replied.text.clone().or_else(|| replied.caption.clone()),
        ours: replied.from.as_ref().is_some_and(|from| from.id == me.id),
    });
    let what = What::Message(Message {
        message_id: message.message_id.to_string(),
        text: read.text,
        mentioned: read.mentioned,
        reply,
        media: Vec::new(),
    });
    let album = message.media_group_id.clone();
    Some(Came { inbound: inbound(id, message, message.date, what, me), files, album })
}

fn edited(id: String, message: &WireMessage, me: &User) -> Option<Came> {
    let text = body(message, me).text;
    let what = What::Edited { message_id: message.message_id.to_string(), text };
    let at = message.edit_date.unwrap_or(message.date);
    let inbound = inbound(id, message, at, what, me);
    Some(Came { inbound, files: Vec::new(), album: None })
}

/// What a message says: its text, its caption, or what it is instead of one.
fn body(message: &WireMessage, me: &User) -> entities::Read {
    if let Some(text) = &message.text {
        return entities::read(text, &message.entities, me);
    }
    if let Some(caption) = &message.caption {
        return entities::read(caption, &message.caption_entities, me);
    }
    let text = if let Some(venue) = &message.venue {
        let at = &venue.location;
        format!("[location: {}, {} ({}, {})]", venue.title, venue.address, at.latitude, at.longitude)
    } else if let Some(at) = &message.location {
        format!("[location: {}, {}]", at.latitude, at.longitude)
    } else if let Some(contact) = &message.contact {
        let name = full_name(&contact.first_name, contact.last_name.as_deref());
        format!("[contact: {name}, {}]", contact.phone_number)
    } else if let Some(emoji) = message.sticker.as_ref().and_then(|sticker| sticker.emoji.as_ref()) {
        format!("[sticker: {emoji}]")
    } else {
        String::new()
    };
    entities::Read { text, mentioned: false }
}

fn inbound(id: String, message: &WireMessage, at: i64, what: What, me: &User) -> Inbound {
    let author = match (&message.sender_chat, &message.from) {
        (Some(chat), _) => author_of_chat(chat),
        (None, Some(user)) => author(user, me),
        (None, None) => author_of_chat(&message.chat),
    };
    // Answers in a group without topics have a thread as well, which is none that people see. What is
    // said in the general topic of a forum has none.
    let thread = message.message_thread_id.filter(|_| message.is_topic_message);
    Inbound { id, chat: chat(&message.chat, thread), author, what, at: moment(at) }
}

fn reacted(id: &str, reaction: &MessageReaction, me: &User) -> Vec<Inbound> {
    let author = match (&reaction.user, &reaction.actor_chat) {
        (Some(user), _) => author(user, me),
        (None, Some(chat)) => author_of_chat(chat),
        (None, None) => return Vec::new(),
    };
    let (old, new) = (&reaction.old_reaction, &reaction.new_reaction);
    let gone = old.iter().filter(|one| !new.contains(one)).map(|one| (one, false));
    let come = new.iter().filter(|one| !old.contains(one)).map(|one| (one, true));
    let changes = gone.chain(come).enumerate();
    let inbound = |(number, (reaction_of, added)): (usize, (&Reaction, bool))| Inbound {
        // One update may say that one has gone and another has come.
        id: if number == 0 { id.to_owned() } else { format!("{id}.{number}") },
        chat: chat(&reaction.chat, None),
        author: author.clone(),
        what: What::Reaction {
            message_id: reaction.message_id.to_string(),
            emoji: emoji(reaction_of),
            added,
        },
        at: moment(reaction.date),
    };
    changes.map(inbound).collect()
}

fn emoji(reaction: &Reaction) -> String {
    match reaction {
        Reaction::Emoji { emoji } => emoji.clone(),
        Reaction::CustomEmoji { custom_emoji_id } => format!("custom:{custom_emoji_id}"),
        Reaction::Paid => "⭐".to_owned(),
    }
}

fn pressed(id: &str, query: &CallbackQuery, me: &User) -> Option<Inbound> {
    let (message, data) = (query.message.as_deref()?, query.data.clone()?);
    let thread = message.message_thread_id.filter(|_| message.is_topic_message);
    Some(Inbound {
        id: press_id(id, &query.id),
        chat: chat(&message.chat, thread),
        author: author(&query.from, me),
        what: What::Button { message_id: message.message_id.to_string(), data },
        at: None,
    })
}

fn removed(id: String, change: &ChatMemberUpdated, me: &User) -> Option<Inbound> {
    let private = change.chat.kind == "private";
    let why = match change.new_chat_member.status.as_str() {
        "kicked" if private => "the person has blocked the bot",
        "kicked" => "the bot was put out of the chat",
        "left" => "the bot is not in the chat any more",
        _ => return None,
    };
    Some(Inbound {
        id,
        chat: chat(&change.chat, None),
        author: author(&change.from, me),
        what: What::Removed { why: why.to_owned() },
        at: moment(change.date),
    })
}

fn chat(chat: &WireChat, thread: Option<i64>) -> Chat {
    let kind = match chat.kind.as_str() {
        "private" => ChatKind::Direct,
        "channel" => ChatKind::Channel,
        _ => ChatKind::Group,
    };
    let thread = thread.map(|thread| thread.to_string());
    let place = ChatRef { platform: NAME.to_owned(), chat: chat.id.to_string(), thread };
    Chat { place, kind, title: title(chat), guild: None, parent: None }
}

fn title(chat: &WireChat) -> Option<String> {
    let first = chat.first_name.as_deref();
    let person = first.map(|first| full_name(first, chat.last_name.as_deref()));
    chat.title.clone().or(person).or_else(|| chat.username.clone())
}

fn full_name(first: &str, last: Option<&str>) -> String {
    match last {
        Some(last) => format!("{first} {last}").trim().to_owned(),
        None => first.to_owned(),
    }
}

/// The user name with its sign and without: an allow-list may have either, and neither can be an id.
fn aliases(username: Option<&str>) -> Vec<String> {
    username.map(|name| vec![format!("@{name}"), name.to_owned()]).unwrap_or_default()
}

fn author(user: &User, me: &User) -> Author {
    Author {
        id: user.id.to_string(),
        name: Some(full_name(&user.first_name, user.last_name.as_deref())).filter(|name| !name.is_empty()),
        aliases: aliases(user.username.as_deref()),
        bot: user.is_bot,
        ours: user.id == me.id,
    }
}

fn author_of_chat(chat: &WireChat) -> Author {
    let aliases = aliases(chat.username.as_deref());
    Author { id: chat.id.to_string(), name: title(chat), aliases, bot: false, ours: false }
}

fn moment(seconds: i64) -> Option<Micros> {
    // 0 stands for a message that Telegram does not show any more.
    (seconds > 0).then(|| Micros(seconds.saturating_mul(1_000_000)))
}

/// What is taken and acknowledged at once: an update, or the parts of an album.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Ids of the first and of the last update that it is made of.
    pub first: i64,
    pub last: i64,
    /// Nothing for an update that concerns nobody.
    pub came: Vec<Came>,
}

/// The updates of one poll as units; the parts of an album become one message, with the id of the
/// first, wherever they stand.
pub(super) fn units(updates: Vec<(i64, Vec<Came>)>) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (update_id, mut came) in updates {
        let album = match came.as_slice() {
            [part] if part.album.is_some() => units.iter_mut().find(|unit| is_same_album(&unit.came, part)),
            _ => None,
        };
        match album {
            Some(unit) => {
                unit.last = update_id;
                if let (Some(whole), Some(part)) = (unit.came.first_mut(), came.pop()) {
                    add(whole, part);
                }
            }
            None => units.push(Unit { first: update_id, last: update_id, came }),
        }
    }
    units
}

fn is_same_album(came: &[Came], part: &Came) -> bool {
    let first = came.first();
    first.is_some_and(|one| one.album == part.album && one.inbound.chat.place == part.inbound.chat.place)
}

fn add(whole: &mut Came, part: Came) {
    whole.files.extend(part.files);
    let (What::Message(message), What::Message(more)) = (&mut whole.inbound.what, part.inbound.what) else {
        return;
    };
    if !message.text.is_empty() && !more.text.is_empty() {
        message.text.push('\n');
    }
    message.text.push_str(&more.text);
    message.mentioned |= more.mentioned;
}

/// The offset to ask with when the unit at `failed` was not taken: nothing that was not taken lies
/// before it, and no unit is divided by it.
pub(super) fn offset_before(units: &[Unit], failed: usize) -> Option<i64> {
    let (done, open) = units.split_at_checked(failed)?;
    let first = open.iter().map(|unit| unit.first).min()?;
    let whole = |offset: i64, unit: &Unit| if unit.last >= offset { offset.min(unit.first) } else { offset };
    Some(done.iter().rev().fold(first, whole))
}

#[cfg(test)]
mod tests;
