//! What is said beside the output of a command line: the supervisor's `report` file.
//!
//! The shells around the command write lines there that begin with `herm:`; whatever else stands in
//! it was said by the program that carried the command line (`ssh`, the container client) and is the
//! reason if that did not succeed. The command itself has no access to it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most of a report that is read, in bytes; real ones have a few hundred.
const REPORT_BYTES_MAX: u64 = 1 << 20;
/// Most that is told of what a carrier said, in characters; the end has the reason.
const CHATTER_CHARS_MAX: usize = 600;

/// Whether a command line was held in by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sandboxed {
    /// It could write where it may, and nowhere else.
    Yes,
    /// Nobody asked for it.
    #[default]
    Off,
    /// It was asked for where it can be had, and it cannot.
    Unavailable { why: String },
    /// It ran in a place of its own: a container, another machine.
    Elsewhere,
}

/// One report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Process (and process group) that the command runs under, where it runs.
    pub begun: Option<i32>,
    /// Exit status, said there.
    pub ended: Option<i32>,
    pub cwd: Option<PathBuf>,
    /// The directory that the session stood in, which is gone.
    pub gone: Option<String>,
    /// Where it ran instead.
    pub moved: Option<String>,
    /// The directory that was asked for and is not there; nothing was run.
    pub no_directory: Option<String>,
    /// Why nothing was run.
    pub refused: Option<String>,
    pub sandboxed: Sandboxed,
    /// What the carrier said.
    pub chatter: String,
}

impl Report {
    /// Reads the file; an empty report where there is none yet.
    pub fn of(path: &Path) -> Self {
        let mut bytes = Vec::new();
        if let Ok(file) = File::open(path) {
            // What was read before an error is as good as the rest would have been.
            let _ = file.take(REPORT_BYTES_MAX).read_to_end(&mut bytes);
        }
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Only whole lines count: the last may still be on its way.
    pub(super) fn parse(text: &str) -> Self {
        let mut report = Self::default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            match line.strip_prefix("herm:") {
                Some(said) => report.take(said),
                None => {
                    report.chatter.push_str(line.trim_end());
                    report.chatter.push('\n');
                }
            }
        }
        report
    }

    fn take(&mut self, said: &str) {
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        match word {
            "begin" => self.begun = rest.parse().ok(),
            "end" => self.ended = rest.parse().ok(),
            "cwd" => self.cwd = rest.starts_with('/').then(|| PathBuf::from(rest)),
            "gone" => self.gone = Some(rest.to_owned()),
            "moved" => self.moved = Some(rest.to_owned()),
            "nodir" => self.no_directory = Some(rest.to_owned()),
            "refused" => self.refused = Some(rest.to_owned()),
            "sandboxed" => self.sandboxed = Sandboxed::Yes,
            "unsandboxed" => self.sandboxed = Sandboxed::Unavailable { why: rest.to_owned() },
            _ => {}
        }
    }

    /// The end of what the carrier said, on one line.
    pub fn reason(&self) -> Option<String> {
        let words = self.chatter.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = words.chars().count().saturating_sub(CHATTER_CHARS_MAX);
        (!words.is_empty()).then(|| words.chars().skip(cut).collect())
    }

    /// What the model is to know.
    pub fn notices(&self) -> Vec<String> {
        let gone = self.gone.iter().map(|gone| {
            let moved = self.moved.as_deref().unwrap_or("/");
            format!("the working directory `{gone}` is gone; this ran in `{moved}`")
        });
        let nothing = self
            .no_directory
            .iter()
            .map(|wanted| format!("working directory `{wanted}` does not exist; nothing was run"));
        gone.chain(nothing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ours_are_told_from_what_the_carrier_says() {
        let report = Report::parse(
            "Warning: added\nherm:begin 41\nherm:gone /a b/c\nherm:moved /a b\nherm:cwd /x y\nherm:end 3\nlost: peer\n",
        );
        assert_eq!((report.begun, report.ended), (Some(41), Some(3)));
        assert_eq!(report.cwd, Some("/x y".into()));
        assert_eq!(report.notices(), ["the working directory `/a b/c` is gone; this ran in `/a b`"]);
        assert_eq!(report.reason().unwrap(), "Warning: added lost: peer");
    }

    #[test]
    fn a_line_that_is_still_on_its_way_is_not_read() {
        assert_eq!(Report::parse("herm:begin 41\nherm:end 1").ended, None);
        assert_eq!(Report::parse("herm:end 1").ended, None);
        assert_eq!(Report::parse(""), Report::default());
    }

    #[test]
    fn the_end_of_a_long_reason_is_told() {
        let report = Report::parse(&format!("{}\nat last: ü\n", "x ".repeat(2_000)));
        let reason = report.reason().unwrap();
        assert!(reason.chars().count() <= CHATTER_CHARS_MAX && reason.ends_with("at last: ü"));
    }
}
