//! A log that lives in memory: for tests, and for looking at the events of another log.
//!
//! It keeps every promise of the contract that does not need a disk. Appends are taken in on the
//! caller's thread; answers are given in the order of positions by whichever caller is at it, and
//! without any lock held, so that a `done` may append again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use herm_schema::codec::{encode_event, frame};
use herm_schema::{BlobRef, Digest, IdempotencyKey, Position, Recorded, StreamId, StreamPos};

use super::{
    Acknowledge, Append, BLOB_BYTES_MAX, Committed, Durable, Error, Head, Log, Records, Tail,
    laying::{check_expectation, check_size, head_of, lay},
};

/// A log without a disk.
#[derive(Default)]
pub struct MemoryLog {
    state: Mutex<State>,
    grown: Condvar,
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct State {
    events: Vec<Recorded>,
    /// Positions of a stream's events, in order.
    streams: BTreeMap<StreamId, Vec<Position>>,
    /// First position and number of the events that a key recorded.
    keys: BTreeMap<IdempotencyKey, (Position, usize)>,
    blobs: BTreeMap<Digest, Vec<u8>>,
}

/// Answers not yet given; one thread at a time gives them.
#[derive(Default)]
struct Answers {
    queue: VecDeque<(Acknowledge, Result<Committed, Error>)>,
    giving: bool,
}

impl MemoryLog {
    pub fn new() -> Self {
        Self::default()
    }

    /// A log that holds `events`, such as the first N of another one.
    ///
    /// As when a real log is opened, the records of an append that is not complete at the end are
    /// cut. Positions, stream positions and chains are worked out again: for a prefix they come
    /// out as they were.
    pub fn from_events(mut events: Vec<Recorded>) -> Self {
        while events.last().is_some_and(|last| last.envelope.batch_left != 0) {
            events.pop();
        }
        let mut state = State::default();
        for mut event in events {
            let head = state.head(event.envelope.stream);
            let envelope = &mut event.envelope;
            envelope.position = state.next_position();
            envelope.stream_pos = head.map_or(StreamPos(1), |head| head.stream_pos.next());
            let before = head.map_or(Digest::default(), |head| head.chain);
            let payload = encode_event(&event.event).unwrap_or_default();
            envelope.chain = frame(envelope, before, &payload, &mut Vec::new());
            state.take_in(vec![event]);
        }
        Self { state: Mutex::new(state), ..Self::default() }
    }

    /// Every event, in order.
    pub fn events(&self) -> Vec<Recorded> {
        self.state().events.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No invariant is broken between two statements under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give_answers(&self) {
        if std::mem::replace(&mut self.answers().giving, true) {
            return;
        }
        loop {
            let mut answers = self.answers();
            let Some((done, result)) = answers.queue.pop_front() else {
                answers.giving = false;
                return;
            };
            drop(answers);
            done(result);
        }
    }
}

impl State {
    fn next_position(&self) -> Position {
        Position(self.events.len() as u64).next()
    }

    fn at(&self, position: Position) -> Option<&Recorded> {
        self.events.get(usize::try_from(position.0.checked_sub(1)?).ok()?)
    }

    fn head(&self, stream: StreamId) -> Option<Head> {
        let last = self.at(*self.streams.get(&stream)?.last()?)?;
        Some(head_of(&last.envelope))
    }

    fn known(&self, key: IdempotencyKey) -> Option<Committed> {
        let (first, count) = *self.keys.get(&key)?;
        let skip = first.0.saturating_sub(1) as usize;
        let events = self.events.iter().skip(skip).take(count).cloned().collect();
        Some(Committed { events, duplicate: true })
    }

    fn append(&mut self, append: Append) -> Result<Committed, Error> {
        check_size(&append)?;
        if let Some(known) = append.key.and_then(|key| self.known(key)) {
            return Ok(known);
        }
        let head = self.head(append.stream);
        check_expectation(&append, head.as_ref())?;
        let events = lay(append, head.as_ref(), self.next_position(), &mut Vec::new())?;
        self.take_in(events.clone());
        Ok(Committed { events, duplicate: false })
    }

    fn take_in(&mut self, events: Vec<Recorded>) {
        for event in events {
            let envelope = &event.envelope;
            self.streams.entry(envelope.stream).or_default().push(envelope.position);
            if let Some(key) = envelope.key {
                self.keys.entry(key).or_insert((envelope.position, 0)).1 += 1;
            }
            self.events.push(event);
        }
    }
}

impl Log for MemoryLog {
    fn submit(&self, append: Append, done: Acknowledge) {
        let mut state = self.state();
        let result = state.append(append);
        // Queued while the state is held: the order of answers is the order of positions.
        self.answers().queue.push_back((done, result));
        drop(state);
        self.grown.notify_all();
        self.give_answers();
    }

    fn when_durable(&self, _: Position, done: Durable) {
        done(Ok(()));
    }

    fn read_stream(&self, stream: StreamId, from: StreamPos) -> Records<'_> {
        let state = self.state();
        let positions = state.streams.get(&stream).map(Vec::as_slice).unwrap_or_default();
        let skip = from.0.saturating_sub(1) as usize;
        let events: Vec<_> =
            positions.iter().skip(skip).filter_map(|position| state.at(*position).cloned()).collect();
        Box::new(events.into_iter().map(Ok))
    }

    fn read_all(&self, from: Position) -> Records<'_> {
        let state = self.state();
        let skip = from.0.saturating_sub(1) as usize;
        let events: Vec<_> = state.events.iter().skip(skip).cloned().collect();
        Box::new(events.into_iter().map(Ok))
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, Error> {
        Ok(self.state().head(stream))
    }

    fn tail(&self) -> Tail {
        let last = Position(self.state().events.len() as u64);
        Tail { last, durable: last }
    }

    fn wait(&self, past: Position, timeout: Duration) -> Position {
        let until = Instant::now().checked_add(timeout);
        let mut state = self.state();
        loop {
            let last = Position(state.events.len() as u64);
            let left = until.map_or(timeout, |until| until.saturating_duration_since(Instant::now()));
            if last > past || left.is_zero() {
                return last;
            }
            let woken = self.grown.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            state = woken.0;
        }
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobRef, Error> {
        let found = bytes.len() as u64;
        if found > BLOB_BYTES_MAX {
            return Err(Error::TooLarge { what: "bytes of a blob", found, limit: BLOB_BYTES_MAX });
        }
        let blob = BlobRef::of(bytes);
        self.state().blobs.entry(blob.hash).or_insert_with(|| bytes.to_vec());
        Ok(blob)
    }

    fn blob(&self, blob: BlobRef) -> Result<Vec<u8>, Error> {
        self.state().blobs.get(&blob.hash).cloned().ok_or(Error::BlobMissing { blob })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Durability, Expect};
    use herm_schema::events::TurnStarted;
    use herm_schema::{Event, Micros, StreamKind};

    fn append(stream: &str, events: usize) -> Append {
        let event = Event::from(TurnStarted { inbound: vec![StreamPos(1)] });
        Append {
            stream: StreamId::named(StreamKind::Session, stream),
            expect: Expect::Any,
            key: None,
            at: Micros(5),
            durability: Durability::Disk,
            events: vec![event.into(); events],
        }
    }

    #[test]
    fn a_prefix_of_a_log_is_a_log() {
        let log = MemoryLog::new();
        for stream in ["a", "b", "a"] {
            log.append(append(stream, 2)).unwrap();
        }
        let events = log.events();
        for keep in 0..=events.len() {
            let prefix = MemoryLog::from_events(events[..keep].to_vec());
            let whole = keep - keep % 2;
            assert_eq!(prefix.events(), events[..whole]);
            let next = prefix.append(append("a", 1)).unwrap();
            assert_eq!(next.events[0].envelope.position, Position(whole as u64 + 1));
        }
    }

    #[test]
    fn an_answer_may_append_again() {
        let log = std::sync::Arc::new(MemoryLog::new());
        let inner = std::sync::Arc::clone(&log);
        log.submit(
            append("a", 1),
            Box::new(move |_| inner.submit(append("a", 1), Box::new(|result| drop(result.unwrap())))),
        );
        assert_eq!(log.tail().last, Position(2));
    }
}
