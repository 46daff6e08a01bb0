//! PURE: takes keys out of what a server or a library said.

use crate::config::Secret;

/// Shortest text after a marker that is taken for a key, in characters.
const KEY_CHARS_MIN: usize = 8;
/// Beginnings of the keys of vendors; what follows up to the end of the word goes with them.
const MARKERS: [&str; 9] = ["sk-", "sk_", "gsk_", "xai-", "nvapi-", "hf_", "AIza", "fw_", "Bearer "];
const MASK: &str = "[redacted]";

/// `text` without `secrets` and without anything that looks like a key.
pub fn redact(text: &str, secrets: &[Secret]) -> String {
    let mut out = text.to_owned();
    for secret in secrets.iter().filter(|secret| !secret.reveal().trim().is_empty()) {
        out = out.replace(secret.reveal().trim(), &format!("[{}]", secret.fingerprint()));
    }
    for marker in MARKERS {
        out = mask(&out, marker);
    }
    out
}

fn mask(text: &str, marker: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(marker) {
        let end = after.find(|char: char| !is_key_char(char)).unwrap_or(after.len());
        let (key, tail) = after.split_at_checked(end).unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(marker);
        let inside_a_word = before.chars().next_back().is_some_and(|char| char.is_ascii_alphanumeric());
        let masked = !inside_a_word && key.chars().count() >= KEY_CHARS_MIN;
        out.push_str(if masked { MASK } else { key });
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn is_key_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '*' | '/' | '+' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_our_key_nor_what_looks_like_one_is_left() {
        let key = Secret::new("plainkey-1234\n");
        let text = format!("bad key plainkey-1234, or sk-{}, or Bearer {}", "abcdefgh1234", "zyxwvut98765");
        let out = redact(&text, std::slice::from_ref(&key));
        assert_eq!(out, format!("bad key [{}], or sk-[redacted], or Bearer [redacted]", key.fingerprint()));
    }

    #[test]
    fn words_that_only_look_alike_stay() {
        assert_eq!(redact("a disk-full task-oriented sk-1", &[]), "a disk-full task-oriented sk-1");
    }
}
