//! What an index of the log keeps, and the one on sled 0.34.7.
//!
//! The index is derived: it may lie, panic, hang or be missing, and nothing is lost. It is called
//! from one thread only (`segments::indexing`), which catches what it throws and checks what it says.
//!
//! Trees: `st` stream + stream position -> pointer; `hd` stream -> stream position and pointer of
//! its last record; `id` idempotency key -> pointer of its first record; `ps` every
//! [`SPARSE_EVERY`]th position -> pointer; `ck` the last position applied.

use std::path::Path;

use herm_schema::{IdempotencyKey, Position, StreamId, StreamPos};

use super::segments::overlay::{Entry, Place, Pointer};

/// Of how many positions one is kept in `ps`.
pub const SPARSE_EVERY: u64 = 256;
/// Cache that sled is given, in bytes; it takes several times as much in the end.
const CACHE_BYTES: u64 = 8 << 20;

/// Why an index call failed, in words.
pub type Failure = String;

/// An index; the methods are called from one thread.
pub trait Store: Send {
    /// Last position applied; zero if none.
    fn applied(&self) -> Result<Position, Failure>;
    /// Applies entries; applying them again changes nothing.
    fn apply(&mut self, entries: &[Entry]) -> Result<(), Failure>;
    /// Stream position and place of a stream's last record.
    fn head(&self, stream: StreamId) -> Result<Option<(StreamPos, Pointer)>, Failure>;
    /// The first record that a key recorded.
    fn key(&self, key: IdempotencyKey) -> Result<Option<Pointer>, Failure>;
    /// Records of a stream from `from` up to, not including, `to`.
    fn records(&self, stream: StreamId, from: StreamPos, to: StreamPos) -> Result<Vec<Pointer>, Failure>;
    /// A record at or before `position`.
    fn near(&self, position: Position) -> Result<Option<Pointer>, Failure>;
    /// What was applied is handed to the system when it returns, and on the disk when the sync that it
    /// returns has been made. That does not touch the store: another thread may wait for the disk.
    fn flush(&mut self) -> Result<Syncing, Failure>;
}

/// Waits for the disk.
pub type Syncing = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

/// Opens an index in a folder.
pub type OpenStore = dyn Fn(&Path) -> Result<Box<dyn Store>, Failure> + Send + Sync;

/// The index on sled.
pub struct SledStore {
    db: sled::Db,
    path: std::path::PathBuf,
    records: sled::Tree,
    heads: sled::Tree,
    keys: sled::Tree,
    sparse: sled::Tree,
    applied: sled::Tree,
}

const POINTER_BYTES: usize = 20;

fn failure(error: sled::Error) -> Failure {
    error.to_string()
}

impl SledStore {
    /// # Errors
    /// Those of sled, in words.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let config = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
        let db = config.mode(sled::Mode::LowSpace).open().map_err(failure)?;
        let tree = |name: &str| db.open_tree(name).map_err(failure);
        Ok(Self {
            records: tree("st")?,
            heads: tree("hd")?,
            keys: tree("id")?,
            sparse: tree("ps")?,
            applied: tree("ck")?,
            path: path.to_owned(),
            db,
        })
    }
}

fn pointer_bytes(pointer: &Pointer) -> [u8; POINTER_BYTES] {
    let mut bytes = [0; POINTER_BYTES];
    let fields = pointer.place.segment.0.to_be_bytes().into_iter();
    let fields = fields.chain(pointer.place.offset.to_be_bytes()).chain(pointer.bytes.to_be_bytes());
    bytes.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
    bytes
}

fn read_pointer(bytes: &[u8]) -> Result<Pointer, Failure> {
    let read = || {
        let (segment, rest) = bytes.split_first_chunk::<8>()?;
        let (offset, rest) = rest.split_first_chunk::<8>()?;
        let bytes = <[u8; 4]>::try_from(rest).ok()?;
        let place =
            Place { segment: Position(u64::from_be_bytes(*segment)), offset: u64::from_be_bytes(*offset) };
        Some(Pointer { place, bytes: u32::from_be_bytes(bytes) })
    };
    read().ok_or_else(|| format!("a pointer of {} bytes", bytes.len()))
}

fn record_key(stream: StreamId, at: StreamPos) -> [u8; 24] {
    let mut key = [0; 24];
    let fields = stream.bytes().iter().copied().chain(at.0.to_be_bytes());
    key.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
    key
}

impl Store for SledStore {
    fn applied(&self) -> Result<Position, Failure> {
        let bytes = self.applied.get(b"at").map_err(failure)?;
        let number = bytes.and_then(|bytes| <[u8; 8]>::try_from(bytes.as_ref()).ok());
        Ok(Position(number.map_or(0, u64::from_be_bytes)))
    }

    fn apply(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let Some(last) = entries.last() else {
            return Ok(());
        };
        let (mut records, mut heads) = (sled::Batch::default(), sled::Batch::default());
        let (mut keys, mut sparse) = (sled::Batch::default(), sled::Batch::default());
        for entry in entries {
            let pointer = pointer_bytes(&entry.pointer);
            records.insert(&record_key(entry.stream, entry.stream_pos), &pointer);
            let mut head = entry.stream_pos.0.to_be_bytes().to_vec();
            head.extend_from_slice(&pointer);
            heads.insert(entry.stream.bytes(), head);
            if let Some(key) = entry.names {
                keys.insert(&key.0, &pointer);
            }
            if entry.position.0.is_multiple_of(SPARSE_EVERY) {
                sparse.insert(&entry.position.0.to_be_bytes(), &pointer);
            }
        }
        self.records.apply_batch(records).map_err(failure)?;
        self.heads.apply_batch(heads).map_err(failure)?;
        self.keys.apply_batch(keys).map_err(failure)?;
        self.sparse.apply_batch(sparse).map_err(failure)?;
        // Last: what it claims is there.
        self.applied.insert(b"at", &last.position.0.to_be_bytes()).map_err(failure)?;
        Ok(())
    }

    fn head(&self, stream: StreamId) -> Result<Option<(StreamPos, Pointer)>, Failure> {
        let Some(bytes) = self.heads.get(stream.bytes()).map_err(failure)? else {
            return match self.records.scan_prefix(stream.bytes()).next() {
                None => Ok(None),
                Some(_) => Err(format!("stream `{stream}` has records and no head")),
            };
        };
        let (at, pointer) = bytes.split_first_chunk::<8>().ok_or("a short head")?;
        let at = StreamPos(u64::from_be_bytes(*at));
        // A head that was left behind would let the next append overwrite history: the records agree, or it lies.
        match self.records.get(record_key(stream, at.next())).map_err(failure)? {
            None => Ok(Some((at, read_pointer(pointer)?))),
            Some(_) => Err(format!("the head of stream `{stream}` is behind its records")),
        }
    }

    fn key(&self, key: IdempotencyKey) -> Result<Option<Pointer>, Failure> {
        let bytes = self.keys.get(key.0).map_err(failure)?;
        bytes.map(|bytes| read_pointer(&bytes)).transpose()
    }

    fn records(&self, stream: StreamId, from: StreamPos, to: StreamPos) -> Result<Vec<Pointer>, Failure> {
        let range = record_key(stream, from)..record_key(stream, to);
        self.records.range(range).map(|pair| read_pointer(&pair.map_err(failure)?.1)).collect()
    }

    fn near(&self, position: Position) -> Result<Option<Pointer>, Failure> {
        let last = self.sparse.range(..=position.0.to_be_bytes()).next_back();
        last.map(|pair| read_pointer(&pair.map_err(failure)?.1)).transpose()
    }

    fn flush(&mut self) -> Result<Syncing, Failure> {
        self.db.flush().map_err(failure)?;
        // sled's flush does not reach the disk (sync_file_range): sync its file and its folders.
        let sync = |path: &Path| std::fs::File::open(path)?.sync_all();
        let parent = self.path.parent().unwrap_or(&self.path);
        let paths = [self.path.join("db"), self.path.join("conf"), self.path.clone(), parent.to_owned()];
        Ok(Box::new(move || {
            paths.iter().try_for_each(|path| sync(path)).map_err(|error| format!("sync the index: {error}"))
        }))
    }
}
