//! Where the keys of a YAML file stand: its block mappings, line by line.
//!
//! serde reads values and forgets lines; errors need the line of a key, and an edit must leave
//! every other line alone. This reads the shape that people write (nested block mappings) and
//! claims nothing about the rest: an edit based on it is checked by parsing the result.

/// A key of a block mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Sections and name, joined by dots.
    pub path: String,
    /// Index of its line, from 0.
    pub line: usize,
    /// One past the last line that belongs to it, blank lines and comments at its end excluded.
    pub end: usize,
    /// Spaces before it.
    pub indent: usize,
    /// Key and colon as they are written, with the indentation.
    pub head: String,
    /// What follows on the same line, without a comment.
    pub inline: String,
    /// The comment on the same line, with the spaces before it.
    pub comment: String,
}

/// Reads the block mappings of `text`.
pub fn read(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    // Keys whose extent is still open: index into `entries`.
    let mut open: Vec<usize> = Vec::new();
    let mut block_scalar: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let body = line.trim_start_matches(' ');
        let indent = line.chars().count() - body.chars().count();
        if block_scalar.is_some_and(|outer| body.is_empty() || indent > outer) {
            extend(&mut entries, &open, number, body);
            continue;
        }
        block_scalar = None;
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        let item = body.starts_with("- ") || body == "-";
        open.retain(|&index| {
            entries.get(index).is_some_and(|e| e.indent < indent || (item && e.indent == indent))
        });
        if !item && let Some(mut entry) = entry(body, indent, number) {
            if let Some(parent) = open.last().and_then(|&index| entries.get(index)) {
                entry.path = format!("{}.{}", parent.path, entry.path);
            }
            if entry.inline.starts_with(['|', '>']) {
                block_scalar = Some(indent);
            }
            open.push(entries.len());
            entries.push(entry);
        }
        extend(&mut entries, &open, number, body);
    }
    entries
}

/// The innermost entry that `path` lies in, itself included.
pub fn deepest<'a>(entries: &'a [Entry], path: &str) -> Option<&'a Entry> {
    let holds = |entry: &&Entry| {
        path.strip_prefix(entry.path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    entries.iter().filter(holds).max_by_key(|entry| entry.path.len())
}

fn extend(entries: &mut [Entry], open: &[usize], number: usize, body: &str) {
    if body.is_empty() {
        return;
    }
    for &index in open {
        if let Some(entry) = entries.get_mut(index) {
            entry.end = number + 1;
        }
    }
}

/// `name: rest` at the start of a line.
fn entry(body: &str, indent: usize, line: usize) -> Option<Entry> {
    let (written, rest) = body.split_once(':')?;
    if !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let name = written.trim_end().trim_matches(['"', '\'']);
    if name.is_empty() || name.contains([' ', '#', '{', '[', '"']) {
        return None;
    }
    let (inline, comment) = split_comment(rest);
    Some(Entry {
        path: name.to_owned(),
        line,
        end: line + 1,
        indent,
        head: format!("{}{written}:", " ".repeat(indent)),
        inline: inline.trim().to_owned(),
        comment: comment.to_owned(),
    })
}

/// Splits ` value  # comment`, with quotes respected.
fn split_comment(rest: &str) -> (&str, &str) {
    let mut quote: Option<char> = None;
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        match quote {
            Some(open) if c == open && !(open == '"' && before == '\\') => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') && !before.is_alphanumeric() => quote = Some(c),
            None if c == '#' && before.is_whitespace() => {
                let value = rest.split_at_checked(at).map_or(rest, |(value, _)| value).trim_end();
                let comment = rest.split_at_checked(value.len()).map_or("", |(_, comment)| comment);
                return (value, comment);
            }
            None => {}
        }
        before = c;
    }
    (rest, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# head
model:
  default: gpt   # the usual one
  note: |
    key: not a key

    # nor this
agent:
  list:
  - a: 1
  - b

  # about turns
  max_turns: 9
timezone: 'a # b'
";

    #[test]
    fn keys_are_found_with_their_extent() {
        let entries = read(FILE);
        let found: Vec<_> = entries.iter().map(|e| (e.path.as_str(), e.line, e.end)).collect();
        let expected = [
            ("model", 1, 7),
            ("model.default", 2, 3),
            ("model.note", 3, 7),
            ("agent", 7, 14),
            ("agent.list", 8, 11),
            ("agent.max_turns", 13, 14),
            ("timezone", 14, 15),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_are_told_from_values() {
        let entries = read(FILE);
        let default = entries.iter().find(|e| e.path == "model.default").unwrap();
        assert_eq!((default.inline.as_str(), default.comment.as_str()), ("gpt", "   # the usual one"));
        let zone = entries.iter().find(|e| e.path == "timezone").unwrap();
        assert_eq!((zone.inline.as_str(), zone.comment.as_str()), ("'a # b'", ""));
    }

    #[test]
    fn the_nearest_line_of_a_key_is_found() {
        let entries = read("model: {default: x, nonsense: 1}\n");
        assert_eq!(deepest(&entries, "model.nonsense").unwrap().line, 0);
        assert_eq!(deepest(&entries, "models"), None);
    }
}
