//! Hunks put into the lines of a file, one after the other, from above.

use super::envelope::{Hunk, Mark};
use super::matching::{self, Grade};
use super::replace;

/// Places that an error names, at most.
const PLACES_NAMED_MAX: usize = 10;

/// `file` with every hunk applied, and the loosest grade that was needed.
///
/// # Errors
/// A text for the model that says which hunk, how often and where it was found.
pub(super) fn apply(file: &str, hunks: &[Hunk]) -> Result<(String, Grade), String> {
    let mut lines = Lines::of(file);
    let mut loosest = Grade::Exact;
    let mut from = 0;
    for hunk in hunks {
        let applied = lines.apply(hunk, from);
        let (next, grade) =
            applied.map_err(|why| format!("the hunk in line {} of the patch {why}", hunk.patch_line))?;
        from = next;
        loosest = loosest.max(grade);
    }
    Ok((lines.joined(), loosest))
}

/// The lines of a file, each with its own end.
struct Lines {
    lines: Vec<(String, &'static str)>,
    /// The end of lines that are put in.
    end: &'static str,
    ends_with_line_feed: bool,
}

impl Lines {
    fn of(file: &str) -> Self {
        let line = |part: &str| match (part.strip_suffix("\r\n"), part.strip_suffix('\n')) {
            (Some(line), _) => (line.to_owned(), "\r\n"),
            (None, Some(line)) => (line.to_owned(), "\n"),
            (None, None) => (part.to_owned(), ""),
        };
        Self {
            lines: file.split_inclusive('\n').map(line).collect(),
            end: if replace::is_crlf(file) { "\r\n" } else { "\n" },
            ends_with_line_feed: file.is_empty() || file.ends_with('\n'),
        }
    }

    /// Applies one hunk at or below line `from`; the line after it, and how it was found.
    fn apply(&mut self, hunk: &Hunk, from: usize) -> Result<(usize, Grade), String> {
        let found = {
            let texts: Vec<&str> = self.lines.iter().map(|(line, _)| line.as_str()).collect();
            locate(&texts, hunk, from)?
        };
        let Located { at, grade } = found;
        let removed = hunk.lines.iter().filter(|(mark, _)| *mark != Mark::Insert).count();
        let old: Vec<(String, &'static str)> = self.lines.iter().skip(at).take(removed).cloned().collect();
        let moved = |line: &str| match (grade.reindents(), first_kept(hunk), old.first()) {
            (true, Some(wanted), Some((there, _))) => matching::reindented(line, wanted, there),
            _ => line.to_owned(),
        };
        let mut old_lines = old.iter();
        let mut new = Vec::with_capacity(hunk.lines.len());
        for (mark, line) in &hunk.lines {
            match mark {
                // The file's own line stays, also where the patch has it slightly otherwise.
                Mark::Keep => new.extend(old_lines.next().cloned()),
                Mark::Remove => drop(old_lines.next()),
                Mark::Insert => new.push((moved(line), self.end)),
            }
        }
        let next = at + new.len();
        let end = (at + removed).min(self.lines.len());
        self.lines.splice(at..end, new);
        Ok((next, grade))
    }

    fn joined(mut self) -> String {
        let last = self.lines.len().saturating_sub(1);
        let (end, ends_with_line_feed) = (self.end, self.ends_with_line_feed);
        for (index, (_, line_end)) in self.lines.iter_mut().enumerate() {
            if index == last && !ends_with_line_feed {
                *line_end = "";
            } else if line_end.is_empty() {
                *line_end = end;
            }
        }
        self.lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect()
    }
}

struct Located {
    at: usize,
    grade: Grade,
}

fn first_kept(hunk: &Hunk) -> Option<&str> {
    hunk.lines.iter().find(|(mark, _)| *mark != Mark::Insert).map(|(_, line)| line.as_str())
}

fn locate(lines: &[&str], hunk: &Hunk, from: usize) -> Result<Located, String> {
    let mut start = from;
    for header in &hunk.headers {
        let found = matching::find_lines(lines, &[header], start);
        let place = found.and_then(|(_, places)| places.first().copied());
        start = place.ok_or_else(|| {
            let near = replace::closest(&lines.join("\n"), header);
            format!("names `@@ {header}`, which was not found below line {start}{near}")
        })?;
    }
    let block: Vec<&str> =
        hunk.lines.iter().filter(|(mark, _)| *mark != Mark::Insert).map(|(_, line)| line.as_str()).collect();
    if block.is_empty() {
        // Nothing but new lines: below the header, else at the end.
        let at = if hunk.headers.is_empty() || hunk.at_end { lines.len() } else { start + 1 };
        return Ok(Located { at: at.min(lines.len()), grade: Grade::Exact });
    }
    let Some((grade, mut places)) = matching::find_lines(lines, &block, start) else {
        return Err(missing(lines, &block, start));
    };
    let at_end: Vec<usize> =
        places.iter().copied().filter(|at| hunk.at_end && at + block.len() == lines.len()).collect();
    if !at_end.is_empty() {
        places = at_end;
    }
    match places.as_slice() {
        [at] => Ok(Located { at: *at, grade }),
        [at, ..] if !hunk.headers.is_empty() => Ok(Located { at: *at, grade }),
        _ => Err(ambiguous(&places, grade)),
    }
}

fn missing(lines: &[&str], block: &[&str], start: usize) -> String {
    if let Some((_, places)) = matching::find_lines(lines, block, 0) {
        let line = places.first().map_or(0, |at| at + 1);
        return format!("stands in line {line}, above the hunk or header before it; put hunks in order");
    }
    let below = if start > 0 { format!(" below line {start}") } else { String::new() };
    format!("was not found{below}{}", replace::closest(&lines.join("\n"), &block.join("\n")))
}

fn ambiguous(places: &[usize], grade: Grade) -> String {
    let numbers: Vec<String> = places.iter().take(PLACES_NAMED_MAX).map(|at| (at + 1).to_string()).collect();
    format!(
        "was found {} times ({}), in lines {}; give more lines around it, or an `@@` header above it",
        places.len(),
        grade.word(),
        numbers.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::envelope::{Operation, parse};
    use super::*;

    fn patched(file: &str, body: &str) -> Result<(String, Grade), String> {
        let operations =
            parse(&format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch")).unwrap();
        match &operations[0] {
            Operation::Update { hunks, .. } => apply(file, hunks),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hunks_are_applied_in_order() {
        let file = "a\nb\nc\nd\n";
        assert_eq!(
            patched(file, " a\n-b\n+B\n@@\n-d\n+D\n+E").unwrap(),
            ("a\nB\nc\nD\nE\n".into(), Grade::Exact)
        );
        let error = patched(file, "-d\n+D\n@@\n-a\n+A").unwrap_err();
        assert!(error.contains("stands in line 1, above"), "{error}");
    }

    #[test]
    fn a_header_tells_places_apart() {
        let file = "def f():\n    return 1\ndef g():\n    return 1\n";
        let error = patched(file, "-    return 1\n+    return 2").unwrap_err();
        assert!(error.contains("was found 2 times (exact), in lines 2, 4"), "{error}");
        let (text, _) = patched(file, "@@ def g():\n-    return 1\n+    return 2").unwrap();
        assert_eq!(text, "def f():\n    return 1\ndef g():\n    return 2\n");
        assert!(patched(file, "@@ def h():\n-    return 1").unwrap_err().contains("`@@ def h():`"));
    }

    #[test]
    fn new_lines_alone_go_below_the_header_or_to_the_end() {
        assert_eq!(patched("a\nb\n", "@@ a\n+x").unwrap().0, "a\nx\nb\n");
        assert_eq!(patched("a\nb\n", "@@\n+x").unwrap().0, "a\nb\nx\n");
        assert_eq!(patched("", "@@\n+x").unwrap().0, "x\n");
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        assert_eq!(patched("a\r\nb\r\nc\r\n", " a\n-b\n+x\n+y").unwrap().0, "a\r\nx\r\ny\r\nc\r\n");
        assert_eq!(patched("a\nb", "-b\n+x").unwrap().0, "a\nx");
        assert_eq!(patched("a\nb", " b\n+x").unwrap().0, "a\nb\nx");
        assert_eq!(patched("a\nb\r\nc\n", "-c\n+x").unwrap().0, "a\nb\r\nx\n");
    }

    #[test]
    fn looser_grades_keep_the_files_own_lines() {
        let (text, grade) = patched("\tif a:  \n\t\tb()\n", " if a:\n-\tb()\n+\tc()").unwrap();
        assert_eq!((text.as_str(), grade), ("\tif a:  \n\t\tc()\n", Grade::Indentation));
    }

    #[test]
    fn the_end_of_the_file_is_a_place() {
        let (text, _) = patched("x\ny\nx\n", "-x\n+z\n*** End of File").unwrap();
        assert_eq!(text, "x\ny\nz\n");
    }
}
