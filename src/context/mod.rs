//! Context engines and the system prompt.
//!
//! One engine is active at a time. It says what a compression would look like; the reducer decides
//! when one is due and whether it counts.

mod prompt;

use herm_replay::reducer::command::Compression;
use herm_replay::reducer::{SessionState, compaction};

pub use prompt::Prompt;

/// Decides what of a conversation stays when it does not fit any more.
pub trait ContextEngine: Send + Sync {
    /// What a compression now would put in the place of what.
    ///
    /// # Errors
    /// Why it failed; an empty text if there is nothing to compress.
    fn compress(&self, state: &SessionState) -> Result<Compression, String>;
}

/// Deterministic, without a model: see [`compaction`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl ContextEngine for Plain {
    fn compress(&self, state: &SessionState) -> Result<Compression, String> {
        compaction::plan(state).ok_or_else(String::new)
    }
}
