//! The real `herm-replay` over a home on the disk.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod views_support;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use herm_replay::log::segments::Options;
use herm_replay::log::{Log, SegmentLog};
use herm_replay::projections::Views;
use views_support::{generate, plain};

fn herm_replay(home: &Path, line: &str) -> Output {
    let words = line.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_herm-replay")).arg("--home").arg(home).args(words).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_home_is_looked_at_without_being_changed() {
    let home = tempfile::tempdir().unwrap();
    let log: Arc<dyn Log> = Arc::new(SegmentLog::open(Options::new(home.path().join("log"))).unwrap());
    generate(&*log, 3, 4, 30);
    plain(&*log, 9, "what is in notes.md?", "a list");
    let events = log.tail().last.0;
    let views = Views::open(log.clone(), &home.path().join("index"));
    views.catch_up().unwrap();
    views.rebuild(Some("search")).unwrap();
    assert_eq!(views.sessions().unwrap().len(), 5);

    look_around(home.path(), events);
    // Beside its owner, and after it.
    drop(views);
    drop(log);
    look_around(home.path(), events);
}

fn look_around(home: &Path, events: u64) {
    let verified = herm_replay(home, "verify");
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    assert!(stdout(&verified).starts_with(&format!("{events} events, 5 sessions")), "{}", stdout(&verified));
    let timeline = herm_replay(home, "timeline --json");
    assert_eq!(stdout(&timeline).lines().count() as u64, events);
    let prompt = herm_replay(home, "prompt last --call 1");
    assert!(stdout(&prompt).contains("--- user\nwhat is in notes.md?"), "{}", stdout(&prompt));
    assert_eq!(herm_replay(home, "simulate").status.code(), Some(0));
    let trajectory = stdout(&herm_replay(home, "export trajectories --session last"));
    assert!(
        trajectory.contains("{\"from\":\"gpt\",\"value\":\"<think>\\n</think>\\na list\"}"),
        "{trajectory}"
    );
}

#[test]
fn what_cannot_be_done_is_said_and_ends_with_two() {
    let home = tempfile::tempdir().unwrap();
    let missing = herm_replay(&home.path().join("nowhere"), "verify");
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).starts_with("error: "), "{missing:?}");
    assert!(missing.stdout.is_empty());
    assert!(!home.path().join("nowhere").exists());
    let unknown = herm_replay(home.path(), "verfy");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("verify"), "{unknown:?}");
}
