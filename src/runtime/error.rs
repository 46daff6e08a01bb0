//! What can go wrong between a command and its events.

use herm_replay::log;
use herm_replay::reducer::Rejection;
use herm_schema::{Position, SessionId};

/// Why a command led to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("the log does not take it")]
    Log(#[from] log::Error),
    #[error("session `{session}` is not in the log")]
    NoSession { session: SessionId },
    #[error("session `{session}` is not running any more: {reason}")]
    Gone { session: SessionId, reason: String },
    #[error("the same message was received before, as event {position}")]
    Duplicate { position: Position },
}
