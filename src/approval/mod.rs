//! Approvals: reading a command line as the shell does, and judging what it would do.
//!
//! [`judge`] is pure. It says what is forbidden whatever anybody says, what is plainly harmless,
//! and that everything else is asked. The way of a command line: [`parse`] makes a tree of it,
//! [`walk`] visits every position that the shell would execute and lists the invocations there
//! with their words as the shell would see them ([`word`]), looking through launchers such as
//! `sudo` and `xargs` ([`launcher`]); [`floor`] knows the catastrophes, [`harmless`] what only
//! reads.
//!
//! The floor is a net under obvious disasters, not a sandbox: a program that is only known when it
//! runs is asked about, never allowed.

use std::path::Path;

mod ask;
mod comments;
mod floor;
mod git;
mod harmless;
mod launcher;
mod parse;
mod paths;
mod reading;
mod walk;
mod word;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod against_bash;

pub use comments::without_comments;
pub use walk::last_program;

/// Longest command line that is read, in characters.
pub const COMMAND_CHARS_MAX: usize = 128_000;

/// What the policy says of a tool call before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask {
        /// For the person: one sentence.
        reason: String,
        /// Short name of the rule that asks.
        rule: &'static str,
        /// What a lasting yes would cover; compared for equality with earlier grants.
        pattern: String,
    },
    /// It never runs.
    Block { rule: &'static str },
}

/// Judges a command line that would run in `cwd`, for a person whose home directory is `home`.
pub fn judge(command: &str, cwd: &Path, home: Option<&Path>) -> Verdict {
    if command.chars().nth(COMMAND_CHARS_MAX).is_some() {
        return ask::unread(command, ask::Unread::TooLong);
    }
    let Some(reading) = walk::read(command, cwd, home) else {
        return ask::unread(command, ask::Unread::Syntax);
    };
    if let Some(rule) = floor::broken_rule(&reading) {
        return Verdict::Block { rule };
    }
    if command.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return ask::unread(command, ask::Unread::ControlCharacters);
    }
    match harmless::objection(&reading) {
        None => Verdict::Allow,
        Some(objection) => ask::about(command, &reading, objection),
    }
}
