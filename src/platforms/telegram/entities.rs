//! PURE: who is spoken to in a text, by the entities that Telegram marks in it.

use std::ops::Range;

use super::wire::{Entity, User};

/// A text as the pipeline reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    /// Without herm's own name.
    pub text: String,
    /// herm was spoken to by name.
    pub mentioned: bool,
}

/// Reads a text; `me` is herm's own account.
pub(super) fn read(text: &str, entities: &[Entity], me: &User) -> Read {
    let mut cuts: Vec<Range<usize>> = Vec::new();
    for entity in entities {
        let Some(range) = bytes_of(text, entity.offset, entity.length) else { continue };
        let Some(part) = text.get(range.clone()) else { continue };
        match entity.kind.as_str() {
            "mention" if is_my_name(part.strip_prefix('@'), me) => cuts.push(range),
            "text_mention" if entity.user.as_ref().is_some_and(|user| user.id == me.id) => cuts.push(range),
            "bot_command" => {
                // `/help@herm_bot`: the command stays, the name goes.
                if let Some((command, name)) = part.split_once('@')
                    && is_my_name(Some(name), me)
                {
                    cuts.push(range.start + command.len()..range.end);
                }
            }
            _ => {}
        }
    }
    cuts.sort_by_key(|cut| cut.start);
    Read { mentioned: !cuts.is_empty(), text: without(text, &cuts) }
}

fn is_my_name(name: Option<&str>, me: &User) -> bool {
    match (name, &me.username) {
        (Some(name), Some(mine)) => name.eq_ignore_ascii_case(mine),
        _ => false,
    }
}

/// Where a range of UTF-16 code units lies in bytes; `None` if it cuts a character or is outside.
fn bytes_of(text: &str, offset: usize, length: usize) -> Option<Range<usize>> {
    let (from, to) = (offset, offset.checked_add(length)?);
    let (mut start, mut units) = (None, 0);
    for (index, character) in text.char_indices() {
        if units == from {
            start = Some(index);
        }
        if units == to {
            return Some(start?..index);
        }
        units += character.len_utf16();
    }
    if units == from {
        start = Some(text.len());
    }
    (units == to).then(|| start.map(|start| start..text.len())).flatten()
}

/// The text without some parts of it; where a part stood between two spaces, one stays.
fn without(text: &str, cuts: &[Range<usize>]) -> String {
    let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
    for cut in cuts {
        kept.push_str(text.get(from..cut.start).unwrap_or_default());
        from = from.max(cut.end);
        let follows = text.get(from..).unwrap_or_default();
        if (kept.is_empty() || kept.ends_with(char::is_whitespace)) && follows.starts_with(' ') {
            from += 1;
        }
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    match cuts.is_empty() {
        true => kept,
        false => kept.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> User {
        let username = Some("Herm_Bot".to_owned());
        User { id: 7, is_bot: true, first_name: "herm".to_owned(), last_name: None, username }
    }

    fn entity(kind: &str, offset: usize, length: usize) -> Entity {
        Entity { kind: kind.to_owned(), offset, length, user: None }
    }

    fn said(text: &str, entities: &[Entity]) -> (String, bool) {
        let read = read(text, entities, &me());
        (read.text, read.mentioned)
    }

    #[test]
    fn the_own_name_is_found_by_units_of_utf16_and_taken_out() {
        let text = "😀 hey @herm_bot what is up";
        assert_eq!(said(text, &[entity("mention", 7, 9)]), ("😀 hey what is up".to_owned(), true));
        assert_eq!(said("@herm_bot, hello", &[entity("mention", 0, 9)]), (", hello".to_owned(), true));
        assert_eq!(said("hello @herm_bot", &[entity("mention", 6, 9)]), ("hello".to_owned(), true));
        assert_eq!(said("@herm_bot", &[entity("mention", 0, 9)]), (String::new(), true));
    }

    #[test]
    fn another_name_and_a_name_without_an_entity_are_text() {
        for text in ["@herm_bot2 hello", "mail me@herm_bot now"] {
            assert_eq!(said(text, &[]), (text.to_owned(), false));
        }
        let text = "@herm_bot2 hello";
        assert_eq!(said(text, &[entity("mention", 0, 10)]), (text.to_owned(), false));
    }

    #[test]
    fn a_person_without_a_user_name_is_named_by_id() {
        let mut herm = entity("text_mention", 0, 4);
        herm.user = Some(me());
        assert_eq!(said("herm do it", &[herm.clone()]), ("do it".to_owned(), true));
        herm.user = Some(User { id: 8, ..me() });
        assert_eq!(said("herm do it", &[herm]), ("herm do it".to_owned(), false));
    }

    #[test]
    fn a_command_keeps_its_word() {
        let text = "/help@herm_bot me";
        assert_eq!(said(text, &[entity("bot_command", 0, 14)]), ("/help me".to_owned(), true));
        let text = "/help@other_bot me";
        assert_eq!(said(text, &[entity("bot_command", 0, 15)]), (text.to_owned(), false));
        assert_eq!(said("/help me", &[entity("bot_command", 0, 5)]), ("/help me".to_owned(), false));
    }

    #[test]
    fn an_entity_outside_of_the_text_or_inside_of_a_character_is_passed_over() {
        for (offset, length) in [(100, 9), (1, 9), (0, usize::MAX), (14, 9)] {
            let text = "😀@herm_bot";
            assert_eq!(said(text, &[entity("mention", offset, length)]), (text.to_owned(), false));
        }
    }
}
