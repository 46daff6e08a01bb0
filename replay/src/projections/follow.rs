//! A thread that keeps every projection close to the end of the log.
//!
//! Each event is read and decoded once, for all of them; what is asked in between reads the rest itself.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use herm_schema::{Position, Recorded};

use super::Views;
use super::runner::BATCH_EVENTS_MAX;
use crate::log::Log;

/// How long it waits for an event before it looks whether there is anything to write down.
const WAIT: Duration = Duration::from_millis(250);
/// How long events gather before they are applied: a batch costs little more than one event.
const GATHER: Duration = Duration::from_millis(50);

/// Follows the log until it is dropped.
pub struct Follower {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    pub(super) fn start(views: &Arc<Views>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (views, told) = (Arc::downgrade(views), stop.clone());
        let thread =
            std::thread::Builder::new().name("projections".to_owned()).spawn(move || run(&views, &told))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has guarded every projection; there is nothing in its end to report.
            let _ = thread.join();
        }
    }
}

fn run(views: &Weak<Views>, stop: &AtomicBool) {
    let mut seen = None;
    while !stop.load(Relaxed) {
        let Some(views) = views.upgrade() else {
            return;
        };
        let log = views.log();
        match seen {
            Some(from) => {
                if log.wait(from, WAIT) > from {
                    std::thread::sleep(GATHER);
                    seen = Some(feed(&views, log.as_ref(), from));
                }
            }
            None => seen = Some(catch_up(&views, log.as_ref())),
        }
        for projection in views.all() {
            // What fails is parked and says so in its status; the others go on.
            let _ = projection.idle();
        }
    }
}

/// Gives what came after `from` to all of them; the last event that was given.
fn feed(views: &Views, log: &dyn Log, from: Position) -> Position {
    let mut seen = from;
    let mut batch: Vec<Recorded> = Vec::with_capacity(BATCH_EVENTS_MAX);
    let mut records = log.read_all(from.next());
    loop {
        batch.clear();
        for recorded in records.by_ref().take(BATCH_EVENTS_MAX) {
            match recorded {
                Ok(recorded) => batch.push(recorded),
                // Each of them finds the damage by itself, and says so.
                Err(_) => return catch_up(views, log),
            }
        }
        let Some(last) = batch.last() else {
            return seen;
        };
        seen = last.envelope.position;
        for projection in views.all() {
            let _ = projection.take(&batch);
        }
    }
}

/// Each reads the log by itself; the last event that there was.
fn catch_up(views: &Views, log: &dyn Log) -> Position {
    let last = log.tail().last;
    for projection in views.all() {
        let _ = projection.catch_up();
    }
    last
}
