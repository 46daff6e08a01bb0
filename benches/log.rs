//! The log against its yardsticks, in one run.
//!
//! Claims: a durable append of 64 producers is acknowledged within 1.3 times the p50 of a bare segment
//! file with the same batching, at 0.8 of its events/s or more in bursts, and compares with SQLite (WAL,
//! synchronous=FULL); a scan reads 2 M events/s or more; a log of 1 M events opens in under 100 ms.
//! Sizes: `HERM_BENCH_EVENTS` (default 1,000,000) and `HERM_BENCH_BURST` (default 100,000).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

use herm_replay::log::contract::append;
use herm_replay::log::segments::Options;
use herm_replay::log::{Append, Durability, Log, SegmentLog};
use herm_schema::codec::{Placing, write_record};
use herm_schema::events::{self, ChatRef, MessageReceived};
use herm_schema::{Digest, Event, Micros, Position, StreamId, StreamPos};

const PRODUCERS: usize = 64;
const SESSIONS: usize = 10_000;
const GROUP_EVENTS_MAX: usize = 512;

fn size(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A payload of 100 B to 8 KB, about 1.2 KB on average, the same for the same number.
fn event(number: usize) -> Append {
    let random = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let bytes = if random.is_multiple_of(16) { 500 + random % 7_500 } else { 100 + random % 1_600 };
    let session = format!("session {}", random as usize % SESSIONS);
    let said = MessageReceived {
        message_id: number.to_string(),
        chat: ChatRef { platform: "cli".into(), chat: "bench".into(), thread: None },
        sender: events::Sender { id: "someone".into(), name: None },
        text: "x".repeat(bytes as usize),
        attachments: Vec::new(),
        context: None,
    };
    Append { at: Micros(number as i64), ..append(&session, vec![Event::from(said).into()]) }
}

struct Latencies {
    events_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// Lets every producer append its share, one after the other, and measures each acknowledgement.
fn produce(burst: usize, one: impl Fn(usize) + Sync) -> Latencies {
    let start = Instant::now();
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let producer = |first: usize| {
            let one = &one;
            scope.spawn(move || {
                let numbers = (first..burst).step_by(PRODUCERS);
                numbers
                    .map(|number| {
                        let at = Instant::now();
                        one(number);
                        at.elapsed()
                    })
                    .collect::<Vec<_>>()
            })
        };
        let running: Vec<_> = (0..PRODUCERS).map(producer).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    times.sort();
    let at =
        |part: f64| times.get((times.len() as f64 * part) as usize).map_or(0.0, |t| t.as_secs_f64() * 1e3);
    Latencies { events_per_s: burst as f64 / seconds, p50_ms: at(0.5), p99_ms: at(0.99) }
}

type Waiting = (Append, Sender<()>);

/// The yardsticks share the batching: everything that has queued, one write, one sync, all answers.
fn batched(burst: usize, mut write: impl FnMut(&[Waiting]) + Send) -> Latencies {
    let (queue, jobs) = sync_channel::<Waiting>(1_024);
    std::thread::scope(|scope| {
        scope.spawn(move || committer(&jobs, &mut write));
        let latencies = produce(burst, |number| {
            let (answer, wait) = channel();
            if queue.send((event(number), answer)).is_ok() {
                let _ = wait.recv();
            }
        });
        drop(queue);
        latencies
    })
}

fn committer(jobs: &Receiver<Waiting>, write: &mut impl FnMut(&[Waiting])) {
    while let Ok(first) = jobs.recv() {
        let mut group = vec![first];
        group.extend(jobs.try_iter().take(GROUP_EVENTS_MAX - 1));
        write(&group);
        for (_, answer) in group {
            let _ = answer.send(());
        }
    }
}

#[expect(clippy::expect_used, reason = "a bench")]
fn bare_file(folder: &Path, burst: usize) -> Latencies {
    let file = File::create(folder.join("bare.seg")).expect("a file");
    let (mut end, mut position) = (0, 0);
    let mut bytes = Vec::new();
    batched(burst, move |group| {
        bytes.clear();
        for (append, _) in group {
            for event in &append.events {
                position += 1;
                let place = Placing {
                    position: Position(position),
                    stream: append.stream,
                    stream_pos: StreamPos(1),
                    recorded_at: append.at,
                    key: None,
                    batch_left: 0,
                    epoch: 0,
                    chain: Digest::default(),
                };
                write_record(event, &place, &mut bytes).expect("a record");
            }
        }
        file.write_all_at(&bytes, end).expect("a write");
        file.sync_data().expect("a sync");
        end += bytes.len() as u64;
    })
}

#[expect(clippy::expect_used, reason = "a bench")]
fn sqlite(folder: &Path, burst: usize) -> Latencies {
    let db = rusqlite::Connection::open(folder.join("yardstick.db")).expect("a database");
    db.pragma_update(None, "journal_mode", "WAL").expect("WAL");
    db.pragma_update(None, "synchronous", "FULL").expect("FULL");
    db.execute_batch(
        "CREATE TABLE events (position INTEGER PRIMARY KEY, stream BLOB, stream_pos INTEGER, body BLOB);
         CREATE INDEX by_stream ON events (stream, stream_pos);",
    )
    .expect("a table");
    let mut position = 0_i64;
    batched(burst, move |group| {
        let change = db.unchecked_transaction().expect("a transaction");
        let mut insert = db.prepare_cached("INSERT INTO events VALUES (?, ?, ?, ?)").expect("a statement");
        for (append, _) in group {
            for event in &append.events {
                position += 1;
                let body = herm_schema::codec::encode_event(&event.event).expect("a payload");
                insert
                    .execute(rusqlite::params![position, &append.stream.bytes()[..], position, body])
                    .expect("a row");
            }
        }
        drop(insert);
        change.commit().expect("a commit");
    })
}

#[expect(clippy::expect_used, reason = "a bench")]
fn appends(folder: &Path, burst: usize) {
    let bare = bare_file(folder, burst);
    let log = SegmentLog::open(Options::new(folder.join("burst"))).expect("a log");
    let ours = produce(burst, |number| drop(log.append(event(number)).expect("an append")));
    drop(log);
    let sqlite = sqlite(folder, burst);
    println!("durable append, {PRODUCERS} producers, {burst} events");
    for (name, l) in [("bare file", &bare), ("log", &ours), ("sqlite", &sqlite)] {
        println!(
            "  {name:10} {:9.0} events/s  p50 {:6.3} ms  p99 {:7.3} ms",
            l.events_per_s, l.p50_ms, l.p99_ms
        );
    }
    let (p50, rate) = (ours.p50_ms / bare.p50_ms, ours.events_per_s / bare.events_per_s);
    println!("  log / bare file: p50 {p50:.2} (goal 1.3), events/s {rate:.2} (goal 0.8)");
    println!(
        "  log / sqlite:    p50 {:.2}, events/s {:.2}",
        ours.p50_ms / sqlite.p50_ms,
        ours.events_per_s / sqlite.events_per_s
    );
}

#[expect(clippy::expect_used, reason = "a bench")]
fn reading(folder: &Path, events: usize) {
    let folder = folder.join("large");
    let log = SegmentLog::open(Options::new(&folder)).expect("a log");
    let start = Instant::now();
    for number in 0..events {
        log.submit(Append { durability: Durability::Queued, ..event(number) }, Box::new(|_| {}));
    }
    log.append(event(events)).expect("an append");
    println!("load: {:.0} events/s", events as f64 / start.elapsed().as_secs_f64());
    log.wait_indexed(Duration::from_secs(600));
    drop(log);
    let start = Instant::now();
    let log = SegmentLog::open(Options::new(&folder)).expect("a log");
    println!("open a log of {events} events: {:.2} ms (goal 100)", start.elapsed().as_secs_f64() * 1e3);
    let start = Instant::now();
    let bytes: u64 =
        segments(&folder).iter().map(|path| std::fs::read(path).map_or(0, |b| b.len() as u64)).sum();
    let plain = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let count = log.scan(Position(0), &mut |_| Ok(())).expect("a scan");
    let scan = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let decoded = log.read_all(Position(0)).filter(Result::is_ok).count();
    let read = start.elapsed().as_secs_f64();
    let rate = |count: u64, seconds: f64| count as f64 / seconds / 1e6;
    println!("the same bytes: {:.2} GB/s", bytes as f64 / plain / 1e9);
    println!(
        "scan, checked:  {:.2} M events/s (goal 2), {:.2} of the plain read",
        rate(count, scan),
        plain / scan
    );
    println!("read, decoded:  {:.2} M events/s", rate(decoded as u64, read));
    one_session(&log);
}

fn one_session(log: &SegmentLog) {
    let mut times: Vec<(f64, usize)> = (0..200)
        .map(|number| {
            let stream: StreamId = event(number * 37).stream;
            let start = Instant::now();
            let count = log.read_stream(stream, StreamPos(0)).filter(Result::is_ok).count();
            (start.elapsed().as_secs_f64() * 1e3, count)
        })
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let events: usize = times.iter().map(|(_, count)| count).sum();
    let at = |index: usize| times.get(index).map_or(0.0, |(time, _)| *time);
    println!(
        "one session of {SESSIONS}: {} events on average, p50 {:.2} ms, p99 {:.2} ms",
        events / 200,
        at(100),
        at(198)
    );
}

fn segments(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "seg")).collect()
}

#[expect(clippy::expect_used, reason = "a bench")]
fn main() {
    // Beside the build, because /tmp may be memory, where a sync costs nothing.
    let folder = tempfile::tempdir_in(option_env!("CARGO_TARGET_TMPDIR").unwrap_or(".")).expect("a folder");
    appends(folder.path(), size("HERM_BENCH_BURST", 100_000));
    reading(folder.path(), size("HERM_BENCH_EVENTS", 1_000_000));
}
