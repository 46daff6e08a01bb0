//! What plainly only reads: a table of programs, and what must not stand among their arguments.
//!
//! Whatever is not found here is asked about. A row is right only if the program, so called, can
//! change nothing, run nothing and reach no other machine.

use std::path::Path;

use super::git;
use super::paths::{self, Vital};
use super::reading::{Invocation, Reading};
use super::word::Field;

/// Why a command line is not plainly harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// Something in it could not be read.
    Unread(&'static str),
    /// It writes a file by redirection.
    Writes(String),
    /// It sets variables that programs heed.
    SetsVariables,
    /// A program that is only known when it runs.
    UnknownProgram,
    /// As another user.
    Privileged(String),
    /// It may show secrets.
    ReadsSecrets(String),
    /// Nothing is known of this program, or not with these arguments.
    Unlisted(String),
}

/// What the arguments of a program may be.
enum Rule {
    /// Any at all, also unknown ones: it only prints them or counts with them. But `-v` names a
    /// variable, whose subscript `printf` and `test` evaluate.
    Anything,
    /// Files to read, and any option but these: short letters, then long names.
    Reads(&'static str, &'static [&'static str]),
    /// Like `Reads`, the first operand being a pattern rather than a file.
    Matches(&'static str, &'static [&'static str]),
    /// Names of files whose contents are not shown.
    Looks(&'static str, &'static [&'static str]),
    /// Only these arguments.
    Only(&'static [&'static str]),
    /// Judged by a function of its own.
    By(fn(&[Field]) -> bool),
}

use Rule::{Anything, By, Looks, Matches, Only, Reads};

const TABLE: &[(&[&str], Rule)] = &[
    (
        &[
            "echo", "printf", "true", "false", ":", "test", "[", "sleep", "basename", "dirname", "seq",
            "exit", "break", "continue", "return",
        ],
        Anything,
    ),
    (
        &["cat", "head", "tail", "wc", "nl", "tac", "rev", "cut", "comm", "paste", "join", "fold", "fmt"],
        Reads("", &[]),
    ),
    (&["expand", "unexpand", "column", "od", "hexdump", "strings"], Reads("", &[])),
    (&["base64", "base32"], Reads("o", &["--output"])),
    (&["diff", "cmp", "colordiff"], Reads("", &["--output"])),
    (
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum"],
        Reads("", &[]),
    ),
    (&["sort"], Reads("o", &["--output", "--compress-program", "--files0-from"])),
    (&["tree"], Looks("oR", &["--output"])),
    (&["grep", "egrep", "fgrep"], Matches("", &[])),
    (&["rg"], Matches("", &["--pre", "--hostname-bin", "--search-zip"])),
    (&["jq"], Matches("", &[])),
    (&["tr"], Anything),
    (&["ls", "stat", "du", "df", "realpath", "readlink", "which", "type"], Looks("", &["--files0-from"])),
    (&["file"], Looks("C", &["--compile"])),
    (
        &["pwd", "cd", "uname", "id", "whoami", "groups", "nproc", "arch", "uptime", "free", "tty"],
        Looks("", &[]),
    ),
    (&["uniq"], By(uniq)),
    (&["date"], By(date)),
    (&["hostname"], Only(&["-f", "-s", "-i", "-I", "-d"])),
    (&["ps"], Only(&["aux", "ax", "-ef", "-e", "-A", "-a", "-f", "-aux", "-eF", "u"])),
    (&["kill", "killall"], Only(&["-l", "-L"])),
    (&["man", "whatis", "apropos"], By(manual)),
    (&["sed"], By(sed)),
    (&["find"], By(find)),
    (&["git"], By(git::only_reads)),
];

/// Programs that may be asked for their version.
const VERSIONED: &[&str] = &[
    "cargo",
    "rustc",
    "rustup",
    "node",
    "npm",
    "python",
    "python3",
    "pip",
    "pip3",
    "uv",
    "go",
    "java",
    "javac",
    "gcc",
    "g++",
    "clang",
    "cc",
    "make",
    "cmake",
    "docker",
    "podman",
    "kubectl",
    "terraform",
    "ruby",
    "perl",
    "php",
    "bash",
    "sh",
    "zsh",
    "git",
    "rg",
    "curl",
    "wget",
    "ssh",
    "tar",
    "sed",
    "awk",
    "gawk",
    "psql",
    "sqlite3",
    "ffmpeg",
    "deno",
    "bun",
    "rustfmt",
];

/// What speaks against running a line without asking; nothing for a plainly harmless one.
pub fn objection(reading: &Reading) -> Option<Objection> {
    if let Some(why) = reading.unread {
        return Some(Objection::Unread(why));
    }
    if let Some(target) = reading.writes.iter().find(|target| target.fixed() != Some("/dev/null")) {
        return Some(Objection::Writes(target.text().into()));
    }
    if reading.sets_variables {
        return Some(Objection::SetsVariables);
    }
    if let Some(source) = reading.reads.iter().find(|source| reads_secret(source)) {
        return Some(Objection::ReadsSecrets(source.text().into()));
    }
    reading.invocations.iter().find_map(|invocation| invocation_objection(invocation, reading))
}

fn reads_secret(field: &Field) -> bool {
    let text = field.text();
    // Below `/dev` there are disks, and the shell's own network connections.
    let device = text.starts_with("/dev/") && text != "/dev/null";
    field.unknown || field.variable || device || paths::looks_secret(text)
}

fn invocation_objection(invocation: &Invocation, reading: &Reading) -> Option<Objection> {
    let Some(program) = invocation.program.fixed() else { return Some(Objection::UnknownProgram) };
    let name =
        ["/bin/", "/usr/bin/"].iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    if matches!(name, "sudo" | "doas" | "su" | "runuser" | "pkexec") {
        return Some(Objection::Privileged(name.into()));
    }
    if invocation.launches {
        return None;
    }
    let unlisted = || Some(Objection::Unlisted(name.to_owned()));
    let arguments = invocation.arguments.as_slice();
    if VERSIONED.contains(&name) && asks_version(name, arguments) && !invocation.open_ended {
        return None;
    }
    let Some((_, rule)) = TABLE.iter().find(|(names, _)| names.contains(&name)) else { return unlisted() };
    if matches!(rule, Anything) {
        let names_variable = arguments.iter().map(Field::text).any(|text| {
            text.starts_with("-v") || (text.contains('[') && (text.contains("$(") || text.contains('`')))
        });
        return if names_variable && name != "echo" { unlisted() } else { None };
    }
    if invocation.open_ended || arguments.iter().any(|field| field.unknown || field.variable) {
        return unlisted();
    }
    if !rule_holds(rule, arguments) {
        return unlisted();
    }
    // Where an option brings the pattern, there is none among the operands.
    let brings_pattern = arguments
        .iter()
        .any(|field| is_option_of(field, "ef", &["--regexp", "--file", "--files", "--from-file"]));
    let skipped = usize::from(matches!(rule, Matches(..)) && !brings_pattern);
    let shows_contents = matches!(rule, Reads(..) | Matches(..) | By(_));
    let cwd = invocation.cwd.as_deref().and_then(Path::to_str).filter(|cwd| paths::looks_secret(cwd));
    if shows_contents && let Some(cwd) = cwd {
        return Some(Objection::ReadsSecrets(cwd.into()));
    }
    let secret =
        operands(arguments).skip(skipped).find(|text| paths::looks_secret(text) || paths::is_disk(text));
    match secret {
        Some(secret) if shows_contents => Some(Objection::ReadsSecrets(secret.into())),
        _ if matches!(rule, Matches(..)) => searches_home(invocation, reading).map(Objection::ReadsSecrets),
        _ => None,
    }
}

/// A search through the whole home directory, or more, that would meet keys and passwords.
fn searches_home(invocation: &Invocation, reading: &Reading) -> Option<String> {
    let recursive = invocation.name() == Some("rg")
        || invocation.known_arguments().any(|text| {
            is_option_of(&Field::literal(text), "rR", &["--recursive", "--dereference-recursive"])
        });
    let places: Vec<&str> = operands(&invocation.arguments).skip(1).collect();
    let places = if places.is_empty() && invocation.name() != Some("rg") { vec!["."] } else { places };
    let is_vital = |place: &&str| match paths::target(place, invocation.cwd.as_deref()) {
        Some(target) => {
            paths::vital(&target.path, reading.home.as_deref()).is_some_and(|vital| vital != Vital::System)
        }
        None => true,
    };
    places.into_iter().filter(|_| recursive).find(is_vital).map(str::to_owned)
}

fn asks_version(name: &str, arguments: &[Field]) -> bool {
    match arguments {
        [only] => matches!(
            (name, only.fixed()),
            (_, Some("--version")) | ("go", Some("version")) | ("java", Some("-version"))
        ),
        _ => false,
    }
}

fn rule_holds(rule: &Rule, arguments: &[Field]) -> bool {
    match rule {
        Anything => true,
        Reads(short, long) | Matches(short, long) | Looks(short, long) => {
            // A wildcard may become an option: a file can be called `-o`.
            !arguments.iter().any(|field| is_option_of(field, short, long))
        }
        Only(these) => arguments.iter().all(|field| field.fixed().is_some_and(|text| these.contains(&text))),
        By(holds) => holds(arguments),
    }
}

/// Whether an argument is, or may become, one of the options.
fn is_option_of(field: &Field, short: &str, long: &[&str]) -> bool {
    let text = field.text();
    if field.glob && text.starts_with(['*', '?', '[']) {
        return !short.is_empty() || !long.is_empty();
    }
    if text.starts_with("--") {
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        return option.len() > 2 && long.iter().any(|long| long.starts_with(option));
    }
    text.starts_with('-') && text.contains(|c| short.contains(c))
}

/// Arguments that are no options; the values of options count as operands.
fn operands(arguments: &[Field]) -> impl Iterator<Item = &str> {
    arguments.iter().map(Field::text).filter(|text| !text.starts_with('-') || text.contains('='))
}

/// A second operand is written.
fn uniq(arguments: &[Field]) -> bool {
    arguments.iter().all(|field| !field.glob) && operands(arguments).count() <= 1
}

/// An operand that is not a format sets the clock.
fn date(arguments: &[Field]) -> bool {
    let sets = |field: &Field| is_option_of(field, "sf", &["--set", "--file"]);
    arguments.iter().all(|field| !field.glob && !sets(field))
        && arguments.iter().enumerate().all(|(nth, field)| {
            let text = field.text();
            let previous = nth.checked_sub(1).and_then(|nth| arguments.get(nth)).map(Field::text);
            text.starts_with(['+', '-']) || matches!(previous, Some("-d" | "--date"))
        })
}

/// Options choose the pager, which is a program.
fn manual(arguments: &[Field]) -> bool {
    arguments.iter().all(|field| field.fixed().is_some_and(|text| !text.starts_with('-')))
}

/// `sed -n '10,20p' FILE`; any other script may write or run.
fn sed(arguments: &[Field]) -> bool {
    let [quiet, script, files @ ..] = arguments else { return false };
    quiet.fixed() == Some("-n")
        && script.fixed().is_some_and(|script| {
            script
                .strip_suffix('p')
                .is_some_and(|range| range.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '$'))
        })
        && files.iter().all(|file| !file.text().starts_with('-') && !file.glob)
}

fn find(arguments: &[Field]) -> bool {
    const ACTS: &[&str] = &[
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-delete",
        "-fprint",
        "-fprint0",
        "-fprintf",
        "-fls",
        "-files0-from",
    ];
    let may_act = |field: &Field| {
        let text = field.text();
        ACTS.contains(&text) || (field.glob && text.starts_with(['*', '?', '[']))
    };
    !arguments.iter().any(may_act)
}
