//! Terminal control sequences, taken out: they are noise to a model, and a way to hide text.
//!
//! The grammar is that of ECMA-48 (5th edition, sections 5.3 to 5.6) as terminals read it.

/// What remains of `text` without escape sequences and control characters other than newline,
/// tab and carriage return.
pub fn strip(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\n' | '\t' | '\r' => plain.push(c),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        _ => {
            while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
            chars.next_if(|c| ('0'..='~').contains(c));
        }
    }
}

/// Parameters and intermediate characters, then one final character.
fn skip_control_sequence(chars: &mut Chars<'_>) {
    while chars.next_if(|c| (' '..='?').contains(c)).is_some() {}
    chars.next_if(|c| ('@'..='~').contains(c));
}

/// A title, link target or the like, up to BEL or `ESC \`; never past the end of the line, so that
/// an unfinished one cannot swallow the rest of the output.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        if c == '\u{7}' || c == '\u{9c}' {
            return;
        }
        if c == '\u{1b}' {
            chars.next_if_eq(&'\\');
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn sequences_go_and_text_stays() {
        assert_eq!(strip("\u{1b}[31mred\u{1b}[0m\n"), "red\n");
        assert_eq!(strip("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link"), "alink");
        assert_eq!(strip("\u{1b}(Bplain\u{1b}7\u{9b}2Kx"), "plainx");
        assert_eq!(strip("a\u{0}b\u{8}c\td\r\n"), "abc\td\r\n");
    }

    #[test]
    fn an_unfinished_sequence_swallows_no_later_line() {
        assert_eq!(strip("\u{1b}]0;never ended\nnext"), "\nnext");
        assert_eq!(strip("\u{1b}["), "");
        assert_eq!(strip("\u{1b}[31\nx"), "\nx");
        assert_eq!(strip("ends with \u{1b}"), "ends with ");
    }
}
