//! The `*** Begin Patch` envelope (V4A): several files in one text.
//!
//! ```text
//! *** Begin Patch
//! *** Add File: PATH            every line that follows begins with `+`
//! *** Update File: PATH         hunks: `@@ CONTEXT`, then lines with ` `, `-` or `+`
//! *** Move to: PATH             after an update: the file's new name
//! *** Delete File: PATH
//! *** Move File: PATH -> PATH
//! *** End Patch
//! ```

/// What is done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add { path: String, content: String },
    Update { path: String, move_to: Option<String>, hunks: Vec<Hunk> },
    Delete { path: String },
    Move { from: String, to: String },
}

/// A row of lines that stand together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Lines above it, the outermost first.
    pub headers: Vec<String>,
    pub lines: Vec<(Mark, String)>,
    /// It stands at the end of the file.
    pub at_end: bool,
    /// Where it begins in the patch, from 1.
    pub patch_line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Keep,
    Remove,
    Insert,
}

/// Reads a whole envelope.
///
/// # Errors
/// A text for the model that names the line at fault.
pub(super) fn parse(patch: &str) -> Result<Vec<Operation>, String> {
    let patch = super::text::with_lf(patch);
    let mut lines = patch.lines().enumerate().map(|(index, line)| (index + 1, line));
    if !lines.by_ref().any(|(_, line)| line.trim_end() == "*** Begin Patch") {
        return Err("the patch does not begin with `*** Begin Patch`".to_owned());
    }
    let mut operations: Vec<Operation> = Vec::new();
    for (number, line) in lines {
        if line.trim_end() == "*** End Patch" {
            return finished(operations);
        }
        if let Some(operation) = opened(line) {
            operations.push(operation);
        } else {
            body(operations.last_mut(), line, number)
                .map_err(|why| format!("line {number} of the patch: {why}"))?;
        }
    }
    Err("the patch has no `*** End Patch`: it may be cut off, so nothing of it was applied".to_owned())
}

fn finished(mut operations: Vec<Operation>) -> Result<Vec<Operation>, String> {
    for operation in &mut operations {
        let Operation::Update { path, move_to, hunks } = operation else { continue };
        // An empty line before the next heading is white space of the patch, not of the file.
        for hunk in hunks.iter_mut() {
            while hunk.lines.last().is_some_and(|(mark, line)| *mark == Mark::Keep && line.is_empty()) {
                hunk.lines.pop();
            }
        }
        hunks.retain(|hunk| !hunk.lines.is_empty());
        if hunks.is_empty() && move_to.is_none() {
            return Err(format!("the patch updates `{path}` but has no changed lines for it"));
        }
    }
    if operations.is_empty() {
        return Err("the patch names no file".to_owned());
    }
    Ok(operations)
}

fn opened(line: &str) -> Option<Operation> {
    let path = |heading| line.strip_prefix(heading).map(|path: &str| path.trim().to_owned());
    if let Some(path) = path("*** Add File:") {
        return Some(Operation::Add { path, content: String::new() });
    }
    if let Some(path) = path("*** Update File:") {
        return Some(Operation::Update { path, move_to: None, hunks: Vec::new() });
    }
    if let Some(path) = path("*** Delete File:") {
        return Some(Operation::Delete { path });
    }
    let both = path("*** Move File:")?;
    let (from, to) = both.split_once("->")?;
    Some(Operation::Move { from: from.trim().to_owned(), to: to.trim().to_owned() })
}

fn body(operation: Option<&mut Operation>, line: &str, number: usize) -> Result<(), String> {
    match operation {
        Some(Operation::Add { content, .. }) => {
            let added = match (line.strip_prefix('+'), line.is_empty()) {
                (Some(added), _) => added,
                (None, true) => return Ok(()),
                (None, false) => return Err(format!("a line of a new file begins with `+`, not `{line}`")),
            };
            content.push_str(added);
            content.push('\n');
            Ok(())
        }
        Some(Operation::Update { move_to, hunks, .. }) => update_line(move_to, hunks, line, number),
        _ if line.trim().is_empty() => Ok(()),
        Some(_) => Err(format!("nothing is expected here, found `{line}`")),
        None => Err(format!("expected `*** Add File:` or the like, found `{line}`")),
    }
}

fn update_line(
    move_to: &mut Option<String>,
    hunks: &mut Vec<Hunk>,
    line: &str,
    number: usize,
) -> Result<(), String> {
    if let Some(path) = line.strip_prefix("*** Move to:") {
        *move_to = Some(path.trim().to_owned());
        return Ok(());
    }
    if line.trim_end() == "*** End of File" {
        hunks.last_mut().ok_or("`*** End of File` without lines before it")?.at_end = true;
        return Ok(());
    }
    if let Some(header) = line.strip_prefix("@@") {
        let begun = hunks.last().is_some_and(|hunk| hunk.lines.is_empty() && !hunk.headers.is_empty());
        if !begun {
            hunks.push(Hunk { patch_line: number, ..Hunk::default() });
        }
        let header = header_text(header);
        if let (Some(hunk), false) = (hunks.last_mut(), header.is_empty()) {
            hunk.headers.push(header.to_owned());
        }
        return Ok(());
    }
    let mut characters = line.chars();
    let mark = match characters.next() {
        Some(' ') | None => Mark::Keep,
        Some('-') => Mark::Remove,
        Some('+') => Mark::Insert,
        // A remark of `diff` about a missing line feed.
        Some('\\') => return Ok(()),
        Some(_) => return Err(format!("a line begins with a space, `-`, `+` or `@@`, not `{line}`")),
    };
    if hunks.is_empty() || hunks.last().is_some_and(|hunk| hunk.at_end) {
        if line.is_empty() {
            return Ok(());
        }
        hunks.push(Hunk { patch_line: number, ..Hunk::default() });
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.lines.push((mark, characters.as_str().to_owned()));
    }
    Ok(())
}

/// The text of a header; line numbers of a unified diff say nothing that can be relied on.
fn header_text(header: &str) -> &str {
    let header = header.strip_prefix(' ').unwrap_or(header);
    let numbers = |text: &str| text.chars().all(|c| c.is_ascii_digit() || " ,+-".contains(c));
    match header.split_once("@@") {
        Some((before, after)) if numbers(before) => after.trim(),
        Some((before, "")) => before.trim_end(),
        _ => header.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_operation_is_read() {
        let patch = "*** Begin Patch\n*** Add File: a/new.txt\n+one\n+\n*** Update File: b.py\n*** Move to: c.py\n\
                     @@ class A:\n@@ def f(self):\n x = 1\n-y = 2\n+y = 3\n\n@@ -3,4 +3,4 @@ def g():\n+z\n\
                     *** End of File\n*** Delete File: d\n*** Move File: e -> f g\n*** End Patch\n";
        let hunk = |headers: &[&str], lines: &[(Mark, &str)], at_end, patch_line| Hunk {
            headers: headers.iter().map(|header| (*header).to_owned()).collect(),
            lines: lines.iter().map(|(mark, line)| (*mark, (*line).to_owned())).collect(),
            at_end,
            patch_line,
        };
        let first = [(Mark::Keep, "x = 1"), (Mark::Remove, "y = 2"), (Mark::Insert, "y = 3")];
        assert_eq!(
            parse(patch).unwrap(),
            [
                Operation::Add { path: "a/new.txt".into(), content: "one\n\n".into() },
                Operation::Update {
                    path: "b.py".into(),
                    move_to: Some("c.py".into()),
                    hunks: vec![
                        hunk(&["class A:", "def f(self):"], &first, false, 7),
                        hunk(&["def g():"], &[(Mark::Insert, "z")], true, 13),
                    ],
                },
                Operation::Delete { path: "d".into() },
                Operation::Move { from: "e".into(), to: "f g".into() },
            ]
        );
    }

    #[test]
    fn mistakes_are_named() {
        let wrong = |patch: &str| parse(patch).unwrap_err();
        assert!(wrong("diff --git").contains("does not begin with"));
        assert!(wrong("*** Begin Patch\n*** Delete File: a\n").contains("may be cut off"));
        assert_eq!(wrong("*** Begin Patch\n*** End Patch"), "the patch names no file");
        assert!(wrong("*** Begin Patch\n+x\n*** End Patch").starts_with("line 2 of the patch: expected"));
        let update = "*** Begin Patch\n*** Update File: a\nx\n*** End Patch";
        assert!(wrong(update).starts_with("line 3 of the patch: a line begins with"));
        let nothing = "*** Begin Patch\n*** Update File: a\n@@\n*** End Patch";
        assert!(wrong(nothing).contains("no changed lines"));
    }
}
