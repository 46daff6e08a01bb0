//! How the gateway is doing, in words and as JSON.

use serde_json::{Value, json};

use super::hub::{Health, Hub};
use crate::runtime::{Clock, SystemClock};

/// For a person.
pub fn in_words(health: &Health) -> String {
    match health {
        Health::Starting => "starting".to_owned(),
        Health::Up { name } if name.is_empty() => "up".to_owned(),
        Health::Up { name } => format!("up, as {name}"),
        Health::Retrying { why } => format!("not connected, trying again: {why}"),
        Health::Down { why, fix } => format!("down: {why}; {fix}"),
        Health::Paused => "paused".to_owned(),
    }
}

/// Everything, for `herm gateway status --json` and `/health/detailed`.
pub fn json(hub: &Hub) -> Value {
    let profiles = hub.profiles.values().map(|profile| {
        let policy = profile.rooms.policy();
        json!({
            "name": profile.name, "sessions_in_memory": profile.engine.sessions.count(),
            "provider": policy.model.provider, "model": policy.model.model,
        })
    });
    let (paired, dead, owed) =
        hub.desk.read(|state| (state.paired.len(), state.dead.len(), state.deliveries.len()));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "up_seconds": SystemClock.now().since(hub.started_at) / 1_000_000,
        "accepting": hub.open().is_ok(),
        "why_not": hub.open().err().map(|not_now| not_now.why),
        "platforms": hub.health(),
        "profiles": profiles.collect::<Vec<_>>(),
        "paired": paired, "dead_targets": dead, "owed_by_the_gateway": owed,
        "memory_bytes": memory_bytes(),
    })
}

/// What the kernel counts in, on the machines that herm runs on.
const PAGE_BYTES: u64 = 4_096;

/// Resident memory of this process; zero where it is not known.
pub fn memory_bytes() -> u64 {
    let page = PAGE_BYTES;
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    resident.unwrap_or(0) * page
}

/// Bytes that are free for us where `path` lies; `None` where that is not known.
pub fn disk_free(path: &std::path::Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}
