//! A thread that keeps every projection close to the end of the log.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Views;

/// How long it waits for an event before it looks whether there is anything to write down.
const WAIT: Duration = Duration::from_millis(250);

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
        let last = match seen {
            Some(seen) => log.wait(seen, WAIT),
            None => log.tail().last,
        };
        let grown = seen != Some(last);
        seen = Some(last);
        for projection in views.all() {
            // What fails is parked and says so in its status; the others go on.
            let _ = if grown { projection.catch_up() } else { Ok(()) };
            let _ = projection.idle();
        }
    }
}
