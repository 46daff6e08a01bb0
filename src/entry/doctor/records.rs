//! What has been recorded: whether another herm owns it, and whether it opens.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Finding;
use crate::config::Home;
use crate::entry::engine::has_log;
use crate::entry::{Failure, store};

/// Where Linux lists the locks that are held.
const LOCKS: &str = "/proc/locks";

/// Whether another herm owns the home. The lock is not tried: that could turn away a herm that
/// starts at this moment.
pub fn lock(home: &Home) -> Finding {
    let file = home.log_dir().join("lock");
    match owner(&file) {
        None => Finding::ok("free"),
        Some(pid) => Finding::note(
            format!("process {pid} owns the home; looking works, another one that writes does not start"),
            Some(format!("ps -fp {pid}")),
        ),
    }
}

fn owner(file: &Path) -> Option<u32> {
    let inode = std::fs::metadata(file).ok()?.ino();
    holder(&std::fs::read_to_string(LOCKS).ok()?, inode)
}

/// The process that holds an `flock` on a file, by the file's number; lines as in proc(5):
/// `1: FLOCK  ADVISORY  WRITE 5433 08:01:7864503 0 EOF`.
fn holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let kind = words.next()?;
        let mut words = words.skip(2);
        let pid = words.next()?.parse().ok()?;
        let file = words.next()?.rsplit(':').next()?.parse::<u64>().ok()?;
        (kind == "FLOCK" && file == inode).then_some(pid)
    })
}

/// Whether the log opens, and what is known of its soundness without reading all of it.
pub fn log(home: &Home) -> Finding {
    if !has_log(home) {
        return Finding::ok("nothing recorded yet");
    }
    let log = match store::segments(home) {
        Ok(log) => log,
        Err(failure) => return Finding::of(&failure),
    };
    if let Some(damage) = log.damage() {
        return Finding::of(&Failure::from(damage));
    }
    let stats = log.stats();
    let figures = format!("{} events, {} KiB", stats.events, stats.bytes >> 10);
    if stats.lost_events > 0 {
        return Finding::note(format!("{figures}; repairs gave up {} events", stats.lost_events), None);
    }
    Finding::ok(figures)
}

#[cfg(test)]
mod tests {
    use herm_replay::log::SegmentLog;
    use herm_replay::log::segments::Options;

    use super::super::Level;
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_read_from_the_kernels_list() {
        let locks =
            "1: POSIX  ADVISORY  WRITE 11 08:01:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 5433 08:01:77 0 EOF\n";
        assert_eq!(holder(locks, 77), Some(5433));
        assert_eq!(holder(locks, 78), None);
        assert_eq!(holder("nonsense", 77), None);
    }

    #[test]
    fn a_log_is_looked_at_while_another_owns_it() {
        let scratch = tempfile::tempdir().unwrap();
        let home = Home::at(scratch.path());
        assert_eq!(log(&home), Finding::ok("nothing recorded yet"));
        assert_eq!(lock(&home), Finding::ok("free"));
        let owner = SegmentLog::open(Options::new(home.log_dir())).unwrap();
        assert!(log(&home).what.starts_with("0 events"), "{:?}", log(&home));
        assert_eq!(lock(&home).level, Level::Note);
        drop(owner);
        assert_eq!(lock(&home).level, Level::Ok);
    }
}
