//! Whether somebody is listened to: deny by default, by the platform's ids alone. Names and texts
//! never count.
//!
//! Start at [`admit`]. What is ignored is ignored without a word, so that no stranger and no other
//! program can make herm talk; the one exception is a stranger's direct message, who may be offered a
//! code.

use herm_schema::events::ChatKind;

use super::session_key::is_thread;
use super::settings::{Bots, Ids, PlatformSettings, Strangers};
use crate::platforms::{Author, Capabilities, Chat, Inbound, Message, What};

/// What is known besides what came in.
pub struct Rules<'a> {
    pub settings: &'a PlatformSettings,
    pub capabilities: &'a Capabilities,
    /// Whether an owner has let in the account with this id.
    pub paired: &'a dyn Fn(&str) -> bool,
    /// herm speaks in this thread already, so that what is said there is said to it.
    pub takes_part: bool,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Allowed {
        /// May ask what only owners may.
        admin: bool,
    },
    /// A stranger in a direct chat: offer a code.
    AskPairing,
    Ignored(Reason),
}

/// Why it is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// herm said it itself.
    Own,
    /// Nobody said it: the platform did.
    Unsaid,
    Bot,
    /// A bot that is listened to only where it names herm.
    BotUnaddressed,
    ChannelIgnored,
    ChatNotAllowed,
    /// It was said in a group, and not to herm.
    Unaddressed,
    Stranger,
}

impl Reason {
    /// For logs and `herm explain route`: what it is and what would change it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Own => "herm's own words are never read back",
            Self::Unsaid => "the platform says so, and no person",
            Self::Bot => "another program wrote it; `allow_bots` would let it",
            Self::BotUnaddressed => {
                "another program wrote it and did not name herm, as `allow_bots: mentions` wants"
            }
            Self::ChannelIgnored => "the chat is one of `ignored_channels`",
            Self::ChatNotAllowed => "the chat is none of `allowed_chats`",
            Self::Unaddressed => {
                "it was not said to herm: no mention, no answer to it, no thread that it takes part in; \
                 `require_mention` or `free_response_channels` would change that"
            }
            Self::Stranger => {
                "the sender is not known: not in `allowed_users`, not paired, and neither `allow_all` nor \
                 `group_allowed_chats` lets everybody in"
            }
        }
    }
}

/// Whether whoever did this is listened to here.
///
/// Only messages have to be addressed to herm: reactions, buttons and edits are about messages that
/// it knows, or nobody minds them.
pub fn admit(inbound: &Inbound, rules: &Rules<'_>) -> Admission {
    if let Some(reason) = turned_away(inbound, rules) {
        return Admission::Ignored(reason);
    }
    let Rules { settings, capabilities, .. } = rules;
    let admin = is_admin(&inbound.author, settings);
    let open = settings.allow_all || group_is_open(&inbound.chat, settings);
    if admin || capabilities.own_access || open || is_known(&inbound.author, rules) {
        // `*` among the admins lets nobody in, but all who are in.
        return Admission::Allowed { admin: admin || settings.admins.every };
    }
    let direct = inbound.chat.kind == ChatKind::Direct;
    match (&inbound.what, settings.strangers) {
        // A program would be given codes without end.
        (What::Message(_), Strangers::Pair)
            if direct && !inbound.author.bot && !inbound.author.id.is_empty() =>
        {
            Admission::AskPairing
        }
        _ => Admission::Ignored(Reason::Stranger),
    }
}

/// Why it is nobody's business, whoever did it.
fn turned_away(inbound: &Inbound, rules: &Rules<'_>) -> Option<Reason> {
    let Inbound { chat, author, what, .. } = inbound;
    let settings = rules.settings;
    if author.ours {
        return Some(Reason::Own);
    }
    if matches!(what, What::Removed { .. }) {
        return Some(Reason::Unsaid);
    }
    if author.bot && settings.bots == Bots::Never {
        return Some(Reason::Bot);
    }
    if named(chat, &settings.ignored_channels) {
        return Some(Reason::ChannelIgnored);
    }
    let group = chat.kind != ChatKind::Direct;
    if group && !settings.allowed_chats.is_empty() && !named(chat, &settings.allowed_chats) {
        return Some(Reason::ChatNotAllowed);
    }
    let What::Message(message) = what else { return None };
    if author.bot && settings.bots == Bots::Mentions && !names_herm(message, settings) {
        return Some(Reason::BotUnaddressed);
    }
    (group && !addressed(message, chat, rules)).then_some(Reason::Unaddressed)
}

/// Whether a message in a group is said to herm.
fn addressed(message: &Message, chat: &Chat, rules: &Rules<'_>) -> bool {
    let Rules { settings, takes_part, .. } = rules;
    let thread = *takes_part && is_thread(chat) && !settings.addressing.mention_in_threads;
    !settings.addressing.mention
        || thread
        || named(chat, &settings.free_response_channels)
        || names_herm(message, settings)
        || message.reply.as_ref().is_some_and(|reply| reply.ours)
}

fn names_herm(message: &Message, settings: &PlatformSettings) -> bool {
    message.mentioned || settings.addressing.patterns.iter().any(|pattern| pattern.is_match(&message.text))
}

/// Whether a list names the chat, what it hangs on, or its thread as `CHAT:THREAD`: threads are often
/// numbered within their chat, and alone say nothing about which it is.
fn named(chat: &Chat, list: &Ids) -> bool {
    let thread = chat.place.thread.as_ref().map(|thread| format!("{}:{thread}", chat.place.chat));
    let ids = [Some(&chat.place.chat), chat.parent.as_ref(), thread.as_ref()];
    ids.into_iter().flatten().any(|id| list.contains(id))
}

fn group_is_open(chat: &Chat, settings: &PlatformSettings) -> bool {
    chat.kind != ChatKind::Direct && named(chat, &settings.group_allowed_chats)
}

fn is_known(author: &Author, rules: &Rules<'_>) -> bool {
    ids(author).any(|id| rules.settings.allowed_users.contains(id) || (rules.paired)(id))
}

/// Those whom `admins` names; where it names nobody, those whom the owner has listed by id. Who was
/// paired, or came through an open door, is none, unless `admins` says so.
fn is_admin(author: &Author, settings: &PlatformSettings) -> bool {
    let PlatformSettings { admins, allowed_users, .. } = settings;
    let owners = if admins.is_empty() { allowed_users } else { admins };
    ids(author).any(|id| owners.ids.contains(id))
}

/// Every id of an account; an account without one is nobody.
fn ids(author: &Author) -> impl Iterator<Item = &str> {
    let all = std::iter::once(&author.id).chain(&author.aliases);
    all.map(String::as_str).filter(|id| !id.is_empty())
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
