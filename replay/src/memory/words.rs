//! Memory in a few words, for people.

use herm_schema::events::{MemoryChange, MemorySpace, MemoryTarget};

/// Which list: `memory`, `user`, and whose it is where it is not the profile's.
pub fn list(space: &MemorySpace, target: MemoryTarget) -> String {
    let list = match target {
        MemoryTarget::Memory => "memory",
        MemoryTarget::User => "user",
    };
    match space {
        MemorySpace::Profile => list.to_owned(),
        MemorySpace::Person { platform, id } => format!("{list} of {platform} account {id}"),
        MemorySpace::Chat { platform, chat } => format!("{list} of {platform} chat {chat}"),
    }
}

/// Changes of a list on one line: `+` what came, `-` what went.
pub fn changed(space: &MemorySpace, target: MemoryTarget, changes: &[MemoryChange]) -> String {
    let change = |change: &MemoryChange| match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("- {before} + {after}"),
        (Some(before), None) => format!("- {before}"),
        (None, Some(after)) => format!("+ {after}"),
        (None, None) => String::new(),
    };
    let changes: Vec<String> = changes.iter().map(change).collect();
    format!("{}: {}", list(space, target), changes.join(" "))
}
