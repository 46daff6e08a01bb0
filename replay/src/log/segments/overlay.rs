//! What the log knows in memory: where its newest records stand, and whose they are.
//!
//! Everything up to `base` is in the index; everything after it is here, so that the index may lag
//! behind without being noticed. A log without an index has `base` zero: then all of it is here.

use std::collections::{HashMap, VecDeque};

use herm_schema::{Envelope, IdempotencyKey, Position, StreamId, StreamPos};

use crate::log::Head;
use crate::log::laying::head_of;

/// Where a record begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The segment, named by the position of its first record.
    pub segment: Position,
    /// Bytes from its start.
    pub offset: u64,
}

/// Where a record stands, whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pointer {
    pub place: Place,
    pub bytes: u32,
}

/// What an index has to know of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub position: Position,
    pub stream: StreamId,
    pub stream_pos: StreamPos,
    /// The key of the append, on its first record.
    pub names: Option<IdempotencyKey>,
    /// Whether it is the last record of its append.
    pub ends: bool,
    pub pointer: Pointer,
}

/// Heads of streams kept after their records went to the index, so that the next append need not ask.
const COLD_HEADS_MAX: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct Overlay {
    base: Position,
    entries: VecDeque<Entry>,
    streams: HashMap<StreamId, Thread>,
    keys: HashMap<IdempotencyKey, Pointer>,
    cold: HashMap<StreamId, Head>,
}

#[derive(Debug)]
struct Thread {
    head: Head,
    records: VecDeque<(StreamPos, Pointer)>,
}

impl Overlay {
    /// Of a log whose records up to `base` are in the index.
    pub(crate) fn from_base(base: Position) -> Self {
        Self { base, ..Self::default() }
    }

    pub(crate) fn base(&self) -> Position {
        self.base
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn push(&mut self, envelope: &Envelope, pointer: Pointer, first_of_append: bool) {
        let entry = Entry {
            position: envelope.position,
            stream: envelope.stream,
            stream_pos: envelope.stream_pos,
            names: envelope.key.filter(|_| first_of_append),
            ends: envelope.batch_left == 0,
            pointer,
        };
        self.entries.push_back(entry);
        let head = head_of(envelope);
        let thread = self.streams.entry(envelope.stream);
        let thread = thread.or_insert_with(|| Thread { head, records: VecDeque::new() });
        thread.head = head;
        thread.records.push_back((envelope.stream_pos, pointer));
        if let Some(key) = entry.names {
            self.keys.entry(key).or_insert(pointer);
        }
    }

    /// The head of a stream, if it is known here.
    pub(crate) fn head(&self, stream: StreamId) -> Option<Head> {
        self.streams.get(&stream).map(|thread| thread.head).or_else(|| self.cold.get(&stream).copied())
    }

    /// Keeps in mind what the index said.
    pub(crate) fn remember(&mut self, stream: StreamId, head: Head) {
        if self.cold.len() >= COLD_HEADS_MAX {
            self.cold.clear();
        }
        self.cold.insert(stream, head);
    }

    pub(crate) fn key(&self, key: IdempotencyKey) -> Option<Pointer> {
        self.keys.get(&key).copied()
    }

    /// The records of a stream from `from` on that are known here, and the stream position of the
    /// first record of the stream that is.
    pub(crate) fn records(&self, stream: StreamId, from: StreamPos) -> (Vec<Pointer>, Option<StreamPos>) {
        let Some(thread) = self.streams.get(&stream) else {
            return (Vec::new(), None);
        };
        let skip = thread.records.partition_point(|(pos, _)| *pos < from);
        let pointers = thread.records.iter().skip(skip).map(|(_, pointer)| *pointer).collect();
        (pointers, thread.records.front().map(|(pos, _)| *pos))
    }

    /// The first entry at or above `position`.
    pub(crate) fn at(&self, position: Position) -> Option<&Entry> {
        self.entries.get(self.entries.partition_point(|entry| entry.position < position))
    }

    /// About `count` of the oldest entries, none above `last`, whole appends only.
    pub(crate) fn oldest(&self, count: usize, last: Position) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in self.entries.iter().take_while(|entry| entry.position <= last) {
            if entries.len() >= count && entries.last().is_some_and(|last| last.ends) {
                break;
            }
            entries.push(*entry);
        }
        while entries.last().is_some_and(|entry| !entry.ends) {
            entries.pop();
        }
        entries
    }

    /// Forgets everything up to `position`: the index has it.
    pub(crate) fn forget(&mut self, position: Position) {
        while let Some(entry) = self.entries.front().copied().filter(|entry| entry.position <= position) {
            self.entries.pop_front();
            if let Some(key) = entry.names {
                self.keys.remove(&key);
            }
            if let Some(thread) = self.streams.get_mut(&entry.stream) {
                thread.records.pop_front();
                if thread.records.is_empty() {
                    let head = thread.head;
                    self.streams.remove(&entry.stream);
                    self.remember(entry.stream, head);
                }
            }
        }
        self.base = self.base.max(position);
    }

    /// Puts what `older` knows, which ends where this begins, in front of it.
    pub(crate) fn grow_back(&mut self, mut older: Self) {
        for entry in &self.entries {
            older.entries.push_back(*entry);
        }
        for (stream, thread) in self.streams.drain() {
            match older.streams.get_mut(&stream) {
                Some(before) => {
                    before.head = thread.head;
                    before.records.extend(thread.records);
                }
                None => drop(older.streams.insert(stream, thread)),
            }
        }
        for (key, pointer) in self.keys.drain() {
            older.keys.entry(key).or_insert(pointer);
        }
        *self = older;
    }
}
