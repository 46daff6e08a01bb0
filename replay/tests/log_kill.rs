//! A writer is killed at random moments, again and again, on the same log; nothing that it
//! acknowledged is ever missing.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use herm_replay::log::exercise::{check_exercise, exercise};

const KILLS: u64 = 50;

/// Not a test of its own: the body of the process that is killed.
#[test]
fn writer() {
    let Ok(folder) = std::env::var("HERM_KILL_FOLDER") else {
        return;
    };
    let seed = std::env::var("HERM_KILL_SEED").unwrap().parse().unwrap();
    // A power cut may take what was only queued: then those lines are not written.
    let disk_only = std::env::var("HERM_KILL_DISK_ONLY").is_ok();
    let failure = exercise(Path::new(&folder), seed, disk_only, std::io::stderr()).unwrap_err();
    panic!("the writer ended by itself: {failure}");
}

/// Not a test of its own either: checks an image for `tests/power/run`.
#[test]
fn checker() {
    let Ok(folder) = std::env::var("HERM_CHECK_FOLDER") else {
        return;
    };
    let lines = std::fs::read_to_string(std::env::var("HERM_CHECK_LINES").unwrap()).unwrap();
    check_exercise(Path::new(&folder), &lines).unwrap();
}

#[test]
fn nothing_acknowledged_is_missing_after_kills() {
    let scratch = tempfile::tempdir().unwrap();
    let mut random = 20_261_130_u64;
    let mut before = 0;
    for kill in 0..KILLS {
        // A new log now and then: the first moments of one are the most delicate.
        let folder = scratch.path().join(format!("{}", kill / 10));
        if kill % 10 == 0 {
            before = 0;
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer", "--nocapture", "--quiet"])
            .env("HERM_KILL_FOLDER", &folder)
            .env("HERM_KILL_SEED", kill.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut lines = Vec::new();
            pipe.read_to_end(&mut lines).unwrap();
            String::from_utf8(lines).unwrap()
        });
        // The moment is what is random here: there is nothing to wait for.
        std::thread::sleep(Duration::from_millis(10 + (random >> 33) % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = reader.join().unwrap();
        assert!(!lines.contains("panicked"), "kill {kill}: {lines}");
        let held = check_exercise(&folder, &lines).unwrap_or_else(|failure| panic!("kill {kill}: {failure}"));
        assert!(held >= before, "kill {kill}: {held} events, {before} before");
        before = held;
    }
    assert!(before > 0);
}
