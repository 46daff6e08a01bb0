//! A short piece of a message around what was found, with `>>>` and `<<<` around each find.

use std::collections::BTreeSet;

use super::query::Query;
use super::tokenizer::Words;

/// Length of a snippet in characters, its marks aside.
const SNIPPET_CHARS: usize = 240;
/// Characters shown before the first find.
const LEAD_CHARS: usize = 60;
/// How much of a message is looked at, in characters.
pub(crate) const LOOKED_AT_CHARS: usize = 64 << 10;

/// The part of `text` in which most of `query` stands; its beginning if nothing does.
pub fn snippet(words: &mut Words, text: &str, query: &Query) -> String {
    let spans = finds(words, text, query);
    let (from, to) = window(text, &spans);
    let mut out = String::new();
    if from > 0 {
        out.push('…');
    }
    let mut at = from;
    for (begins, ends) in spans.into_iter().filter(|(begins, ends)| *begins >= from && *ends <= to) {
        out.push_str(text.get(at..begins).unwrap_or_default());
        out.push_str(">>>");
        out.push_str(text.get(begins..ends).unwrap_or_default());
        out.push_str("<<<");
        at = ends;
    }
    out.push_str(text.get(at..to).unwrap_or_default());
    if to < text.len() {
        out.push('…');
    }
    out
}

/// Where terms of the query stand, in order, joined where they touch or overlap.
fn finds(words: &mut Words, text: &str, query: &Query) -> Vec<(usize, usize)> {
    let terms: BTreeSet<&str> = query.terms();
    let mut spans: Vec<(usize, usize)> = words
        .pieces(head(text, LOOKED_AT_CHARS))
        .into_iter()
        .filter(|piece| terms.contains(piece.term.as_str()))
        .map(|piece| (piece.from, piece.to))
        .collect();
    spans.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// The stretch of [`SNIPPET_CHARS`] that begins shortly before the find with most others behind it.
fn window(text: &str, spans: &[(usize, usize)]) -> (usize, usize) {
    let ends_of = |from: usize| from + head(text.get(from..).unwrap_or_default(), SNIPPET_CHARS).len();
    let begins_before = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        before.char_indices().rev().nth(LEAD_CHARS - 1).map_or(0, |(from, _)| from)
    };
    let within =
        |(from, to): &(usize, usize)| spans.iter().filter(|span| span.0 >= *from && span.1 <= *to).count();
    let windows = spans.iter().map(|span| begins_before(span.0)).map(|from| (from, ends_of(from)));
    // The first of equals: `max_by_key` would take the last.
    windows.rev().max_by_key(within).unwrap_or_else(|| (0, ends_of(0)))
}

/// The first `chars` characters of `text`.
pub(crate) fn head(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, query: &str) -> String {
        let mut words = Words::default();
        let query = Query::parse(&mut words, query);
        snippet(&mut words, text, &query)
    }

    #[test]
    fn finds_are_marked() {
        assert_eq!(of("the chat-send endpoint", "chat-send"), "the >>>chat-send<<< endpoint");
        assert_eq!(of("Café and tea", "cafe"), ">>>Café<<< and tea");
        assert_eq!(of("聊天记录记忆断裂问题", "记忆断裂"), "聊天记录>>>记忆断裂<<<问题");
        assert_eq!(of("nothing here", "absent"), "nothing here");
    }

    #[test]
    fn a_long_text_is_cut_around_the_finds_on_characters() {
        let text = format!("{}needle in the hay{}", "é ".repeat(5_000), " 🦀".repeat(5_000));
        let cut = of(&text, "needle hay");
        assert!(cut.starts_with('…') && cut.ends_with('…'), "{cut}");
        assert!(cut.contains(">>>needle<<< in the >>>hay<<<"), "{cut}");
        assert!(cut.chars().count() < SNIPPET_CHARS + 20);
    }
}
