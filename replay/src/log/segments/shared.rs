//! What the writer, the readers and the index thread share, and questions about streams and keys.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use herm_schema::codec::RawRecord;
use herm_schema::{Decoded, IdempotencyKey, Position, Recorded, StreamId};

use super::Options;
use super::files::Files;
use super::indexing::{Answer, Asking, Question};
use super::manifest::{Manifest, Mark};
use super::overlay::{Overlay, Place, Pointer};
use super::recover::{Found, Look, look};
use crate::log::blobs::Blobs;
use crate::log::disk::DiskFile;
use crate::log::laying::head_of;
use crate::log::{Error, Head, Tail};

pub(crate) struct Shared {
    pub(crate) files: Files,
    pub(crate) blobs: Blobs,
    pub(crate) index_from_events: usize,
    state: Mutex<State>,
    /// Something was appended.
    grown: Condvar,
    /// The index took something over, or failed.
    pub(crate) shrunk: Condvar,
    /// Set once, when the index thread has started.
    pub(crate) asking: OnceLock<Asking>,
    reloading: Mutex<()>,
}

pub(crate) struct State {
    pub(crate) manifest: Manifest,
    /// The first positions of all segments, in order.
    pub(crate) firsts: Vec<Position>,
    pub(crate) overlay: Overlay,
    pub(crate) tail: Tail,
    pub(crate) end: Place,
    pub(crate) mark: Mark,
    pub(crate) poisoned: Option<Error>,
    /// Damage that ends what can be read; in a log opened for reading only.
    pub(crate) damage: Option<Error>,
    /// Why the index is not to be trusted now.
    pub(crate) degraded: Option<String>,
    /// What the index did wrong last, also if it has been rebuilt since.
    pub(crate) index_failure: Option<String>,
    /// The file that is being written, to be synced by whoever must.
    pub(crate) active: Option<Arc<dyn DiskFile>>,
}

/// The bytes of the log at one moment.
pub(crate) struct Snapshot {
    pub(crate) manifest: Manifest,
    pub(crate) firsts: Vec<Position>,
    pub(crate) last: Position,
    pub(crate) end: Place,
}

impl Shared {
    pub(crate) fn open(options: &Options, how: Look) -> Result<Self, Error> {
        let files = Files::new(Arc::clone(&options.disk), options.folder.clone());
        let state = State::of(look(&files, how)?);
        Ok(Self {
            blobs: Blobs::new(Arc::clone(&options.disk), &options.folder),
            files,
            index_from_events: options.index_from_events,
            state: Mutex::new(state),
            grown: Condvar::new(),
            shrunk: Condvar::new(),
            asking: OnceLock::new(),
            reloading: Mutex::default(),
        })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // No invariant is broken between two statements under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.state();
        Snapshot {
            manifest: state.manifest.clone(),
            firsts: state.firsts.clone(),
            last: state.tail.last,
            end: state.end,
        }
    }

    pub(crate) fn announce(&self) {
        self.grown.notify_all();
        if let Some(asking) = self.asking.get()
            && self.state().overlay.len() > self.index_from_events
        {
            asking.ring();
        }
    }

    pub(crate) fn wait(&self, past: Position, timeout: Duration) -> Position {
        let until = Instant::now().checked_add(timeout);
        let mut state = self.state();
        loop {
            let left = until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
            if state.tail.last > past || left.is_zero() || state.poisoned.is_some() {
                return state.tail.last;
            }
            state = self.grown.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nothing is acknowledged from now on.
    pub(crate) fn poison(&self, operation: &'static str, reason: String) -> Error {
        let error = Error::Poisoned { operation, reason };
        self.state().poisoned.get_or_insert(error.clone());
        self.grown.notify_all();
        self.shrunk.notify_all();
        error
    }

    /// Brings everything written so far to the disk.
    pub(crate) fn sync_tail(&self) -> Result<Position, Error> {
        let (file, last) = {
            let state = self.state();
            match (&state.active, &state.poisoned) {
                (_, Some(error)) => return Err(error.clone()),
                (Some(file), None) if state.tail.durable < state.tail.last => {
                    (Arc::clone(file), state.tail.last)
                }
                _ => return Ok(state.tail.durable),
            }
        };
        file.sync().map_err(|error| self.poison("sync", error.to_string()))?;
        let mut state = self.state();
        state.tail.durable = state.tail.durable.max(last);
        Ok(state.tail.durable)
    }

    /// Writes down what is known to be on the disk. A mark that cannot be written is a lower bound
    /// that stays low: nothing is lost.
    pub(crate) fn write_mark(&self, indexed: Option<(Position, Place)>) {
        let mark = {
            let state = self.state();
            let (indexed, next) = indexed.unwrap_or((state.mark.indexed, state.mark.next));
            Mark { durable: state.tail.durable, indexed, next }
        };
        if mark == self.state().mark {
            return;
        }
        match mark.write(self.files.disk.as_ref(), &self.files.folder) {
            Ok(()) => self.state().mark = mark,
            Err(error) => tracing::warn!(%error, "the mark stays where it was"),
        }
    }

    /// The last event of a stream.
    pub(crate) fn head(&self, stream: StreamId) -> Result<Option<Head>, Error> {
        loop {
            {
                let state = self.state();
                if let Some(head) = state.overlay.head(stream) {
                    return Ok(Some(head));
                }
                if state.overlay.base() == Position(0) {
                    return Ok(None);
                }
            }
            match self.ask(Question::Head(stream)) {
                Some(Answer::Head(None)) => return Ok(None),
                Some(Answer::Head(Some((stream_pos, pointer)))) => {
                    let mut buffer = Vec::new();
                    let record = self.files.record(pointer, &mut buffer);
                    match record {
                        Ok(Ok(record))
                            if record.envelope.stream == stream
                                && record.envelope.stream_pos == stream_pos =>
                        {
                            let head = head_of(&record.envelope);
                            let mut state = self.state();
                            // Meanwhile there may be a newer one.
                            if state.overlay.head(stream).is_none() {
                                state.overlay.remember(stream, head);
                            }
                            return Ok(Some(head));
                        }
                        _ => {
                            self.distrust(format!("its head of stream `{stream}` is not in the segments"))?
                        }
                    }
                }
                _ => self.distrust("it did not say the head of a stream".to_owned())?,
            }
        }
    }

    /// Where the records stand that a key recorded.
    pub(crate) fn key(&self, key: IdempotencyKey) -> Result<Option<Pointer>, Error> {
        loop {
            {
                let state = self.state();
                if let Some(pointer) = state.overlay.key(key) {
                    return Ok(Some(pointer));
                }
                if state.overlay.base() == Position(0) {
                    return Ok(None);
                }
            }
            match self.ask(Question::Key(key)) {
                Some(Answer::Key(None)) => return Ok(None),
                Some(Answer::Key(Some(pointer))) => {
                    let mut buffer = Vec::new();
                    if let Ok(Ok(record)) = self.files.record(pointer, &mut buffer)
                        && record.envelope.key == Some(key)
                    {
                        return Ok(Some(pointer));
                    }
                    self.distrust(format!("its record of key `{key}` is not in the segments"))?;
                }
                _ => self.distrust("it did not say whether a key is known".to_owned())?,
            }
        }
    }

    /// The records of the append that begins at `pointer`.
    pub(crate) fn append_at(&self, pointer: Pointer) -> Result<Vec<Recorded>, Error> {
        let first = pointer.place.segment;
        let file = self.files.file(first)?;
        let length = self.files.length(first)?;
        let mut walk = super::scan::Walk::new(file, pointer.place.offset, length);
        let mut events = Vec::new();
        loop {
            let offset = walk.offset();
            let Ok(Some(record)) = walk.next() else {
                let reason = "the append that begins there does not read".to_owned();
                let path = self.files.path(first);
                return Err(Error::Damaged { position: Position(0), path, offset, reason });
            };
            let left = record.envelope.batch_left;
            events.extend(decode(&record)?);
            if left == 0 {
                return Ok(events);
            }
        }
    }

    /// Asks the index; `None` if it cannot answer.
    pub(crate) fn ask(&self, question: Question) -> Option<Answer> {
        self.asking.get()?.ask(question)
    }

    /// The index failed or lied: from now on the segments answer, until it has been rebuilt.
    pub(crate) fn distrust(&self, reason: String) -> Result<(), Error> {
        let _reloading = self.reloading();
        if let Some(asking) = self.asking.get() {
            asking.discard_store();
        }
        let base = self.state().overlay.base();
        let snapshot = self.snapshot();
        if base > Position(0) {
            tracing::warn!(reason, "the index is degraded; the segments are read instead");
            let older =
                super::recover::places_up_to(&self.files, &snapshot.manifest, &snapshot.firsts, base)?;
            let mut state = self.state();
            state.overlay.grow_back(older);
            state.index_failure = Some(reason.clone());
            state.degraded = Some(reason);
        } else {
            let mut state = self.state();
            state.index_failure = Some(reason.clone());
            state.degraded.get_or_insert(reason);
        }
        self.shrunk.notify_all();
        Ok(())
    }

    /// Held while places move between the overlay and the index.
    pub(crate) fn reloading(&self) -> MutexGuard<'_, ()> {
        self.reloading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(crate) fn of(found: Found) -> Self {
        Self {
            tail: Tail { last: found.last, durable: found.mark.durable.min(found.last) },
            manifest: found.manifest,
            firsts: found.firsts,
            overlay: found.overlay,
            end: found.end,
            mark: found.mark,
            poisoned: None,
            damage: found.damage,
            degraded: None,
            index_failure: None,
            active: None,
        }
    }
}

/// What a record says; `None` for a kind that may be passed over.
pub(crate) fn decode(record: &RawRecord<'_>) -> Result<Option<Recorded>, Error> {
    let position = record.envelope.position;
    match record.decode().map_err(|source| Error::Undecodable { position, source })? {
        Decoded::Event(event) => Ok(Some(Recorded { envelope: record.envelope.clone(), event })),
        Decoded::Ignorable { .. } => Ok(None),
    }
}
