//! What a model is shown of an output: all of it, or its head and its tail.
//!
//! The file is the whole output; it is never read whole unless it is small, so memory stays
//! bounded however much a command printed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::ansi;

/// Share of the window that the beginning gets; the end, where errors stand, gets the rest.
const HEAD_PERCENT: usize = 40;
/// An output up to this many times the window is read whole, since control sequences may be most
/// of it; of a larger one this many times each end is read.
const READ_FACTOR: usize = 4;

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub bytes_max: usize,
    pub lines_max: usize,
}

/// What is shown of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// Valid text without control sequences, with a mark where something was left out.
    pub text: String,
    /// Size of the whole output.
    pub bytes_total: u64,
    /// Whether something was left out.
    pub overflow: bool,
}

/// Reads what fits the window.
///
/// # Errors
/// Those of opening and reading the file.
pub fn excerpt(path: &Path, window: Window) -> io::Result<Excerpt> {
    let mut file = File::open(path)?;
    let bytes_total = file.metadata()?.len();
    let read_max = window.bytes_max.saturating_mul(READ_FACTOR);
    if bytes_total <= u64::try_from(read_max).unwrap_or(u64::MAX) {
        let mut bytes = Vec::new();
        // Something in the background may still be writing: no further than was measured.
        file.take(bytes_total).read_to_end(&mut bytes)?;
        let text = ansi::strip(&String::from_utf8_lossy(&bytes));
        return Ok(of_text(text, window, bytes_total));
    }
    let chars_total = count_chars((&mut file).take(bytes_total))?;
    let end_bytes = u64::try_from(read_max / 2).unwrap_or(u64::MAX);
    let head = head_text(read_at(&mut file, 0, end_bytes)?);
    let tail = tail_text(&read_at(&mut file, bytes_total.saturating_sub(end_bytes), end_bytes)?);
    let (head, tail) = (cut_head(&head, window), cut_tail(&tail, window));
    Ok(Excerpt { text: joined(head, tail, chars_total), bytes_total, overflow: true })
}

fn of_text(text: String, window: Window, bytes_total: u64) -> Excerpt {
    if text.len() <= window.bytes_max && text.lines().count() <= window.lines_max {
        return Excerpt { text, bytes_total, overflow: false };
    }
    let (head, rest) = text.split_at_checked(cut_head(&text, window).len()).unwrap_or((&text, ""));
    let tail = cut_tail(rest, window);
    let text = joined(head, tail, char_count(&text));
    Excerpt { text, bytes_total, overflow: true }
}

fn joined(head: &str, tail: &str, chars_total: u64) -> String {
    let left_out = chars_total.saturating_sub(char_count(head)).saturating_sub(char_count(tail));
    let before = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{before}… [{left_out} characters left out] …\n{tail}")
}

fn char_count(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

/// The beginning, within the head's share of bytes and lines; at a line's end where one is near.
fn cut_head(text: &str, window: Window) -> &str {
    let bytes = share(window.bytes_max, HEAD_PERCENT);
    let lines = share(window.lines_max, HEAD_PERCENT).max(1);
    let by_bytes = text.split_at_checked(text.floor_char_boundary(bytes)).map_or("", |(head, _)| head);
    let whole_lines = match by_bytes.rfind('\n') {
        Some(at) if at >= bytes / 2 => upto(by_bytes, at + 1),
        _ => by_bytes,
    };
    match whole_lines.match_indices('\n').nth(lines - 1) {
        Some((at, _)) => upto(whole_lines, at + 1),
        None => whole_lines,
    }
}

/// The end, within the tail's share of bytes and lines; from a line's start where one is near.
fn cut_tail(text: &str, window: Window) -> &str {
    let bytes = share(window.bytes_max, 100 - HEAD_PERCENT);
    let lines = share(window.lines_max, 100 - HEAD_PERCENT).max(1);
    let start = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    let by_bytes = from(text, start);
    let whole_lines = match by_bytes.find('\n') {
        // A cut that falls just behind a newline already is at a line's start.
        _ if start == 0 || upto(text, start).ends_with('\n') => by_bytes,
        Some(at) if at < bytes / 2 => from(by_bytes, at + 1),
        _ => by_bytes,
    };
    let last_newline_ends_it = usize::from(whole_lines.ends_with('\n'));
    match whole_lines.rmatch_indices('\n').nth(lines - 1 + last_newline_ends_it) {
        Some((at, _)) => from(whole_lines, at + 1),
        None => whole_lines,
    }
}

fn share(whole: usize, percent: usize) -> usize {
    whole.saturating_mul(percent) / 100
}

fn upto(text: &str, at: usize) -> &str {
    text.split_at_checked(at).map_or(text, |(head, _)| head)
}

fn from(text: &str, at: usize) -> &str {
    text.split_at_checked(at).map_or("", |(_, tail)| tail)
}

/// Text of the first bytes of something longer: a character that was cut is left out.
fn head_text(bytes: Vec<u8>) -> String {
    let text = ansi::strip(&String::from_utf8_lossy(&bytes));
    text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned()
}

/// Text of the last bytes of something longer.
fn tail_text(bytes: &[u8]) -> String {
    let cut_char = bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
    ansi::strip(&String::from_utf8_lossy(bytes.get(cut_char..).unwrap_or_default()))
}

fn read_at(file: &mut File, offset: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Characters of UTF-8; where it is not UTF-8, near enough.
fn count_chars(source: impl Read) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(256 * 1024, source);
    let mut count = 0_u64;
    loop {
        let chunk = reader.fill_buf()?;
        let bytes = chunk.len();
        if bytes == 0 {
            return Ok(count);
        }
        let begun = chunk.iter().filter(|byte| !is_continuation(**byte)).count();
        count = count.saturating_add(u64::try_from(begun).unwrap_or(u64::MAX));
        reader.consume(bytes);
    }
}

/// Whether a byte of UTF-8 continues a character.
fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content: &[u8], bytes_max: usize, lines_max: usize) -> Excerpt {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        std::fs::write(&path, content).unwrap();
        excerpt(&path, Window { bytes_max, lines_max }).unwrap()
    }

    #[test]
    fn what_fits_is_shown_as_it_is() {
        let all = shown("grün\nrot\n".as_bytes(), 50, 10);
        assert_eq!(all, Excerpt { text: "grün\nrot\n".into(), bytes_total: 10, overflow: false });
        assert_eq!(shown(b"", 50, 10).text, "");
    }

    #[test]
    fn both_ends_are_kept_with_one_exact_count_between() {
        for last in [1_000_u32, 100_000] {
            let content: String = (1..=last).map(|n| format!("{n}\n")).collect();
            let cut = shown(content.as_bytes(), 2_000, 10_000);
            assert!(cut.overflow);
            assert!(cut.text.starts_with("1\n2\n"), "{}", cut.text);
            assert!(cut.text.ends_with(&format!("\n{last}\n")));
            assert!(cut.text.len() <= 2_100);
            assert_eq!(cut.text.matches("characters left out").count(), 1);
            let (head, rest) = cut.text.split_once("… [").unwrap();
            let (count, tail) = rest.split_once(" characters left out] …\n").unwrap();
            let left_out: usize = count.parse().unwrap();
            assert_eq!(head.len() + left_out + tail.len(), content.len());
        }
    }

    #[test]
    fn lines_are_bounded_too() {
        let cut = shown("x\n".repeat(500).as_bytes(), 10_000, 10);
        assert!(cut.overflow);
        assert_eq!(cut.text.lines().filter(|line| *line == "x").count(), 10);
    }

    #[test]
    fn no_character_is_cut_whatever_the_window() {
        let content = "ä€😀".repeat(400);
        for bytes_max in 10..60 {
            let cut = shown(content.as_bytes(), bytes_max, 100);
            assert!(!cut.text.contains(char::REPLACEMENT_CHARACTER), "{bytes_max}: {}", cut.text);
        }
    }

    #[test]
    fn bytes_that_are_not_text_are_shown_as_replacement_characters() {
        let cut = shown(b"a\xff\xfeb\n", 50, 10);
        assert_eq!(cut.text, "a\u{fffd}\u{fffd}b\n");
    }

    #[test]
    fn control_sequences_do_not_count() {
        let content = "\u{1b}[31mx\u{1b}[0m".repeat(20);
        let all = shown(content.as_bytes(), 60, 10);
        assert_eq!((all.text.as_str(), all.overflow), ("x".repeat(20).as_str(), false));
    }
}
