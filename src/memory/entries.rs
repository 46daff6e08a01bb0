//! A list of entries as a file: entries with a line of `§` between them. A line of an entry that would be
//! taken for one is written with a backslash before it.

/// The line between two entries.
const BETWEEN: &str = "§";

/// The file that holds `entries`; empty for none.
pub fn rendered(entries: &[String]) -> String {
    let entry = |entry: &String| entry.lines().map(escaped).collect::<Vec<_>>().join("\n");
    let text = entries.iter().map(entry).collect::<Vec<_>>().join(&format!("\n{BETWEEN}\n"));
    if text.is_empty() { text } else { text + "\n" }
}

/// What a file holds, however its lines end.
pub fn parsed(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    for line in text.trim_start_matches('\u{feff}').lines() {
        if line.trim_end() == BETWEEN {
            entries.push(String::new());
        } else if let Some(entry) = entries.last_mut() {
            entry.push_str(unescaped(line));
            entry.push('\n');
        }
    }
    let trimmed = entries.iter().map(|entry| entry.trim());
    trimmed.filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

fn escaped(line: &str) -> String {
    match line.trim_end().trim_start_matches('\\') == BETWEEN {
        true => format!("\\{line}"),
        false => line.to_owned(),
    }
}

fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if rest.trim_end().trim_start_matches('\\') == BETWEEN => rest,
        _ => line,
    }
}
