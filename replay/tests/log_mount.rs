//! A log on a file system that does not keep what it promises: refused on a real FUSE mount.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use herm_replay::log::contract::{append, message};
use herm_replay::log::segments::Options;
use herm_replay::log::{Error, Log, SegmentLog};

/// A folder that is shown through FUSE; unmounted when it is dropped.
struct Mount(PathBuf);

impl Mount {
    /// `None`, with the reason printed, where there is no bindfs or nothing may be mounted.
    fn of(folder: &Path, at: &Path) -> Option<Self> {
        match Command::new("bindfs").arg(folder).arg(at).output() {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            Ok(output) => {
                println!(
                    "skipped: nothing can be mounted ({})",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                println!("skipped: bindfs cannot be run ({error})");
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("fusermount").arg("-u").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
}

#[test]
fn a_log_on_a_fuse_mount_is_refused_unless_it_is_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let (real, seen) = (scratch.path().join("real"), scratch.path().join("seen"));
    std::fs::create_dir(&real).unwrap();
    std::fs::create_dir(&seen).unwrap();
    let Some(_mount) = Mount::of(&real, &seen) else { return };
    let mut options = Options::new(seen.join("log"));
    match SegmentLog::open(options).map(drop) {
        Err(error @ Error::UnsafeFileSystem { .. }) => assert!(error.to_string().contains("fuse"), "{error}"),
        other => panic!("it was opened, or failed otherwise: {other:?}"),
    }
    options = Options::new(seen.join("log"));
    options.allow_unsafe_file_system = true;
    let log = SegmentLog::open(options).unwrap();
    log.append(append("a", vec![message("hello")])).unwrap();
}
