//! One text in place of another. Only what is replaced changes: line ends elsewhere stay, also
//! where a file mixes them.

use super::matching::{self, Found, Grade};
use super::text;

/// Places that an error names, at most.
const PLACES_NAMED_MAX: usize = 10;
/// Characters of a line that an error quotes, at most.
const QUOTED_CHARS_MAX: usize = 160;

/// What is replaced by what.
pub(super) struct Replacement<'a> {
    pub old: &'a str,
    pub new: &'a str,
    /// Everywhere, rather than in the one place where it stands.
    pub all: bool,
}

/// A text after a replacement.
#[derive(Debug)]
pub(super) struct Replaced {
    pub text: String,
    pub grade: Grade,
    pub count: usize,
}

impl Replacement<'_> {
    /// `file` with the replacement made.
    ///
    /// # Errors
    /// A text for the model: how often and where it was found, or what is like it.
    pub fn apply(&self, file: &str) -> Result<Replaced, String> {
        let old = text::with_lf(self.old);
        let new = text::with_lf(self.new);
        if old.is_empty() {
            return Err("old_string is empty; to write a whole file use write_file".to_owned());
        }
        if old == new {
            return Err("old_string and new_string are the same".to_owned());
        }
        let view = LfView::of(file);
        let (grade, places) =
            matching::find(&view.text, &old).ok_or_else(|| not_found(&view.text, &old, &new))?;
        if places.len() > 1 && !self.all {
            return Err(ambiguous(&places, grade));
        }
        let crlf = is_crlf(file);
        let mut changed = String::with_capacity(file.len());
        let mut done = 0;
        for place in &places {
            let found = view.text.get(place.range.clone()).unwrap_or("");
            let new = match grade.reindents() && place.whole_lines {
                true => matching::reindented(&new, &old, found),
                false => new.clone().into_owned(),
            };
            changed.push_str(view.original(file, done, place.range.start)?);
            changed.push_str(&if crlf { new.replace('\n', "\r\n") } else { new });
            done = place.range.end;
        }
        changed.push_str(view.original(file, done, view.text.len())?);
        Ok(Replaced { text: changed, grade, count: places.len() })
    }
}

/// Whether most lines of a file end in CRLF.
pub(super) fn is_crlf(file: &str) -> bool {
    let pairs = file.matches("\r\n").count();
    pairs * 2 > file.matches('\n').count()
}

/// A text with LF alone, and where a carriage return is missing in it.
struct LfView {
    text: String,
    /// Places of the line feeds that had one before them, ascending.
    returns: Vec<usize>,
}

impl LfView {
    fn of(file: &str) -> Self {
        let mut text = String::with_capacity(file.len());
        let mut returns = Vec::new();
        let mut parts = file.split("\r\n").peekable();
        while let Some(part) = parts.next() {
            text.push_str(part);
            if parts.peek().is_some() {
                returns.push(text.len());
                text.push('\n');
            }
        }
        Self { text, returns }
    }

    /// What stands in the file between two places of this text.
    fn original<'a>(&self, file: &'a str, from: usize, to: usize) -> Result<&'a str, String> {
        let place = |at: usize| at + self.returns.partition_point(|line_feed| *line_feed < at);
        let part = file.get(place(from)..place(to));
        part.ok_or_else(|| format!("herm lost its place in the file between bytes {from} and {to}"))
    }
}

fn ambiguous(places: &[Found], grade: Grade) -> String {
    let lines: Vec<String> =
        places.iter().take(PLACES_NAMED_MAX).map(|place| place.line.to_string()).collect();
    let more = if places.len() > PLACES_NAMED_MAX { ", …" } else { "" };
    format!(
        "old_string was found {} times ({}), in lines {}{more}; give more of the text around the one \
         that is meant, or set replace_all",
        places.len(),
        grade.word(),
        lines.join(", ")
    )
}

pub(super) fn not_found(file: &str, old: &str, new: &str) -> String {
    let mut error = "old_string was not found".to_owned();
    if old.contains("\\n") && matching::find(file, &old.replace("\\n", "\n")).is_some() {
        error.push_str(
            "; it holds `\\n` as two characters where the file has a line break: send a line break",
        );
    } else if let Some((_, found)) =
        (new.trim().chars().count() > 8).then(|| matching::find(file, new)).flatten()
    {
        let line = found.first().map_or(0, |found| found.line);
        error.push_str(&format!("; new_string already stands in line {line}: perhaps this is done"));
    }
    error.push_str(&closest(file, old));
    error
}

/// The lines most like the first of `old`, as the end of an error.
pub(super) fn closest(file: &str, old: &str) -> String {
    let near = matching::nearest(file, old);
    if near.is_empty() {
        return "; no line of the file is like its first".to_owned();
    }
    let quoted =
        |(number, line): &(usize, &str)| format!("{number}|{}", text::shortened(line, QUOTED_CHARS_MAX));
    format!("; the closest lines are:\n{}", near.iter().map(quoted).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replace(file: &str, old: &str, new: &str) -> Result<String, String> {
        Replacement { old, new, all: false }.apply(file).map(|replaced| replaced.text)
    }

    #[test]
    fn line_ends_are_the_files() {
        let file = "a\\r.bat | x\r\nb | y\r\n";
        assert_eq!(replace(file, "a\\r.bat | x\nb | y", "a\\r.bat | z").unwrap(), "a\\r.bat | z\r\n");
        assert_eq!(replace("a\r\nb\r\nc\n", "b", "x\ny").unwrap(), "a\r\nx\r\ny\r\nc\n");
        assert_eq!(replace("a\nb\n", "a", "x\r\ny").unwrap(), "x\ny\nb\n");
        assert_eq!(replace("a\r\nb\r\n", "a\n", "").unwrap(), "b\r\n");
    }

    #[test]
    fn two_places_are_an_error_that_names_them() {
        let error = replace("x = 1\ny = 2\nx = 1\n", "x = 1", "x = 9").unwrap_err();
        assert!(error.starts_with("old_string was found 2 times (exact), in lines 1, 3;"), "{error}");
        let all = Replacement { old: "x = 1", new: "x = 9", all: true }.apply("x = 1\ny\nx = 1\n").unwrap();
        assert_eq!((all.text.as_str(), all.count), ("x = 9\ny\nx = 9\n", 2));
    }

    #[test]
    fn an_escaped_line_break_changes_nothing() {
        let error = replace("line1\nline2\nline3\n", "line1\\nline2", "lineA\\nlineB").unwrap_err();
        assert!(error.contains("as two characters where the file has a line break"), "{error}");
    }

    #[test]
    fn a_miss_shows_what_is_like_it() {
        let error = replace("fn one() {}\nfn two() {}\n", "fn twoo() {}", "x").unwrap_err();
        assert!(error.contains("the closest lines are:\n2|fn two() {}"), "{error}");
        let done = replace("fn after() {}\n", "fn before() {}", "fn after() {}").unwrap_err();
        assert!(done.contains("already stands in line 1"), "{done}");
    }

    #[test]
    fn indentation_follows_the_file() {
        let file = "class A:\n\tdef f(self):\n\t\treturn 1\n";
        let changed = replace(file, "def f(self):\n        return 1", "def f(self):\n    return 2").unwrap();
        assert_eq!(changed, "class A:\n\tdef f(self):\n\t    return 2\n");
    }

    proptest! {
        #[test]
        fn the_rest_of_the_file_stays(before in "[a-cé漢\\r\\n ]{0,20}", after in "[a-cé漢\\r\\n ]{0,20}") {
            let file = format!("{before}X🎉X{after}");
            prop_assert_eq!(replace(&file, "X🎉X", "ü").unwrap(), format!("{before}ü{after}"));
        }

        #[test]
        fn any_replacement_is_made_or_refused(file in ".{0,40}", old in ".{0,6}", new in ".{0,6}", all: bool) {
            let _ = Replacement { old: &old, new: &new, all }.apply(&file);
        }

        #[test]
        fn what_is_cut_from_the_file_is_found_again(file in "[ab “\"é\\r\\n]{1,30}", from in 0_usize..30, len in 1_usize..10) {
            let old: String = file.chars().skip(from).take(len).collect();
            prop_assume!(!old.is_empty() && !old.starts_with('\n') && !old.ends_with('\r'));
            let replaced = Replacement { old: &old, new: "☃", all: true }.apply(&file).unwrap();
            prop_assert_eq!(replaced.grade, Grade::Exact);
            prop_assert!(replaced.text.contains('☃'));
        }
    }
}
