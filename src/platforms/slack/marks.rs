//! PURE: how far herm has come: of each conversation and thread the last message that was taken. It is what
//! herm keeps as its cursor, so that what was said while no connection stood can be asked for.

use std::collections::VecDeque;

use super::inbound::is_ts;

/// Conversations and threads that are kept, the latest last; a line has at most 64 bytes, and all of it 4 KiB.
const PLACES_MAX: usize = 62;
/// Longest line; a place whose ids are longer is not kept.
const LINE_BYTES_MAX: usize = 64;
/// The first line; another version is not read.
const VERSION: &str = "1";
/// Stands for no thread.
const NO_THREAD: &str = "-";

/// A conversation or a thread in one, and the last message that was taken of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub channel: String,
    pub thread: Option<String>,
    pub ts: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks(VecDeque<Mark>);

impl Mark {
    fn line(&self) -> String {
        format!("{} {} {}\n", self.channel, self.thread.as_deref().unwrap_or(NO_THREAD), self.ts)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (channel, thread, ts) = (words.next()?, words.next()?, words.next()?);
        let thread = (thread != NO_THREAD).then(|| thread.to_owned());
        (is_ts(ts) && !channel.is_empty()).then(|| Self {
            channel: channel.to_owned(),
            thread,
            ts: ts.to_owned(),
        })
    }

    fn is_of(&self, channel: &str, thread: Option<&str>) -> bool {
        self.channel == channel && self.thread.as_deref() == thread
    }
}

impl Marks {
    /// Reads a cursor; one that cannot be read is none.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        match lines.next() {
            Some(VERSION) => Self(lines.filter_map(Mark::parse).take(PLACES_MAX).collect()),
            _ => Self::default(),
        }
    }

    pub fn cursor(&self) -> String {
        self.0.iter().fold(format!("{VERSION}\n"), |text, mark| text + mark.line().as_str())
    }

    /// This message was taken.
    pub fn taken(&mut self, channel: &str, thread: Option<&str>, ts: &str) {
        if !is_ts(ts) {
            return;
        }
        let at = self.0.iter().position(|mark| mark.is_of(channel, thread));
        let before = at.and_then(|at| self.0.remove(at)).map(|mark| mark.ts);
        // Two messages of a moment may come in the other order; the later one stays the mark.
        let ts = before.filter(|before| is_after(before, ts)).unwrap_or_else(|| ts.to_owned());
        let mark = Mark { channel: channel.to_owned(), thread: thread.map(str::to_owned), ts };
        if mark.line().len() <= LINE_BYTES_MAX {
            self.0.push_back(mark);
        }
        while self.0.len() > PLACES_MAX {
            self.0.pop_front();
        }
    }

    /// herm does not see the place any more.
    pub fn forget(&mut self, channel: &str, thread: Option<&str>) {
        self.0.retain(|mark| !mark.is_of(channel, thread));
    }

    /// The place that was spoken in last first.
    pub fn latest_first(&self) -> Vec<Mark> {
        self.0.iter().rev().cloned().collect()
    }
}

/// Whether one message was said after another.
pub(super) fn is_after(ts: &str, other: &str) -> bool {
    let read = |ts: &str| ts.split_once('.').map(|(a, b)| (a.parse::<u64>().ok(), b.parse::<u64>().ok()));
    read(ts) > read(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_and_is_never_too_long() {
        let mut marks = Marks::default();
        for number in 0..200 {
            let thread = (number % 2 == 0).then_some("1764500000.000001");
            marks.taken(&format!("C0123ABC{number:04}"), thread, &format!("1764500001.{number:06}"));
        }
        let cursor = marks.cursor();
        assert!(cursor.len() <= 4096, "{}", cursor.len());
        assert_eq!(Marks::parse(&cursor), marks);
        assert_eq!(marks.latest_first().len(), PLACES_MAX);
        assert_eq!(marks.latest_first()[0].channel, "C0123ABC0199");
        assert_eq!(Marks::parse("0\nC1 - 1764500000.000001"), Marks::default());
        assert_eq!(Marks::parse("1\nC1 - yesterday\n\n"), Marks::default());
    }

    #[test]
    fn a_mark_never_goes_back_and_a_thread_has_its_own() {
        let mut marks = Marks::default();
        marks.taken("C1", None, "1764500002.000000");
        marks.taken("C1", Some("1764500000.000001"), "1764500001.000000");
        marks.taken("C1", None, "1764500001.999999");
        marks.taken("C1", None, "1234.5.abc");
        let told: Vec<_> = marks.latest_first().into_iter().map(|mark| (mark.thread, mark.ts)).collect();
        let thread = Some("1764500000.000001".to_owned());
        assert_eq!(
            told,
            [(None, "1764500002.000000".to_owned()), (thread.clone(), "1764500001.000000".to_owned())]
        );
        marks.forget("C1", None);
        assert_eq!(marks.latest_first().len(), 1);
        assert!(is_after("1764500010.000000", "999999999.000000"));
    }
}
