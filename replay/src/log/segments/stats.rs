//! Figures about a log, for people.

use herm_schema::Position;
use serde::{Deserialize, Serialize};

use super::shared::Shared;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub segments: usize,
    /// Of all segments.
    pub bytes: u64,
    /// Lost ones not counted.
    pub events: u64,
    pub last: Position,
    pub durable: Position,
    /// Last position that the index covers; zero while there is none.
    pub indexed: Position,
    /// Events that the index has yet to take over.
    pub index_lag_events: u64,
    /// Why the index is not used.
    pub index_degraded: Option<String>,
    /// What the index did wrong last, also if it has been rebuilt since.
    pub index_failure: Option<String>,
    /// Why nothing is acknowledged any more.
    pub poisoned: Option<String>,
    /// Positions that repairs gave up.
    pub lost_events: u64,
    pub disk_free_bytes: u64,
}

pub(crate) fn of(shared: &Shared) -> Stats {
    let files = &shared.files;
    let disk_free_bytes = files.disk.free_bytes(&files.folder).unwrap_or(0);
    let state = shared.state();
    let lost = state.manifest.lost.iter().map(|range| range.last.0.saturating_sub(range.first.0) + 1).sum();
    let sealed: u64 = state.manifest.sealed.iter().map(|sealed| sealed.bytes).sum();
    Stats {
        segments: state.firsts.len(),
        bytes: sealed.saturating_add(state.end.offset),
        events: state.tail.last.0.saturating_sub(lost),
        last: state.tail.last,
        durable: state.tail.durable,
        indexed: state.overlay.base(),
        index_lag_events: state.overlay.len() as u64,
        index_degraded: state.degraded.clone(),
        index_failure: state.index_failure.clone(),
        poisoned: state.poisoned.as_ref().map(ToString::to_string),
        lost_events: lost,
        disk_free_bytes,
    }
}
