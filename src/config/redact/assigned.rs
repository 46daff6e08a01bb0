//! Secrets that are told by the name beside them: `NAME=value`, `"name": "value"`, header lines,
//! parameters of an address, flags of a command.
//!
//! The name stays readable, and so does every value that is none: a reference (`${NAME}`), a
//! placeholder, code, a type, a number. A look-alike that is masked makes a healthy file look broken,
//! so a value is taken for a secret the sooner the more its name says.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::judged::{Place, is_secret};

/// Names that are followed through to a value, in bytes.
const NAME_BYTES_MAX: usize = 80;
/// Longest value, in bytes; what is longer is a text.
const VALUE_BYTES_MAX: usize = 1_024;

/// From the word that makes a name a secret's up to its value.
static SIGN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:key|token|secret|passw|passphrase|credential|auth|pwd|pass|cookie|signature|\bsig\b|\bcode\b|\bpin\b)",
        r"[a-z0-9_\-]{0,40}",
        r#"(?:(?:\\?["'`])?\]?(?:[ \t]{0,8}(?P<sign>:=|=>|==?|:)[ \t]{0,8})|(?P<flag>[ \t]+))"#,
        r#"(?P<quote>\\?["'`])?"#,
    ))
    .ok()
});

/// Adds where such values stand.
pub(super) fn spans(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(sign) = &*SIGN else { return };
    let mut from = 0;
    while let Some(captures) = sign.captures_at(text, from) {
        let Some(whole) = captures.get(0) else { return };
        from = whole.end();
        let at = name(text, whole.start(), whole.as_str());
        let name = text.get(at.clone()).unwrap_or_default();
        let any = |test: fn(&char) -> bool| name.chars().any(|c| test(&c));
        let place = Place {
            name: name.trim_start_matches('-'),
            capitals: any(char::is_ascii_uppercase) && !any(char::is_ascii_lowercase),
            quoted: captures.name("quote").is_some(),
            colon: captures.name("sign").is_some_and(|sign| sign.as_str().starts_with(':')),
            flag: captures.name("flag").is_some(),
            query: text.get(..at.start).is_some_and(|before| before.ends_with(['?', '&'])),
        };
        if (place.flag && !name.starts_with("--")) || place.says().is_none() {
            continue;
        }
        let value = value(text, whole.end(), captures.name("quote").map(|quote| quote.as_str()), &place);
        if let Some(value) =
            value.filter(|range| text.get(range.clone()).is_some_and(|value| is_secret(&place, value)))
        {
            from = value.end.max(from);
            found.push(value);
        }
    }
}

/// What of a match belongs to the name.
fn name_tail(matched: &str) -> &str {
    let end = matched.find(|c: char| !is_name_char(c)).unwrap_or(matched.len());
    matched.get(..end).unwrap_or_default()
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The whole name, whose decisive word begins at `at`.
fn name(text: &str, at: usize, matched: &str) -> Range<usize> {
    let before = text.get(..at).unwrap_or_default();
    let mut start = at;
    for (index, c) in before.char_indices().rev() {
        if !is_name_char(c) || at - index > NAME_BYTES_MAX {
            break;
        }
        start = index;
    }
    // In JSON, the `n` of a line end is no part of the name.
    let slashes = before.get(..start).unwrap_or_default().chars().rev().take_while(|c| *c == '\\').count();
    let line_end =
        slashes % 2 == 1 && before.get(start..).is_some_and(|name| name.starts_with(['n', 't', 'r']));
    start + usize::from(line_end)..at + name_tail(matched).len()
}

/// Where the value ends; `None` if there is none.
fn value(text: &str, start: usize, quote: Option<&str>, place: &Place<'_>) -> Option<Range<usize>> {
    let rest = head_bytes(text.get(start..)?, VALUE_BYTES_MAX + 1);
    let end = match quote {
        Some(quote) => {
            let ends = |(at, _): &(usize, char)| rest.get(*at..).is_some_and(|rest| rest.starts_with(quote));
            let close = rest.char_indices().find(|(at, c)| *c == '\n' || ends(&(*at, *c)));
            close.filter(|(_, c)| *c != '\n').map(|(at, _)| at)?
        }
        None => rest.find(|c: char| is_end(c, place)).unwrap_or(rest.len()),
    };
    let first = start;
    let start = match (place.is_header(), quote) {
        // `Basic dXNlcjpw`, and what other schemes put before.
        (true, _) => start + scheme(rest.get(..line_end(rest)).unwrap_or_default()),
        _ => start,
    };
    let end = match place.is_header() && quote.is_none() {
        true => {
            let rest = head_bytes(text.get(start..)?, VALUE_BYTES_MAX + 1);
            start + rest.find(|c: char| c.is_whitespace() || "\"'`\\,;<>".contains(c)).unwrap_or(rest.len())
        }
        false => first + end,
    };
    (end > start && end - start <= VALUE_BYTES_MAX).then_some(start..end)
}

/// The longest head of at most so many bytes. A value is not looked for beyond, so that a text of
/// nothing but names takes no longer than any other.
fn head_bytes(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

fn line_end(text: &str) -> usize {
    text.find(['\n', '\r']).unwrap_or(text.len())
}

/// Bytes of the word that names the scheme of an `Authorization`, with the space after it.
fn scheme(line: &str) -> usize {
    let word = line.split([' ', '\t']).next().unwrap_or_default();
    let known = ["bearer", "basic", "token", "apikey", "api-key", "key", "bot", "digest", "negotiate"];
    if !known.contains(&word.to_ascii_lowercase().as_str()) {
        return 0;
    }
    let after = line.get(word.len()..).unwrap_or_default();
    word.len() + (after.len() - after.trim_start_matches([' ', '\t']).len())
}

fn is_end(c: char, place: &Place<'_>) -> bool {
    c.is_whitespace()
        || "\"'`\\,;&<>|#".contains(c)
        || (place.query && c == '#')
        || (!place.capitals && ")]}".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> Vec<&str> {
        let mut found = Vec::new();
        spans(text, &mut found);
        found.into_iter().map(|range| text.get(range).unwrap()).collect()
    }

    #[test]
    fn values_go_and_names_stay() {
        for (text, value) in [
            ("export MY_SERVICE_TOKEN=swordfish", "swordfish"),
            ("DB_PASSWORD='correct-horse'", "correct-horse"),
            ("x-api-key: opaque-provider-key-1234567890", "opaque-provider-key-1234567890"),
            (r#"{"password": "hunter22"}"#, "hunter22"),
            (r#"{\"accessToken\": \"abcd1234efgh\"}"#, "abcd1234efgh"),
            (r#"{"output":"a\nAPI_KEY=abcdef123456\nb"}"#, "abcdef123456"),
            ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
            ("authorization: token abcdefgh12345678", "abcdefgh12345678"),
            (
                "aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLE",
                "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLE",
            ),
            ("https://a.example/cb?access_token=abc123def456&x=1", "abc123def456"),
            ("login --password hunter22 --user me", "hunter22"),
            ("//registry.npmjs.org/:_authToken=0123abcd-4567", "0123abcd-4567"),
            ("client_secret: 'a1b2c3d4e5f6'", "a1b2c3d4e5f6"),
            ("AccountKey=abcDEF123456ghiJKL789012==;Endpoint=x", "abcDEF123456ghiJKL789012=="),
        ] {
            assert_eq!(masked(text), [value], "{text}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "Authorization: Bearer ${SOME_KEY}",
            "Authorization: Bearer <token>",
            "the authorization model is open",
            "KEYBOARD=notsecret",
            "HOME=/srv/app",
            "MAX_TOKENS=4096",
            r#""max_tokens": 4096, "total_tokens": 1234567"#,
            "password: string;",
            "token: Option<String>,",
            "api_key=os.environ[\"OPENAI_API_KEY\"]",
            "const token = await getToken(user1, 2);",
            "apiKey: process.env.API_KEY_2",
            "token = self.token",
            "API_KEY=your-api-key-here",
            "API_KEY=$OTHER_KEY",
            r#"{"password": "Password", "token_type": "Bearer"}"#,
            r#"{"label": "Enter your password: twice please"}"#,
            "primary_key=user_id",
            "cache_key: \"user-2024-abcdef123456\"",
            r#"{"key": "uploads-2024-img00123abc"}"#,
            "headers = {\"Authorization\": f\"Bearer {token}\"}",
            "key: value",
            "SSH_KEY_FILE=/home/me/.ssh/id_ed25519",
            "the key is under the mat, code 200",
            "secretName: my-tls-secret",
            "SECRET_KEY=\"\"",
            "token: «redacted»",
            "the password is checked by pam_unix2",
            "sort_key=created_at_2024",
            "idempotency-key: ${uuid}",
        ] {
            assert_eq!(masked(text), Vec::<&str>::new(), "{text}");
        }
    }
}
