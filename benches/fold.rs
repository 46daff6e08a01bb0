//! Claim: one core folds a log of a million events at a million events a second or more.
//!
//! Unit: events a second and seconds for all, of CPU time on one core; bytes are those of the records. Compared in the same
//! run with reading the same bytes, and with decoding them without folding. The sessions are
//! decided by the reducer, some tens of turns long, and 64 of them run side by side. A second
//! table says what a model call costs in a long session: its request, and the request's digest.
//!
//! `FOLD_EVENTS` and `FOLD_SESSION_TURNS` try it small.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]

mod support;

use std::collections::HashMap;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use herm_replay::log::segments::Options;
use herm_replay::log::{Append, Durability, Expect, Log, SegmentLog};
use herm_replay::reducer::{SessionState, evolve, transcript};
use herm_schema::events::ModelPurpose;
use herm_schema::{Decoded, Event, Position, Recorded, StreamId, codec};
use support::sessions::{Dealer, Script};
use support::{cpu, median, micros, row, size, table};

const SIDE_BY_SIDE: usize = 64;
/// Records that are in memory at once, in bytes: more would measure the memory of the machine.
const CHUNK_BYTES: usize = 64 << 20;
/// Different conversations that the log is made of.
const SCRIPTS: usize = 16;

fn main() {
    let events = size("FOLD_EVENTS", 1_000_000);
    let turns = size("FOLD_SESSION_TURNS", 20);
    let scripts: Vec<Script> = (0..SCRIPTS).map(|n| Script::of(turns + n, 2, n as u64).ended()).collect();
    log_of(&scripts, events);
    requests();
}

/// Folds as the sessions projection does: one state a session, dropped with its end.
#[derive(Default)]
struct Fold {
    states: HashMap<StreamId, SessionState>,
    events: usize,
}

impl Fold {
    fn take(&mut self, recorded: &Recorded) {
        self.events += 1;
        let stream = recorded.envelope.stream;
        evolve(self.states.entry(stream).or_default(), recorded);
        if matches!(recorded.event, Event::SessionEnded(_)) {
            black_box(self.states.remove(&stream));
        }
    }
}

fn log_of(scripts: &[Script], events: usize) {
    let memory = in_memory(scripts, events);
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("log");
    write(scripts, events, &folder);
    let (bytes, reading) = read_bytes(&folder);
    let log = SegmentLog::open_read_only(&folder).unwrap();
    let scanning = timed(|| assert_eq!(log.read_all(Position(0)).map(Result::unwrap).count(), events));
    let folding = timed(|| {
        let mut fold = Fold::default();
        log.read_all(Position(0)).for_each(|recorded| fold.take(&recorded.unwrap()));
        assert_eq!(fold.events, events);
    });
    println!(
        "\n{events} events in {} sessions, {} MB of segments, {} bytes an event",
        memory.sessions,
        bytes >> 20,
        bytes / events
    );
    let line = |name: &str, time: Duration, than: Duration| {
        let rate = events as f64 / time.as_secs_f64() / 1e6;
        let ratio = time.as_secs_f64() / than.as_secs_f64();
        row([name, &format!("{:.3} s", time.as_secs_f64()), &format!("{rate:.2} M"), &format!("{ratio:.1}x")])
    };
    table(&[
        row(["", "CPU time", "events/s", "reading the bytes"]),
        line("segments: read the bytes", reading, reading),
        line("segments: scan (decode)", scanning, reading),
        line("segments: fold", folding, reading),
        line("memory: checksum all bytes", memory.touching, reading),
        line("memory: decode", memory.decoding, reading),
        line("memory: decode and fold", memory.folding, reading),
    ]);
    println!("goal: fold at 1 M events/s or more");
}

/// CPU time, so that what else the machine does is not counted; all of it is one thread's.
fn timed(work: impl FnOnce()) -> Duration {
    let before = cpu();
    work();
    cpu() - before
}

#[derive(Default)]
struct Memory {
    touching: Duration,
    decoding: Duration,
    folding: Duration,
    sessions: u64,
}

/// The same events as records in memory, a chunk at a time.
fn in_memory(scripts: &[Script], events: usize) -> Memory {
    let (mut dealer, mut fold, mut memory) =
        (Dealer::new(scripts, SIDE_BY_SIDE), Fold::default(), Memory::default());
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + (1 << 20));
    let mut dealt = 0;
    while dealt < events {
        chunk.clear();
        while dealt < events && chunk.len() < CHUNK_BYTES {
            let next = dealer.deal();
            codec::write_record(next.event, &next.place, &mut chunk).unwrap();
            dealt += 1;
        }
        memory.touching += timed(|| {
            each(&chunk, |raw| {
                black_box(raw.bytes);
            })
        });
        memory.decoding += timed(|| {
            each(&chunk, |raw| {
                black_box(raw.decode().unwrap());
            })
        });
        memory.folding += timed(|| {
            each(&chunk, |raw| {
                if let Decoded::Event(event) = raw.decode().unwrap() {
                    fold.take(&Recorded { envelope: raw.envelope, event });
                }
            })
        });
    }
    assert_eq!(fold.events, events);
    memory.sessions = dealer.sessions();
    memory
}

fn each(mut chunk: &[u8], mut work: impl FnMut(codec::RawRecord<'_>)) {
    while !chunk.is_empty() {
        let raw = codec::read_record(chunk).unwrap();
        chunk = chunk.split_at(raw.bytes).1;
        work(raw);
    }
}

/// Writes the log as it would be: by its own writer, into segments.
fn write(scripts: &[Script], events: usize, folder: &Path) {
    let options = Options { index: None, reserve_bytes: 0, ..Options::new(folder) };
    let log = SegmentLog::open(options).unwrap();
    let mut dealer = Dealer::new(scripts, SIDE_BY_SIDE);
    for _ in 0..events {
        let next = dealer.deal();
        let append = Append {
            stream: next.place.stream,
            expect: Expect::Any,
            key: None,
            at: next.place.recorded_at,
            durability: Durability::Queued,
            events: vec![next.event.clone()],
        };
        log.submit(append, Box::new(|done| drop(done.unwrap())));
    }
}

fn read_bytes(folder: &Path) -> (usize, Duration) {
    let mut bytes = 0;
    let before = cpu();
    let mut window = vec![0; 512 << 10];
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "seg") {
            let mut file = std::fs::File::open(entry.path()).unwrap();
            loop {
                match file.read(&mut window).unwrap() {
                    0 => break,
                    read => bytes += black_box(read),
                }
            }
        }
    }
    (bytes, cpu() - before)
}

/// What a model call costs before it is sent, by the length of the conversation.
fn requests() {
    let mut rows = vec![row(["messages in the request", "request", "digest", "bytes", "a message"])];
    for turns in [10, 50, 200] {
        let state = Script::of(turns, 1, 0).state;
        let request = transcript::request(&state, ModelPurpose::Turn, 0);
        let messages = request.messages.len();
        let building = repeated(|| drop(black_box(transcript::request(&state, ModelPurpose::Turn, 0))));
        let digesting = repeated(|| {
            black_box(request.digest());
        });
        let bytes: usize = format!("{:?}", request.messages).len();
        rows.push(row([
            &messages.to_string(),
            &format!("{:.1} µs", micros(building, 1)),
            &format!("{:.1} µs", micros(digesting, 1)),
            &bytes.to_string(),
            &format!("{:.2} µs", micros(building + digesting, messages)),
        ]));
    }
    println!();
    table(&rows);
}

fn repeated(mut work: impl FnMut()) -> Duration {
    let timed = |work: &mut dyn FnMut()| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..201).map(|_| timed(&mut work)).collect();
    median(&mut times)
}
