//! Whose memory a session reads and writes. The rule:
//!
//! * The profile's own is its owners': of whoever sits at the terminal, holds the key of the API, or writes
//!   from an account that owns the profile on its platform. Those are the `admins` of the platform; where
//!   there are none, the one account that `allowed_users` lists. Of several without `admins`, nobody can
//!   tell which owns it.
//! * Anybody else who is listened to has a space of their own, by platform and account; so has everybody for
//!   whom a program says that it speaks (the API's `X-Hermes-Session-Key`).
//! * A conversation that several people share has the space of its chat.
//!
//! What was said in sessions is searched by the same rule: the owners find all of it, anybody else what was said
//! in their own.
//!
//! Identity is the platform's, never what a text says. `memory.people: together` gives all of them the
//! profile's own.

use std::sync::Arc;

use herm_schema::events::{ChatRef, MemorySpace};

use crate::inbound::session_key::SessionKey;
use crate::inbound::settings::PlatformSettings;

/// Says whose memory a session has, by its chat and its key.
pub type Whose = Arc<dyn Fn(&ChatRef, &str) -> MemorySpace + Send + Sync>;

/// Platforms whose sessions are the owner's: nobody else gets that far.
const OWN_PLATFORMS: &[&str] = &["cli", "acp", "cron", crate::api::settings::NAME];

/// Everybody has the profile's.
pub fn together() -> Whose {
    Arc::new(|_, _| MemorySpace::Profile)
}

/// By the rule; `owns` says whether an account (platform, id) owns the profile.
pub fn apart(owns: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Whose {
    Arc::new(move |chat, key| space(chat, key, &owns))
}

fn space(chat: &ChatRef, key: &str, owns: &dyn Fn(&str, &str) -> bool) -> MemorySpace {
    if OWN_PLATFORMS.contains(&chat.platform.as_str()) {
        // A program may say for whom it speaks; nothing but the API is spoken to so.
        return match &chat.thread {
            Some(id) => MemorySpace::Person { platform: chat.platform.clone(), id: id.clone() },
            None => MemorySpace::Profile,
        };
    }
    match SessionKey::parse(key).filter(|key| key.platform == chat.platform) {
        Some(SessionKey { platform, user: Some(id), .. }) => match owns(&platform, &id) {
            true => MemorySpace::Profile,
            false => MemorySpace::Person { platform, id },
        },
        _ => MemorySpace::Chat { platform: chat.platform.clone(), chat: chat.chat.clone() },
    }
}

/// Whether an account owns the profile on a platform.
pub fn owns(settings: &PlatformSettings, id: &str) -> bool {
    let (admins, listed) = (&settings.admins.ids, &settings.allowed_users.ids);
    match admins.is_empty() {
        false => admins.contains(id),
        true => listed.len() == 1 && listed.contains(id),
    }
}
