//! The size that is read at all: beyond it nothing could be said of a command line in time, and an
//! unread tail must not run.
//!
//! Source: 5.9 of the seeds' first document. Most of what is so long is a script that the model
//! wrote into the command line, so the way out is to run it as one.

/// The rule of whatever exceeds a limit.
pub const TOO_LARGE: &str = "too-large";
/// Longest command line that is read, in characters.
pub const COMMAND_CHARS_MAX: usize = 128_000;
/// Longest command line without any separator, in characters.
pub const UNSEPARATED_CHARS_MAX: usize = 4_096;
/// Parts between separators, at most.
pub const SEGMENTS_MAX: usize = 25_000;

/// Which limit a command line exceeds; in words, for the model.
pub fn exceeded(command: &str) -> Option<String> {
    // Bytes are never fewer than characters, and nearly every command line is short.
    if command.len() <= UNSEPARATED_CHARS_MAX {
        return None;
    }
    let chars = command.chars().count();
    if chars > COMMAND_CHARS_MAX {
        return Some(format!("it has {chars} characters, and at most {COMMAND_CHARS_MAX} are checked"));
    }
    let separators = command.chars().filter(|c| matches!(c, ';' | '&' | '|' | '\n')).count();
    if chars > UNSEPARATED_CHARS_MAX && separators == 0 {
        return Some(format!(
            "it has {chars} characters without `;`, `&`, `|` or a newline, and at most \
             {UNSEPARATED_CHARS_MAX} are checked"
        ));
    }
    if separators + 1 > SEGMENTS_MAX {
        return Some(format!("it has {} parts, and at most {SEGMENTS_MAX} are checked", separators + 1));
    }
    None
}
