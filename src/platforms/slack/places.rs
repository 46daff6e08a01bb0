//! PURE: what is known of conversations and of people.
//!
//! Source: docs.slack.dev, "conversations.info" and "users.info". Ids of direct chats begin with `D`.

use std::collections::HashMap;

use herm_schema::events::{ChatKind, ChatRef};

use super::inbound::NAME;
use super::wire::{Conversation, User};
use crate::platforms::{Author, Chat};

/// Conversations and people that are remembered; when there are more, all are asked for anew.
const KNOWN_MAX: usize = 10_000;

/// What is known of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub kind: ChatKind,
    pub title: Option<String>,
}

/// What is known of somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub bot: bool,
}

#[derive(Debug, Default)]
pub(super) struct Places {
    places: HashMap<String, Place>,
    people: HashMap<String, Person>,
}

impl Place {
    pub fn of(conversation: &Conversation) -> Self {
        let kind = match () {
            () if conversation.is_im => ChatKind::Direct,
            () if conversation.is_mpim || conversation.is_private => ChatKind::Group,
            () => ChatKind::Channel,
        };
        Self { kind, title: conversation.name.as_ref().map(|name| format!("#{name}")) }
    }

    /// From what an event says, where Slack does not tell more.
    pub fn guessed(channel: &str, channel_type: Option<&str>) -> Self {
        let kind = match (channel_type, channel.chars().next()) {
            (Some("im"), _) | (None, Some('D')) => ChatKind::Direct,
            (Some("group" | "mpim"), _) | (None, Some('G')) => ChatKind::Group,
            _ => ChatKind::Channel,
        };
        Self { kind, title: None }
    }
}

impl Person {
    pub fn of(user: User) -> Self {
        let given = user.profile.display_name.filter(|name| !name.is_empty());
        let aliases = [Some(user.name.clone()), user.profile.email];
        Self {
            name: given.or(user.real_name).or(Some(user.name)).filter(|name| !name.is_empty()),
            aliases: aliases.into_iter().flatten().filter(|alias| !alias.is_empty()).collect(),
            bot: user.is_bot,
        }
    }
}

impl Places {
    pub fn place(&self, channel: &str) -> Option<Place> {
        self.places.get(channel).cloned()
    }

    pub fn person(&self, user: &str) -> Option<Person> {
        self.people.get(user).cloned()
    }

    pub fn learn(&mut self, channel: &str, place: Place) {
        if self.places.len() >= KNOWN_MAX {
            self.places.clear();
        }
        self.places.insert(channel.to_owned(), place);
    }

    pub fn meet(&mut self, user: &str, person: Person) {
        if self.people.len() >= KNOWN_MAX {
            self.people.clear();
        }
        self.people.insert(user.to_owned(), person);
    }
}

/// The chat of a conversation, or of a thread in it.
pub(super) fn chat(channel: &str, thread: Option<&str>, place: Place, team: &str, author: &Author) -> Chat {
    let title = match place.kind {
        ChatKind::Direct => author.name.clone(),
        ChatKind::Group | ChatKind::Channel => place.title,
    };
    let thread = thread.map(str::to_owned);
    Chat {
        place: ChatRef { platform: NAME.to_owned(), chat: channel.to_owned(), thread },
        kind: place.kind,
        title,
        guild: Some(team.to_owned()).filter(|team| !team.is_empty()),
        parent: None,
    }
}
