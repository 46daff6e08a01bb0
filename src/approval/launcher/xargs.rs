//! `xargs` and `parallel`: what they are given on standard input becomes arguments.

use super::{Inner, after_options, joined, script_of};
use crate::approval::reading::{Invocation, Stdin};
use crate::approval::word::Field;

const VALUED_LONG: &[&str] = &[
    "--arg-file",
    "--delimiter",
    "--max-lines",
    "--max-args",
    "--max-procs",
    "--max-chars",
    "--replace",
    "--eof",
    "--jobs",
    "--colsep",
    "--arg-sep",
];
/// Words of a known standard input that are taken as arguments.
const WORDS_MAX: usize = 256;

/// What `xargs` starts.
pub fn started(invocation: &Invocation) -> Vec<Inner> {
    let rest = after_options(&invocation.arguments, "adEILnPsJRS", VALUED_LONG).unwrap_or_default();
    if rest.is_empty() {
        // It is `echo` then, unless the program comes when it runs.
        return if invocation.open_ended { vec![Inner::Unknown] } else { vec![] };
    }
    let words = given(invocation);
    if let Some(mark) = replaced(&invocation.arguments) {
        return replacing(rest, &mark, words);
    }
    match words {
        Some(words) => {
            let fields = rest.iter().cloned().chain(words.iter().map(|word| Field::literal(word))).collect();
            vec![Inner::Command { fields, open_ended: invocation.open_ended }]
        }
        None => vec![Inner::Command { fields: rest.to_vec(), open_ended: true }],
    }
}

/// What `parallel` starts: a shell reads the words of its operands.
pub fn parallel(invocation: &Invocation) -> Vec<Inner> {
    let rest = after_options(&invocation.arguments, "jaIdENPSsLnX", VALUED_LONG).unwrap_or_default();
    let is_mark = |field: &Field| field.text().starts_with(":::");
    let end = rest.iter().position(is_mark).unwrap_or(rest.len());
    let (command, values) = rest.split_at_checked(end).unwrap_or((rest, &[]));
    let values: Vec<String> =
        values.iter().filter(|field| !is_mark(field)).map(|field| field.text().to_owned()).collect();
    if command.is_empty() {
        let words = if values.is_empty() { lines(invocation) } else { Some(values) };
        return match words {
            Some(words) => {
                words.iter().flat_map(|word| script_of(Some(Field::literal(word)), false)).collect()
            }
            None => vec![Inner::Unknown],
        };
    }
    let mut inner = vec![Inner::Command {
        fields: command.iter().map(|field| field.with_unknown("{}")).collect(),
        open_ended: true,
    }];
    let words = if values.is_empty() { given(invocation).unwrap_or_default() } else { values };
    let text = joined(command).map(|field| field.text().to_owned()).unwrap_or_default();
    for word in words.iter().take(WORDS_MAX) {
        let line = if text.contains("{}") { text.replace("{}", word) } else { format!("{text} {word}") };
        inner.extend(script_of(Some(Field::literal(&line)), false));
    }
    inner
}

/// The text that `-I` and its relatives replace.
fn replaced(arguments: &[Field]) -> Option<String> {
    for (nth, field) in arguments.iter().enumerate() {
        let text = field.value()?;
        if matches!(text, "-I" | "-J" | "--replace") {
            return arguments.get(nth + 1)?.value().map(str::to_owned);
        }
        if let Some(mark) = text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")) {
            return Some(mark.to_owned());
        }
        if text == "-i" {
            return Some("{}".to_owned());
        }
        if !text.starts_with('-') {
            return None;
        }
    }
    None
}

fn replacing(rest: &[Field], mark: &str, words: Option<Vec<String>>) -> Vec<Inner> {
    let with = |word: Option<&str>| {
        let fields = rest.iter().map(|field| match word {
            Some(word) => field.with_text(field.text().replace(mark, word)),
            None => field.with_unknown(mark),
        });
        Inner::Command { fields: fields.collect(), open_ended: false }
    };
    match words {
        Some(words) => words.iter().map(|word| with(Some(word))).collect(),
        None => vec![with(None)],
    }
}

/// The words on standard input, where they are known and few.
fn given(invocation: &Invocation) -> Option<Vec<String>> {
    let text = invocation.stdin.as_deref().and_then(Stdin::text)?;
    let words: Vec<String> = text.split_whitespace().take(WORDS_MAX + 1).map(unquoted).collect();
    (words.len() <= WORDS_MAX).then_some(words)
}

fn lines(invocation: &Invocation) -> Option<Vec<String>> {
    let text = invocation.stdin.as_deref().and_then(Stdin::text)?;
    let lines: Vec<String> = text.lines().take(WORDS_MAX + 1).map(str::to_owned).collect();
    (lines.len() <= WORDS_MAX).then_some(lines)
}

/// `xargs` takes quotes and backslashes away.
fn unquoted(word: &str) -> String {
    word.replace(['\'', '"', '\\'], "")
}
