//! The person's own deny rules: wildcards, matched against what runs.
//!
//! A rule is compared with each command that would run, from its program on. A rule that begins
//! with `*` may also begin at an argument, but not in one that is only searched for or printed:
//! `*docker *` refuses `docker stop web` and `sudo docker stop web`, and not `grep -n docker f`.

use super::glob;
use super::reading::{Invocation, Reading, base_name};
use super::word::Field;

/// Programs whose first operand is a pattern that is searched for.
const SEARCH: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "pgrep"];
/// Programs whose arguments are words to print or to look up.
const SPEAK: &[&str] = &[
    "echo", "printf", "man", "which", "type", "apropos", "whatis", "tldr", "whereis", "test", "[", "[[",
    "expr", "info",
];
/// Options of other programs that are followed by prose or by a pattern.
const PROSE: &[(&[&str], &[&str])] = &[
    (&["git"], &["-m", "--message", "--grep", "-S", "-G", "--author"]),
    (&["gh", "glab", "hub"], &["-t", "--title", "-b", "--body", "-n", "--notes", "-d", "--description"]),
    (&["find", "fd", "gfind"], &["-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename"]),
    (&["journalctl"], &["-g", "--grep"]),
];

/// The rule that a command line breaks, and the command that breaks it.
pub fn broken_rule<'a>(rules: &'a [String], reading: &Reading, command: &str) -> Option<(&'a str, String)> {
    rules.iter().map(|rule| rule.trim()).filter(|rule| !rule.is_empty()).find_map(|rule| {
        let lower = rule.to_lowercase();
        // A rule with an operator is about the line as it is written.
        if lower.contains(['|', ';', '&', '>', '<']) {
            return glob::matches(&lower, &command.to_lowercase()).then(|| (rule, command.to_owned()));
        }
        let broken = reading.invocations.iter().find(|call| breaks(&lower, call))?;
        Some((rule, broken.line()))
    })
}

/// Whether a program only prints its arguments, looks them up, or searches for them.
pub fn only_speaks(name: &str) -> bool {
    SPEAK.contains(&name) || SEARCH.contains(&name)
}

fn breaks(rule: &str, call: &Invocation) -> bool {
    let arguments: Vec<&str> = call.arguments.iter().map(Field::text).collect();
    let program = call.program.text();
    let from_program = rule.trim_start_matches('*');
    if from_program.is_empty() {
        return true;
    }
    let line = |program: &str| format!("{program} {}", arguments.join(" ")).trim_end().to_lowercase();
    // `docker *` is about `docker` alone, too.
    let fits = |rule: &str, line: &str| glob::matches(rule, line) || glob::matches(rule, &format!("{line} "));
    if fits(from_program, &line(program)) || fits(from_program, &line(base_name(program))) {
        return true;
    }
    // What a launcher starts is a command of its own.
    if !rule.starts_with('*') || call.launches {
        return false;
    }
    let said = effective(call, &arguments);
    !said.is_empty() && fits(rule, &format!(" {}", said.join(" ")).to_lowercase())
}

/// The arguments that are more than words to search for or to print.
fn effective<'a>(call: &Invocation, arguments: &[&'a str]) -> Vec<&'a str> {
    let name = call.name().unwrap_or_default();
    if SPEAK.contains(&name) || (name == "command" && matches!(arguments.first(), Some(&("-v" | "-V")))) {
        return vec![];
    }
    if SEARCH.contains(&name) {
        return without_pattern(arguments);
    }
    let prose = PROSE.iter().find(|(names, _)| names.contains(&name)).map_or(&[][..], |(_, options)| options);
    let mut kept = vec![];
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if prose.contains(argument) {
            arguments.next();
        } else if !prose.iter().any(|option| argument.starts_with(&format!("{option}="))) {
            kept.push(*argument);
        }
    }
    if name == "git" && kept.first() == Some(&"grep") {
        return without_pattern(&kept);
    }
    kept
}

fn without_pattern<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut kept = vec![];
    let mut pattern_seen = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "-e" | "--regexp" => {
                pattern_seen = true;
                rest.next();
            }
            text if text.starts_with('-') => kept.push(text),
            _ if !pattern_seen => pattern_seen = true,
            text => kept.push(text),
        }
    }
    kept
}
