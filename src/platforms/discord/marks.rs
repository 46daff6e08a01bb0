//! PURE: how far herm has come: the session of the gateway and its last number, and of each channel the
//! last message. It is what herm keeps as its cursor, so that after a restart Discord gives again what came
//! meanwhile, and where it does not, the channels can be asked.

use std::collections::VecDeque;

/// Channels that are kept, the latest last; a line of each has at most 41 bytes, and all of it 4 KiB.
const CHANNELS_MAX: usize = 86;
/// Longest line of the session.
const SESSION_BYTES_MAX: usize = 400;
/// The first line; another version is not read.
const VERSION: &str = "1";

/// A session of the gateway, which can be resumed for some minutes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub id: String,
    pub resume_url: String,
    /// The last number that was taken, with all before it.
    pub seq: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub session: Option<Session>,
    /// Channel and message, the one that was spoken in last at the end.
    channels: VecDeque<(u64, u64)>,
}

impl Marks {
    /// Reads a cursor; one that cannot be read is none.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        if lines.next() != Some(VERSION) {
            return Self::default();
        }
        let session = lines.next().and_then(|line| {
            let mut words = line.split(' ');
            let (id, url, seq) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
            Some(Session { id: id.to_owned(), resume_url: url.to_owned(), seq })
        });
        let channels = lines.filter_map(|line| {
            let (channel, message) = line.split_once(' ')?;
            Some((channel.parse().ok()?, message.parse().ok()?))
        });
        Self { session, channels: channels.take(CHANNELS_MAX).collect() }
    }

    pub fn cursor(&self) -> String {
        let session = self
            .session
            .as_ref()
            .map(|session| format!("{} {} {}", session.id, session.resume_url, session.seq));
        let session = session.filter(|line| line.len() <= SESSION_BYTES_MAX).unwrap_or_default();
        let mut text = format!("{VERSION}\n{session}\n");
        for (channel, message) in &self.channels {
            text.push_str(&format!("{channel} {message}\n"));
        }
        text
    }

    pub fn knows(&self, channel: &str) -> bool {
        channel.parse().is_ok_and(|id: u64| self.channels.iter().any(|(known, _)| *known == id))
    }

    /// Everything before this message was taken.
    pub fn before(&mut self, channel: &str, message: &str) {
        if let (Ok(channel), Ok(message)) = (channel.parse(), message.parse::<u64>()) {
            self.set(channel, message.saturating_sub(1));
        }
    }

    /// This message was taken.
    pub fn taken(&mut self, channel: &str, message: &str) {
        if let (Ok(channel), Ok(message)) = (channel.parse(), message.parse()) {
            self.set(channel, message);
        }
    }

    fn set(&mut self, channel: u64, message: u64) {
        let at = self.channels.iter().position(|(known, _)| *known == channel);
        // Two messages of a moment may come in the other order; the later one stays the mark.
        let before = at.and_then(|at| self.channels.remove(at)).map_or(0, |(_, message)| message);
        self.channels.push_back((channel, message.max(before)));
        while self.channels.len() > CHANNELS_MAX {
            self.channels.pop_front();
        }
    }

    pub fn forget(&mut self, channel: &str) {
        self.channels.retain(|(known, _)| channel.parse() != Ok(*known));
    }

    /// Channels and their last messages, the one that was spoken in last first.
    pub fn channels(&self) -> Vec<(String, String)> {
        let texts = |(channel, message): &(u64, u64)| (channel.to_string(), message.to_string());
        self.channels.iter().rev().map(texts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_and_is_never_too_long() {
        let mut marks = Marks::default();
        let url = format!("wss://gateway-{}.discord.gg", "x".repeat(300));
        marks.session = Some(Session { id: "f".repeat(32), resume_url: url, seq: u64::MAX });
        for channel in 0..2000 {
            marks.taken(&(u64::MAX - channel).to_string(), &u64::MAX.to_string());
        }
        let cursor = marks.cursor();
        assert!(cursor.len() <= 4096, "{}", cursor.len());
        assert_eq!(Marks::parse(&cursor), marks);
        assert_eq!(marks.channels().len(), CHANNELS_MAX);
        assert!(marks.knows(&(u64::MAX - 1999).to_string()) && !marks.knows(&u64::MAX.to_string()));
        assert_eq!(Marks::parse("0\nwhatever"), Marks::default());
        assert_eq!(Marks::parse(""), Marks::default());
    }

    #[test]
    fn a_mark_never_goes_back() {
        let mut marks = Marks::default();
        marks.before("1", "100");
        assert_eq!(marks.channels(), [("1".to_owned(), "99".to_owned())]);
        marks.taken("1", "200");
        marks.taken("2", "150");
        marks.taken("1", "120");
        assert_eq!(marks.channels(), [("1", "200"), ("2", "150")].map(|(a, b)| (a.into(), b.into())));
        marks.forget("1");
        assert!(!marks.knows("1") && marks.knows("2"));
    }
}
