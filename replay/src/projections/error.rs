//! What can go wrong with a projection. The log is never among the things that break here.

use std::path::PathBuf;

use crate::log;

/// The operation that failed, with the facts.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("read the log: {source}")]
    Log {
        #[from]
        source: log::Error,
    },
    #[error("{operation} in the store of `{projection}`: {reason}")]
    Store { projection: String, operation: &'static str, reason: String },
    #[error("`{path}` is in use by another process")]
    Busy { path: PathBuf },
    #[error("{operation} `{path}`: {reason}")]
    Io { operation: &'static str, path: PathBuf, reason: String },
    #[error(
        "projection `{name}` stands still at {position}: {reason}; `herm projections rebuild {name}` starts it anew"
    )]
    Parked { name: &'static str, position: u64, reason: String },
    #[error("there is no projection `{name}`; there are {known}")]
    Unknown { name: String, known: String },
    #[error("session `{session}` is not in the log")]
    NoSession { session: String },
}

impl Error {
    pub(crate) fn store(projection: &str, operation: &'static str, reason: impl ToString) -> Self {
        Self::Store { projection: projection.to_owned(), operation, reason: reason.to_string() }
    }

    pub(crate) fn io(operation: &'static str, path: &std::path::Path, reason: impl ToString) -> Self {
        Self::Io { operation, path: path.to_owned(), reason: reason.to_string() }
    }

    /// Whether the store, rather than the fold or the log, is to blame: it may be thrown away.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Store { .. })
    }
}
