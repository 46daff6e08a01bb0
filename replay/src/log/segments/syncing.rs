//! The thread that waits for the disk, so that the writer does not: while one group is on its way to the disk,
//! the next ones are written, and what need not wait for the disk is answered at once.
//!
//! Whoever is waited for here was written and published before. A sync that fails poisons the log: then nothing
//! more is acknowledged, and nothing more is written.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, SendError, Sender, bounded};

use super::shared::Shared;
use crate::log::{Durable, Error};

/// Who waits for the disk, at most; beyond that the writer waits with them.
const WAITING_MAX: usize = 4_096;

/// The way to the thread.
#[derive(Clone)]
pub(crate) struct Syncing(Sender<Durable>);

impl Syncing {
    /// Starts the thread; it ends when nobody holds a way to it.
    pub(crate) fn start(shared: Arc<Shared>) -> Result<(Self, JoinHandle<()>), Error> {
        let (sender, waiting) = bounded(WAITING_MAX);
        let folder = shared.files.folder.clone();
        let run = move || run(&shared, &waiting);
        let thread = std::thread::Builder::new().name("log-sync".to_owned()).spawn(run);
        Ok((Self(sender), thread.map_err(|error| Error::io("start a thread for", &folder, &error))?))
    }

    /// Tells when everything written so far is on the disk.
    pub(crate) fn tell(&self, done: Durable) {
        if let Err(SendError(done)) = self.0.send(done) {
            // That thread is gone only if whom it told panicked.
            done(Err(Error::Closed));
        }
    }
}

fn run(shared: &Shared, waiting: &Receiver<Durable>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter());
        let synced = shared.sync_tail();
        for done in group {
            done(synced.as_ref().map(|_| ()).map_err(Clone::clone));
        }
    }
}
