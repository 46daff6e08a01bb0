//! Dangerous commands: rules over what would run, never over the text.
//!
//! Each file is a kind of danger; the tables in `verbs` and `sensitive` are the place for one more
//! row. Source: rows 13 to 82 of the reference's table 3.16, and the kinds that people reported.
//! Start at [`dangers`].

use std::path::Path;

use super::judgement::{Asked, Danger};
use super::reading::{Invocation, Reading};
use super::word::Field;
use super::{deny, floor};

mod code;
mod files;
mod git;
mod network;
mod own;
mod permissions;
mod processes;
mod sensitive;
mod sql;
mod verbs;
mod windows;
mod writes;

/// Dangers of one line that are told apart.
const DANGERS_MAX: usize = 16;
/// Longest excerpt of a command line in a reason, in characters.
const EXCERPT_CHARS: usize = 60;
/// Longest text that is part of a pattern as it is, in characters; a longer one by its hash.
const PATTERN_CHARS: usize = 120;

/// What rules know besides the command.
pub struct Around<'a> {
    pub reading: &'a Reading,
    pub home: Option<&'a Path>,
    pub agent_home: Option<&'a Path>,
    pub cwd: &'a Path,
}

impl Around<'_> {
    /// The line as part of a pattern, with the digest of the scripts that it runs.
    fn line(&self, command: &str) -> String {
        match &self.reading.scripts {
            Some(digest) => format!("{} [scripts {digest}]", command.trim()),
            None => command.to_owned(),
        }
    }
}

/// Dangers in the order in which they were found; the same one once.
#[derive(Default)]
pub struct Found {
    dangers: Vec<Danger>,
}

impl Found {
    pub fn add(&mut self, rule: &'static str, reason: String, pattern: String) {
        self.about(rule, reason, pattern, None);
    }

    pub fn about(&mut self, rule: &'static str, reason: String, pattern: String, target: Option<String>) {
        let known = self.dangers.iter().any(|danger| danger.rule == rule && danger.pattern == pattern);
        if !known && self.dangers.len() < DANGERS_MAX {
            self.dangers.push(Danger { rule, reason, pattern, target });
        }
    }
}

/// Everything about a line that somebody has to decide.
pub fn dangers(reading: &Reading, asked: &Asked<'_>) -> Vec<Danger> {
    let around = Around { reading, home: asked.home, agent_home: asked.agent_home, cwd: asked.cwd };
    let mut found = Found::default();
    if let Some(why) = &reading.unread {
        found.dangers.push(unread(&around.line(asked.command), why));
    }
    if has_hidden_characters(asked.command) {
        found.dangers.push(exactly(
            "control-characters",
            "It contains control characters, which can hide what it does.",
            &around.line(asked.command),
        ));
    }
    for call in &reading.invocations {
        let before = found.dangers.len();
        of_call(call, asked.command, &around, &mut found);
        if let Some(script) = &call.script {
            let new = found.dangers.iter_mut().skip(before);
            new.for_each(|danger| {
                danger.reason.push_str(&format!(" That is in the script {}.", quoted(script)))
            });
        }
    }
    for write in &reading.writes {
        writes::redirected(write, &around, &mut found);
    }
    files::runs_what_it_made(&around, &mut found);
    // Where part of it is not known, a yes can only be one to this very line.
    let line = excerpt(&around.line(asked.command));
    for danger in &mut found.dangers {
        if danger.pattern.contains('…') && danger.pattern != line {
            danger.pattern = format!("{} in {line}", danger.pattern);
        }
    }
    found.dangers
}

fn of_call(call: &Invocation, command: &str, around: &Around<'_>, found: &mut Found) {
    if call.program.fixed().is_none() {
        let reason = "Which program it runs is only known when it runs.".to_owned();
        found.add("unknown-program", reason, excerpt(&around.line(command)));
        if call.program.unknown {
            return;
        }
    }
    let Some(name) = call.name().map(str::to_lowercase) else { return };
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    if name.chars().any(|c| matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{ad}')) {
        found.add(
            "unknown-program",
            "The name of its program has invisible letters.".into(),
            excerpt(command),
        );
    }
    files::found(name, call, around, found);
    permissions::found(name, call, around, found);
    writes::found(name, call, around, found);
    processes::found(name, call, found);
    git::found(name, call, found);
    sql::found(name, call, found);
    verbs::found(name, call, found);
    code::found(name, call, found);
    windows::found(name, call, found);
    own::found(name, call, found);
    network::found(name, call, found);
    starts_unknown(name, call, around, found);
}

/// A program that is not known to start others, with a hard line among its arguments.
fn starts_unknown(name: &str, call: &Invocation, around: &Around<'_>, found: &mut Found) {
    if call.launches
        || deny::only_speaks(name)
        || matches!(name, "git" | "gh" | "glab" | "cat" | "ls" | "tee")
    {
        return;
    }
    let begins =
        |field: &&Field| field.value().is_some_and(|text| matches!(text, "rm" | "dd" | "kill" | "mkfs"));
    let at = call.arguments.iter().position(|field| begins(&field));
    let Some((program, arguments)) =
        at.and_then(|at| call.arguments.get(at..)).and_then(<[Field]>::split_first)
    else {
        return;
    };
    let inner = Invocation { program: program.clone(), arguments: arguments.to_vec(), ..call.clone() };
    if floor::breaks(&inner, around.reading) {
        let reason = format!("It hands {} to {}, which may run it.", quoted(&inner.line()), quoted(name));
        found.add("unknown-launcher", reason, excerpt(&call.line()));
    }
}

/// Asks about a line that was not understood.
pub fn unread(command: &str, why: &str) -> Danger {
    exactly("unreadable", &format!("It is not fully understood: {why}."), command)
}

fn exactly(rule: &'static str, reason: &str, command: &str) -> Danger {
    Danger { rule, reason: reason.to_owned(), pattern: excerpt(command), target: None }
}

/// Control characters, and those that turn the direction of what is shown.
fn has_hidden_characters(command: &str) -> bool {
    command.chars().any(|c| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    })
}

/// A text as part of a pattern: itself, or its beginning and its hash, so that no other text has
/// the same.
pub fn excerpt(text: &str) -> String {
    let text = text.trim();
    if text.chars().nth(PATTERN_CHARS).is_none() {
        return text.to_owned();
    }
    let start: String = text.chars().take(EXCERPT_CHARS).collect();
    let hash: String = blake3::hash(text.as_bytes()).to_hex().chars().take(16).collect();
    format!("{start}… [{hash}]")
}

/// In backticks, short, and with nothing in it that a terminal would obey.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| if c.is_control() || c == '`' { '\u{fffd}' } else { c };
    let mut excerpt: String = text.chars().take(EXCERPT_CHARS).map(plain).collect();
    if text.chars().nth(EXCERPT_CHARS).is_some() {
        excerpt.push('…');
    }
    format!("`{excerpt}`")
}

/// Arguments that are no options; after `--` all are.
pub fn operands(arguments: &[Field]) -> Vec<&Field> {
    let mut ended = false;
    let mut operands = vec![];
    for field in arguments {
        match field.text() {
            "--" if !ended => ended = true,
            text if !ended && text.starts_with('-') && text.len() > 1 => {}
            _ => operands.push(field),
        }
    }
    operands
}

/// Whether an option is given: a letter in a cluster, or a long name or a beginning of it.
pub fn has_option(arguments: &[Field], short: &str, long: &[&str]) -> bool {
    let before_dashes = arguments.iter().map(Field::text).take_while(|text| *text != "--");
    before_dashes.filter(|text| text.len() > 1).any(|text| {
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        match text.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => {
                option.len() > 3 && long.iter().any(|name| name.starts_with(option))
            }
            Some(cluster) => cluster.contains(|c| short.contains(c)) || long.contains(&option),
            None => false,
        }
    })
}
