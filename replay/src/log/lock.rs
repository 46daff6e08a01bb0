//! One owner for each log: the lock, and the file systems on which a lock means something.
//!
//! The lock itself is the kernel's (`flock`) and ends with the process, however it ends; what the
//! file says is only for the message to the second one. Nothing stale is ever to be cleaned up.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::Error;

/// How often the lock of an owner that has ended is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Looks after which it is held by somebody all the same: two seconds.
const LOOKS_MAX: u32 = 200;

/// Held as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder.
    ///
    /// # Errors
    /// `Locked`, naming the owner; `Io` where no file can be written.
    pub fn take(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("lock");
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| Error::io("open for writing", &path, &error))?;
        let mut looks = 0;
        while let Err(error) = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != Errno::WOULDBLOCK {
                return Err(Error::io("lock", &path, &error.into()));
            }
            let owner = Owner::read(&mut file);
            looks += 1;
            if looks > LOOKS_MAX || !owner.is_gone() {
                let Owner { pid, started } = owner;
                return Err(Error::Locked { path, pid, started });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let says = format!("pid {}\nstarted {}\nboot {}\n", std::process::id(), own_start(), boot_id());
        file.set_len(0)
            .and_then(|()| file.write_all(says.as_bytes()))
            .map_err(|error| Error::io("write", &path, &error))?;
        Ok(Self { _file: file })
    }
}

/// Who says that it holds the lock.
struct Owner {
    pid: u32,
    started: String,
}

impl Owner {
    fn read(file: &mut File) -> Self {
        let mut says = String::new();
        // The owner may be about to write it: then there is nothing to tell.
        let _ = file.rewind().and_then(|()| file.read_to_string(&mut says));
        let line = |word: &str| says.lines().find_map(|line| line.strip_prefix(word)).map(str::trim);
        let pid = line("pid").and_then(|pid| pid.parse().ok()).unwrap_or(0);
        Self { pid, started: line("started").unwrap_or("at an unknown time").to_owned() }
    }

    /// Whether it has ended. What it was about to start holds the lock until it has become another
    /// program; that is a moment.
    fn is_gone(&self) -> bool {
        cfg!(target_os = "linux")
            && self.pid != 0
            && started(&self.pid.to_string()).is_none_or(|started| started != self.started)
    }
}

/// When a process started, in clock ticks since boot, as the kernel says; `None` if it has ended.
fn started(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses and may hold blanks; field 22 is the 20th after it.
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let dead = fields.next().is_some_and(|state| state == "Z" || state == "X");
    let ticks = fields.nth(18)?;
    (!dead).then(|| format!("{ticks} ticks after boot"))
}

fn own_start() -> String {
    started("self").unwrap_or_else(|| "unknown ticks after boot".to_owned())
}

fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| "unknown".to_owned(), |id| id.trim().to_owned())
}

/// File systems that do not keep what a log needs, by `statfs` magic (linux/magic.h, and the
/// kernel's sources for those that are not in it).
const UNSAFE: &[(u32, &str)] = &[
    (0x6969, "nfs"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x517b, "smb"),
    (0xfe53_4d42, "smb2"),
    (0xff53_4d42, "cifs"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x7375_7245, "coda"),
    (0x0bd0_0bd0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x786f_4256, "vboxsf"),
];

/// The name of the file system of `path`, if it is one that must not hold a log.
pub fn unsafe_kind(path: &Path) -> Option<&'static str> {
    kind_of(rustix::fs::statfs(path).ok()?.f_type as u32)
}

fn kind_of(magic: u32) -> Option<&'static str> {
    UNSAFE.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_owner_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        let Err(Error::Locked { pid, started, .. }) = Lock::take(folder.path()) else {
            panic!("locked twice");
        };
        assert_eq!(pid, std::process::id());
        assert!(started.ends_with("ticks after boot"), "{started}");
        drop(lock);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_child_of_an_owner_that_has_ended_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        // As a killed herm leaves it: its name in the file, and the lock held for a moment by its child.
        std::fs::write(folder.path().join("lock"), "pid 4000000\nstarted 1 ticks after boot\n").unwrap();
        let child = std::thread::spawn(move || {
            std::thread::sleep(LOOK_EVERY * 5);
            drop(lock);
        });
        Lock::take(folder.path()).unwrap();
        child.join().unwrap();
    }

    #[test]
    fn network_file_systems_are_known_and_the_local_one_is_not() {
        assert_eq!(kind_of(0x6969), Some("nfs"));
        assert_eq!(kind_of(0xef53), None);
        assert_eq!(unsafe_kind(tempfile::tempdir().unwrap().path()), None);
    }
}
