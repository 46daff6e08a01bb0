//! Gives back the pages of herm's own file that are mapped and not used any more.
//!
//! Most of what is resident of a daemon at rest is code that only its start needed, with what lies beside
//! it. The system would take these pages when memory is short; here they go as soon as nothing has
//! happened for a while, so that a herm that rests is as small as it looks. What is needed again comes back
//! from the page cache, at a few microseconds a page.

use std::time::{Duration, Instant};

/// How long nothing must have happened.
const REST: Duration = Duration::from_secs(20);

/// When something happened last, as far as that was looked at.
pub struct Pages {
    seen: Vec<u64>,
    since: Instant,
    given_back: bool,
}

impl Default for Pages {
    fn default() -> Self {
        Self { seen: Vec::new(), since: Instant::now(), given_back: false }
    }
}

impl Pages {
    /// Looks whether anything has happened, by how far each log has come.
    pub fn look(&mut self, logs: impl Iterator<Item = u64>) {
        let seen: Vec<u64> = logs.collect();
        if seen != self.seen {
            *self = Self { seen, ..Self::default() };
        }
        if !self.given_back && self.since.elapsed() >= REST {
            self.given_back = true;
            let bytes = given_back();
            tracing::debug!(bytes, "what of the program's file is not in use is not mapped any more");
        }
    }
}

/// How many bytes of address space were let go.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the system has no safe call for it; why it is sound stands beside it")]
fn given_back() -> usize {
    use rustix::mm::{Advice, madvise};
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut bytes = 0;
    for (start, end) in own(&maps, &program.to_string_lossy()) {
        let address = std::ptr::with_exposed_provenance_mut(start);
        // SAFETY: these pages are mapped from the program's file, private, and were never written to:
        // no page of them differs from the file, which cannot be written to while it runs. Letting go of
        // them changes nothing that any code can see; each comes back with the same content when touched.
        if unsafe { madvise(address, end - start, Advice::LinuxDontNeed) }.is_ok() {
            bytes += end - start;
        }
    }
    bytes
}

#[cfg(not(target_os = "linux"))]
fn given_back() -> usize {
    0
}

/// Where the file `program` is mapped, as `/proc/self/smaps` shows it, and is as it was in the file.
#[cfg(target_os = "linux")]
fn own(smaps: &str, program: &str) -> Vec<(usize, usize)> {
    let (mut own, mut mapped) = (Vec::new(), None);
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        match first.strip_suffix(':') {
            // A page that was written to is a copy: the fixed-up addresses, for one.
            Some("Anonymous") if words.next() == Some("0") => own.extend(mapped.take()),
            Some(_) => {}
            None => {
                let is_fixed = matches!(words.next(), Some("r--p" | "r-xp"));
                let is_own = words.nth(3) == Some(program);
                mapped = range(first).filter(|_| is_fixed && is_own);
            }
        }
    }
    own
}

#[cfg(target_os = "linux")]
fn range(text: &str) -> Option<(usize, usize)> {
    let (start, end) = text.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_as_in_the_file_is_let_go() {
        let mapping = |range: &str, flags: &str, path: &str, anonymous: u32| {
            format!(
                "{range} {flags} 00000000 fe:00 5404868                    {path}\nSize:  16 kB\nRss:  8 kB\n\
                 Anonymous:             {anonymous} kB\nVmFlags: rd ex mr mw me\n"
            )
        };
        let smaps = [
            mapping("1000-2000", "r--p", "/bin/herm", 0),
            mapping("2000-4000", "r-xp", "/bin/herm", 0),
            mapping("4000-5000", "r--p", "/bin/herm", 4),
            mapping("5000-6000", "rw-p", "/bin/herm", 0),
            mapping("6000-7000", "r-xp", "/lib/libc.so.6", 0),
            mapping("7000-8000", "rw-p", "", 0),
        ];
        assert_eq!(own(&smaps.concat(), "/bin/herm"), [(0x1000, 0x2000), (0x2000, 0x4000)]);
        assert_eq!(own(&smaps.concat(), "/bin/herm (deleted)"), []);
    }

    #[test]
    fn what_was_let_go_is_there_again() {
        let before: u64 = summed();
        assert!(given_back() > 0);
        assert_eq!(summed(), before, "code and constants are as they were");
    }

    /// Runs some code over some constants.
    fn summed() -> u64 {
        include_str!("pages.rs").bytes().map(u64::from).sum()
    }
}
