//! The writer: one thread, group commit.
//!
//! It takes everything that has queued, lays the records one behind the other, writes them at
//! once, and answers in order whoever need not wait for the disk; `syncing` waits with the others. A write or
//! sync that fails poisons the log, with one exception: a write that found the disk full is taken back (nothing
//! was acknowledged, the file ends where it ended), and those appends are refused.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};
use herm_schema::{IdempotencyKey, Position, Recorded, StreamId};

use super::Options;
use super::barrier::write_barrier;
use super::manifest::Sealed;
use super::overlay::{Place, Pointer};
use super::scan::record_bytes;
use super::shared::Shared;
use super::syncing::Syncing;
use crate::log::disk::DiskFile;
use crate::log::laying::{check_expectation, check_size, head_of, lay};
use crate::log::{Acknowledge, Append, Committed, Durability, Error, Head};

/// Events of one group, at most, beyond the last append taken in.
const GROUP_EVENTS_MAX: usize = 512;
/// Bytes of one group, at most, beyond the last append taken in.
const GROUP_BYTES_MAX: usize = 1 << 20;
/// Records that the index may lag behind before appends wait for it.
const LAG_EVENTS_MAX: usize = 131_072;
/// Space that is left alone besides what a group needs, in bytes.
const MARGIN_BYTES: u64 = 1 << 20;
/// Bytes written after which the free space is looked at again.
const LOOK_EVERY_BYTES: u64 = 1 << 20;
/// Free space above which it is not looked at for every group, in multiples of the reserve.
const ROOMY_RESERVES: u64 = 8;
/// Kinds of what comes from outside: refused first when the disk is full.
const INBOUND_KINDS: std::ops::RangeInclusive<u16> = 200..=299;

pub(crate) enum Job {
    Append(Append, Acknowledge),
    Seal(Sender<Result<(), Error>>),
}

impl Job {
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Append(_, done) => done(Err(error)),
            Self::Seal(answer) => drop(answer.send(Err(error))),
        }
    }
}

pub(crate) struct Writer {
    shared: Arc<Shared>,
    /// To the thread that waits for the disk.
    syncing: Syncing,
    file: Arc<dyn DiskFile>,
    segment_bytes: u64,
    reserve_bytes: u64,
    /// The disk is full: the reserve has been given back.
    tight: bool,
    free_bytes: u64,
    written_since_look: u64,
    /// What the last barrier claimed.
    claimed: Position,
}

/// The answers of a group, in order, and what has to be remembered until it is written.
#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    answers: Vec<(Acknowledge, Durability, Result<Committed, Error>)>,
    heads: HashMap<StreamId, Head>,
    keys: HashMap<IdempotencyKey, Vec<Recorded>>,
    events: usize,
}

impl Writer {
    /// Makes the folder ready to be written: cuts the torn tail, syncs, opens the last segment.
    pub(crate) fn new(shared: Arc<Shared>, syncing: Syncing, options: &Options) -> Result<Self, Error> {
        let (end, fresh, torn) = {
            let state = shared.state();
            (state.end, state.firsts.is_empty(), state.mark.durable < state.tail.last)
        };
        let disk = Arc::clone(&shared.files.disk);
        let folder = shared.files.folder.clone();
        let path = shared.files.path(end.segment);
        let file: Arc<dyn DiskFile> = if fresh {
            shared.state().manifest.write(disk.as_ref(), &folder)?;
            Arc::from(begin_segment(&shared, end.segment)?)
        } else {
            Arc::from(disk.open(&path, true).map_err(|error| Error::io("open for writing", &path, &error))?)
        };
        let length = file.length().map_err(|error| Error::io("measure", &path, &error))?;
        if length > end.offset {
            tracing::warn!(bytes = length - end.offset, path = %path.display(), "a torn tail is cut");
            file.truncate(end.offset).map_err(|error| Error::io("cut", &path, &error))?;
        }
        // What is read from here on is acknowledged to readers: it has to stay.
        if torn || length > end.offset {
            file.sync().map_err(|error| Error::io("sync", &path, &error))?;
            disk.sync_folder(&folder).map_err(|error| Error::io("sync", &folder, &error))?;
        }
        {
            let mut state = shared.state();
            if state.firsts.is_empty() {
                state.firsts.push(end.segment);
            }
            state.tail.durable = state.tail.last;
            state.active = Some(Arc::clone(&file));
        }
        restore_manifest(&shared)?;
        let claimed = Position(0);
        let mut writer = Self {
            shared,
            syncing,
            file,
            segment_bytes: options.segment_bytes,
            reserve_bytes: options.reserve_bytes,
            tight: false,
            free_bytes: 0,
            written_since_look: u64::MAX,
            claimed,
        };
        writer.look_at_space(0);
        writer.leave_sealed()?;
        Ok(writer)
    }

    pub(crate) fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            self.wait_for_index();
            match first {
                Job::Seal(answer) => drop(answer.send(self.seal())),
                Job::Append(append, done) => self.group(append, done, jobs),
            }
        }
        if let Err(error) = self.shared.sync_tail() {
            tracing::error!(%error, "what was queued last may not be on the disk");
        }
    }

    /// In a copy of sealed segments the last one is sealed: a new one begins behind it.
    fn leave_sealed(&mut self) -> Result<(), Error> {
        let (sealed, next) = {
            let state = self.shared.state();
            let sealed = state.manifest.sealed.iter().any(|sealed| sealed.first == state.end.segment);
            (sealed, state.manifest.past_lost(state.tail.last.next()))
        };
        if sealed { self.begin(next) } else { Ok(()) }
    }

    fn begin(&mut self, next: Position) -> Result<(), Error> {
        let file = begin_segment(&self.shared, next);
        let file = file.map_err(|error| match error {
            full @ Error::Full { .. } => full,
            error => self.shared.poison("begin a segment", error.to_string()),
        })?;
        self.file = Arc::from(file);
        self.claimed = Position(0);
        let mut state = self.shared.state();
        state.firsts.push(next);
        state.end = Place { segment: next, offset: 0 };
        state.active = Some(Arc::clone(&self.file));
        Ok(())
    }

    fn wait_for_index(&self) {
        let Some(asking) = self.shared.asking.get() else {
            return;
        };
        let mut state = self.shared.state();
        while state.overlay.len() > LAG_EVENTS_MAX && state.degraded.is_none() && !asking.is_given_up() {
            asking.ring();
            let step = Duration::from_millis(100);
            let Ok((next, _)) = self.shared.shrunk.wait_timeout(state, step) else {
                return;
            };
            state = next;
        }
    }

    fn group(&mut self, append: Append, done: Acknowledge, jobs: &Receiver<Job>) {
        let mut group = Group::default();
        let mut sealing = None;
        self.take(append, done, &mut group);
        while group.events < GROUP_EVENTS_MAX && group.bytes.len() < GROUP_BYTES_MAX {
            match jobs.try_recv() {
                Ok(Job::Append(append, done)) => self.take(append, done, &mut group),
                Ok(Job::Seal(answer)) => {
                    sealing = Some(answer);
                    break;
                }
                Err(_) => break,
            }
        }
        self.commit(group);
        if let Some(answer) = sealing {
            let _ = answer.send(self.seal());
        }
    }

    fn take(&mut self, append: Append, done: Acknowledge, group: &mut Group) {
        let durability = append.durability;
        let result = self.place(append, group);
        group.answers.push((done, durability, result));
    }

    /// Lays the records of an append behind those of the group.
    fn place(&mut self, append: Append, group: &mut Group) -> Result<Committed, Error> {
        if let Some(error) = &self.shared.state().poisoned {
            return Err(error.clone());
        }
        check_size(&append)?;
        if let Some(key) = append.key {
            if let Some(events) = group.keys.get(&key) {
                return Ok(Committed { events: events.clone(), duplicate: true });
            }
            if let Some(pointer) = self.shared.key(key)? {
                return Ok(Committed { events: self.shared.append_at(pointer)?, duplicate: true });
            }
        }
        let (stream, key) = (append.stream, append.key);
        let head = match group.heads.get(&stream) {
            Some(head) => Some(*head),
            None => self.shared.head(stream)?,
        };
        check_expectation(&append, head.as_ref())?;
        self.check_space(&append, group)?;
        let next = self.shared.state().tail.last.0.saturating_add(group.events as u64).saturating_add(1);
        let next = self.shared.state().manifest.past_lost(Position(next));
        if group.events == 0 {
            self.roll_and_mark(next, group)?;
        }
        let events = lay(append, head.as_ref(), next, &mut group.bytes)?;
        group.events += events.len();
        if let Some(last) = events.last() {
            group.heads.insert(stream, head_of(&last.envelope));
        }
        if let Some(key) = key {
            group.keys.insert(key, events.clone());
        }
        Ok(Committed { events, duplicate: false })
    }

    /// Before the first record of a group: a new segment if this one is full, and a barrier.
    fn roll_and_mark(&mut self, next: Position, group: &mut Group) -> Result<(), Error> {
        if self.shared.state().end.offset >= self.segment_bytes {
            self.roll(next)?;
        }
        let durable = self.shared.state().tail.durable;
        if durable > self.claimed {
            write_barrier(durable, &mut group.bytes);
            self.claimed = durable;
        }
        Ok(())
    }

    fn commit(&mut self, group: Group) {
        if group.events == 0 {
            // A barrier laid for an append that was refused is not written.
            self.claimed = Position(0);
        }
        let failed = self.write(&group).err();
        if failed.is_none() {
            self.publish(&group);
        }
        for (done, durability, result) in group.answers {
            match (&failed, result) {
                (Some(error), Ok(committed)) if !committed.duplicate => done(Err(error.clone())),
                (Some(error @ Error::Poisoned { .. }), _) => done(Err(error.clone())),
                (_, Ok(committed)) if durability == Durability::Disk => {
                    self.syncing.tell(Box::new(move |durable| done(durable.map(|()| committed))));
                }
                (_, result) => done(result),
            }
        }
    }

    fn write(&mut self, group: &Group) -> Result<(), Error> {
        if let Some(error) = &self.shared.state().poisoned {
            return Err(error.clone());
        }
        let offset = self.shared.state().end.offset;
        if group.events > 0 { self.write_bytes(offset, &group.bytes) } else { Ok(()) }
    }

    fn write_bytes(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.written_since_look = self.written_since_look.saturating_add(bytes.len() as u64);
        let full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        match self.file.write_at(offset, bytes) {
            Ok(()) => return Ok(()),
            Err(error) if !full(&error) => return Err(self.shared.poison("write", error.to_string())),
            Err(_) => {}
        }
        // Once more with the reserve given back; a write behind the end may be taken back and repeated,
        // a sync may not.
        self.take_back(offset)?;
        self.go_tight();
        match self.file.write_at(offset, bytes) {
            Ok(()) => Ok(()),
            Err(error) if full(&error) => {
                self.take_back(offset)?;
                Err(self.full(bytes.len() as u64))
            }
            Err(error) => Err(self.shared.poison("write", error.to_string())),
        }
    }

    fn take_back(&mut self, offset: u64) -> Result<(), Error> {
        // The barrier goes with it.
        self.claimed = Position(0);
        self.file.truncate(offset).map_err(|error| self.shared.poison("cut", error.to_string()))
    }

    fn publish(&mut self, group: &Group) {
        {
            let mut guard = self.shared.state();
            let state = &mut *guard;
            let mut place = Place { offset: state.end.offset, ..state.end };
            let mut rest = group.bytes.as_slice();
            let fresh = group.answers.iter().filter_map(|(_, _, result)| result.as_ref().ok());
            let fresh = fresh.filter(|committed| !committed.duplicate);
            for committed in fresh {
                for (number, event) in committed.events.iter().enumerate() {
                    if super::barrier::read_barrier(rest).is_some() {
                        rest = rest.get(super::barrier::BARRIER_BYTES..).unwrap_or_default();
                        place.offset += super::barrier::BARRIER_BYTES as u64;
                    }
                    let bytes = record_bytes(rest);
                    let pointer = Pointer { place, bytes: bytes as u32 };
                    state.overlay.push(&event.envelope, pointer, number == 0);
                    state.tail.last = event.envelope.position;
                    rest = rest.get(bytes..).unwrap_or_default();
                    place.offset += bytes as u64;
                }
            }
            if group.events > 0 {
                state.end = place;
            }
        }
        if group.events > 0 {
            self.shared.announce();
        }
    }

    fn seal(&mut self) -> Result<(), Error> {
        let (end, next) = {
            let state = self.shared.state();
            (state.end, state.manifest.past_lost(state.tail.last.next()))
        };
        if end.offset == 0 {
            return self.shared.sync_tail().map(drop);
        }
        self.roll(next)
    }

    /// Begins the segment of position `next`; what stands in the one before is on the disk by then.
    fn roll(&mut self, next: Position) -> Result<(), Error> {
        self.shared.sync_tail()?;
        let before = {
            let state = self.shared.state();
            Sealed { first: state.end.segment, last: state.tail.last, bytes: state.end.offset }
        };
        self.begin(next)?;
        let manifest = {
            let mut state = self.shared.state();
            state.manifest.sealed.push(before);
            state.manifest.clone()
        };
        let written = manifest.write(self.shared.files.disk.as_ref(), &self.shared.files.folder);
        // Without the new line the folder is still sound: the files say the same.
        if let Err(error) = written {
            tracing::warn!(%error, "the manifest is behind by a segment");
        }
        Ok(())
    }

    /// Refuses what comes from outside while the disk is full.
    fn check_space(&mut self, append: &Append, group: &Group) -> Result<(), Error> {
        self.look_at_space(group.bytes.len() as u64);
        let inbound = append.events.first().is_some_and(|event| INBOUND_KINDS.contains(&event.event.kind()));
        if self.tight && inbound { Err(self.full(MARGIN_BYTES)) } else { Ok(()) }
    }

    fn look_at_space(&mut self, needed: u64) {
        if self.written_since_look < LOOK_EVERY_BYTES
            && self.free_bytes > self.reserve_bytes.saturating_mul(ROOMY_RESERVES)
        {
            return;
        }
        let files = &self.shared.files;
        // Without an answer the write itself will tell.
        self.free_bytes = files.disk.free_bytes(&files.folder).unwrap_or(u64::MAX);
        self.written_since_look = 0;
        let path = files.folder.join("reserve");
        if self.free_bytes < needed.saturating_add(MARGIN_BYTES) {
            self.go_tight();
        } else if self.free_bytes > self.reserve_bytes.saturating_mul(2).saturating_add(MARGIN_BYTES) {
            self.tight = false;
            if !files.disk.exists(&path)
                && let Err(error) = files.disk.reserve(&path, self.reserve_bytes)
            {
                tracing::warn!(%error, "no space could be reserved");
            }
        } else if !files.disk.exists(&path) {
            // There was never room for a reserve, or it was given back and nothing has improved.
            self.tight = self.free_bytes < self.reserve_bytes;
        }
    }

    fn go_tight(&mut self) {
        if !self.tight {
            tracing::warn!("the disk is full: nothing from outside is taken in until there is room");
        }
        self.tight = true;
        let path = self.shared.files.folder.join("reserve");
        if self.shared.files.disk.exists(&path)
            && let Err(error) = self.shared.files.disk.remove(&path)
        {
            tracing::warn!(%error, "the reserve cannot be given back");
        }
    }

    fn full(&self, needed_bytes: u64) -> Error {
        let files = &self.shared.files;
        let free_bytes = files.disk.free_bytes(&files.folder).unwrap_or(0);
        Error::Full { path: files.folder.clone(), free_bytes, needed_bytes }
    }
}

/// Makes an empty segment whose name is on the disk.
fn begin_segment(shared: &Shared, first: Position) -> Result<Box<dyn DiskFile>, Error> {
    let path = shared.files.path(first);
    let disk = &shared.files.disk;
    let begun = disk.create(&path).and_then(|file| {
        file.sync()?;
        disk.sync_folder(&shared.files.folder)?;
        Ok(file)
    });
    begun.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull => Error::Full {
            path,
            free_bytes: disk.free_bytes(&shared.files.folder).unwrap_or(0),
            needed_bytes: 1,
        },
        _ => Error::io("begin the segment", &path, &error),
    })
}

/// Brings the manifest up to what the files say: it is behind by a segment if a crash came between.
fn restore_manifest(shared: &Shared) -> Result<(), Error> {
    let (mut manifest, firsts) = {
        let state = shared.state();
        (state.manifest.clone(), state.firsts.clone())
    };
    let known = manifest.sealed.len();
    for (first, next) in firsts.iter().zip(firsts.iter().skip(1)) {
        if !manifest.sealed.iter().any(|sealed| sealed.first == *first) {
            let bytes = shared.files.length(*first)?;
            let last = Position(next.0.saturating_sub(1));
            manifest.sealed.push(Sealed { first: *first, last, bytes });
        }
    }
    if manifest.sealed.len() > known || !shared.files.disk.exists(&shared.files.folder.join("MANIFEST")) {
        manifest.sealed.sort_by_key(|sealed| sealed.first);
        manifest.write(shared.files.disk.as_ref(), &shared.files.folder)?;
        shared.state().manifest = manifest;
    }
    Ok(())
}
