//! PURE: what somebody wrote, without the history that mail programs put below it.

/// How the history of Outlook and others begins.
const ORIGINALS: &[&str] = &["-----original message-----", "________________________________"];
/// Longest introduction of a quotation, in lines.
const INTRODUCTION_LINES_MAX: usize = 3;

/// The text without a quotation at its end, what introduces that, and the signature. Quotations that are
/// answered line by line stay.
pub(super) fn without_history(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let is_original = |line: &&str| ORIGINALS.contains(&line.to_ascii_lowercase().as_str());
    if let Some(at) = lines.iter().position(is_original) {
        lines.truncate(at);
    }
    let mut written = lines.clone();
    written.truncate(history(&lines));
    if let Some(at) = written.iter().rposition(|line| *line == "--") {
        written.truncate(at);
    }
    let kept = written.join("\n").trim().to_owned();
    match kept.is_empty() {
        // Nothing but a quotation: then that is what it says.
        true => text.trim().to_owned(),
        false => kept,
    }
}

/// Where the quotation at the end begins, with what introduces it; the number of lines for none.
fn history(lines: &[&str]) -> usize {
    // A signature may stand below it.
    let quoted_end = lines.iter().rposition(|line| *line == "--").filter(|at| {
        lines.iter().take(*at).rev().find(|line| !line.is_empty()).is_some_and(|line| line.starts_with('>'))
    });
    let end = quoted_end.unwrap_or(lines.len());
    let is_quoted = |line: &&&str| line.starts_with('>') || line.is_empty();
    let count = lines.iter().take(end).rev().take_while(is_quoted).count();
    let mut begin = end - count;
    if !lines.iter().take(end).skip(begin).any(|line| line.starts_with('>')) {
        return lines.len();
    }
    // "On Monday, 1 December 2025, Ada <ada@example.org> wrote:", in any language, on up to three lines.
    let above = lines.iter().take(begin).rev().take_while(|line| !line.is_empty());
    let above: Vec<&&str> = above.take(INTRODUCTION_LINES_MAX).collect();
    let ends = above.first().is_some_and(|line| line.ends_with(':'));
    let start = above.iter().position(|line| line.chars().any(|c| c.is_ascii_digit()));
    if let (true, Some(start)) = (ends, start) {
        begin -= start + 1;
    }
    begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_and_what_introduces_it_go() {
        for (text, kept) in [
            ("yes\n\nOn Mon, 1 Dec 2025, Ada wrote:\n> shall we\n> go\n", "yes"),
            ("yes\r\n\r\nAm 01.12.2025 schrieb\r\nAda <ada@x.org>:\r\n\r\n> gehen wir\r\n", "yes"),
            ("yes\n-- \nAda\nLtd.", "yes"),
            ("yes\n\n> shall we\n\n-- \nAda", "yes"),
            ("yes\n\n-----Original Message-----\nFrom: Ada\n\nshall we", "yes"),
            ("one\ntwo", "one\ntwo"),
            ("> first?\nyes\n> second?\nno", "> first?\nyes\n> second?\nno"),
            ("see this list:\n> kept as it is?\nyes", "see this list:\n> kept as it is?\nyes"),
            ("> only a quotation", "> only a quotation"),
        ] {
            assert_eq!(without_history(text), kept, "{text}");
        }
    }

    #[test]
    fn a_sentence_above_a_quotation_stays() {
        assert_eq!(without_history("what about:\n> this"), "what about:");
    }
}
