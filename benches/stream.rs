//! What it costs to read a streamed answer, by wire format.
//!
//! Claims: reading costs a small multiple of looking at the same bytes once, and a tool-call delta no more
//! than a text delta of its size. Measured in CPU time of this process; compared in the same run with a
//! bare read: every byte is looked at once for the end of its line. Size: `HERM_BENCH_MEGABYTES` (default 8).

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may fail by panicking")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use herm::providers::dialects::build;
use herm::providers::{LoadedMessage, LoadedRequest};
use herm_schema::events::ModelChoice;
use serde_json::Value;

#[path = "../tests/support/mod.rs"]
mod support;

use support::{Reply, Wire, reply};

/// Characters of one text delta; vendors send a few words at a time.
const DELTA_CHARS: usize = 24;
/// Bytes that the network gives at once.
const READ_BYTES: usize = 16 << 10;
/// How often each is measured; the fastest counts.
const ROUNDS: usize = 5;

fn megabytes() -> usize {
    std::env::var("HERM_BENCH_MEGABYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

fn answer(reply: Reply) -> reply::Answer {
    match reply.kind {
        reply::Kind::Answer(answer) => answer,
        _ => unreachable!("an answer was made"),
    }
}

fn request(wire: Wire) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice::new("vendor", "a-model", wire.name()),
        system: None,
        tools: Vec::new(),
        messages: vec![LoadedMessage::user("hi")],
        output_tokens_max: 1_000,
        options: Default::default(),
    }
}

/// Reads the whole stream as the transport would hand it over.
fn read(wire: Wire, bytes: &[u8]) {
    let dialect = build(wire.name(), &Value::Null).unwrap();
    let mut reader = dialect.reader(&request(wire));
    for piece in bytes.chunks(READ_BYTES) {
        black_box(reader.feed(piece).unwrap());
    }
    black_box(reader.finish().unwrap());
}

/// Looks at every byte once.
fn bare(bytes: &[u8]) {
    let mut lines = 0_u64;
    for piece in bytes.chunks(READ_BYTES) {
        lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
    black_box(lines);
}

fn fastest(mut what: impl FnMut()) -> Duration {
    let once = |what: &mut dyn FnMut()| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| once(&mut what)).min().unwrap()
}

fn main() {
    // Text alone, so that a delta is a few words and the wire's own wrapping.
    let chars = megabytes() * (1 << 20) / 10;
    let text: String = "words and more words ".chars().cycle().take(chars).collect();
    println!("reading a streamed answer, one thread, {ROUNDS} rounds, the fastest");
    println!(
        "  {:20} {:>10} {:>12} {:>10} {:>14} {:>12}",
        "", "MB", "ms per MB", "x bare", "µs per delta", "µs per call"
    );
    for wire in Wire::ALL {
        let said = answer(Reply::text(&text).pieces(chars / DELTA_CHARS));
        let bytes = wire.stream(&said).concat();
        let (reading, looking) = (fastest(|| read(wire, &bytes)), fastest(|| bare(&bytes)));
        let megabytes = bytes.len() as f64 / (1 << 20) as f64;
        let per_delta = reading.as_secs_f64() * 1e6 / (chars / DELTA_CHARS) as f64;
        let calls: Vec<(String, String)> = (0..200)
            .map(|number| {
                (
                    format!("call_{number}"),
                    format!("{{\"path\":\"src/part_{number}.rs\",\"limit\":{number}}}"),
                )
            })
            .collect();
        let calls: Vec<(&str, &str, &str)> =
            calls.iter().map(|(id, arguments)| (id.as_str(), "read_file", arguments.as_str())).collect();
        let called = wire.stream(&answer(Reply::calls(&calls))).concat();
        let per_call = fastest(|| read(wire, &called)).as_secs_f64() * 1e6 / calls.len() as f64;
        println!(
            "  {:20} {megabytes:>10.1} {:>12.2} {:>10.1} {per_delta:>14.2} {per_call:>12.2}",
            wire.name(),
            reading.as_secs_f64() * 1e3 / megabytes,
            reading.as_secs_f64() / looking.as_secs_f64(),
        );
    }
}
