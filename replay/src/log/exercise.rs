//! A writer to be killed, and the check of what it left behind.
//!
//! [`exercise`] writes a line for every acknowledged event, `position digest`, after the
//! acknowledgement; whoever kills it keeps the lines and gives them to [`check_exercise`]. What is there
//! and was not acknowledged is normal: the answer was lost, not the event.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;

use herm_schema::{Digest, IdempotencyKey, Micros, Position, codec};

use super::contract::{append, chains_hold, message};
use super::{Append, Durability, Log, SegmentLog, segments::Options};

/// Streams that are written in turns.
const STREAMS: u64 = 7;
/// Appends that are under way at once.
const UNDER_WAY: u64 = 16;

/// Why an exercise failed, in words.
pub type Failure = String;

/// Appends events to the log in `folder` until it is killed or the log fails.
///
/// With `disk_only` the lines are only of those that were acknowledged as being on the disk, as a power
/// cut may take the others.
///
/// # Errors
/// When the log does not open, an append fails, or `out` does not take a line.
pub fn exercise(folder: &Path, seed: u64, disk_only: bool, mut out: impl Write) -> Result<(), Failure> {
    // Small segments and an eager index, so that a short life meets rolls and flushes too.
    let options = Options { segment_bytes: 1 << 20, index_from_events: 64, ..Options::new(folder) };
    let log = SegmentLog::open(options).map_err(|error| error.to_string())?;
    let (answer, answers) = mpsc::channel();
    let start = log.tail().last.0;
    let mut state = seed | 1;
    let mut number = start;
    let mut open = 0;
    loop {
        while open < UNDER_WAY {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            number += 1;
            let answer = answer.clone();
            let append = exercise_append(seed, number, state >> 33);
            let told = !disk_only || append.durability == Durability::Disk;
            log.submit(append, Box::new(move |result| drop(answer.send((told, result)))));
            open += 1;
        }
        let (told, result) = answers.recv().map_err(|error| error.to_string())?;
        let committed = result.map_err(|error| error.to_string())?;
        open -= 1;
        for event in committed.events.iter().filter(|_| told) {
            let payload = codec::encode_event(&event.event).map_err(|error| error.to_string())?;
            let line = format!("{} {}\n", event.envelope.position, Digest::of(&payload));
            out.write_all(line.as_bytes()).map_err(|error| error.to_string())?;
        }
        out.flush().map_err(|error| error.to_string())?;
    }
}

fn exercise_append(seed: u64, number: u64, random: u64) -> Append {
    let durability = if random.is_multiple_of(3) { Durability::Queued } else { Durability::Disk };
    let count = 1 + random % 3;
    let body = "x".repeat((random % 2_000) as usize);
    let events = (0..count).map(|part| message(&format!("{seed} {number} {part} {body}"))).collect();
    let key = random.is_multiple_of(2).then(|| IdempotencyKey::of(&[&seed.to_string(), &number.to_string()]));
    let stream = format!("exercise {}", random % STREAMS);
    Append { durability, key, at: Micros(number as i64), ..append(&stream, events) }
}

/// Opens the log and checks it against the acknowledged lines; how many events it holds.
///
/// The last line may be cut short: the pipe was.
///
/// # Errors
/// Naming the first event that is missing, different, out of order or out of its chain.
pub fn check_exercise(folder: &Path, acknowledged: &str) -> Result<u64, Failure> {
    let log = SegmentLog::open(Options::new(folder)).map_err(|error| error.to_string())?;
    let events: Result<Vec<_>, _> = log.read_all(Position(0)).collect();
    let events = events.map_err(|error| error.to_string())?;
    let mut digests = BTreeMap::new();
    for (number, event) in events.iter().enumerate() {
        let position = event.envelope.position.0;
        if position != number as u64 + 1 {
            return Err(format!("position {position} stands where {} belongs", number + 1));
        }
        let payload = codec::encode_event(&event.event).map_err(|error| error.to_string())?;
        digests.insert(position, Digest::of(&payload).to_string());
    }
    let whole = acknowledged.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for line in whole.lines() {
        let (position, digest) = line.split_once(' ').ok_or_else(|| format!("the line `{line}`"))?;
        let position: u64 = position.parse().map_err(|_| format!("the line `{line}`"))?;
        match digests.get(&position) {
            None => return Err(format!("event {position} was acknowledged and is missing")),
            Some(found) if found != digest => {
                return Err(format!("event {position} is not what was acknowledged"));
            }
            Some(_) => {}
        }
    }
    if !chains_hold(&events) {
        return Err("a chain is broken".to_owned());
    }
    let mut keys = BTreeMap::new();
    for event in &events {
        let Some(key) = event.envelope.key else { continue };
        let place = (event.envelope.position.0 + u64::from(event.envelope.batch_left), event.envelope.stream);
        if *keys.entry(key).or_insert(place) != place {
            return Err(format!("key `{key}` was recorded twice"));
        }
    }
    if events.last().is_some_and(|last| last.envelope.batch_left != 0) {
        return Err("the last append is not complete".to_owned());
    }
    log.append(append("after the check", vec![message("it can be written")])).map_err(|e| e.to_string())?;
    Ok(events.len() as u64)
}
