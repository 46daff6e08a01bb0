//! The thread that waits for the disk, so that the writer does not: while one group is on its way to the disk,
//! the next ones are written, and what need not wait for the disk is answered at once.
//!
//! Whoever is waited for here was written and published before. A sync that fails poisons the log: then nothing
//! more is acknowledged, and nothing more is written.

use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::shared::Shared;
use crate::log::{Acknowledge, Committed, Error};

/// Answers that wait for the disk, at most; beyond that the writer waits with them.
const WAITING_MAX: usize = 4_096;

/// An answer that is given when what it says is on the disk.
pub(crate) struct Waiting {
    pub done: Acknowledge,
    pub committed: Committed,
}

/// Starts the thread; it ends when the sender is dropped.
pub(crate) fn start(shared: Arc<Shared>) -> Result<(Sender<Waiting>, JoinHandle<()>), Error> {
    let (sender, waiting) = bounded(WAITING_MAX);
    let folder = shared.files.folder.clone();
    let thread =
        std::thread::Builder::new().name("log-sync".to_owned()).spawn(move || run(&shared, &waiting));
    Ok((sender, thread.map_err(|error| Error::io("start a thread for", &folder, &error))?))
}

fn run(shared: &Shared, waiting: &Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter());
        let synced = shared.sync_tail();
        for Waiting { done, committed } in group {
            done(synced.as_ref().map(|_| committed).map_err(Clone::clone));
        }
    }
}
