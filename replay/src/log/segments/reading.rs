//! Readers: all events, or those of a stream, checked as they pass.

use std::collections::VecDeque;
use std::sync::Arc;

use herm_schema::codec::RawRecord;
use herm_schema::{Position, Recorded, StreamId, StreamPos};

use super::indexing::{Answer, Question};
use super::overlay::Pointer;
use super::scan::{Bad, Walk};
use super::shared::{Shared, Snapshot, decode};
use crate::log::Error;

/// Events of the whole log, in order.
pub(crate) struct AllRecords {
    shared: Arc<Shared>,
    snapshot: Snapshot,
    from: Position,
    /// The position that must come next, unless it is lost.
    expected: Position,
    walk: Option<(Position, Walk)>,
    /// Segments not yet begun, in order.
    ahead: VecDeque<Position>,
    damage: Option<Error>,
    over: bool,
}

impl AllRecords {
    pub(crate) fn new(shared: Arc<Shared>, from: Position) -> Self {
        let snapshot = shared.snapshot();
        let damage = shared.state().damage.clone();
        let from = from.max(Position(1));
        let over = from > snapshot.last && damage.is_none();
        let mut all =
            Self { shared, snapshot, from, expected: from, walk: None, ahead: VecDeque::new(), damage, over };
        if let Err(error) = all.start() {
            all.damage = Some(error);
        }
        all
    }

    /// Goes to a record at or before the first one.
    fn start(&mut self) -> Result<(), Error> {
        if self.over || self.from > self.snapshot.last {
            return Ok(());
        }
        let firsts = &self.snapshot.firsts;
        let number = firsts.partition_point(|first| *first <= self.from).saturating_sub(1);
        self.ahead = firsts.iter().skip(number).copied().collect();
        let Some(segment) = self.ahead.pop_front() else {
            return Ok(());
        };
        let offset = self.near().filter(|near| near.place.segment == segment);
        let offset = offset.map_or(0, |near| near.place.offset);
        self.expected = self.snapshot.manifest.past_lost(self.from);
        self.walk = Some((segment, self.walk_of(segment, offset)?));
        Ok(())
    }

    fn near(&self) -> Option<Pointer> {
        {
            let state = self.shared.state();
            if self.from > state.overlay.base() {
                return state.overlay.at(self.from).map(|entry| entry.pointer);
            }
        }
        let Some(Answer::Near(near)) = self.shared.ask(Question::Near(self.from)) else {
            return None;
        };
        // The index may lie: it is believed if the record that it names is one, and not too far on.
        let near = near?;
        let mut buffer = Vec::new();
        let record = self.shared.files.record(near, &mut buffer).ok()?.ok()?;
        (record.envelope.position <= self.from).then_some(near)
    }

    fn walk_of(&self, segment: Position, offset: u64) -> Result<Walk, Error> {
        let end = match segment == self.snapshot.end.segment {
            true => self.snapshot.end.offset,
            false => self.shared.files.length(segment)?,
        };
        Ok(Walk::new(self.shared.files.file(segment)?, offset, end))
    }

    fn step(&mut self) -> Result<Option<Recorded>, Error> {
        loop {
            match self.step_raw(decode)? {
                Some(Some(recorded)) => return Ok(Some(recorded)),
                Some(None) => {}
                None => return Ok(None),
            }
        }
    }

    /// Gives the next record to `with`, checked and not decoded; `None` at the end.
    pub(crate) fn step_raw<T>(
        &mut self,
        with: impl FnOnce(&RawRecord<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        loop {
            if self.expected > self.snapshot.last {
                return self.damage.take().map_or(Ok(None), Err);
            }
            let Some((segment, walk)) = &mut self.walk else {
                return self.damage.take().map_or(Ok(None), Err);
            };
            let (segment, offset) = (*segment, walk.offset());
            let damaged = |position, reason| {
                let path = self.shared.files.path(segment);
                Error::Damaged { position, path, offset, reason }
            };
            match walk.next() {
                Ok(Some(record)) => {
                    let position = record.envelope.position;
                    if position < self.from {
                        continue;
                    }
                    let expected = self.snapshot.manifest.past_lost(self.expected);
                    if position != expected && position != self.expected {
                        let reason = format!("position {position} stands where {expected} belongs");
                        return Err(damaged(expected, reason));
                    }
                    self.expected = position.next();
                    return with(&record).map(Some);
                }
                Err(Bad::Record(bad)) => return Err(damaged(self.expected, bad.to_string())),
                Err(Bad::Io(error)) => {
                    return Err(Error::io("read", &self.shared.files.path(segment), &error));
                }
                Ok(None) => match self.ahead.pop_front() {
                    Some(next) => self.walk = Some((next, self.walk_of(next, 0)?)),
                    None if self.snapshot.manifest.past_lost(self.expected) > self.snapshot.last => {
                        self.walk = None;
                    }
                    None => return Err(damaged(self.expected, "the segment ends before it".to_owned())),
                },
            }
        }
    }
}

impl Iterator for AllRecords {
    type Item = Result<Recorded, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let item = self.step().transpose();
        self.over = !matches!(item, Some(Ok(_)));
        item
    }
}

/// Events of one stream, in order.
pub(crate) struct StreamRecords {
    shared: Arc<Shared>,
    stream: StreamId,
    /// The stream position that must come next, unless it is lost.
    expected: StreamPos,
    pointers: VecDeque<Pointer>,
    /// Whether the pointers came from the index, which may lie.
    from_index: bool,
    /// The last position there was when reading began.
    last: Position,
    failed: Option<Error>,
    /// Whether damage behind the last record has been told.
    told: bool,
    buffer: Vec<u8>,
}

impl StreamRecords {
    pub(crate) fn new(shared: Arc<Shared>, stream: StreamId, from: StreamPos) -> Self {
        let last = shared.state().tail.last;
        let mut records = Self {
            shared,
            stream,
            expected: from.max(StreamPos(1)),
            pointers: VecDeque::new(),
            from_index: false,
            last,
            failed: None,
            told: false,
            buffer: Vec::new(),
        };
        if let Err(error) = records.look_up() {
            records.failed = Some(error);
        }
        records
    }

    /// Finds out where the records from `expected` on stand.
    fn look_up(&mut self) -> Result<(), Error> {
        loop {
            let (recent, first, base) = {
                let state = self.shared.state();
                let (recent, first) = state.overlay.records(self.stream, self.expected);
                (recent, first, state.overlay.base())
            };
            self.from_index = false;
            self.pointers = recent.into();
            if base == Position(0) || first.is_some_and(|first| first <= self.expected) {
                return Ok(());
            }
            // Asked first: what the index says after it must reach at least to here.
            let head = self.shared.head(self.stream)?.map_or(StreamPos(0), |head| head.stream_pos);
            let to = first.unwrap_or(StreamPos(u64::MAX));
            let least = to.0.min(head.0.saturating_add(1)).saturating_sub(self.expected.0);
            let question = Question::Records { stream: self.stream, from: self.expected, to };
            let holes = !self.shared.state().manifest.lost.is_empty();
            if let Some(Answer::Records(older)) = self.shared.ask(question)
                && (older.len() as u64 >= least || holes)
            {
                older.into_iter().rev().for_each(|pointer| self.pointers.push_front(pointer));
                self.from_index = true;
                return Ok(());
            }
            self.shared.distrust("it did not say where a stream's records are".to_owned())?;
        }
    }

    fn step(&mut self) -> Result<Option<Recorded>, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        while let Some(pointer) = self.pointers.pop_front() {
            match self.read(pointer) {
                Ok(Some(recorded)) if recorded.envelope.position > self.last => return Ok(None),
                Ok(Some(recorded)) => return Ok(Some(recorded)),
                Ok(None) => {}
                Err(error) if self.from_index => {
                    // Either the index lies or the segment is damaged: then its places say it again.
                    self.shared
                        .distrust(format!("a record of stream `{}` is elsewhere: {error}", self.stream))?;
                    self.look_up()?;
                }
                Err(error) => return Err(error),
            }
        }
        // What stands behind damage may have been of this stream.
        let missing = if self.told { None } else { self.shared.state().damage.clone() };
        self.told = true;
        missing.map_or(Ok(None), Err)
    }

    fn read(&mut self, pointer: Pointer) -> Result<Option<Recorded>, Error> {
        let damaged = |reason| {
            let path = self.shared.files.path(pointer.place.segment);
            Error::Damaged { position: Position(0), path, offset: pointer.place.offset, reason }
        };
        let record = self.shared.files.record(pointer, &mut self.buffer)?;
        let record = record.map_err(|bad| damaged(bad.to_string()))?;
        let envelope = &record.envelope;
        if envelope.stream != self.stream || envelope.stream_pos < self.expected {
            return Err(damaged("another record stands there".to_owned()));
        }
        if envelope.stream_pos > self.expected && self.shared.state().manifest.lost.is_empty() {
            let reason =
                format!("stream position {} stands where {} belongs", envelope.stream_pos, self.expected);
            return Err(damaged(reason));
        }
        self.expected = envelope.stream_pos.next();
        decode(&record)
    }
}

impl Iterator for StreamRecords {
    type Item = Result<Recorded, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.step().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.pointers.clear();
            self.told = true;
        }
        item
    }
}
