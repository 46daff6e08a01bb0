//! Opens the log of a home to look at it, while another herm may own it.

use std::sync::Arc;

use herm_replay::log::{Log, MemoryLog, ReadOnlyLog, SegmentLog};
use herm_replay::projections::Views;

use super::engine::has_log;
use super::{Exit, Failure};
use crate::config::Home;

/// The log to be read; an empty one where nothing has been recorded yet.
///
/// # Errors
/// When there is one that cannot be read.
pub fn log(home: &Home) -> Result<Arc<dyn Log>, Failure> {
    if !has_log(home) {
        return Ok(Arc::new(MemoryLog::new()));
    }
    Ok(Arc::new(SegmentLog::open_read_only(home.log_dir())?))
}

/// The log as it lies on the disk.
///
/// # Errors
/// When nothing has been recorded yet, or what has been cannot be read.
pub fn segments(home: &Home) -> Result<ReadOnlyLog, Failure> {
    exists(home)?;
    Ok(SegmentLog::open_read_only(home.log_dir())?)
}

/// # Errors
/// When nothing has been recorded yet.
pub fn exists(home: &Home) -> Result<(), Failure> {
    if home.log_dir().exists() {
        return Ok(());
    }
    let message = format!("nothing has been recorded in `{}` yet", home.root().display());
    Err(Failure::message(Exit::Failed, message).hint("herm chat"))
}

/// What can be looked up in a log, folded in memory; the home is not written.
pub fn views(log: Arc<dyn Log>, home: &Home) -> Views {
    let index = home.index_dir();
    Views::read_only(log, index.exists().then_some(index.as_path()))
}
