//! The default log: a row of append-only segment files, which are the truth.
//!
//! ```text
//! log/
//!   MANIFEST             what the folder is: versions, sealed segments, lost ranges
//!   <first:020>.seg      records and barriers, appended; a new one every 64 MiB
//!   mark                 what was on the disk at some moment, a lower bound
//!   lock                 one owner
//!   reserve              space that is given back when the disk is full
//!   blobs/ab/<hash>      large payloads
//!   index/               sled; derived, may be deleted
//! ```
//!
//! The way of an append: [`SegmentLog`] queues it; `writer` takes what has queued, lays the records,
//! writes them, publishes them in `overlay`, and answers; `syncing` answers those who wait for the disk;
//! `indexing` carries the records over to the index, later, on its own thread. `reading` looks into the overlay first, then into the
//! index, and when the index fails, into the segments. `recover` says what a folder holds when it is
//! opened. The invariant that the rest leans on: a record is in a segment before anything else
//! knows of it, and the index never knows of a record that is not on the disk.

pub(crate) mod barrier;
pub(crate) mod files;
mod indexing;
pub mod manifest;
pub(crate) mod overlay;
mod read_only;
mod reading;
pub(crate) mod recover;
pub(crate) mod scan;
pub(crate) mod shared;
mod stats;
mod syncing;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::Sender;
use herm_schema::codec::RawRecord;
use herm_schema::{BlobRef, Position, StreamId, StreamPos};

pub use overlay::{Entry, Place, Pointer};
pub use read_only::ReadOnlyLog;
pub use stats::Stats;

use super::disk::{Disk, RealDisk};
use super::index::{OpenStore, SledStore};
use super::lock::Lock;
use super::{Acknowledge, Append, Durable, Error, Head, Log, Records, Tail};
use indexing::Indexing;
use recover::Look;
use shared::Shared;
use syncing::Syncing;
use writer::{Job, Writer};

/// Appends that wait for the writer, at most.
const QUEUE_APPENDS_MAX: usize = 1024;
/// Size at which a segment is sealed, in bytes.
pub const SEGMENT_BYTES: u64 = 64 << 20;
/// Space that is kept for outcomes when the disk is full, in bytes.
pub const RESERVE_BYTES: u64 = 64 << 20;

/// How to open a log.
#[derive(Clone)]
pub struct Options {
    /// The folder of the log; made if it is not there.
    pub folder: PathBuf,
    /// Open it on a network file system all the same.
    pub allow_unsafe_file_system: bool,
    pub segment_bytes: u64,
    pub reserve_bytes: u64,
    pub disk: Arc<dyn Disk>,
    /// Whether the folder is one of this machine's: then it is locked and its file system looked at.
    pub real: bool,
    /// Opens the index; without one the log keeps the places of all records in memory.
    pub index: Option<Arc<OpenStore>>,
    /// Records from which on an index is worth its files and memory.
    pub index_from_events: usize,
    /// How long a question to the index may take.
    pub index_patience: Duration,
}

impl Options {
    /// The default log in `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let open_sled: Arc<OpenStore> = Arc::new(|path: &Path| Ok(Box::new(SledStore::open(path)?) as _));
        Self {
            folder: folder.into(),
            allow_unsafe_file_system: false,
            segment_bytes: SEGMENT_BYTES,
            reserve_bytes: RESERVE_BYTES,
            disk: Arc::new(RealDisk),
            real: true,
            index: Some(open_sled),
            index_from_events: 8_192,
            index_patience: Duration::from_secs(10),
        }
    }

    /// A log on another disk, such as a simulated one; without an index and a lock.
    pub fn on_disk(folder: impl Into<PathBuf>, disk: Arc<dyn Disk>) -> Self {
        Self { disk, real: false, index: None, ..Self::new(folder) }
    }
}

/// The log in a folder of segment files; its only owner.
pub struct SegmentLog {
    shared: Arc<Shared>,
    queue: Option<Sender<Job>>,
    syncing: Option<Syncing>,
    /// The writer, and the one that waits for the disk.
    threads: Vec<JoinHandle<()>>,
    indexing: Option<Indexing>,
    _lock: Option<Lock>,
}

impl SegmentLog {
    /// Opens the log for reading and writing, and cuts a torn tail.
    ///
    /// # Errors
    /// `Locked` while another process owns it, `UnsafeFileSystem`, `Newer`, `Damaged` when something is
    /// missing or broken that was on the disk, `Io` for a folder that cannot be written.
    pub fn open(options: Options) -> Result<Self, Error> {
        let lock = prepare(&options)?;
        let look = Look { trust_index: options.index.is_some(), up_to_damage: false };
        let shared = Arc::new(Shared::open(&options, look)?);
        let (syncing, syncer) = Syncing::start(Arc::clone(&shared))?;
        let writer = Writer::new(Arc::clone(&shared), syncing.clone(), &options)?;
        let indexing = options.index.clone().map(|open| Indexing::start(Arc::clone(&shared), open, &options));
        let indexing = indexing.transpose()?;
        let (queue, jobs) = crossbeam_channel::bounded(QUEUE_APPENDS_MAX);
        let writer = std::thread::Builder::new()
            .name("log-writer".to_owned())
            .spawn(move || writer.run(&jobs))
            .map_err(|error| Error::io("start a thread for", &options.folder, &error))?;
        let (queue, syncing) = (Some(queue), Some(syncing));
        let threads = vec![writer, syncer];
        Ok(Self { shared, queue, syncing, threads, indexing, _lock: lock })
    }

    /// Opens the log for reading only, while its owner goes on, or of a folder that cannot be written.
    ///
    /// # Errors
    /// As [`SegmentLog::open`], without those of locking and writing.
    pub fn open_read_only(folder: impl Into<PathBuf>) -> Result<ReadOnlyLog, Error> {
        ReadOnlyLog::open(Options::new(folder))
    }

    /// Seals the segment that is being written: the next append begins a new one.
    ///
    /// # Errors
    /// Those of a write.
    pub fn seal(&self) -> Result<(), Error> {
        let (answer, wait) = crossbeam_channel::bounded(1);
        self.send(Job::Seal(answer));
        wait.recv().unwrap_or(Err(Error::Closed))
    }

    /// Copies everything that is on the disk to `folder`, which must not exist; the last position copied.
    ///
    /// # Errors
    /// Those of reading and writing.
    pub fn backup(&self, folder: &Path) -> Result<Position, Error> {
        self.seal()?;
        super::backup::copy(&self.shared, folder)
    }

    /// Gives every record from `from` on to `each`, checked and not decoded; how many there were.
    ///
    /// # Errors
    /// Damage, or what `each` returns.
    pub fn scan(
        &self,
        from: Position,
        each: &mut dyn FnMut(&RawRecord<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let mut records = reading::AllRecords::new(Arc::clone(&self.shared), from);
        let mut count = 0;
        while records.step_raw(|record| each(record))?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Waits until the index covers everything that is on the disk, or is given up.
    pub fn wait_indexed(&self, timeout: Duration) -> Stats {
        if let Some(indexing) = &self.indexing {
            indexing.catch_up(timeout);
        }
        self.stats()
    }

    /// Figures about the log.
    pub fn stats(&self) -> Stats {
        stats::of(&self.shared)
    }

    fn send(&self, job: Job) {
        if let Some(queue) = &self.queue
            && let Err(crossbeam_channel::SendError(job)) = queue.send(job)
        {
            // The writer is gone only if it panicked.
            job.refuse(Error::Closed);
        }
    }
}

/// Makes sure that the folder is there, is safe, and is ours.
fn prepare(options: &Options) -> Result<Option<Lock>, Error> {
    let folder = &options.folder;
    make_folder(options.disk.as_ref(), folder)?;
    if !options.real {
        return Ok(None);
    }
    if let Some(kind) = super::lock::unsafe_kind(folder).filter(|_| !options.allow_unsafe_file_system) {
        return Err(Error::UnsafeFileSystem { path: folder.clone(), kind: kind.to_owned() });
    }
    Lock::take(folder).map(Some)
}

/// Makes a folder whose name is on the disk, and those above it.
fn make_folder(disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
    let missing: Vec<_> = folder.ancestors().take_while(|path| !disk.exists(path)).collect();
    let made = disk.create_folder(folder);
    made.map_err(|error| Error::io("make the folder", folder, &error))?;
    for path in missing.iter().filter_map(|path| path.parent()) {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        disk.sync_folder(path).map_err(|error| Error::io("sync", path, &error))?;
    }
    Ok(())
}

impl Drop for SegmentLog {
    fn drop(&mut self) {
        // The writer answers what has queued, syncs and ends; then the index is brought up to date.
        drop((self.queue.take(), self.syncing.take()));
        // The last one to hold the log may be an answer that one of the two is giving.
        let threads = std::mem::take(&mut self.threads);
        if threads.iter().all(|thread| thread.thread().id() != std::thread::current().id()) {
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        match self.indexing.take() {
            Some(indexing) => indexing.stop(),
            None => self.shared.write_mark(None),
        }
    }
}

impl Log for SegmentLog {
    fn submit(&self, append: Append, done: Acknowledge) {
        self.send(Job::Append(append, done));
    }

    fn when_durable(&self, position: Position, done: Durable) {
        let there = self.shared.state().tail.durable >= position;
        match &self.syncing {
            Some(syncing) if !there => syncing.tell(done),
            _ => done(Ok(())),
        }
    }

    fn read_stream(&self, stream: StreamId, from: StreamPos) -> Records<'_> {
        Box::new(reading::StreamRecords::new(Arc::clone(&self.shared), stream, from))
    }

    fn read_all(&self, from: Position) -> Records<'_> {
        Box::new(reading::AllRecords::new(Arc::clone(&self.shared), from))
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, Error> {
        self.shared.head(stream)
    }

    fn tail(&self) -> Tail {
        self.shared.state().tail
    }

    fn wait(&self, past: Position, timeout: Duration) -> Position {
        self.shared.wait(past, timeout)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobRef, Error> {
        self.shared.blobs.put(bytes)
    }

    fn blob(&self, blob: BlobRef) -> Result<Vec<u8>, Error> {
        self.shared.blobs.get(blob)
    }
}
