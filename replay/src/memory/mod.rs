//! What a profile remembers across sessions: lists of entries, a fold of the stream of the profile. PURE.
//!
//! [`decide`] says what a write comes to, [`evolve`] folds it; nothing is owed. Whether a text is fit to be
//! remembered at all (threats, secrets) is looked at before, and the files that people read are
//! written from this fold after.

mod decide;
mod evolve;
mod merge;
mod state;
mod words;

pub use decide::{Command, Limits, Operation, Refusal, decide};
pub use evolve::evolve;
pub use state::{Memories, Proposal, chars};
pub use words::{changed, list};
