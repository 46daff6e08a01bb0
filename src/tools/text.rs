//! Cutting text: the only places where a tool shortens one, always at a character's border.

use std::borrow::Cow;

/// The first `chars_max` characters, and how many are left out.
pub(crate) fn head(text: &str, chars_max: usize) -> (&str, usize) {
    let Some((at, _)) = text.char_indices().nth(chars_max) else {
        return (text, 0);
    };
    let (kept, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    (kept, rest.chars().count())
}

/// At most `chars_max` characters, with a mark where something is left out.
pub(crate) fn shortened(text: &str, chars_max: usize) -> Cow<'_, str> {
    match head(text, chars_max) {
        (_, 0) => Cow::Borrowed(text),
        (kept, left) => Cow::Owned(format!("{kept}… [{left} more characters]")),
    }
}

/// The longest head of at most `bytes_max` bytes.
pub(crate) fn head_bytes(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or("")
}

/// `text` with every CRLF as LF.
pub(crate) fn with_lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(head("añ漢🎉", 3), ("añ漢", 1));
        assert_eq!(head("añ", 2), ("añ", 0));
        assert_eq!(shortened("漢字かな", 2), "漢字… [2 more characters]");
        assert_eq!(head_bytes("a漢", 3), "a");
        assert_eq!(head_bytes("a漢", 4), "a漢");
    }

    #[test]
    fn only_pairs_become_line_feeds() {
        assert_eq!(with_lf("a\r\nb\rc\n"), "a\nb\rc\n");
    }
}
