//! Where a text stands in a file, in grades: as it is, or with differences that models often make.
//!
//! The grades are tried in order and the first that finds anything decides. So a looser grade
//! never competes with a stricter one, and what is found is counted at one grade.

use std::borrow::Cow;
use std::ops::Range;

/// Largest text that is looked through with its punctuation made plain, in bytes.
const PLAIN_BYTES_MAX: usize = 4 << 20;

/// How alike the text that was asked for and the text that was found are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Exact,
    /// But for white space at the ends of lines.
    TrailingWhitespace,
    /// But for indentation.
    Indentation,
    /// But for indentation and the shapes of quotes, dashes and spaces.
    UnicodePunctuation,
}

impl Grade {
    const ALL: [Self; 4] =
        [Self::Exact, Self::TrailingWhitespace, Self::Indentation, Self::UnicodePunctuation];

    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingWhitespace => "trailing_whitespace",
            Self::Indentation => "indentation",
            Self::UnicodePunctuation => "unicode_punctuation",
        }
    }

    /// What of a line counts at this grade.
    fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => Cow::Borrowed(line),
            Self::TrailingWhitespace => Cow::Borrowed(line.trim_end()),
            Self::Indentation => Cow::Borrowed(line.trim()),
            Self::UnicodePunctuation => {
                Cow::Owned(line.chars().map(plain).collect::<String>().trim().to_owned())
            }
        }
    }

    /// Whether lines are put where they were found with the indentation that is there.
    pub fn reindents(self) -> bool {
        self >= Self::Indentation
    }
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// In bytes.
    pub range: Range<usize>,
    /// Number of its first line, from 1.
    pub line: usize,
    /// It consists of whole lines.
    pub whole_lines: bool,
}

/// Every place of `old` in `text` at the strictest grade that finds any. Both with LF alone.
pub(super) fn find(text: &str, old: &str) -> Option<(Grade, Vec<Found>)> {
    let exact: Vec<Found> =
        text.match_indices(old).map(|(at, found)| part_of_line(text, at..at + found.len())).collect();
    if !exact.is_empty() {
        return Some((Grade::Exact, exact));
    }
    let block: Vec<&str> = lines(old).collect();
    for grade in Grade::ALL.into_iter().skip(1) {
        let mut found = find_whole_lines(text, &block, old.ends_with('\n'), grade);
        if found.is_empty() && grade == Grade::UnicodePunctuation {
            found = find_plain(text, old);
        }
        if !found.is_empty() {
            return Some((grade, found));
        }
    }
    None
}

/// Every place, from line `from` (from 0) on, where the lines of `block` stand, at the strictest
/// grade that finds any.
pub(super) fn find_lines(lines: &[&str], block: &[&str], from: usize) -> Option<(Grade, Vec<usize>)> {
    let grades = if is_blank(block) { Grade::ALL.get(..1) } else { Grade::ALL.get(..) };
    grades.into_iter().flatten().find_map(|grade| {
        let found: Vec<usize> =
            places(lines, block, *grade).into_iter().filter(|place| *place >= from).collect();
        (!found.is_empty()).then_some((*grade, found))
    })
}

/// The lines of `text` that are most like the beginning of `old`: their numbers from 1, and they.
pub(super) fn nearest<'a>(text: &'a str, old: &str) -> Vec<(usize, &'a str)> {
    const NEAREST_MAX: usize = 3;
    const LIKENESS_MIN: f64 = 0.4;
    const COMPARED_CHARS_MAX: usize = 300;
    const LINES_MAX: usize = 50_000;
    let Some(wanted) = lines(old).map(str::trim).find(|line| !line.is_empty()) else {
        return Vec::new();
    };
    let (wanted, _) = super::text::head(wanted, COMPARED_CHARS_MAX);
    let mut near: Vec<(f64, usize, &str)> = lines(text)
        .take(LINES_MAX)
        .enumerate()
        .map(|(index, line)| {
            let (compared, _) = super::text::head(line.trim(), COMPARED_CHARS_MAX);
            (strsim::sorensen_dice(wanted, compared), index + 1, line)
        })
        .filter(|(likeness, _, _)| *likeness >= LIKENESS_MIN)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    near.into_iter().take(NEAREST_MAX).map(|(_, number, line)| (number, line)).collect()
}

/// The lines of a text, without a last one that is not there.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    (!text.is_empty()).then(|| body.split('\n')).into_iter().flatten()
}

/// `new` with the indentation of `found` where it has that of `old`.
pub(super) fn reindented(new: &str, old: &str, found: &str) -> String {
    let (Some(from), Some(to)) = (indentation(old), indentation(found)) else {
        return new.to_owned();
    };
    let moved = |line: &str| match line.strip_prefix(from) {
        Some(rest) if !line.trim().is_empty() => format!("{to}{rest}"),
        _ => line.to_owned(),
    };
    new.split('\n').map(moved).collect::<Vec<_>>().join("\n")
}

/// The white space before the first line that has anything else.
fn indentation(text: &str) -> Option<&str> {
    let line = text.split('\n').find(|line| !line.trim().is_empty())?;
    line.get(..line.len() - line.trim_start().len())
}

fn places(lines: &[&str], block: &[&str], grade: Grade) -> Vec<usize> {
    if block.is_empty() {
        return Vec::new();
    }
    let keys: Vec<Cow<'_, str>> = lines.iter().map(|line| grade.key(line)).collect();
    let wanted: Vec<Cow<'_, str>> = block.iter().map(|line| grade.key(line)).collect();
    let windows = keys.windows(wanted.len()).enumerate();
    windows.filter(|(_, window)| *window == wanted.as_slice()).map(|(index, _)| index).collect()
}

fn is_blank(block: &[&str]) -> bool {
    block.iter().all(|line| line.trim().is_empty())
}

fn find_whole_lines(text: &str, block: &[&str], with_end: bool, grade: Grade) -> Vec<Found> {
    if is_blank(block) {
        return Vec::new();
    }
    let all: Vec<&str> = lines(text).collect();
    let mut starts = Vec::with_capacity(all.len() + 1);
    let mut at = 0;
    for line in &all {
        starts.push(at);
        at += line.len() + 1;
    }
    starts.push(at);
    let mut free = 0;
    let mut found = Vec::new();
    for index in places(&all, block, grade) {
        let (Some(start), Some(next)) = (starts.get(index), starts.get(index + block.len())) else {
            continue;
        };
        if *start < free {
            continue;
        }
        let end = if with_end { *next } else { next - 1 };
        free = *next;
        found.push(Found { range: *start..end.min(text.len()), line: index + 1, whole_lines: true });
    }
    found
}

/// Finds `old` anywhere, also inside a line, with quotes, dashes and spaces made plain.
fn find_plain(text: &str, old: &str) -> Vec<Found> {
    let wanted: String = old.chars().map(plain).collect();
    if wanted.trim().is_empty() || text.len() > PLAIN_BYTES_MAX {
        return Vec::new();
    }
    let plain_text: String = text.chars().map(plain).collect();
    // Characters keep their order but not their length: places in one, by places in the other.
    let mut ends: Vec<(usize, usize)> = vec![(0, 0)];
    let (mut there, mut here) = (0, 0);
    for character in text.chars() {
        there += plain(character).len_utf8();
        here += character.len_utf8();
        ends.push((there, here));
    }
    let back = |at: usize| {
        let index = ends.binary_search_by_key(&at, |(there, _)| *there).ok()?;
        ends.get(index).map(|(_, here)| *here)
    };
    plain_text
        .match_indices(&wanted)
        .filter_map(|(at, found)| Some(part_of_line(text, back(at)?..back(at + found.len())?)))
        .collect()
}

fn part_of_line(text: &str, range: Range<usize>) -> Found {
    let before = text.get(..range.start).unwrap_or("");
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    Found { range, line, whole_lines: false }
}

/// Quotes, dashes and spaces as a keyboard has them.
fn plain(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' | '\u{00ab}' | '\u{00bb}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{00a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, old: &str) -> Option<(Grade, Vec<(usize, String)>)> {
        find(text, old).map(|(grade, all)| {
            (
                grade,
                all.into_iter()
                    .map(|found| (found.line, text.get(found.range).unwrap().to_owned()))
                    .collect(),
            )
        })
    }

    #[test]
    fn the_strictest_grade_decides() {
        let text = "if a:\n    b()  \n    b()\n";
        assert_eq!(found(text, "    b()\n"), Some((Grade::Exact, vec![(3, "    b()\n".into())])));
        assert_eq!(
            found("if a:  \n    b()\n", "if a:\n    b()"),
            Some((Grade::TrailingWhitespace, vec![(1, "if a:  \n    b()".into())]))
        );
        assert_eq!(
            found("if a:\n\tb()\nc()", "if a:\n    b()\n"),
            Some((Grade::Indentation, vec![(1, "if a:\n\tb()\n".into())]))
        );
        assert_eq!(
            found("x = “é” – y\n", "\"é\" - y"),
            Some((Grade::UnicodePunctuation, vec![(1, "“é” – y".into())]))
        );
        assert_eq!(found("a\nb\n", "c"), None);
    }

    #[test]
    fn blank_lines_alone_are_only_found_as_they_are() {
        assert_eq!(found("a\n\nb", "\n  \n"), None);
        assert_eq!(find_lines(&["a", " ", "b"], &[""], 0), None);
    }

    #[test]
    fn blocks_are_found_from_a_line_on() {
        let lines = ["a", "b", "a", "b"];
        assert_eq!(find_lines(&lines, &["a", "b"], 0), Some((Grade::Exact, vec![0, 2])));
        assert_eq!(find_lines(&lines, &["a", "b"], 1), Some((Grade::Exact, vec![2])));
        assert_eq!(find_lines(&lines, &["b", "c"], 0), None);
    }

    #[test]
    fn indentation_is_carried_over() {
        assert_eq!(reindented("a\n  b\n\nc", "x", "    x"), "    a\n      b\n\n    c");
        assert_eq!(reindented("    a\n  b", "    x", "\tx"), "\ta\n  b");
    }

    #[test]
    fn the_likest_lines_are_named() {
        let text = "fn main() {\n    print(one);\n    print(two);\n}\n";
        assert_eq!(nearest(text, "    print(three);")[0].0, 2);
        assert_eq!(nearest("漢字\n", "かな"), []);
    }
}
