//! Full-width letters, which look like commands and are none: judged as what they look like.

use super::word::Field;

/// `！` to `～` are `!` to `~` at twice the width.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    }
}

/// Width and breaks as the eye takes them. Only where the program itself is written like this:
/// such letters in arguments are a language like any other.
pub fn normal(fields: Vec<Field>) -> Vec<Field> {
    let is_wide = |c: char| narrow(c) != c;
    if !fields.first().is_some_and(|program| program.text().contains(is_wide)) {
        return fields;
    }
    fields.iter().flat_map(narrowed).collect()
}

fn narrowed(field: &Field) -> Vec<Field> {
    let text: String = field.text().chars().map(narrow).collect();
    if field.unknown || field.quoted {
        return vec![field.with_text(text)];
    }
    text.split_whitespace().map(|word| field.with_text(word.to_owned())).collect()
}
