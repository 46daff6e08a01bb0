//! The log: append, read, wait, verify. It is the only truth; everything else is derived from it.
//!
//! This module is the contract. It says nothing about files: see `segments` for the default,
//! `memory` for tests, `contract` for the kit that every implementation passes.
//!
//! Promises of every implementation:
//! 1. Positions are dense from 1; stream positions are dense from 1 in each stream.
//! 2. An append is whole or absent, also after a crash.
//! 3. What was acknowledged with [`Durability::Disk`] survives power loss; what was acknowledged
//!    with [`Durability::Queued`] survives the death of this process.
//! 4. Order of acknowledgement is order of position; a reader never sees a gap.
//! 5. A key that is known answers with what it recorded the first time and appends nothing; this is
//!    looked at before the expected position.
//! 6. After a failed write or sync nothing is acknowledged any more ([`Error::Poisoned`]).

mod backup;
mod blobs;
pub mod contract;
pub mod disk;
mod error;
pub mod exercise;
pub mod faulty;
pub mod index;
mod laying;
pub mod lock;
pub mod memory;
pub mod repair;
pub mod segments;
pub mod verify;

use std::path::Path;
use std::time::Duration;

use herm_schema::{
    BlobRef, Digest, IdempotencyKey, Micros, NewEvent, Position, Recorded, StreamId, StreamPos,
};

pub use error::Error;
pub use memory::MemoryLog;
pub use segments::{ReadOnlyLog, SegmentLog};

/// Records in one append, at most.
pub const APPEND_EVENTS_MAX: usize = 512;
/// Largest blob, in bytes.
pub const BLOB_BYTES_MAX: u64 = 256 << 20;

/// What an append takes for granted about its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Any,
    /// That its last event stands here; [`StreamPos`] zero for a stream without events.
    At(StreamPos),
}

/// What an acknowledgement waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Written to the operating system; on the disk with the next group that waits for it.
    Queued,
    /// On the disk.
    Disk,
}

/// Events to be appended to one stream, all or none.
#[derive(Clone, Debug)]
pub struct Append {
    pub stream: StreamId,
    pub expect: Expect,
    pub key: Option<IdempotencyKey>,
    /// The time to record; raised to the stream's last if it is earlier.
    pub at: Micros,
    pub durability: Durability,
    /// One to [`APPEND_EVENTS_MAX`].
    pub events: Vec<NewEvent>,
}

/// The answer to an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// What was recorded, in order; for a known key, what it recorded the first time.
    pub events: Vec<Recorded>,
    /// The key was known; nothing was appended now.
    pub duplicate: bool,
}

/// Takes the answer to an append; called once, on a thread of the log's own: hand it on, do not work.
pub type Acknowledge = Box<dyn FnOnce(Result<Committed, Error>) + Send>;

/// Told when something is on the disk; called once, on a thread of the log's own: hand it on, do not work.
pub type Durable = Box<dyn FnOnce(Result<(), Error>) + Send>;

/// The last event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub stream_pos: StreamPos,
    pub position: Position,
    pub recorded_at: Micros,
    pub chain: Digest,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Position of the last event that can be read.
    pub last: Position,
    /// Position of the last event known to be on the disk.
    pub durable: Position,
}

/// Events in order, up to the tail at the time of the call. An error ends it.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Recorded, Error>> + Send + 'a>;

/// An append-only log of events in streams.
pub trait Log: Send + Sync {
    /// Hands over an append; the order of calls is the order of positions. Waits while the queue
    /// is full. `done` is called once, with the answer: in the order of positions among those of one
    /// durability; one that need not wait for the disk waits for nobody who does.
    fn submit(&self, append: Append, done: Acknowledge);

    /// Events of a stream from `from` on (inclusive; zero and one are the same).
    fn read_stream(&self, stream: StreamId, from: StreamPos) -> Records<'_>;

    /// Events of the whole log from `from` on (inclusive; zero and one are the same).
    fn read_all(&self, from: Position) -> Records<'_>;

    /// The last event of a stream; `None` if there is none.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn head(&self, stream: StreamId) -> Result<Option<Head>, Error>;

    /// The end of the log now.
    fn tail(&self) -> Tail;

    /// Calls `done` once, when everything up to `position` is on the disk, or with the reason why it never
    /// will be.
    fn when_durable(&self, position: Position, done: Durable);

    /// Waits until an event stands after `past`, at most `timeout`; the last position then.
    fn wait(&self, past: Position, timeout: Duration) -> Position;

    /// Keeps `bytes` under their hash; on the disk when it returns.
    ///
    /// # Errors
    /// `TooLarge` above [`BLOB_BYTES_MAX`]; otherwise those of the disk.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobRef, Error>;

    /// Keeps the bytes of a file under their hash, without holding them in memory where the
    /// implementation can; on the disk when it returns. The file stays.
    ///
    /// # Errors
    /// Those of [`Log::put_blob`], and those of reading the file.
    fn put_blob_file(&self, path: &Path) -> Result<BlobRef, Error> {
        let bytes = std::fs::read(path).map_err(|source| Error::Io {
            operation: "read",
            path: path.to_owned(),
            reason: source.to_string(),
        })?;
        self.put_blob(&bytes)
    }

    /// The bytes of a blob, checked against their hash.
    ///
    /// # Errors
    /// `BlobMissing`, `BlobDamaged`, or those of the disk.
    fn blob(&self, blob: BlobRef) -> Result<Vec<u8>, Error>;

    /// Appends and waits for the answer.
    ///
    /// # Errors
    /// `Conflict` if the expectation does not hold, `TooLarge`, `Full`, `ReadOnly`, `Poisoned`.
    fn append(&self, append: Append) -> Result<Committed, Error> {
        let (answer, wait) = crossbeam_channel::bounded(1);
        let done = move |result| drop(answer.send(result));
        self.submit(append, Box::new(done));
        wait.recv().unwrap_or(Err(Error::Closed))
    }
}
