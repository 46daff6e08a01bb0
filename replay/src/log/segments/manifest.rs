//! The two small text files beside the segments: `MANIFEST` and `mark`.
//!
//! ```text
//! format 1                        record 1
//! segment 1 55012 67108001        first and last position, bytes; sealed segments only
//! lost 77 78                      positions that a repair gave up; not damage any more
//! sum 5f3a…                       BLAKE3 over the lines above
//! ```
//!
//! `mark` says what was known to be on the disk when it was written: `durable`, the last synced
//! position, and `indexed`, the last position that the synced index covers, with the place where
//! the next record begins. It is written now and then, so both are lower bounds. A `mark` that
//! does not read is as good as none; a `MANIFEST` that does not read is damage.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use herm_schema::{Digest, Position, codec};
use serde::{Deserialize, Serialize};

use super::Place;
use crate::log::Error;
use crate::log::disk::{self, Disk};

/// Version of the folder's layout.
pub const FORMAT: u32 = 1;

/// A run of positions, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Range {
    pub first: Position,
    pub last: Position,
}

impl Range {
    pub fn holds(&self, position: Position) -> bool {
        self.first <= position && position <= self.last
    }
}

/// A segment that is not written any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    pub first: Position,
    pub last: Position,
    pub bytes: u64,
}

/// What is known of the folder besides its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub sealed: Vec<Sealed>,
    pub lost: Vec<Range>,
}

impl Manifest {
    /// The position of the first event that is not lost, from `position` on.
    pub fn past_lost(&self, position: Position) -> Position {
        let hole = self.lost.iter().find(|range| range.holds(position));
        hole.map_or(position, |range| self.past_lost(range.last.next()))
    }

    /// `None` if there is none.
    pub fn read(disk: &dyn Disk, folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join("MANIFEST");
        if !disk.exists(&path) {
            return Ok(None);
        }
        let bytes = disk::read_all(disk, &path).map_err(|error| Error::io("read", &path, &error))?;
        let text = String::from_utf8_lossy(&bytes);
        parse(&text, &path).map(Some)
    }

    pub fn write(&self, disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
        let path = folder.join("MANIFEST");
        let text = self.text();
        disk::replace(disk, &path, text.as_bytes()).map_err(|error| Error::io("write", &path, &error))
    }

    fn text(&self) -> String {
        let mut text = format!("format {FORMAT}\nrecord {}\n", codec::FORMAT);
        for segment in &self.sealed {
            // Writing to a string does not fail.
            let _ = writeln!(text, "segment {} {} {}", segment.first, segment.last, segment.bytes);
        }
        for range in &self.lost {
            let _ = writeln!(text, "lost {} {}", range.first, range.last);
        }
        with_sum(text)
    }
}

fn with_sum(text: String) -> String {
    format!("{text}sum {}\n", Digest::of(text.as_bytes()))
}

/// The lines of `text` if its last one is the sum of those before.
fn summed(text: &str) -> Option<&str> {
    let (before, sum) = text.trim_end().rsplit_once('\n')?;
    let before_bytes = format!("{before}\n");
    (sum == format!("sum {}", Digest::of(before_bytes.as_bytes()))).then_some(before)
}

fn parse(text: &str, path: &Path) -> Result<Manifest, Error> {
    // The version is looked at first: a newer layout may be summed in another way.
    for (word, known) in [("format", FORMAT), ("record", u32::from(codec::FORMAT))] {
        let line = text.lines().find_map(|line| line.strip_prefix(word)?.trim().parse::<u32>().ok());
        if let Some(found) = line.filter(|found| *found > known) {
            return Err(Error::Newer {
                path: path.to_owned(),
                found: format!("{word} {found}"),
                known: format!("{word} {known}"),
            });
        }
    }
    let damaged = |reason: &str| Error::Damaged {
        position: Position(0),
        path: path.to_owned(),
        offset: 0,
        reason: reason.to_owned(),
    };
    let lines = summed(text).ok_or_else(|| damaged("its sum does not fit"))?;
    let mut manifest = Manifest::default();
    for line in lines.lines() {
        let mut words = line.split(' ');
        let word = words.next().unwrap_or_default();
        let numbers: Vec<u64> = words.filter_map(|number| number.parse().ok()).collect();
        match (word, numbers.as_slice()) {
            ("format" | "record", _) => {}
            ("segment", &[first, last, bytes]) => {
                manifest.sealed.push(Sealed { first: Position(first), last: Position(last), bytes });
            }
            ("lost", &[first, last]) => {
                manifest.lost.push(Range { first: Position(first), last: Position(last) });
            }
            _ => return Err(damaged(&format!("line `{line}`"))),
        }
    }
    Ok(manifest)
}

/// What was known to be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    pub durable: Position,
    /// Last position that the index covers; zero for no index.
    pub indexed: Position,
    /// Where the record after `indexed` begins.
    pub next: Place,
}

impl Mark {
    fn path(folder: &Path) -> PathBuf {
        folder.join("mark")
    }

    /// The mark, or the zero mark if there is none that reads.
    pub fn read(disk: &dyn Disk, folder: &Path) -> Self {
        let read = || {
            let bytes = disk::read_all(disk, &Self::path(folder)).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let numbers: Vec<u64> =
                summed(&text)?.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let &[durable, indexed, segment, offset] = numbers.as_slice() else {
                return None;
            };
            let next = Place { segment: Position(segment), offset };
            Some(Self { durable: Position(durable), indexed: Position(indexed), next })
        };
        read().unwrap_or_default()
    }

    pub fn write(&self, disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
        let path = Self::path(folder);
        let text = format!(
            "durable {}\nindexed {} {} {}\n",
            self.durable, self.indexed, self.next.segment, self.next.offset
        );
        disk::replace(disk, &path, with_sum(text).as_bytes())
            .map_err(|error| Error::io("write", &path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_reads_back_and_a_changed_byte_is_seen() {
        let range = |first, last| Range { first: Position(first), last: Position(last) };
        let manifest = Manifest {
            sealed: vec![Sealed { first: Position(1), last: Position(9), bytes: 77 }],
            lost: vec![range(3, 4), range(5, 5)],
        };
        let text = manifest.text();
        assert_eq!(parse(&text, Path::new("m")).unwrap(), manifest);
        assert_eq!(manifest.past_lost(Position(3)), Position(6));
        let changed = text.replace("lost 3", "lost 2");
        assert!(matches!(parse(&changed, Path::new("m")), Err(Error::Damaged { .. })));
        let newer = text.replace("format 1", "format 9");
        assert!(matches!(parse(&newer, Path::new("m")), Err(Error::Newer { .. })));
    }
}
