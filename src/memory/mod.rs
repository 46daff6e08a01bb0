//! What is remembered across sessions: who may read and write which of it, the files that people read,
//! the prompt that models read.
//!
//! One [`MemoryProvider`] is active at a time; [`Notes`] is the built-in one: two lists of entries a space,
//! kept as events in the stream of the profile ([`herm_replay::memory`] folds and decides) and written to
//! files below `memories/` after. The log is the truth; an edit of a file is noticed and becomes an event
//! before anything else is done with it. A session sees what was remembered when its prompt was built, and
//! its own writes in the answers of the tool.
//!
//! Start at [`Notes`]; [`whose`] says whose memory a session has; the tool is `tools/memory.rs`.

mod answers;
mod block;
mod entries;
mod files;
mod notes;
mod people;
pub mod whose;

use herm_replay::memory::{Limits, Operation};
use herm_schema::events::{MemorySpace, MemoryTarget};
use herm_schema::{CallRef, SessionId, StreamPos};

pub use answers::{Live, Outcome, Refused};
pub use files::{Files, replace};
pub use notes::{Notes, Setting};
pub use people::{Undone, Write, Writes, why};
pub use whose::Whose;

/// What is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Whether the model keeps notes.
    pub notes: bool,
    /// Whether it keeps what it learns of the user.
    pub users: bool,
    /// Whether a person says yes before anything is kept.
    pub approval: bool,
    pub limits: Limits,
    /// Whether those who are not the profile's owners have a memory of their own.
    pub apart: bool,
}

impl MemoryConfig {
    /// Whether a list is kept.
    pub fn keeps(&self, target: MemoryTarget) -> bool {
        match target {
            MemoryTarget::Memory => self.notes,
            MemoryTarget::User => self.users,
        }
    }
}

/// A call of the `memory` tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub session: SessionId,
    pub call: CallRef,
    pub space: MemorySpace,
    pub target: MemoryTarget,
    /// Done all, or none.
    pub operations: Vec<Operation>,
}

/// Remembers across sessions; one is active at a time. Asked on a thread that may wait for the disk.
pub trait MemoryProvider: Send + Sync {
    /// What stands in the system prompt of a session that begins now; `None` for nothing.
    fn block(&self, space: &MemorySpace) -> Option<String>;

    /// Does what the model asks.
    ///
    /// # Errors
    /// Why nothing was changed, and how things stand.
    fn write(&self, asked: Asked) -> Result<Live, Refused>;

    /// What became of a call that was begun before a restart; `None` if it did not take effect.
    fn found_out(
        &self,
        session: SessionId,
        call: CallRef,
        space: &MemorySpace,
    ) -> Option<Result<Live, Refused>>;
}

/// How a person names a write or a proposal: `m12` is the one at 12 in the profile's stream.
pub fn name(at: StreamPos) -> String {
    format!("m{}", at.0)
}

/// The other way round.
pub fn named(text: &str) -> Option<StreamPos> {
    let digits = text.trim().trim_start_matches(['m', 'M']);
    digits.parse().ok().map(StreamPos)
}

#[cfg(test)]
mod tests;
