//! `env`, `su` and `runuser`: their options may be shortened, repeated, and hold a whole command.

use super::{Inner, script_of};
use crate::approval::word::Field;

/// `-S` inside `-S`, at most.
const SPLITS_MAX: usize = 4;

/// An option as it was given: its letter or full name, and its value.
struct Given {
    name: String,
    value: Option<Field>,
}

/// Letters and long names that a program knows; a value follows those that are marked.
struct Known {
    /// What follows this one is read anew.
    last: Option<&'static str>,
    valued: &'static str,
    long: &'static [(&'static str, char, bool)],
}

const ENV: Known = Known {
    last: Some("S"),
    valued: "uCaS",
    long: &[
        ("--ignore-environment", 'i', false),
        ("--null", '0', false),
        ("--unset", 'u', true),
        ("--chdir", 'C', true),
        ("--argv0", 'a', true),
        ("--split-string", 'S', true),
        ("--block-signal", 'b', false),
        ("--default-signal", 'd', false),
        ("--ignore-signal", 'g', false),
        ("--list-signal-handling", 'l', false),
        ("--debug", 'v', false),
        ("--help", 'h', false),
        ("--version", 'V', false),
    ],
};

const SU: Known = Known {
    last: None,
    valued: "cgGsTuw",
    long: &[
        ("--command", 'c', true),
        ("--session-command", 'c', true),
        ("--group", 'g', true),
        ("--supp-group", 'G', true),
        ("--shell", 's', true),
        ("--whitelist-environment", 'w', true),
        ("--user", 'u', true),
        ("--login", 'l', false),
        ("--fast", 'f', false),
        ("--pty", 'P', false),
        ("--no-pty", 'T', false),
        ("--preserve-environment", 'p', false),
        ("--help", 'h', false),
        ("--version", 'V', false),
    ],
};

/// What `env` starts.
pub fn env(arguments: &[Field], open_ended: bool) -> Vec<Inner> {
    let mut words = arguments.to_vec();
    for _ in 0..SPLITS_MAX {
        let (given, rest) = leading(&words, &ENV);
        // With `-0` it only prints.
        if given.iter().any(|option| matches!(option.name.as_str(), "0" | "h" | "V")) {
            return vec![];
        }
        let split =
            given.iter().rev().find(|option| option.name == "S").and_then(|option| option.value.clone());
        let Some(text) = split else {
            let program = rest.iter().skip_while(|word| word.text().contains('='));
            let fields: Vec<Field> = program.cloned().collect();
            return match (fields.is_empty(), open_ended) {
                (true, true) => vec![Inner::Unknown],
                (true, false) => vec![],
                (false, _) => vec![Inner::Command { fields, open_ended }],
            };
        };
        let Some(text) = text.value() else { return vec![Inner::Unknown] };
        let mut next = split_string(text);
        next.extend(rest.iter().cloned());
        words = next;
    }
    vec![Inner::Unknown]
}

/// What `su` and `runuser` start: the last command that is given, or with a user the rest.
pub fn su(name: &str, arguments: &[Field], open_ended: bool) -> Vec<Inner> {
    let (given, rest) = leading(arguments, &SU);
    if name == "runuser" && given.iter().any(|option| option.name == "u") {
        return match rest.is_empty() {
            true => vec![],
            false => vec![Inner::Command { fields: rest.to_vec(), open_ended }],
        };
    }
    // Options may also follow the user.
    let mut all = given;
    let mut rest = rest;
    let mut ended = arguments.len() > rest.len()
        && arguments.get(arguments.len() - rest.len() - 1).is_some_and(|word| word.value() == Some("--"));
    while let Some((first, after)) = rest.split_first() {
        ended |= first.value() == Some("--");
        if ended {
            break;
        }
        let (more, left) = leading(after, &SU);
        all.extend(more);
        rest = left;
    }
    let command = all.into_iter().rev().find(|option| option.name == "c").and_then(|option| option.value);
    script_of(command, false)
}

/// The options at the beginning, and what follows them.
fn leading<'a>(arguments: &'a [Field], known: &Known) -> (Vec<Given>, &'a [Field]) {
    let mut given = vec![];
    let mut rest = arguments;
    let is_last =
        |given: &[Given]| given.last().is_some_and(|option| known.last == Some(option.name.as_str()));
    while let Some((first, after)) = rest.split_first().filter(|_| !is_last(&given)) {
        let text = first.text();
        if text == "--" {
            return (given, after);
        }
        if !text.starts_with('-') || text == "-" {
            // A lone dash is `-i` to `env`, and a login to `su`.
            if text == "-" {
                rest = after;
                continue;
            }
            break;
        }
        rest = after;
        if text.starts_with("--") {
            let (name, attached) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let Some((_, letter, valued)) = known.long.iter().find(|(long, ..)| long.starts_with(name))
            else {
                continue;
            };
            let value = match (attached, valued) {
                (Some(value), _) => Some(first.with_text(value.to_owned())),
                (None, true) => {
                    let next = rest.first().cloned();
                    rest = rest.get(1..).unwrap_or_default();
                    next
                }
                (None, false) => None,
            };
            // An option without its value is no option.
            if value.is_some() || !valued {
                given.push(Given { name: letter.to_string(), value });
            }
            continue;
        }
        let mut letters = text.trim_start_matches('-').chars();
        while let Some(letter) = letters.next() {
            let mut value = None;
            if known.valued.contains(letter) {
                let attached: String = letters.by_ref().collect();
                value = match attached.is_empty() {
                    false => Some(first.with_text(attached)),
                    true => {
                        let next = rest.first().cloned();
                        rest = rest.get(1..).unwrap_or_default();
                        next
                    }
                };
                if value.is_none() {
                    continue;
                }
            }
            given.push(Given { name: letter.to_string(), value });
        }
    }
    (given, rest)
}

/// The words of `env -S`: white space parts them, quotes hold them together, `\_` is a space.
fn split_string(text: &str) -> Vec<Field> {
    let mut words: Vec<Field> = vec![];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => match chars.next() {
                Some('_') if quote.is_none() => words.extend(word.take().map(|word| Field::literal(&word))),
                Some('_') => word.get_or_insert_default().push(' '),
                Some(c) => word.get_or_insert_default().push(c),
                None => {}
            },
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take().map(|word| Field::literal(&word))),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(|word| Field::literal(&word)));
    words
}
