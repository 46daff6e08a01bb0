//! Lines of a growing output that somebody waits for.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use regex::RegexSet;

/// How often an output is looked at.
pub const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Lines that are told at most, of one process; then it is not looked at any more.
const LINES_MAX: usize = 20;
/// Longest line that is told, in characters.
const LINE_CHARS_MAX: usize = 300;
/// Bytes that are looked at at once, at most.
const BYTES_MAX: u64 = 1 << 20;

/// What is waited for, and how far has been looked.
pub struct Watched {
    patterns: RegexSet,
    at: u64,
    /// The beginning of a line whose end has not come.
    open: String,
    told: usize,
}

impl Watched {
    /// `None` if nothing is waited for. What is no regular expression stands for itself.
    pub fn of(patterns: &[String]) -> Option<Self> {
        if patterns.is_empty() {
            return None;
        }
        let readable = |text: &String| match regex::Regex::new(text) {
            Ok(_) => text.clone(),
            Err(_) => regex::escape(text),
        };
        let patterns = RegexSet::new(patterns.iter().map(readable)).ok()?;
        Some(Self { patterns, at: 0, open: String::new(), told: 0 })
    }

    pub fn is_done(&self) -> bool {
        self.told >= LINES_MAX
    }

    /// The lines since the last look that were waited for.
    pub fn look(&mut self, output: &Path) -> Vec<String> {
        let mut bytes = Vec::new();
        let read = File::open(output).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.at))?;
            file.take(BYTES_MAX).read_to_end(&mut bytes)
        });
        self.at += read.unwrap_or(0) as u64;
        self.open.push_str(&String::from_utf8_lossy(&bytes));
        let Some((whole, open)) = self.open.rsplit_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned()))
        else {
            return Vec::new();
        };
        self.open = open;
        let fitting = whole.lines().filter(|line| self.patterns.is_match(line));
        let lines: Vec<String> = fitting
            .take(LINES_MAX.saturating_sub(self.told))
            .map(|line| line.chars().take(LINE_CHARS_MAX).collect())
            .collect();
        self.told += lines.len();
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn whole_lines_are_told_once_and_only_so_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let mut file = File::create(&path).unwrap();
        let mut watched = Watched::of(&["ready on \\d+".into(), "([".into()]).unwrap();
        write!(file, "starting\nready on 80").unwrap();
        assert!(watched.look(&path).is_empty(), "its line has not ended");
        writeln!(file, "80\nan odd ([ line").unwrap();
        assert_eq!(watched.look(&path), ["ready on 8080", "an odd ([ line"]);
        assert!(watched.look(&path).is_empty());
        for port in 0..50 {
            writeln!(file, "ready on {port}").unwrap();
        }
        assert_eq!(watched.look(&path).len(), 18);
        assert!(watched.is_done());
        assert!(Watched::of(&[]).is_none());
    }
}
