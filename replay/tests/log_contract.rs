//! The contract kit over every log there is.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use std::cell::RefCell;
use std::sync::Arc;

use herm_replay::log::segments::Options;
use herm_replay::log::{Log, MemoryLog, SegmentLog, contract};

#[test]
fn in_memory() {
    contract::run(&|log| log.unwrap_or_else(|| Arc::new(MemoryLog::new())));
}

/// Opens a fresh folder, or the one of the log that is given, after that has been shut.
fn reopened(options: impl Fn(&std::path::Path) -> Options) -> impl Fn(Option<Arc<dyn Log>>) -> Arc<dyn Log> {
    let folders = RefCell::new(Vec::<tempfile::TempDir>::new());
    move |log| {
        match log {
            Some(log) => assert_eq!(Arc::strong_count(&log), 1, "somebody still holds the log"),
            None => folders.borrow_mut().push(tempfile::tempdir().unwrap()),
        }
        let folders = folders.borrow();
        let folder = folders.last().unwrap().path().join("home/log");
        Arc::new(SegmentLog::open(options(&folder)).unwrap())
    }
}

#[test]
fn in_segments() {
    contract::run(&reopened(|folder| Options::new(folder)));
}

#[test]
fn in_small_segments_with_an_eager_index() {
    contract::run(&reopened(|folder| Options {
        segment_bytes: 4 << 10,
        index_from_events: 2,
        ..Options::new(folder)
    }));
}

#[test]
fn in_segments_without_an_index() {
    contract::run(&reopened(|folder| Options { index: None, ..Options::new(folder) }));
}
