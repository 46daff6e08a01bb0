//! Why a command leads to no event: values with facts, not errors.

use herm_schema::events::EndReason;

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("the session is open already")]
    AlreadyOpen,
    #[error("the session is not open")]
    NotOpen,
    #[error("the session has ended ({reason:?})")]
    Ended { reason: EndReason },
    #[error("the session has no settings yet")]
    NotConfigured,
    #[error("no turn is running")]
    NothingRunning,
    #[error("the turn is ending already")]
    AlreadyEnding,
    /// The outcome of something that is not awaited any more, such as a tool call that was cancelled.
    #[error("nobody waits for this outcome any more")]
    Stale,
    /// A question is answered from another place than it was asked in.
    #[error("the answer comes from another chat than the question was asked in")]
    Elsewhere,
    #[error("nothing is due")]
    NothingDue,
    #[error("what may be spent is spent")]
    SpendingLimit,
    #[error("work is still open")]
    WorkOpen,
    #[error("{what} of {found} bytes exceeds the limit of {limit} bytes")]
    TooLarge { what: &'static str, found: usize, limit: usize },
}
