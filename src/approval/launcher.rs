//! Programs that start others: what they start is what counts.
//!
//! Most are rows of the tables in `table`; those that find what they start in another way have a
//! function here. Start at [`look_through`].

use super::reading::{Invocation, Stdin};
use super::scripts::SHELLS;
use super::word::Field;

mod embedded;
mod env;
mod shell;
mod table;
mod xargs;

pub use shell::{Source, shell_source};

/// Arguments that stand for those that only come when it runs.
const OPEN_ARGUMENTS: usize = 9;

/// Stands for a word that is not known and is certainly there.
const UNKNOWN_WORD: &str = "\u{fffd}";

/// What an invocation starts.
pub enum Inner {
    /// A program with its arguments; open-ended where more arguments come when it runs.
    Command { fields: Vec<Field>, open_ended: bool },
    /// A text that a shell reads; the same shell, or one of its own with these arguments.
    Script { text: String, same_shell: bool, positional: Option<Vec<Field>> },
    /// A file that a shell reads, or that is started itself.
    File { path: Field, arguments: Vec<Field>, same_shell: bool, by_shell: bool },
    /// A shell reads something that is not known.
    Unknown,
}

/// What an invocation starts; nothing for most.
pub fn look_through(invocation: &Invocation) -> Vec<Inner> {
    let Some(name) = invocation.name() else { return vec![] };
    let arguments = invocation.arguments.as_slice();
    if SHELLS.contains(&name) {
        return shell(invocation);
    }
    let mut inner = match name {
        "eval" => script_of(joined(arguments), true),
        "trap" => script_of(arguments.iter().find(|field| field.text() != "--").cloned(), false),
        "alias" => arguments.iter().flat_map(|field| script_of(after_equals(field), false)).collect(),
        "source" | "." => sourced(invocation),
        "xargs" | "gxargs" => xargs::started(invocation),
        "parallel" => xargs::parallel(invocation),
        "find" | "fd" | "fdfind" | "gfind" => executed(arguments),
        "watch" | "entr" | "hyperfine" | "ssh-agent" | "at" | "batch" => texts(invocation, name),
        "env" | "genv" => env::env(arguments, invocation.open_ended),
        "su" | "runuser" => env::su(name, arguments, invocation.open_ended),
        "ssh" if ssh_without_command(arguments) => fed(invocation),
        _ => table::launched(name, arguments, invocation.open_ended),
    };
    inner.extend(embedded::texts(name, arguments));
    inner
}

fn shell(invocation: &Invocation) -> Vec<Inner> {
    match shell_source(&invocation.arguments) {
        Source::Text { text, positional } => match text.value() {
            Some(text) => {
                let more = if invocation.open_ended { OPEN_ARGUMENTS } else { 0 };
                let more = std::iter::repeat_n(Field::computed(), more);
                let positional = Some(positional.into_iter().chain(more).collect());
                vec![Inner::Script { text: text.into(), same_shell: false, positional }]
            }
            None => vec![Inner::Unknown],
        },
        Source::File { path, arguments } => {
            vec![Inner::File { path, arguments, same_shell: false, by_shell: true }]
        }
        Source::Stdin => fed(invocation),
        // `xargs sh -c`: the text comes when it runs.
        Source::Nothing if invocation.open_ended => vec![Inner::Unknown],
        Source::Nothing => vec![],
    }
}

/// What a shell finds on its standard input. Where that is not known, a rule asks.
fn fed(invocation: &Invocation) -> Vec<Inner> {
    match invocation.stdin.as_deref() {
        Some(Stdin::File(path)) => {
            vec![Inner::File { path: path.clone(), arguments: vec![], same_shell: false, by_shell: true }]
        }
        Some(stdin) => match stdin.text() {
            Some(text) => vec![Inner::Script { text: text.into(), same_shell: false, positional: None }],
            None => vec![],
        },
        None => vec![],
    }
}

/// Whether an `ssh` is given a host and no command, so that a shell there reads standard input.
pub fn ssh_without_command(arguments: &[Field]) -> bool {
    let rest = after_options(arguments, table::SSH_VALUED, &[]).unwrap_or_default();
    let no_command = arguments.iter().any(|field| field.value() == Some("-N"));
    rest.len() == 1 && !no_command
}

/// `source FILE ARGUMENTS`.
fn sourced(invocation: &Invocation) -> Vec<Inner> {
    let arguments = invocation.arguments.as_slice();
    let rest = match arguments.first().and_then(Field::value) {
        Some("--") => arguments.get(1..).unwrap_or_default(),
        _ => arguments,
    };
    let Some((path, arguments)) = rest.split_first() else { return vec![] };
    if shell::is_stdin(path) {
        return fed(invocation);
    }
    let (path, arguments) = (path.clone(), arguments.to_vec());
    vec![Inner::File { path, arguments, same_shell: true, by_shell: true }]
}

/// What follows the `=` of `alias x='…'`.
fn after_equals(field: &Field) -> Option<Field> {
    let (_, text) = field.text().split_once('=')?;
    Some(field.with_text(text.to_owned()))
}

/// Programs whose operands, or standard input, are read by a shell.
fn texts(invocation: &Invocation, name: &str) -> Vec<Inner> {
    let arguments = invocation.arguments.as_slice();
    match name {
        "at" | "batch" => {
            let text = invocation.stdin.as_deref().and_then(Stdin::text).map(Field::literal);
            if invocation.stdin.is_some() {
                script_of(Some(text.unwrap_or_else(Field::unknown)), false)
            } else {
                vec![]
            }
        }
        "hyperfine" => {
            let operands = after_options(arguments, "wmMrsSpcCiunN", &[]).unwrap_or_default();
            operands.iter().flat_map(|text| script_of(Some(text.clone()), false)).collect()
        }
        "ssh-agent" => match after_options(arguments, "aEOPt", &[]).unwrap_or_default() {
            [] => vec![],
            rest => vec![Inner::Command { fields: rest.to_vec(), open_ended: invocation.open_ended }],
        },
        "entr" => match after_options(arguments, "", &[]).unwrap_or_default() {
            [] => vec![],
            rest => vec![Inner::Command { fields: rest.to_vec(), open_ended: true }],
        },
        _ => script_of(joined(after_options(arguments, "nqs", &["--interval"]).unwrap_or_default()), false),
    }
}

/// What follows the options.
pub(super) fn after_options<'a>(
    arguments: &'a [Field],
    valued: &str,
    valued_long: &[&str],
) -> Option<&'a [Field]> {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.value() else { return Some(rest) };
        rest = match text {
            "--" => return Some(after),
            "-" => after,
            _ if text.starts_with("--") && valued_long.contains(&text) => after.get(1..).unwrap_or_default(),
            _ if text.starts_with("--") => after,
            _ => match text.strip_prefix('-') {
                None => return Some(rest),
                Some(cluster) if takes_next(cluster, valued) => after.get(1..).unwrap_or_default(),
                Some(_) => after,
            },
        };
    }
    Some(&[])
}

/// Whether the last letter of a cluster takes the next word as its value.
fn takes_next(cluster: &str, valued: &str) -> bool {
    let first_valued = cluster.find(|c| valued.contains(c));
    first_valued.is_some_and(|at| cluster.len() == at + 1)
}

pub(super) fn joined(arguments: &[Field]) -> Option<Field> {
    let words: Vec<&str> = arguments.iter().map(known_or_mark).collect();
    let mut text = Field::literal(&words.join(" "));
    text.unknown = arguments.iter().any(|field| field.unknown);
    (!words.is_empty()).then_some(text)
}

/// What is put together by the line is something, so what follows it is no program.
fn known_or_mark(field: &Field) -> &str {
    if field.computed && field.text().trim().is_empty() { UNKNOWN_WORD } else { field.text() }
}

pub(super) fn script_of(text: Option<Field>, same_shell: bool) -> Vec<Inner> {
    let Some(field) = text else { return vec![] };
    let script = |text: &str| Inner::Script { text: text.into(), same_shell, positional: None };
    match field.value() {
        Some(text) => vec![script(text)],
        // What is known of it is at least searched.
        None if field.computed && field.text().starts_with(char::is_whitespace) => {
            vec![script(&format!("{UNKNOWN_WORD}{}", field.text())), Inner::Unknown]
        }
        None => vec![script(field.text()), Inner::Unknown],
    }
}

/// The commands of `find -exec` and its relatives, up to `;` or `+`.
fn executed(arguments: &[Field]) -> Vec<Inner> {
    const RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut inner = vec![];
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if !first.value().is_some_and(|text| RUNS.contains(&text)) {
            continue;
        }
        let end = after.iter().position(|field| matches!(field.text(), ";" | "+")).unwrap_or(after.len());
        let (command, left) = after.split_at_checked(end).unwrap_or((after, &[]));
        let fields = command.iter().map(|field| field.with_unknown("{}")).collect();
        inner.push(Inner::Command { fields, open_ended: true });
        rest = left;
    }
    inner
}
