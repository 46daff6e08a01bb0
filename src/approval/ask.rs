//! The question: why it is asked, and what a lasting yes would cover.

use super::Verdict;
use super::harmless::Objection;
use super::reading::Reading;
use super::word::Field;

/// Longest excerpt of a command line in a reason, in characters.
const EXCERPT_CHARS: usize = 60;

/// Programs whose first argument says what they do: a yes covers that, with any further arguments.
const WITH_SUBCOMMANDS: &[&str] = &[
    "cargo",
    "git",
    "npm",
    "pnpm",
    "yarn",
    "pip",
    "pip3",
    "uv",
    "poetry",
    "go",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "make",
    "just",
    "systemctl",
    "apt",
    "apt-get",
    "brew",
    "dnf",
    "gh",
    "rustup",
    "bundle",
    "mix",
    "dotnet",
    "gradle",
    "mvn",
    "conda",
    "npx",
    "deno",
    "bun",
];

/// Why a command line was not read.
#[derive(Clone, Copy, Debug)]
pub enum Unread {
    TooLong,
    Syntax,
    ControlCharacters,
}

/// Asks about a line that was not read.
pub fn unread(command: &str, why: Unread) -> Verdict {
    let (rule, reason) = match why {
        Unread::TooLong => ("too-long", "It is too long to be checked."),
        Unread::Syntax => {
            ("unreadable", "It cannot be read as a shell command, so nobody knows what it would do.")
        }
        Unread::ControlCharacters => {
            ("control-characters", "It contains control characters, which can hide what it does.")
        }
    };
    Verdict::Ask { reason: reason.into(), rule, pattern: command.trim().into() }
}

/// Asks about a line that is not plainly harmless.
pub fn about(command: &str, reading: &Reading, objection: Objection) -> Verdict {
    let (rule, reason) = match objection {
        Objection::Unread(why) => ("unreadable", format!("It is not fully understood: {why}.")),
        Objection::Writes(target) => ("writes-file", format!("It writes to {}.", quoted(&target))),
        Objection::SetsVariables => {
            ("sets-variables", "It sets variables that can change what programs do.".into())
        }
        Objection::UnknownProgram => {
            ("unknown-program", "Which program it runs is only known when it runs.".into())
        }
        Objection::Privileged(name) => {
            ("privileged", format!("It runs as another user, with {}.", quoted(&name)))
        }
        Objection::ReadsSecrets(path) if path.is_empty() => {
            ("reads-secrets", "What it reads is only known when it runs.".into())
        }
        Objection::ReadsSecrets(path) => {
            ("reads-secrets", format!("It may show secrets: {}.", quoted(&path)))
        }
        Objection::Unlisted(name) => {
            ("not-read-only", format!("It runs {}, which is not known to only read here.", quoted(&name)))
        }
    };
    Verdict::Ask { reason, rule, pattern: pattern(command, reading) }
}

/// What a lasting yes covers: a program with its subcommand, where the line is one plain command;
/// else exactly this line.
fn pattern(command: &str, reading: &Reading) -> String {
    plain_command(reading).unwrap_or_else(|| command.trim().to_owned())
}

fn plain_command(reading: &Reading) -> Option<String> {
    let [only] = reading.invocations.as_slice() else { return None };
    if reading.compound || reading.unread.is_some() || !reading.writes.is_empty() || !reading.reads.is_empty()
    {
        return None;
    }
    let program = only.program.fixed().filter(|program| WITH_SUBCOMMANDS.contains(program))?;
    let subcommand = only.arguments.first().and_then(Field::fixed)?;
    let is_word = subcommand.starts_with(|c: char| c.is_ascii_alphabetic())
        && subcommand.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let all_fixed = only.arguments.iter().all(|field| !field.unknown && !field.variable);
    (is_word && all_fixed).then(|| format!("{program} {subcommand}"))
}

/// In backticks, short, and with nothing in it that a terminal would obey.
fn quoted(text: &str) -> String {
    let plain = |c: char| if c.is_control() || c == '`' { '\u{fffd}' } else { c };
    let mut excerpt: String = text.chars().take(EXCERPT_CHARS).map(plain).collect();
    if text.chars().nth(EXCERPT_CHARS).is_some() {
        excerpt.push('…');
    }
    format!("`{excerpt}`")
}
