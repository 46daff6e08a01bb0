//! PURE: server-sent events by the WHATWG HTML standard, section 9.2.6, over any chunk borders.
//!
//! Bytes are joined into lines first and decoded after, so that a chunk may end inside a character.
//! An event that the stream ends in the middle of is not given, as the standard says. Lines and
//! events are bounded; what is larger is an error, never memory.

/// Longest line in bytes; a whole answer of a server that does not cut it fits.
pub const LINE_BYTES_MAX: usize = 8 << 20;
/// Most bytes of data in one event.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

const BOM: &[u8] = &[0xef, 0xbb, 0xbf];

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// `message` where the stream names none.
    pub event: String,
    pub data: String,
    /// The last id that the stream has given, empty if none.
    pub id: String,
}

/// Why a stream cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("a line of the stream is longer than the limit of {limit} bytes")]
    LineTooLong { limit: usize },
    #[error("an event of the stream is larger than the limit of {limit} bytes")]
    EventTooLarge { limit: usize },
}

/// Reads a stream piece by piece.
#[derive(Debug)]
pub struct SseReader {
    line: Vec<u8>,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// Nothing but a byte order mark can have been seen.
    at_start: bool,
    event: String,
    data: String,
    has_data: bool,
    id: String,
    retry_ms: Option<u64>,
    line_bytes_max: usize,
    event_bytes_max: usize,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::with_limits(LINE_BYTES_MAX, EVENT_BYTES_MAX)
    }
}

impl SseReader {
    /// A reader with limits of its own, in bytes.
    pub fn with_limits(line_bytes_max: usize, event_bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            event: String::new(),
            data: String::new(),
            has_data: false,
            id: String::new(),
            retry_ms: None,
            line_bytes_max,
            event_bytes_max,
        }
    }

    /// How long the stream asks a client to wait before it connects again.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Takes the next bytes; the events that they complete.
    ///
    /// # Errors
    /// A line or event above its limit; the reader is of no use after that.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_cr = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.push(head)?;
            let Some((terminator, after)) = tail.split_first() else { break };
            rest = after;
            if *terminator == b'\r' {
                match rest.split_first() {
                    Some((b'\n', after)) => rest = after,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            events.extend(self.end_line()?);
        }
        self.push(rest)?;
        Ok(events)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        if self.line.len().saturating_add(bytes.len()) > self.line_bytes_max {
            return Err(SseError::LineTooLong { limit: self.line_bytes_max });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut bytes = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        let event = if text.is_empty() { self.dispatch() } else { self.field(&text).map(|()| None)? };
        // The line's memory is used again.
        self.line = line;
        self.line.clear();
        Ok(event)
    }

    fn field(&mut self, line: &str) -> Result<(), SseError> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if self.data.len().saturating_add(value.len()).saturating_add(1) > self.event_bytes_max {
                    return Err(SseError::EventTooLarge { limit: self.event_bytes_max });
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok();
            }
            // An empty name is a comment; other names are to be ignored.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(SseEvent { event, data, id: self.id.clone() })
    }

    /// Whether bytes have been taken that no event has come of yet.
    pub fn is_mid_event(&self) -> bool {
        !self.line.is_empty() || self.has_data
    }

    /// Ends the stream as lenient clients do: an event whose blank line is missing still counts.
    ///
    /// # Errors
    /// As [`SseReader::feed`].
    pub fn finish(&mut self) -> Result<Option<SseEvent>, SseError> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        Ok(self.dispatch())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        chunks.iter().flat_map(|chunk| reader.feed(chunk).unwrap()).collect()
    }

    fn datas(chunks: &[&[u8]]) -> Vec<String> {
        read(chunks).into_iter().map(|event| event.data).collect()
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        assert_eq!(datas(&[b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\n"]), ["a", "b", "c", "d"]);
        assert_eq!(datas(&[b"data: a\r", b"\n", b"\r", b"\ndata: b\n\n"]), ["a", "b"]);
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        assert_eq!(datas(&[b": ping\n\nfoo: bar\nbaz\ndata: a\n: x\n\n"]), ["a"]);
    }

    #[test]
    fn data_over_several_lines_is_joined() {
        assert_eq!(datas(&[b"data: a\ndata\ndata:  b\n\n"]), ["a\n\n b"]);
        assert_eq!(datas(&[b"data\n\n"]), [""]);
    }

    #[test]
    fn names_ids_and_retries_are_kept() {
        let mut reader = SseReader::default();
        let events =
            reader.feed(b"event: error\nid: 7\nretry: 30\ndata: x\n\ndata: y\nretry: z\n\n").unwrap();
        assert_eq!(events[0], SseEvent { event: "error".into(), data: "x".into(), id: "7".into() });
        assert_eq!(events[1], SseEvent { event: "message".into(), data: "y".into(), id: "7".into() });
        assert_eq!(reader.retry_ms(), Some(30));
    }

    #[test]
    fn a_character_cut_over_chunks_is_whole() {
        // Case `stream-utf8-o`.
        let (a, b) = (b"data: {\"t\":\"\xe4\xbd", b"\xa0\xe5\xa5\xbd\"}\n\n");
        assert_eq!(datas(&[a, b]), ["{\"t\":\"你好\"}"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        assert_eq!(datas(&[b"\xef\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"]), ["a"]);
    }

    #[test]
    fn an_unfinished_event_is_given_only_when_asked_for() {
        let mut reader = SseReader::default();
        assert_eq!(reader.feed(b"data: a").unwrap(), []);
        assert!(reader.is_mid_event());
        assert_eq!(reader.finish().unwrap().unwrap().data, "a");
        assert_eq!(reader.finish().unwrap(), None);
    }

    #[test]
    fn lines_and_events_are_bounded() {
        let mut reader = SseReader::with_limits(8, 100);
        assert_eq!(reader.feed(b"data: abc"), Err(SseError::LineTooLong { limit: 8 }));
        let mut reader = SseReader::with_limits(100, 8);
        reader.feed(b"data: abcd\n").unwrap();
        assert_eq!(reader.feed(b"data: efgh\n"), Err(SseError::EventTooLarge { limit: 8 }));
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: a".to_vec()),
            Just(b"data:".to_vec()),
            Just(b": c".to_vec()),
            Just(b"event: e".to_vec()),
            Just(b"id: 1".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just("é你".as_bytes().to_vec()),
            Just(vec![0xef, 0xbb, 0xbf]),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(bytes in pieces(), cuts in proptest::collection::vec(0usize..120, 0..8)) {
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&chunks), read(&[&bytes]));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut reader = SseReader::with_limits(64, 64);
            if reader.feed(&bytes).is_ok() {
                let _ = reader.finish();
            }
        }
    }
}
