//! PURE: a text that comes in pieces, as lines that can be printed above a prompt.
//!
//! The line editor can only print whole lines above what is being typed. So a line is given out
//! when it ends, or when it is full and can be broken at a space or beside a wide character. Code
//! between fences is never broken: it is there to be copied.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::escape::{escaped, on_one_line};

/// Collects pieces; gives out lines that are safe to print.
#[derive(Clone, Debug)]
pub struct Lines {
    pending: String,
    columns: usize,
    /// The line began within a code block.
    fenced: bool,
    /// The pending text goes on with a line whose beginning has been given out.
    broken: bool,
}

impl Lines {
    pub fn new(columns: usize) -> Self {
        Self { pending: String::new(), columns: columns.max(1), fenced: false, broken: false }
    }

    /// Takes a piece and gives out the lines that it completes.
    pub fn push(&mut self, piece: &str) -> Vec<String> {
        self.pending.push_str(piece);
        let mut out = Vec::new();
        while let Some((line, rest)) = self.pending.split_once('\n') {
            let (line, rest) = (line.to_owned(), rest.to_owned());
            self.pending = rest;
            self.whole(&line, &mut out);
        }
        if !self.fenced && !self.may_open_fence() {
            let pending = std::mem::take(&mut self.pending);
            self.pending = self.wrap(pending, &mut out);
        }
        out
    }

    /// Gives out what is left.
    pub fn end(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        if !self.pending.is_empty() {
            let line = std::mem::take(&mut self.pending);
            self.whole(&line, &mut out);
        }
        self.fenced = false;
        out
    }

    /// A line that has ended.
    fn whole(&mut self, line: &str, out: &mut Vec<String>) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let fence = !self.broken && line.trim_start().starts_with("```");
        self.broken = false;
        if self.fenced || fence {
            self.fenced ^= fence;
            out.push(escaped(line));
            return;
        }
        let last = self.wrap(line.to_owned(), out);
        self.broken = false;
        out.push(escaped(&last));
    }

    /// Gives out full lines of `text`; the rest is returned.
    fn wrap(&mut self, mut text: String, out: &mut Vec<String>) -> String {
        while let Some((line, rest)) = broken_at(&text, self.columns) {
            out.push(escaped(line.trim_end()));
            text = rest.trim_start_matches(' ').to_owned();
            self.broken = true;
        }
        text
    }

    fn may_open_fence(&self) -> bool {
        !self.broken && self.pending.trim_start().starts_with('`')
    }
}

/// Breaks a text that is wider than `columns` at the last place where it can be; `None` if it is
/// not wider, or cannot be broken.
fn broken_at(text: &str, columns: usize) -> Option<(&str, &str)> {
    let mut width = 0;
    let mut best = None;
    let mut before_wide = false;
    for (at, c) in text.char_indices() {
        let wide = UnicodeWidthChar::width(c) == Some(2);
        let breakable = c == ' ' || wide || before_wide;
        // The last place that fits; where none does, the first there is.
        if at > 0 && breakable && (width <= columns || best.is_none()) {
            best = Some(at);
        }
        width += escaped(c.encode_utf8(&mut [0; 4])).width();
        before_wide = wide;
        if width > columns && best.is_some() {
            return best.and_then(|at| text.split_at_checked(at));
        }
    }
    None
}

/// One line of at most `columns` cells; what does not fit is cut and marked with `…`.
pub fn cut(text: &str, columns: usize) -> String {
    let line = on_one_line(text);
    if line.width() <= columns {
        return line;
    }
    let mut out = String::new();
    let mut width = 1;
    for c in line.chars() {
        width += UnicodeWidthChar::width(c).unwrap_or(0);
        if width > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(columns: usize, pieces: &[&str]) -> Vec<String> {
        let mut lines = Lines::new(columns);
        let mut out: Vec<String> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
        out.extend(lines.end());
        out
    }

    #[test]
    fn lines_come_out_when_they_end() {
        let mut lines = Lines::new(80);
        assert!(lines.push("one ").is_empty());
        assert_eq!(lines.push("line\r\nand a"), ["one line"]);
        assert_eq!(lines.push("nother\n\n"), ["and another", ""]);
        assert!(lines.end().is_empty());
    }

    #[test]
    fn long_lines_break_at_spaces_and_long_words_stay_whole() {
        assert_eq!(all(10, &["aaa bbb ", "ccc ddd"]), ["aaa bbb", "ccc ddd"]);
        assert_eq!(all(5, &["x https://example.org/path y"]), ["x", "https://example.org/path", "y"]);
        assert_eq!(all(6, &["日本語日本語"]), ["日本語", "日本語"]);
    }

    #[test]
    fn code_is_not_broken() {
        let code = "```\na long line of code\n```\nlong prose here";
        assert_eq!(all(10, &[code]), ["```", "a long line of code", "```", "long prose", "here"]);
    }

    #[test]
    fn controls_do_not_get_through_however_they_are_cut() {
        assert_eq!(all(80, &["a\u{1b}", "[31m", "b\r", "\nc\rd"]), ["a^[[31mb", "c^Md"]);
    }

    #[test]
    fn previews_are_cut_by_cells() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("ls -la\nrm x", 20), "ls -la rm x");
        assert_eq!(cut("日本語日本語", 7), "日本語…");
        assert_eq!(cut("abcdef", 3), "ab…");
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_spaces_is_lost(pieces in proptest::collection::vec("[a-c日 \n`]{0,9}", 0..20), columns in 1_usize..12) {
            let whole: String = pieces.concat();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let shown: String = all(columns, &pieces).concat();
            let ink = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(ink(&shown), ink(&whole));
        }

        #[test]
        fn a_cut_fits(text in "\\PC{0,40}", columns in 1_usize..20) {
            proptest::prop_assert!(cut(&text, columns).width() <= columns);
        }
    }
}
