//! A reader of Telegram's MarkdownV2 that is as strict as its server, and stricter where its
//! documentation forbids what the server lets pass (Bot API, "MarkdownV2 style").

/// What is reserved outside of code and is no entity by itself.
const RESERVED: &str = "()#+-=|{}.!]";

/// Whether the server would take it.
pub fn read(text: &str) -> Result<(), String> {
    let chars: Vec<char> = text.chars().collect();
    let mut open: Vec<char> = Vec::new();
    let mut at = 0;
    while let Some(char) = chars.get(at).copied() {
        let next = chars.get(at + 1).copied();
        match char {
            '\\' => {
                next.filter(char::is_ascii_punctuation).ok_or(format!("a lone backslash at {at}"))?;
                at += 1;
            }
            '`' => {
                if let Some(around) = open.last() {
                    return Err(format!("code inside of `{around}` at {at}"));
                }
                let fence = if chars[at..].starts_with(&['`'; 3]) { 3 } else { 1 };
                at = closed(&chars, at + fence, fence).ok_or(format!("code is open from {at}"))?;
            }
            '_' if next == Some('_') => return Err(format!("an underline at {at}")),
            '*' | '_' | '~' => match open.iter().position(|mark| *mark == char) {
                None => open.push(char),
                Some(place) if place + 1 == open.len() => drop(open.pop()),
                Some(_) => return Err(format!("`{char}` closes what is not innermost at {at}")),
            },
            '[' if open.contains(&'[') => return Err(format!("a link in a link at {at}")),
            '[' => open.push('['),
            ']' if open.last() == Some(&'[') && next == Some('(') => {
                open.pop();
                at = address_end(&chars, at + 2).ok_or(format!("an address is open from {at}"))?;
            }
            '>' if at == 0 || chars[at - 1] == '\n' => {}
            '>' => return Err(format!("a quote inside of a line at {at}")),
            char if RESERVED.contains(char) => return Err(format!("`{char}` is not escaped at {at}")),
            _ => {}
        }
        at += 1;
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} are never closed")) }
}

/// The last tick of what closes the code that begins at `at`.
fn closed(chars: &[char], mut at: usize, fence: usize) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            '`' => return chars[at..].starts_with(&['`'; 3][..fence]).then_some(at + fence - 1),
            _ => at += 1,
        }
    }
}

fn address_end(chars: &[char], mut at: usize) -> Option<usize> {
    loop {
        match chars.get(at)? {
            '\\' => at += 2,
            ')' => return Some(at),
            _ => at += 1,
        }
    }
}

#[test]
fn the_reader_refuses_what_the_server_does() {
    for text in ["5.00", "*a", "*a _b* c_", "`a", "[a]", "a > b", "_a__b_", "*`a`*", "\\a"] {
        assert!(read(text).is_err(), "{text}");
    }
    for text in ["5\\.00", "*a _b_*", "`a.`", "[a](b.c)", ">a", "```rust\na.b\n```"] {
        assert_eq!(read(text), Ok(()), "{text}");
    }
}
