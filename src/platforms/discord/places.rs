//! PURE: what is known of the channels: which kind of place each is, and what it hangs on.
//!
//! Source: API v10, "Channel", types: 0 text, 1 direct, 2 voice, 5 announcements, 10 to 12 threads (12 a
//! private one), 15 and 16 forums, whose posts are threads. A thread is a channel with an id of its own,
//! so it is a chat of its own here, and its parent is the channel or forum.

use std::collections::{HashMap, HashSet};

use herm_schema::events::{ChatKind, ChatRef};

use super::inbound::NAME;
use super::wire::{Channel, Guild};
use crate::platforms::Chat;

/// Channels that are remembered; of more, each is asked for when something happens there.
const CHANNELS_MAX: usize = 20_000;
/// Roles that stand for herm, one of each server.
const ROLES_MAX: usize = 1000;

const DIRECT: [u8; 2] = [1, 3];
const THREADS: [u8; 3] = [10, 11, 12];
const PRIVATE_THREAD: u8 = 12;

/// What is known of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    kind: u8,
    name: Option<String>,
    guild: Option<String>,
    parent: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Places {
    channels: HashMap<String, Place>,
    own_roles: HashSet<String>,
}

impl Places {
    /// A channel is there, or has changed.
    pub fn learn(&mut self, channel: &Channel, guild: Option<&str>) {
        if self.channels.len() >= CHANNELS_MAX && !self.channels.contains_key(&channel.id) {
            return;
        }
        let place = Place {
            kind: channel.kind,
            name: channel.name.clone(),
            guild: channel.guild_id.clone().or_else(|| guild.map(str::to_owned)),
            parent: channel.parent_id.clone().filter(|_| THREADS.contains(&channel.kind)),
        };
        self.channels.insert(channel.id.clone(), place);
    }

    /// A server is there, with all that herm sees of it.
    pub fn learn_guild(&mut self, guild: &Guild, me: &str) {
        for channel in guild.channels.iter().chain(&guild.threads) {
            self.learn(channel, Some(&guild.id));
        }
        let is_own = |bot: Option<&String>| bot.is_some_and(|bot| bot == me);
        for role in &guild.roles {
            if is_own(role.tags.as_ref().and_then(|tags| tags.bot_id.as_ref()))
                && self.own_roles.len() < ROLES_MAX
            {
                self.own_roles.insert(role.id.clone());
            }
        }
    }

    pub fn forget(&mut self, channel: &str) {
        self.channels.remove(channel);
    }

    pub fn knows(&self, channel: &str) -> bool {
        self.channels.contains_key(channel)
    }

    /// Whether a role was made for herm, so that to call it is to call herm.
    pub fn is_own_role(&self, role: &str) -> bool {
        self.own_roles.contains(role)
    }

    pub fn is_in_guild(&self, channel: &str, guild: &str) -> bool {
        self.channels.get(channel).and_then(|place| place.guild.as_deref()) == Some(guild)
    }

    /// A channel as Discord tells it, as far as it is known.
    pub fn as_channel(&self, channel: &str) -> Option<Channel> {
        let place = self.channels.get(channel)?.clone();
        Some(Channel {
            id: channel.to_owned(),
            kind: place.kind,
            guild_id: place.guild,
            name: place.name,
            parent_id: place.parent,
        })
    }

    /// The chat that a channel is; `guild` is empty where it is a direct chat. What nothing is known of
    /// is a channel of its server.
    pub fn chat(&self, channel: &str, guild: Option<&str>, person: Option<&str>) -> Chat {
        let place = ChatRef { platform: NAME.to_owned(), chat: channel.to_owned(), thread: None };
        let known = self.channels.get(channel);
        let direct = guild == Some("") || known.is_some_and(|known| DIRECT.contains(&known.kind));
        if direct {
            let title = person.map(str::to_owned);
            return Chat { place, kind: ChatKind::Direct, title, guild: None, parent: None };
        }
        let guild = guild.map(str::to_owned).or_else(|| known.and_then(|known| known.guild.clone()));
        let private = known.is_some_and(|known| known.kind == PRIVATE_THREAD);
        Chat {
            place,
            kind: if private { ChatKind::Group } else { ChatKind::Channel },
            title: known.and_then(|known| known.name.as_ref()).map(|name| format!("#{name}")),
            guild,
            parent: known.and_then(|known| known.parent.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(id: &str, kind: u8, parent: &str) -> Channel {
        let (name, parent_id) = (Some(format!("c{id}")), Some(parent.to_owned()));
        Channel { id: id.to_owned(), kind, guild_id: None, name, parent_id }
    }

    #[test]
    fn a_thread_is_a_chat_of_its_own_and_a_category_is_no_parent() {
        let mut places = Places::default();
        for (id, kind) in [("1", 0), ("2", 11), ("3", 12), ("4", 1)] {
            places.learn(&channel(id, kind, "9"), Some("7"));
        }
        let chat = |id| places.chat(id, Some("7"), None);
        assert_eq!((chat("1").kind, chat("1").parent), (ChatKind::Channel, None));
        assert_eq!((chat("2").kind, chat("2").parent.as_deref()), (ChatKind::Channel, Some("9")));
        assert_eq!((chat("3").kind, chat("3").place.thread), (ChatKind::Group, None));
        assert_eq!(places.chat("4", None, Some("Ada")).kind, ChatKind::Direct);
        assert_eq!(places.chat("5", Some(""), Some("Ada")).title.as_deref(), Some("Ada"));
        assert_eq!(chat("2").title.as_deref(), Some("#c2"));
        assert!(places.is_in_guild("2", "7") && !places.is_in_guild("5", "7"));
    }
}
