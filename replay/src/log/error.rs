//! What can go wrong with a log.

use std::io;
use std::path::{Path, PathBuf};

use herm_schema::{BlobRef, CodecError, Digest, Position, StreamId, StreamPos};

/// The operation that failed, with the facts. The hint to a person is made at the entry.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    #[error("stream `{stream}` stands at `{actual}`, expected `{expected}`")]
    Conflict { stream: StreamId, expected: StreamPos, actual: StreamPos },
    #[error("{what} of {found} exceeds the limit of {limit}")]
    TooLarge { what: &'static str, found: u64, limit: u64 },
    #[error("{found} {what}, at least {least} needed")]
    TooFew { what: &'static str, found: u64, least: u64 },
    #[error("the log was opened read-only")]
    ReadOnly,
    #[error("the log is closed")]
    Closed,
    #[error("the log refuses to go on after a failed {operation}: {reason}")]
    Poisoned { operation: &'static str, reason: String },
    #[error("no space left in `{path}`: {free_bytes} bytes free, {needed_bytes} needed")]
    Full { path: PathBuf, free_bytes: u64, needed_bytes: u64 },
    #[error("`{path}` is in use by process {pid} (started {started})")]
    Locked { path: PathBuf, pid: u32, started: String },
    #[error("`{path}` is on a `{kind}` file system, which does not keep what it promises")]
    UnsafeFileSystem { path: PathBuf, kind: String },
    #[error("`{path}` was written by a newer herm: {found}, this one knows {known}")]
    Newer { path: PathBuf, found: String, known: String },
    #[error("damage at position {position} in `{path}` at byte {offset}: {reason}")]
    Damaged { position: Position, path: PathBuf, offset: u64, reason: String },
    #[error("event {position} does not decode: {source}")]
    Undecodable { position: Position, source: CodecError },
    #[error("blob `{}` is missing", blob.hash)]
    BlobMissing { blob: BlobRef },
    #[error("blob `{}` is damaged: its bytes hash to `{found}`", blob.hash)]
    BlobDamaged { blob: BlobRef, found: Digest },
    #[error("{operation} `{path}`: {reason}")]
    Io { operation: &'static str, path: PathBuf, reason: String },
}

impl Error {
    pub(crate) fn io(operation: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), reason: error.to_string() }
    }
}
