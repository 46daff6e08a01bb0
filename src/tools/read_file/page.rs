//! The page that grows while a file goes by.

use std::fs::File;
use std::io::{self, Read};

use encoding_rs::{CoderResult, Decoder};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::tools::charset::{self, Content, Format, SAMPLE_BYTES};
use crate::tools::text;

/// Characters of a page, at most.
pub(super) const PAGE_CHARS_MAX: usize = 100_000;
/// Characters of a line, at most.
pub(super) const LINE_CHARS_MAX: usize = 2_000;
/// Bytes of a file that are looked through to count its lines.
const SCAN_BYTES_MAX: u64 = 1 << 30;

/// The lines that are asked for.
#[derive(Clone, Copy)]
pub(super) struct Window {
    /// Number of the first, from 1.
    pub first: u64,
    pub lines: u64,
}

impl Window {
    fn end(self) -> u64 {
        self.first.saturating_add(self.lines)
    }
}

/// What reading a file comes to.
pub(super) enum Found {
    Text(Page),
    NotText(Content),
    Cancelled,
}

/// Reads the file once, from its beginning.
pub(super) fn read(file: &mut File, window: Window, cancel: &CancellationToken) -> io::Result<Found> {
    let mut sample = Vec::new();
    file.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample)?;
    let content = charset::sniff(&sample, sample.len() < SAMPLE_BYTES);
    let Content::Text(format) = content else {
        return Ok(Found::NotText(content));
    };
    let mut page = Page::new(window, format);
    let mut decoder = format.encoding.new_decoder_without_bom_handling();
    page.feed(&mut decoder, sample.get(format.mark().len()..).unwrap_or_default(), false);
    let mut seen = sample.len() as u64;
    let mut piece = vec![0; SAMPLE_BYTES];
    loop {
        if cancel.is_cancelled() {
            return Ok(Found::Cancelled);
        }
        let read = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if read == 0 {
            page.feed(&mut decoder, b"", true);
            page.close();
            return Ok(Found::Text(page));
        }
        seen += read as u64;
        page.feed(&mut decoder, piece.get(..read).unwrap_or_default(), false);
        if seen >= SCAN_BYTES_MAX && page.is_full() {
            page.uncounted = true;
            return Ok(Found::Text(page));
        }
    }
}

/// What is shown of the file, and what is known of it so far.
pub(super) struct Page {
    window: Window,
    format: Format,
    decoded: String,
    content: String,
    content_chars: usize,
    /// Lines that have ended.
    lines: u64,
    /// The line that goes by, up to [`LINE_CHARS_MAX`], where it is asked for.
    line: String,
    line_chars: usize,
    /// Whether anything of it has gone by.
    line_begun: bool,
    /// What went by last of it is a carriage return.
    line_cr: bool,
    /// Number of the last line on the page.
    last_shown: u64,
    cut_lines: u64,
    /// The page is full before the window was.
    full: bool,
    crlf: bool,
    /// The file goes on beyond what was looked through.
    uncounted: bool,
}

impl Page {
    fn new(window: Window, format: Format) -> Self {
        Self {
            window,
            format,
            decoded: String::new(),
            content: String::new(),
            content_chars: 0,
            lines: 0,
            line: String::new(),
            line_chars: 0,
            line_begun: false,
            line_cr: false,
            last_shown: window.first.saturating_sub(1),
            cut_lines: 0,
            full: false,
            crlf: false,
            uncounted: false,
        }
    }

    fn is_full(&self) -> bool {
        self.full || self.lines + 1 >= self.window.end()
    }

    fn feed(&mut self, decoder: &mut Decoder, bytes: &[u8], last: bool) {
        let mut left = bytes;
        loop {
            let mut decoded = std::mem::take(&mut self.decoded);
            decoded.clear();
            decoded.reserve(SAMPLE_BYTES);
            let (result, read, _) = decoder.decode_to_string(left, &mut decoded, last);
            self.take(&decoded);
            self.decoded = decoded;
            left = left.get(read..).unwrap_or_default();
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    fn take(&mut self, decoded: &str) {
        for part in decoded.split_inclusive('\n') {
            let body = part.strip_suffix('\n');
            if self.is_wanted() {
                self.keep(body.unwrap_or(part));
            }
            self.line_begun = true;
            if body.is_some() {
                self.drop_carriage_return();
                self.end_line();
            }
        }
    }

    fn is_wanted(&self) -> bool {
        let number = self.lines + 1;
        !self.full && number >= self.window.first && number < self.window.end()
    }

    fn keep(&mut self, part: &str) {
        let room = (LINE_CHARS_MAX + 1).saturating_sub(self.line_chars.min(LINE_CHARS_MAX + 1));
        self.line_cr = part.ends_with('\r') || (part.is_empty() && self.line_cr);
        let (kept, left) = text::head(part, room);
        self.line.push_str(kept);
        self.line_chars += kept.chars().count() + left;
    }

    /// A carriage return before a line feed is part of the line's end.
    fn drop_carriage_return(&mut self) {
        if self.line_cr {
            self.crlf = true;
            self.line_chars = self.line_chars.saturating_sub(1);
            if self.line_chars <= LINE_CHARS_MAX {
                self.line.pop();
            }
        }
    }

    fn end_line(&mut self) {
        let wanted = self.is_wanted();
        self.lines += 1;
        self.line_begun = false;
        if wanted {
            self.show_line();
        }
        self.line.clear();
        self.line_chars = 0;
        self.line_cr = false;
    }

    fn show_line(&mut self) {
        let (kept, _) = text::head(&self.line, LINE_CHARS_MAX);
        let left = self.line_chars.saturating_sub(LINE_CHARS_MAX);
        let mut shown = format!("{}|{kept}", self.lines);
        if left > 0 {
            shown.push_str(&format!("… [{left} more characters]"));
            self.cut_lines += 1;
        }
        let chars = shown.chars().count() + 1;
        if self.content_chars + chars > PAGE_CHARS_MAX {
            self.full = true;
            return;
        }
        if !self.content.is_empty() {
            self.content.push('\n');
        }
        self.content.push_str(&shown);
        self.content_chars += chars;
        self.last_shown = self.lines;
    }

    /// The end of the file: what has no line feed after it is a line if there is anything of it.
    fn close(&mut self) {
        if self.line_begun {
            self.end_line();
        }
    }

    /// The result of the call.
    pub fn shown(&self, file_size: u64) -> Value {
        let more = self.uncounted || self.last_shown < self.lines;
        let past_end = self.window.first > self.lines;
        let mut shown = json!({
            "content": self.content,
            "total_lines": self.lines,
            "file_size": file_size,
            "truncated": (more && !past_end) || self.cut_lines > 0,
            "is_binary": false,
            "is_image": false,
        });
        if let Some(object) = shown.as_object_mut() {
            object.extend(self.hint(more, past_end).map(|hint| ("hint".to_owned(), Value::String(hint))));
            if self.format != Format::UTF8 {
                let mark = if self.format.bom { " with a byte order mark" } else { "" };
                object.insert("encoding".into(), json!(format!("{}{mark}", self.format.encoding.name())));
            }
            if self.crlf {
                object.insert("line_ends".into(), json!("CRLF"));
            }
        }
        shown
    }

    fn hint(&self, more: bool, past_end: bool) -> Option<String> {
        let cut = match self.cut_lines {
            0 => String::new(),
            lines => format!(" {lines} long lines are cut at {LINE_CHARS_MAX} characters."),
        };
        let total = if self.uncounted { format!("more than {}", self.lines) } else { self.lines.to_string() };
        if past_end {
            return Some(match self.lines {
                0 => "The file is empty.".to_owned(),
                lines => format!("The file has {lines} lines; offset {} is past its end.", self.window.first),
            });
        }
        if more {
            let (first, last) = (self.window.first, self.last_shown);
            return Some(format!(
                "Lines {first}-{last} of {total}. Read on with offset={}.{cut}",
                last.saturating_add(1)
            ));
        }
        (!cut.is_empty()).then(|| cut.trim_start().to_owned())
    }
}
