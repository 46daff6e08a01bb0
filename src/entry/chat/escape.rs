//! PURE: texts that come from a model, a tool or a file, made safe to print.
//!
//! A terminal obeys control characters: a tool's output could move the cursor over an approval
//! question, or set the title, or paste into the next prompt. So they are shown and never sent.

/// The text with every control character made visible, but for newlines and tabs.
///
/// `ESC` is shown as `^[`, a lone carriage return as `^M`; a carriage return before a newline is
/// left out. Characters that turn the direction of writing are shown by their number, since they
/// can make a command line look like another one.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            '\u{0}'..='\u{1f}' => {
                out.push('^');
                out.push(char::from_u32(u32::from(c) + 0x40).unwrap_or('?'));
            }
            '\u{7f}' => out.push_str("^?"),
            c if is_dangerous(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// The same on one line: newlines and tabs become spaces.
pub fn on_one_line(text: &str) -> String {
    escaped(text).chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

/// A line of JSON, which escapes the first 32 characters itself, with the other dangerous ones
/// escaped as JSON does.
pub fn json_line(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\u{7f}' || is_dangerous(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// The second set of controls, line separators, and what turns the direction of writing.
fn is_dangerous(c: char) -> bool {
    matches!(
        c,
        '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_shown_and_not_sent() {
        assert_eq!(escaped("a\u{1b}[2J\u{7}b\tc\nd"), "a^[[2J^Gb\tc\nd");
        assert_eq!(escaped("one\r\ntwo\rthree"), "one\ntwo^Mthree");
        assert_eq!(escaped("\u{9b}2J \u{202e}gpj.exe \u{7f}"), "\\u{9b}2J \\u{202e}gpj.exe ^?");
        assert_eq!(on_one_line("a\n\tb"), "a  b");
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(text in "(?s).*") {
            let shown = escaped(&text);
            proptest::prop_assert!(shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            let json = json_line(&serde_json::to_string(&text).unwrap());
            proptest::prop_assert!(json.chars().all(|c| !c.is_control()));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
