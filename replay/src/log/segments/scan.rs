//! Reading records one after another from segment files.
//!
//! What a record that does not read *means* (a torn tail or damage in the middle) is not decided
//! here: see `recover`.

use std::io;
use std::sync::Arc;

use herm_schema::codec::{self, HEADER_BYTES, MAGIC, PAYLOAD_BYTES_MAX, RawRecord};
use herm_schema::{CodecError, Position};

use super::barrier::{BARRIER_BYTES, BARRIER_MAGIC, read_barrier};
use crate::log::disk::{DiskFile, read_full};

/// Bytes that are read at once.
const WINDOW_BYTES: usize = 512 << 10;
/// Where the payload's length stands in a header.
const LENGTH_AT: std::ops::Range<usize> = 4..8;

/// Why reading stopped before the end.
#[derive(Debug)]
pub(crate) enum Bad {
    Io(io::Error),
    Record(CodecError),
}

/// Walks over the records of one segment.
pub(crate) struct Walk {
    file: Arc<dyn DiskFile>,
    /// Where `window` begins in the file.
    base: u64,
    window: Vec<u8>,
    /// Where the next record begins in `window`.
    at: usize,
    /// Nothing is read from here on.
    end: u64,
}

impl Walk {
    /// From `offset` to `end`.
    pub(crate) fn new(file: Arc<dyn DiskFile>, offset: u64, end: u64) -> Self {
        Self { file, base: offset, window: Vec::new(), at: 0, end }
    }

    /// Where the next record begins.
    pub(crate) fn offset(&self) -> u64 {
        self.base.saturating_add(self.at as u64)
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RawRecord<'_>>, Bad> {
        self.have(HEADER_BYTES).map_err(Bad::Io)?;
        while self.ahead().starts_with(&BARRIER_MAGIC) {
            let found = self.ahead().len();
            let short = CodecError::Short { expected: BARRIER_BYTES, found };
            let torn =
                if found < BARRIER_BYTES { short } else { CodecError::Checksum { expected: 0, found: 0 } };
            read_barrier(self.ahead()).ok_or(Bad::Record(torn))?;
            self.at = self.at.saturating_add(BARRIER_BYTES);
            self.have(HEADER_BYTES).map_err(Bad::Io)?;
        }
        let bytes = match self.ahead() {
            [] => return Ok(None),
            ahead => record_bytes(ahead),
        };
        self.have(bytes).map_err(Bad::Io)?;
        let from = self.at;
        let record = codec::read_record(self.window.get(from..).unwrap_or_default()).map_err(Bad::Record)?;
        self.at = from.saturating_add(record.bytes);
        Ok(Some(record))
    }

    fn ahead(&self) -> &[u8] {
        self.window.get(self.at..).unwrap_or_default()
    }

    /// Reads on until `bytes` lie ahead, or all there are.
    fn have(&mut self, bytes: usize) -> io::Result<()> {
        if self.ahead().len() >= bytes {
            return Ok(());
        }
        self.window.drain(..self.at.min(self.window.len()));
        self.base = self.base.saturating_add(self.at as u64);
        self.at = 0;
        let kept = self.window.len();
        let from = self.base.saturating_add(kept as u64);
        let left = usize::try_from(self.end.saturating_sub(from)).unwrap_or(usize::MAX);
        let wanted = bytes.max(WINDOW_BYTES).saturating_sub(kept).min(left);
        self.window.resize(kept.saturating_add(wanted), 0);
        let into = self.window.get_mut(kept..).unwrap_or_default();
        let read = read_full(self.file.as_ref(), from, into)?;
        self.window.truncate(kept.saturating_add(read));
        Ok(())
    }
}

/// Length of the record that `bytes` begin with, as its header says; the header's if it lies.
pub(crate) fn record_bytes(bytes: &[u8]) -> usize {
    let length = bytes.get(LENGTH_AT).and_then(|field| <[u8; 4]>::try_from(field).ok());
    let payload = length.map_or(0, u32::from_le_bytes) as usize;
    HEADER_BYTES + if payload > PAYLOAD_BYTES_MAX { 0 } else { payload }
}

/// The first sound record behind the start of `bytes` whose position is above `position`: where it
/// begins in `bytes`, and its position.
pub(crate) fn later_record(bytes: &[u8], position: Position) -> Option<(usize, Position)> {
    let [low, high] = MAGIC.to_le_bytes();
    let mut from = 0;
    loop {
        let ahead = bytes.get(from..)?;
        let step = ahead.iter().position(|byte| *byte == low)?;
        let candidate = bytes.get(from + step..)?;
        if candidate.get(1) == Some(&high)
            && let Ok(record) = codec::read_record(candidate)
            && record.envelope.position > position
        {
            return Some((from + step, record.envelope.position));
        }
        from += step + 1;
    }
}
