//! Lines that match.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Instant;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use regex::Regex;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::walk::Place;
use super::{Arguments, Limits, OutputMode, Stop};
use crate::tools::{ToolContext, paths, text};

/// Characters of a line, at most.
const LINE_CHARS_MAX: usize = 400;
/// Bytes that one line of a searched file may take in memory; a file with a longer one is passed over.
const LINE_HEAP_BYTES_MAX: usize = 16 << 20;
/// Memory that a compiled pattern may take, in bytes.
const REGEX_BYTES_MAX: usize = 16 << 20;
const FORMAT: &str = "a path, then its lines: `N:` a match, `N-` context";

pub(super) fn search(arguments: &Arguments, context: &ToolContext) -> Result<Value, Stop> {
    let matcher = matcher(&arguments.pattern)?;
    // The same language; only to find the match in a line that is cut.
    let regex = Regex::new(&arguments.pattern).ok();
    let place = Place::new(arguments, context)?;
    let limits = Limits::of(arguments, context);
    let lines = if arguments.output_mode == OutputMode::Content { limits.context } else { 0 };
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_terminator(LineTerminator::crlf())
        .line_number(true)
        .before_context(lines)
        .after_context(lines)
        .heap_limit(Some(LINE_HEAP_BYTES_MAX))
        .build();
    let mut found = Found::new(limits);
    let whole = place.each(context, |path| {
        let Ok(file) = place.open(path, context) else {
            found.passed_over += 1;
            return Ok(());
        };
        let reader = Watched { file, cancel: &context.cancel, deadline: place.deadline };
        let mut sink = Lines::new(&mut found, regex.as_ref(), &context.cancel, path, &context.cwd);
        let searched = searcher.search_reader(&matcher, reader, &mut sink);
        sink.end(searched.is_err());
        if context.cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    })?;
    found.time_up = !whole || Instant::now() > place.deadline;
    Ok(found.shown(arguments.output_mode))
}

fn matcher(pattern: &str) -> Result<RegexMatcher, Stop> {
    if pattern.is_empty() {
        return Err(Stop::Wrong("the pattern is empty".to_owned()));
    }
    let built = RegexMatcherBuilder::new().crlf(true).size_limit(REGEX_BYTES_MAX).build(pattern);
    built.map_err(|source| {
        let hint = match pattern.contains('\n') || pattern.contains("\\n") {
            true => "a match lies within one line; leave line breaks out".to_owned(),
            false => format!("to find this text as it is: `{}`", regex::escape(pattern)),
        };
        Stop::Wrong(format!("`{pattern}` is not a valid pattern: {source}; hint: {hint}"))
    })
}

/// What was found so far, in all files.
struct Found {
    limits: Limits,
    /// Matching lines.
    lines: u64,
    /// Matching lines that are shown.
    lines_shown: u64,
    text: String,
    /// The text has reached its limit.
    full: bool,
    /// Files with a match, and how many each has.
    files: Vec<(String, u64)>,
    /// The search ended before it was through.
    time_up: bool,
    /// Files that could not be read, or whose lines are too long.
    passed_over: u64,
}

impl Found {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            lines: 0,
            lines_shown: 0,
            text: String::new(),
            full: false,
            files: Vec::new(),
            time_up: false,
            passed_over: 0,
        }
    }

    fn shown(self, mode: OutputMode) -> Value {
        let mut shown = match mode {
            OutputMode::Content => self.shown_lines(),
            OutputMode::FilesOnly => self.shown_files(),
            OutputMode::Count => self.shown_counts(),
        };
        if self.passed_over > 0 {
            set(&mut shown, "files_passed_over", json!(self.passed_over));
        }
        shown
    }

    fn shown_lines(&self) -> Value {
        let next = self.limits.skip.saturating_add(self.lines_shown);
        let mut shown = json!({"total_count": self.lines});
        if self.lines > 0 {
            set(&mut shown, "matches_format", json!(FORMAT));
            set(&mut shown, "matches_text", json!(self.text));
        }
        let cut = if self.full { "output_bytes" } else { "limit" };
        close(&mut shown, self.cut((next < self.lines).then_some(cut)), next);
        shown
    }

    fn page(&self) -> impl Iterator<Item = &(String, u64)> {
        let (skip, take) = (self.limits.skip as usize, self.limits.take as usize);
        self.files.iter().skip(skip).take(take)
    }

    fn shown_files(&self) -> Value {
        let files: Vec<&str> = self.page().map(|(path, _)| path.as_str()).collect();
        let mut shown = json!({"total_count": self.files.len(), "files": files});
        self.close_page(&mut shown);
        shown
    }

    fn shown_counts(&self) -> Value {
        let counts: Map<String, Value> =
            self.page().map(|(path, lines)| (path.clone(), json!(lines))).collect();
        let mut shown = json!({"total_count": self.lines, "counts": counts});
        self.close_page(&mut shown);
        shown
    }

    fn close_page(&self, shown: &mut Value) {
        let next = self.limits.skip.saturating_add(self.page().count() as u64);
        close(shown, self.cut((next < self.files.len() as u64).then_some("limit")), next);
    }

    /// Why there is more than what is shown.
    fn cut(&self, page: Option<&'static str>) -> Option<&'static str> {
        page.or(self.time_up.then_some("time"))
    }
}

/// A file that ends with an error when the search is to end, also where nothing in it matches.
struct Watched<'a> {
    file: File,
    cancel: &'a CancellationToken,
    deadline: Instant,
}

impl Read for Watched<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() || Instant::now() > self.deadline {
            return Err(io::Error::other("the search was ended"));
        }
        self.file.read(piece)
    }
}

pub(super) fn set(shown: &mut Value, name: &str, value: Value) {
    if let Some(object) = shown.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

/// Says whether there is more than what is shown, why it is not, and how to get it.
pub(super) fn close(shown: &mut Value, cut: Option<&str>, next: u64) {
    set(shown, "truncated", json!(cut.is_some()));
    if let Some(reason) = cut {
        set(shown, "limit_reason", json!(reason));
        set(shown, "hint", json!(format!("more with offset={next}")));
    }
}

/// Takes the lines of one file.
struct Lines<'a> {
    found: &'a mut Found,
    regex: Option<&'a Regex>,
    cancel: &'a CancellationToken,
    path: &'a Path,
    cwd: &'a Path,
    lines: u64,
    /// Text of this file, without its heading.
    text: String,
    /// Matches in `text`.
    shown: u64,
    /// The match before was shown, so that what follows it is, too.
    last_shown: bool,
    /// It turned out to be binary.
    binary: bool,
}

impl<'a> Lines<'a> {
    fn new(
        found: &'a mut Found,
        regex: Option<&'a Regex>,
        cancel: &'a CancellationToken,
        path: &'a Path,
        cwd: &'a Path,
    ) -> Self {
        let text = String::new();
        Self { found, regex, cancel, path, cwd, lines: 0, text, shown: 0, last_shown: false, binary: false }
    }

    /// The file is through; a binary one counts for nothing.
    fn end(self, failed: bool) {
        self.found.passed_over += u64::from(failed);
        if self.binary || self.lines == 0 {
            return;
        }
        let path = paths::shown(self.path, self.cwd);
        if !self.text.is_empty() {
            let gap = if self.found.text.is_empty() { "" } else { "\n" };
            self.found.text.push_str(&format!("{gap}{path}\n{}", self.text));
        }
        self.found.lines += self.lines;
        self.found.lines_shown += self.shown;
        self.found.files.push((path, self.lines));
    }

    fn covers_next(&self) -> bool {
        !self.found.full && self.found.limits.covers(self.found.lines + self.lines)
    }

    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let line = format!("{}{mark}{}\n", number.unwrap_or(0), around_match(line, self.regex));
        let heading = self.path.as_os_str().len() + 2;
        if self.found.text.len() + self.text.len() + heading + line.len() > self.found.limits.bytes_max {
            self.found.full = true;
            return false;
        }
        self.text.push_str(&line);
        true
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.last_shown = self.covers_next() && self.push(found.line_number(), ':', found.bytes());
        self.shown += u64::from(self.last_shown);
        self.lines += 1;
        Ok(!self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        let wanted = match line.kind() {
            SinkContextKind::Before => self.covers_next(),
            _ => self.last_shown && !self.found.full,
        };
        if wanted {
            self.push(line.line_number(), '-', line.bytes());
        }
        Ok(!self.cancel.is_cancelled())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if !self.text.is_empty() && self.covers_next() {
            self.text.push_str("--\n");
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }
}

/// A long line is cut so that its match is still seen.
fn around_match(line: &str, regex: Option<&Regex>) -> String {
    if text::head(line, LINE_CHARS_MAX).1 == 0 {
        return line.to_owned();
    }
    let start = regex.and_then(|regex| regex.find(line)).map_or(0, |found| found.start());
    let before = line.get(..line.floor_char_boundary(start)).unwrap_or("");
    let skipped = before.chars().count().saturating_sub(LINE_CHARS_MAX / 4);
    let rest = line.char_indices().nth(skipped).and_then(|(at, _)| line.get(at..)).unwrap_or("");
    let lead = if skipped > 0 { "…" } else { "" };
    format!("{lead}{}", text::shortened(rest, LINE_CHARS_MAX))
}
