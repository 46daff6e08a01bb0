//! The log of another process, or of a folder that cannot be written: looked at, never changed.
//!
//! No lock and no index: the places of all records are gathered in memory, and what has been added
//! since is gathered when something is asked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use herm_schema::{BlobRef, Position, StreamId, StreamPos};

use super::recover::{Look, look};
use super::shared::{Shared, State};
use super::{Options, Stats, reading, stats};
use crate::log::{Acknowledge, Append, Durable, Error, Head, Log, Records, Tail};

/// How often a reader looks whether another process has appended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A log that is only read. Damage does not keep it from opening: what stands before it is read,
/// and the reading ends with the error.
pub struct ReadOnlyLog {
    shared: Arc<Shared>,
    /// Length of the last segment when it was looked at.
    seen: Mutex<(Position, u64)>,
}

impl ReadOnlyLog {
    pub(crate) fn open(options: Options) -> Result<Self, Error> {
        if !options.disk.exists(&options.folder) {
            let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
            return Err(Error::io("open the log in", &options.folder, &missing));
        }
        let how = Look { trust_index: false, up_to_damage: true };
        let shared = Arc::new(Shared::open(&options, how)?);
        let seen = Mutex::new((Position(0), 0));
        let log = Self { shared, seen };
        log.refresh()?;
        Ok(log)
    }

    /// Figures about the log.
    pub fn stats(&self) -> Stats {
        let _ = self.refresh();
        stats::of(&self.shared)
    }

    /// Damage that ends what can be read.
    pub fn damage(&self) -> Option<Error> {
        self.shared.state().damage.clone()
    }

    /// Takes in what has been added. A record that is just being written does not read yet, and
    /// looks like a torn tail: it is looked at again next time.
    fn refresh(&self) -> Result<(), Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = self.shared.files.firsts()?.last().copied() else {
            return Ok(());
        };
        let now = (last, self.shared.files.length(last)?);
        if *seen == now {
            return Ok(());
        }
        let base = self.shared.state().tail.last;
        let from = self.shared.state().end;
        let found = if base == Position(0) {
            look(&self.shared.files, Look { trust_index: false, up_to_damage: true })?
        } else {
            super::recover::look_from(&self.shared.files, base, from)?
        };
        let mut fresh = State::of(found);
        fresh.tail.durable = fresh.mark.durable.min(fresh.tail.last);
        let mut state = self.shared.state();
        std::mem::swap(&mut fresh, &mut state);
        // `fresh` is what was known before; if the new look began behind it, it is joined in front.
        if state.overlay.base() > Position(0) {
            state.overlay.grow_back(fresh.overlay);
        }
        *seen = now;
        Ok(())
    }
}

impl Log for ReadOnlyLog {
    fn submit(&self, _: Append, done: Acknowledge) {
        done(Err(Error::ReadOnly));
    }

    fn when_durable(&self, _: Position, done: Durable) {
        done(Err(Error::ReadOnly));
    }

    fn read_stream(&self, stream: StreamId, from: StreamPos) -> Records<'_> {
        match self.refresh() {
            Ok(()) => Box::new(reading::StreamRecords::new(Arc::clone(&self.shared), stream, from)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    fn read_all(&self, from: Position) -> Records<'_> {
        match self.refresh() {
            Ok(()) => Box::new(reading::AllRecords::new(Arc::clone(&self.shared), from)),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, Error> {
        self.refresh()?;
        self.shared.head(stream)
    }

    fn tail(&self) -> Tail {
        // The last look still stands if this one fails; the next read says why.
        let _ = self.refresh();
        self.shared.state().tail
    }

    fn wait(&self, past: Position, timeout: Duration) -> Position {
        let until = Instant::now().checked_add(timeout);
        loop {
            let last = self.tail().last;
            let left = until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
            if last > past || left.is_zero() {
                return last;
            }
            std::thread::sleep(LOOK_EVERY.min(left));
        }
    }

    fn put_blob(&self, _: &[u8]) -> Result<BlobRef, Error> {
        Err(Error::ReadOnly)
    }

    fn blob(&self, blob: BlobRef) -> Result<Vec<u8>, Error> {
        self.shared.blobs.get(blob)
    }
}
