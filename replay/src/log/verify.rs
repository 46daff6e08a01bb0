//! Looking for damage: every checksum, every position, every chain, every append.
//!
//! Reads only; needs no lock. What is found is named by position, stream and place, and what can
//! still be read is said in ranges. `repair` works from the same report.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use herm_schema::codec::RawRecord;
use herm_schema::{CodecError, Digest, Position, StreamId, StreamPos, codec};
use serde::{Deserialize, Serialize};

use super::Error;
use super::disk::{RealDisk, read_all};
use super::segments::barrier::{BARRIER_BYTES, BARRIER_MAGIC, highest_claim, read_barrier};
use super::segments::files::Files;
use super::segments::manifest::{Manifest, Mark, Range};
use super::segments::scan::{later_record, record_bytes};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Bytes that do not read as a record, in the middle of the log.
    Broken,
    /// Positions that are nowhere.
    Missing,
    /// A record that does not belong where it stands.
    Reordered,
    /// A record that does not follow the one before it in its stream.
    Unchained,
    /// A payload that this herm cannot decode.
    Undecodable,
    /// An append of which only the beginning is there.
    Incomplete,
    /// Bytes at the end that were never acknowledged as being on the disk; opening the log cuts them.
    TornTail,
    /// What was on the disk and is missing at the end.
    Truncated,
}

/// Something wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: Kind,
    pub position: Position,
    /// The stream, where a record that reads says it.
    pub stream: Option<StreamId>,
    pub segment: Position,
    pub offset: u64,
    /// Bytes from `offset` on that are no sound records.
    pub bytes: u64,
    /// The last position concerned; `position` if there is one only.
    pub last: Position,
    pub reason: String,
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub folder: PathBuf,
    pub segments: usize,
    pub events: u64,
    pub streams: usize,
    /// Positions that read, in order.
    pub readable: Vec<Range>,
    /// Positions that an earlier repair gave up.
    pub lost: Vec<Range>,
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether nothing is wrong; a torn tail is not.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.kind == Kind::TornTail)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at position {}", self.kind, self.position)?;
        if self.last > self.position {
            write!(f, " to {}", self.last)?;
        }
        if let Some(stream) = self.stream {
            write!(f, " in stream {stream}")?;
        }
        write!(f, " ({:020}.seg, byte {}): {}", self.segment.0, self.offset, self.reason)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} events in {} streams, {} segments", self.events, self.streams, self.segments)?;
        for range in &self.readable {
            writeln!(f, "readable: {} to {}", range.first, range.last)?;
        }
        for range in &self.lost {
            writeln!(f, "lost in an earlier repair: {} to {}", range.first, range.last)?;
        }
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

/// Looks at every record in the log in `folder`.
///
/// # Errors
/// When the folder or a file in it cannot be read, or its layout is newer. Damage is no error.
pub fn verify(folder: &Path) -> Result<Report, Error> {
    let files = Files::new(Arc::new(RealDisk), folder.to_owned());
    let manifest = match Manifest::read(&RealDisk, folder) {
        Ok(manifest) => manifest.unwrap_or_default(),
        Err(Error::Damaged { .. }) => Manifest::default(),
        Err(error) => return Err(error),
    };
    let mark = Mark::read(&RealDisk, folder);
    let firsts = files.firsts()?;
    let mut looking = Looking {
        report: Report {
            folder: folder.to_owned(),
            segments: firsts.len(),
            lost: manifest.lost.clone(),
            ..Report::default()
        },
        expected: manifest.past_lost(Position(1)),
        manifest,
        durable: mark.durable,
        streams: BTreeMap::new(),
        open_append: None,
        segment: Position(1),
    };
    for (number, first) in firsts.iter().enumerate() {
        let path = files.path(*first);
        let bytes = read_all(&RealDisk, &path).map_err(|error| Error::io("read", &path, &error))?;
        looking.segment(*first, &bytes, number + 1 == firsts.len());
    }
    looking.end();
    Ok(looking.report)
}

struct Looking {
    report: Report,
    manifest: Manifest,
    durable: Position,
    expected: Position,
    streams: BTreeMap<StreamId, (StreamPos, Digest)>,
    /// Where the append begins whose end has not been seen: its position, offset, and what is left.
    open_append: Option<(Position, u64, StreamId, u32)>,
    segment: Position,
}

impl Looking {
    fn segment(&mut self, segment: Position, bytes: &[u8], last: bool) {
        self.segment = segment;
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if read_barrier(rest).is_some() {
                at += BARRIER_BYTES;
                continue;
            }
            match codec::read_record(rest) {
                Ok(record) => {
                    self.record(&record, at as u64);
                    at += record.bytes;
                }
                Err(bad) => at += self.broken(rest, at as u64, last, &bad),
            }
        }
    }

    fn record(&mut self, record: &RawRecord<'_>, offset: u64) {
        let envelope = &record.envelope;
        let (position, stream) = (envelope.position, envelope.stream);
        let expected = self.manifest.past_lost(self.expected);
        if position > expected {
            let last = Position(position.0.saturating_sub(1));
            self.find(Kind::Missing, expected, last, None, (offset, 0), "no record stands there");
            self.open_append = None;
        } else if position < self.expected {
            let reason = format!("it stands where position {expected} belongs");
            self.find(
                Kind::Reordered,
                position,
                position,
                Some(stream),
                (offset, record.bytes as u64),
                &reason,
            );
            return;
        }
        self.expected = position.next();
        self.chain(record, offset);
        if let Err(error) = record.decode() {
            let whole = (offset, record.bytes as u64);
            self.find(Kind::Undecodable, position, position, Some(stream), whole, &error.to_string());
        }
        self.continue_append(record, offset);
        self.report.events += 1;
        self.readable(position);
    }

    fn chain(&mut self, record: &RawRecord<'_>, offset: u64) {
        let envelope = &record.envelope;
        let (position, stream) = (envelope.position, envelope.stream);
        let before = self.streams.insert(stream, (envelope.stream_pos, envelope.chain));
        let (last, chain) = before.unwrap_or_default();
        let whole = (offset, record.bytes as u64);
        let holes =
            !self.manifest.lost.is_empty() || self.report.findings.iter().any(|f| f.kind != Kind::Unchained);
        if envelope.stream_pos != last.next() {
            // Where positions are missing, so are stream positions; that has been told.
            if !holes || envelope.stream_pos <= last {
                let reason =
                    format!("stream position {} stands where {} belongs", envelope.stream_pos, last.next());
                self.find(Kind::Unchained, position, position, Some(stream), whole, &reason);
            }
        } else if !record.follows(chain) {
            self.find(Kind::Unchained, position, position, Some(stream), whole, "its chain does not follow");
        }
    }

    fn continue_append(&mut self, record: &RawRecord<'_>, offset: u64) {
        let envelope = &record.envelope;
        let left = envelope.batch_left;
        // A repair has given up the middle of an append: that is known.
        if self.open_append.is_some_and(|(first, ..)| self.gave_up(first, envelope.position)) {
            self.open_append = None;
        }
        match self.open_append {
            Some((first, at, stream, before))
                if stream != envelope.stream || before != left.saturating_add(1) =>
            {
                self.find(
                    Kind::Incomplete,
                    first,
                    first,
                    Some(stream),
                    (at, 0),
                    "the rest of its append is not there",
                );
                self.open_append = (left > 0).then_some((envelope.position, offset, envelope.stream, left));
            }
            Some((first, at, stream, _)) => {
                self.open_append = (left > 0).then_some((first, at, stream, left))
            }
            None => {
                self.open_append = (left > 0).then_some((envelope.position, offset, envelope.stream, left))
            }
        }
    }

    /// Whether positions between these are known to be lost.
    fn gave_up(&self, first: Position, position: Position) -> bool {
        self.manifest.lost.iter().any(|lost| lost.first > first && lost.first < position)
    }

    /// Bytes that are no record; how many to pass over.
    fn broken(&mut self, rest: &[u8], offset: u64, last_segment: bool, bad: &CodecError) -> usize {
        let from = rest.get(1..).unwrap_or_default();
        let position = self.manifest.past_lost(self.expected);
        let later = later_record(from, Position(position.0.saturating_sub(1)));
        let claimed = highest_claim(rest).is_some_and(|claim| claim >= position) || self.durable >= position;
        if last_segment && !claimed {
            let all = (offset, rest.len() as u64);
            self.find(Kind::TornTail, position, position, None, all, &bad.to_string());
            self.open_append = None;
            return rest.len();
        }
        let stream = self.stream_of(rest);
        let (bytes, next) = later.map_or((rest.len(), None), |(at, next)| (at + 1, Some(next)));
        // A barrier is no record: it is not lost with what stands before it.
        let last = next.map_or(position, |next| Position(next.0.saturating_sub(1)).max(position));
        if rest.starts_with(&BARRIER_MAGIC) && next == Some(position) {
            self.find(Kind::Broken, position, position, None, (offset, bytes as u64), "a barrier is broken");
        } else {
            self.find(Kind::Broken, position, last, stream, (offset, bytes as u64), &bad.to_string());
            self.expected = last.next();
        }
        self.open_append = None;
        bytes
    }

    /// The stream that a broken record names, if it names one that is known: a hint, not a fact.
    fn stream_of(&self, bytes: &[u8]) -> Option<StreamId> {
        let field = bytes.get(20..36).and_then(|field| <[u8; 16]>::try_from(field).ok())?;
        let stream = StreamId::from_bytes(field);
        (record_bytes(bytes) > 0 && self.streams.contains_key(&stream)).then_some(stream)
    }

    fn end(&mut self) {
        let open = self.open_append.take();
        let end = self.manifest.past_lost(self.expected);
        if let Some((first, at, stream, _)) = open.filter(|(first, ..)| !self.gave_up(*first, end)) {
            let claimed = self.durable >= first;
            let kind = if claimed { Kind::Incomplete } else { Kind::TornTail };
            let last = Position(self.expected.0.saturating_sub(1));
            self.find(kind, first, last, Some(stream), (at, 0), "its append is not complete");
        }
        let expected = self.manifest.past_lost(self.expected);
        if self.durable >= expected {
            let reason = "it was on the disk and is missing at the end";
            self.find(Kind::Truncated, expected, self.durable, None, (u64::MAX, 0), reason);
        }
        self.report.streams = self.streams.len();
    }

    fn readable(&mut self, position: Position) {
        match self.report.readable.last_mut() {
            Some(range) if range.last.next() == position => range.last = position,
            _ => self.report.readable.push(Range { first: position, last: position }),
        }
    }

    fn find(
        &mut self,
        kind: Kind,
        position: Position,
        last: Position,
        stream: Option<StreamId>,
        (offset, bytes): (u64, u64),
        reason: &str,
    ) {
        let reason = reason.to_owned();
        let segment = self.segment;
        self.report.findings.push(Finding { kind, position, stream, segment, offset, bytes, last, reason });
    }
}
