//! Command lines that stand in a Python program as texts: what it would hand to a shell. A net under
//! plain disasters, no more: a program can put any text together.

use crate::environments::quoted;

/// Texts that are looked at, at most.
const TEXTS_MAX: usize = 2_000;

/// Every text, and every row of texts as the words of one command line.
pub fn command_lines(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut rest = code.chars().peekable();
    let mut before = ' ';
    while let Some(c) = rest.next() {
        match c {
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '\'' | '"' => {
                let raw = matches!(before, 'r' | 'R');
                row.push(text(c, raw, &mut rest));
                if found.len() + row.len() > TEXTS_MAX {
                    break;
                }
            }
            // Between the words of a list, and before the next line of one.
            ',' | ' ' | '\n' | '\t' | '\r' => {}
            // Before a text, as in `r'…'`.
            'r' | 'R' | 'b' | 'B' | 'f' | 'F' | 'u' | 'U' if matches!(rest.peek(), Some('\'' | '"')) => {}
            _ => close(&mut row, &mut found),
        }
        before = c;
    }
    close(&mut row, &mut found);
    found
}

fn close(row: &mut Vec<String>, found: &mut Vec<String>) {
    if row.len() > 1 {
        found.push(row.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    }
    found.append(row);
}

/// Reads a text from after its first quote to its last.
fn text(quote: char, raw: bool, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut long = false;
    if rest.next_if_eq(&quote).is_some() {
        if rest.next_if_eq(&quote).is_none() {
            return String::new();
        }
        long = true;
    }
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\\' if !raw => match rest.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('\n') | None => {}
                Some(other) => text.push(other),
            },
            '\n' if !long => break,
            c if c == quote && !long => break,
            c if c == quote => {
                text.push(c);
                if text.ends_with(&quote.to_string().repeat(3)) {
                    text.truncate(text.len() - 3);
                    break;
                }
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_rows_of_them_are_found() {
        let found = command_lines(
            "import os  # 'not this'\nos.system(\"rm -rf /\")\nsubprocess.run(['rm', '-rf',\n  '/'])\nx = '''a\n'b' c'''\n",
        );
        assert_eq!(found, ["rm -rf /", "'rm' '-rf' '/'", "rm", "-rf", "/", "a\n'b' c"]);
        assert_eq!(command_lines(r"f('a\'b', r'c\d')"), [r"'a'\''b' 'c\d'", "a'b", r"c\d"]);
        assert!(command_lines("no texts here").is_empty());
        assert_eq!(command_lines("'unclosed"), ["unclosed"]);
    }
}
