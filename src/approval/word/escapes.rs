//! Escapes with a backslash: those of `$'…'`, of `echo -e` and of `printf`.

/// Text of `$'…'`: octal, hexadecimal and single-letter escapes. `None` for one that is not known.
pub fn ansi_c(text: &str) -> Option<String> {
    let mut decoded = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        let (radix, digits_max, mut digits) = match chars.next()? {
            'x' => (16, 2, String::new()),
            'u' => (16, 4, String::new()),
            'U' => (16, 8, String::new()),
            first @ '0'..='7' => (8, 3, first.to_string()),
            letter => {
                decoded.push(single(letter)?);
                continue;
            }
        };
        while digits.len() < digits_max
            && let Some(digit) = chars.next_if(|c| c.is_digit(radix))
        {
            digits.push(digit);
        }
        decoded.push(char::from_u32(u32::from_str_radix(&digits, radix).ok()?)?);
    }
    Some(decoded)
}

fn single(letter: char) -> Option<char> {
    Some(match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        plain @ ('\\' | '\'' | '"' | '?') => plain,
        _ => return None,
    })
}

/// What `echo` prints for these arguments.
pub fn echo(arguments: &[&str]) -> Option<String> {
    let is_option = |word: &&&str| {
        word.len() > 1 && word.starts_with('-') && word.chars().skip(1).all(|c| "neE".contains(c))
    };
    let options: Vec<&str> = arguments.iter().take_while(is_option).copied().collect();
    let text = arguments.get(options.len()..).unwrap_or_default().join(" ");
    let escaped = options.iter().rev().find_map(|option| option.chars().rev().find(|c| *c != 'n'));
    let mut printed = if escaped == Some('e') { echo_escapes(&text)? } else { text };
    if !options.iter().any(|option| option.contains('n')) {
        printed.push('\n');
    }
    Some(printed)
}

/// `\0` begins an octal number there.
fn echo_escapes(text: &str) -> Option<String> {
    ansi_c(&text.replace("\\0", "\\"))
}

/// What `printf` prints for these arguments: the format again as long as there are arguments.
pub fn printf(arguments: &[&str]) -> Option<String> {
    let rest = if arguments.first() == Some(&"--") { arguments.get(1..)? } else { arguments };
    let (format, mut values) = rest.split_first()?;
    if format.starts_with('-') {
        return None;
    }
    let mut printed = String::new();
    loop {
        let left = values.len();
        once(format, &mut values, &mut printed)?;
        if values.is_empty() || values.len() == left {
            return Some(printed);
        }
    }
}

fn once(format: &str, values: &mut &[&str], printed: &mut String) -> Option<()> {
    let mut next = || {
        let (first, rest) = values.split_first().unwrap_or((&"", &[]));
        *values = rest;
        *first
    };
    let mut parts = ansi_c_of_format(format)?;
    parts.reverse();
    while let Some(part) = parts.pop() {
        match part {
            Part::Text(text) => printed.push_str(&text),
            Part::Value('s') => printed.push_str(next()),
            Part::Value('b') => printed.push_str(&echo_escapes(next())?),
            Part::Value('d' | 'i' | 'u') => printed.push_str(&next().parse::<i64>().unwrap_or(0).to_string()),
            Part::Value(_) => return None,
        }
    }
    Some(())
}

enum Part {
    Text(String),
    Value(char),
}

/// Escapes read first, so that an escaped percent sign is one all the same.
fn ansi_c_of_format(format: &str) -> Option<Vec<Part>> {
    let decoded = ansi_c(format)?;
    let mut parts = vec![];
    let mut chars = decoded.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if c != '%' {
            text.push(c);
            continue;
        }
        match chars.next()? {
            '%' => text.push('%'),
            kind if kind.is_ascii_alphabetic() => {
                parts.push(Part::Text(std::mem::take(&mut text)));
                parts.push(Part::Value(kind));
            }
            _ => return None,
        }
    }
    parts.push(Part::Text(text));
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_echo_and_printf_print_is_known() {
        assert_eq!(echo(&["-n", "a", "b"]).unwrap(), "a b");
        assert_eq!(echo(&["-e", "r\\x6d"]).unwrap(), "rm\n");
        assert_eq!(echo(&["r\\x6d"]).unwrap(), "r\\x6d\n");
        assert_eq!(printf(&["%s\\n", "a", "b"]).unwrap(), "a\nb\n");
        assert_eq!(printf(&["\\162\\155"]).unwrap(), "rm");
        assert_eq!(printf(&["%b", "\\0162m"]).unwrap(), "rm");
        assert_eq!(printf(&["-v", "x", "y"]), None);
        assert_eq!(printf(&["%5x", "1"]), None);
    }
}
