//! What a write came to, as the tool shows it.

use herm_schema::StreamPos;
use herm_schema::events::MemoryTarget;

/// How a list stands after a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    pub target: MemoryTarget,
    pub outcome: Outcome,
    pub entries: Vec<String>,
    pub limit_chars: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Written(StreamPos),
    /// It waits for a person.
    Proposed(StreamPos),
}

/// Why nothing was changed, and how the list stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub message: String,
    pub entries: Vec<String>,
    pub limit_chars: usize,
}
