//! PURE: cuts an answer to what a platform takes in one message.

/// The text in chunks of at most `chars_max` characters, in order; at least one, none empty unless
/// the text is. Cuts at the end of a paragraph, a line or a word where there is one in the second
/// half, so that every chunk makes progress.
pub fn chunks(text: &str, chars_max: Option<usize>) -> Vec<String> {
    let Some(chars_max) = chars_max.filter(|max| *max > 0) else {
        return vec![text.to_owned()];
    };
    let mut chunks = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.char_indices().nth(chars_max).map(|(index, _)| index);
        let Some((window, _)) = end.and_then(|end| rest.split_at_checked(end)) else {
            chunks.push(rest.to_owned());
            return chunks;
        };
        let half = window.len() / 2;
        let at = ["\n\n", "\n", " "]
            .iter()
            .filter_map(|mark| window.rfind(mark).map(|index| index + mark.len()))
            .find(|index| *index > half)
            .unwrap_or(window.len());
        let Some((chunk, after)) = rest.split_at_checked(at) else {
            chunks.push(rest.to_owned());
            return chunks;
        };
        chunks.push(chunk.trim_end().to_owned());
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::chunks;

    #[test]
    fn a_short_text_is_one_chunk() {
        assert_eq!(chunks("hello", Some(5)), ["hello"]);
        assert_eq!(chunks("hello", None), ["hello"]);
        assert_eq!(chunks("", Some(5)), [""]);
    }

    #[test]
    fn a_long_text_is_cut_between_words_and_never_inside_a_character() {
        assert_eq!(chunks("one two three", Some(8)), ["one two", "three"]);
        assert_eq!(chunks("😀😀😀😀😀", Some(2)), ["😀😀", "😀😀", "😀"]);
    }
}
