//! What commands print, where that can be told without running them: enough to see through
//! `$(echo rm)` and `printf … | sh`.

use super::Walk;
use crate::approval::reading::{Invocation, Stdin};
use crate::approval::word::{Field, Printed, escapes};

/// Programs that print what is the case, and nothing that the line could choose.
const FACTS: &[&str] = &[
    "date", "mktemp", "pwd", "dirname", "basename", "hostname", "whoami", "id", "nproc", "uname", "arch",
    "wc", "realpath", "readlink", "stat", "du", "df", "which", "tty", "git", "seq", "getconf", "sw_vers",
    "jq", "expr", "node", "python", "python3", "cargo", "rustc", "go", "brew", "npm", "docker", "kubectl",
];
/// Earlier commands of a pipeline that are remembered.
const LINES_MAX: usize = 8;

impl Walk<'_> {
    /// A command substitution: visited with what is set so far, and nothing it sets stays.
    pub fn substitution(&mut self, script: &str) -> Printed {
        let before = self.reading.invocations.len();
        let stdin = self.stdin.take();
        self.scoped(|walk| walk.script(script));
        self.stdin = stdin;
        match self.printed_since(before).and_then(|field| field.value().map(str::to_owned)) {
            Some(text) => Printed::Text(text),
            None if self.prints_facts(before) => Printed::Fact,
            None => Printed::Unknown,
        }
    }

    fn prints_facts(&self, before: usize) -> bool {
        match self.reading.invocations.get(before..) {
            Some([only]) => {
                let runs_code =
                    only.known_arguments().any(|text| text.starts_with("-c") || text.starts_with("-e"));
                only.name().is_some_and(|name| FACTS.contains(&name)) && !runs_code
            }
            _ => false,
        }
    }

    /// What the one command since `before` prints, if it plainly prints a text.
    pub(super) fn printed_since(&self, before: usize) -> Option<Field> {
        match self.reading.invocations.get(before..)? {
            [only] => printed(only),
            // In a pipeline the last one prints.
            [.., last] if matches!(last.stdin.as_deref(), Some(Stdin::Pipe { .. })) => printed(last),
            _ => None,
        }
    }

    pub(super) fn lines_since(&self, before: usize, lines: &mut Vec<String>) {
        let invocations = self.reading.invocations.get(before..).unwrap_or_default();
        let left = LINES_MAX.saturating_sub(lines.len());
        lines.extend(invocations.iter().take(left).map(Invocation::line));
    }
}

fn printed(invocation: &Invocation) -> Option<Field> {
    let words: Option<Vec<&str>> = invocation.arguments.iter().map(Field::value).collect();
    let words = words?;
    match invocation.name()? {
        "echo" => escapes::echo(&words).map(|text| Field::literal(&text)),
        "printf" => escapes::printf(&words).map(|text| Field::literal(&text)),
        "true" | ":" | "false" => Some(Field::literal("")),
        // They pass on what they are given.
        "cat" if words.is_empty() || words == ["-"] => passed_on(invocation),
        "tee" => passed_on(invocation),
        _ => None,
    }
}

fn passed_on(invocation: &Invocation) -> Option<Field> {
    invocation.stdin.as_deref()?.text().map(Field::literal)
}
