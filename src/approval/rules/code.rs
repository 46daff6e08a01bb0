//! Programs that are given as text: inline, in a here-document, through a pipe, or decoded.

use super::files::shown;
use super::{Found, excerpt, has_option, quoted};
use crate::approval::launcher::{Source, shell_source, ssh_without_command};
use crate::approval::reading::{Invocation, Stdin, base_name};
use crate::approval::scripts::SHELLS;
use crate::approval::word::Field;

/// Interpreters, and how they are given a program as a text: letters that take it, and words.
const INTERPRETERS: &[(&[&str], &str, &[&str])] = &[
    (&["python", "ipython", "pypy", "bpython", "micropython", "xonsh"], "c", &[]),
    (&["perl"], "eE", &[]),
    (&["ruby", "jruby", "crystal"], "e", &["eval"]),
    (&["node", "nodejs", "bun", "tsx", "ts-node", "electron"], "ep", &["--eval", "--print"]),
    (&["deno"], "", &["eval"]),
    (&["php"], "rBRE", &["--run"]),
    (&["lua", "luajit", "texlua"], "e", &[]),
    (
        &[
            "rscript",
            "r",
            "julia",
            "elixir",
            "ghc",
            "scala",
            "groovy",
            "clojure",
            "clj",
            "osascript",
            "racket",
            "guile",
            "sbcl",
            "erl",
            "nu",
            "octave",
            "raku",
            "jshell",
            "kotlinc",
        ],
        "eEc",
        &["-eval", "--eval"],
    ),
];
/// Programs that fetch.
const FETCH: &[&str] =
    &["curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "ftp", "nc", "ncat", "scp", "gh"];
/// Programs that decode, and so can spell anything.
const DECODE: &[&str] = &[
    "base64", "base32", "xxd", "openssl", "tr", "rev", "uudecode", "gpg", "gunzip", "zcat", "gzip", "xz",
    "hexdump", "od", "sed", "awk", "printf", "iconv", "basenc",
];

/// Whether a program runs programs in a language that is not the shell's.
pub fn is_interpreter(name: &str) -> bool {
    options(name).is_some()
}

/// `python3.12` is `python`.
fn options(name: &str) -> Option<(&'static str, &'static [&'static str])> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (_, letters, words) =
        INTERPRETERS.iter().find(|(names, ..)| names.contains(&bare) || names.contains(&name))?;
    Some((letters, words))
}

pub fn found(name: &str, call: &Invocation, found: &mut Found) {
    if SHELLS.contains(&name) {
        return shell(name, call, found);
    }
    if name == "ssh" && ssh_without_command(&call.arguments) {
        return fed(name, call, found);
    }
    if matches!(name, "source" | "." | "eval") {
        if call.arguments.iter().any(|field| field.process) {
            process(name, found);
        }
        return;
    }
    if matches!(name, "make" | "gmake" | "just")
        && call.arguments.iter().any(|field| matches!(field.text(), "-" | "-f-" | "/dev/stdin"))
    {
        return fed(name, call, found);
    }
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
        return awk(name, call, found);
    }
    let Some((letters, words)) = options(name) else { return };
    if let Some(code) = inline(letters, words, &call.arguments) {
        let pattern = format!("{name} inline {}", excerpt(&shown(code)));
        return found.add(
            "inline-code",
            format!("It runs a program in the command line, with `{name}`."),
            pattern,
        );
    }
    if call.arguments.first().is_some_and(|field| field.process) {
        return process(name, found);
    }
    let reads_stdin = call.arguments.iter().map(Field::text).all(|text| text.starts_with('-'))
        && !has_option(
            &call.arguments,
            if letters == "c" { "mVh" } else { "vVh" },
            &["--version", "--help", "--module", "-m"],
        );
    if reads_stdin {
        fed(name, call, found);
    }
}

/// The text of a program that is given inline.
fn inline<'a>(letters: &str, words: &[&str], arguments: &'a [Field]) -> Option<&'a Field> {
    for (nth, field) in arguments.iter().enumerate() {
        let text = field.text();
        let next = arguments.get(nth + 1).unwrap_or(field);
        if words.iter().any(|word| text == *word || text.starts_with(&format!("{word}="))) {
            return Some(next);
        }
        match text.strip_prefix('-') {
            // What follows belongs to the script.
            None => return None,
            Some("") | Some("-") => return None,
            Some(long) if long.starts_with('-') => {}
            // A module of Python's gets what follows.
            Some("m") => return None,
            Some(cluster) => {
                // Letters before it may be others, such as `-pe`; a value in the cluster ends it.
                let valued = if letters == "c" { "WXm" } else { "IMmFDx" };
                let letters_only = cluster.split(|c| valued.contains(c)).next().unwrap_or_default();
                if letters_only.contains(|c| letters.contains(c)) {
                    return Some(next);
                }
            }
        }
    }
    None
}

fn shell(name: &str, call: &Invocation, found: &mut Found) {
    // `--rcfile <(…)`, too.
    if call.arguments.iter().any(|field| field.process) {
        return process(name, found);
    }
    if shell_source(&call.arguments) == Source::Stdin {
        fed(name, call, found);
    }
}

fn process(name: &str, found: &mut Found) {
    let reason = format!("`{name}` runs what another command prints, which nobody has seen.");
    found.add("run-process-substitution", reason, format!("{name} <(…)"));
}

/// An interpreter reads its program from standard input.
fn fed(name: &str, call: &Invocation, found: &mut Found) {
    match call.stdin.as_deref() {
        Some(Stdin::Document(text)) => found.add(
            "heredoc-to-interpreter",
            format!("It runs a program in the command line, with `{name}`."),
            format!("{name} << {}", excerpt(&shown(text))),
        ),
        Some(Stdin::Process) => process(name, found),
        Some(Stdin::Pipe { from, .. }) => piped(name, from, found),
        // A shell's file is read; the others' are programs like any other.
        Some(Stdin::File(_)) | None => {}
    }
}

fn piped(name: &str, from: &[String], found: &mut Found) {
    let program = |line: &String| base_name(line.split(' ').next().unwrap_or_default()).to_owned();
    let programs: Vec<String> = from.iter().map(program).collect();
    let is = |names: &[&str]| programs.iter().any(|program| names.contains(&program.as_str()));
    let chain = from.join(" | ");
    let (rule, what) = match () {
        () if is(FETCH) => ("pipe-remote-to-shell", "what it fetches"),
        () if is(DECODE) => ("pipe-decoded-to-shell", "what it decodes or transforms"),
        () => ("pipe-to-shell", "what another command prints"),
    };
    let reason = format!("It runs {what} with `{name}`: {}.", quoted(&format!("{chain} | {name}")));
    found.add(rule, reason, excerpt(&format!("{chain} | {name}")));
}

/// `awk` can start programs.
fn awk(name: &str, call: &Invocation, found: &mut Found) {
    let starts = |text: &str| {
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        squeezed.contains("system(")
            || squeezed.contains("|getline")
            || squeezed.contains("|\"")
            || squeezed.contains("|&")
    };
    if let Some(program) = call.arguments.iter().find(|field| starts(field.text())) {
        let reason = format!("Its program starts other programs, with `{name}`.");
        found.add("inline-code", reason, format!("{name} inline {}", excerpt(&shown(program))));
    }
}
