//! The guard against feeding `sudo` a password: with it a guess, or a password that was found
//! somewhere, would become any power, and nobody would see a prompt.

use super::reading::{Invocation, Reading};
use super::word::Field;

/// The command that gives `sudo` a password where no person types it.
pub fn feeds_password(reading: &Reading) -> Option<String> {
    reading
        .invocations
        .iter()
        .find(|call| is_sudo(call) && has_option(call, "SA", &["--stdin", "--askpass"]))
        .map(Invocation::line)
}

/// Whether a program is `sudo`.
pub fn is_sudo(call: &Invocation) -> bool {
    matches!(call.name(), Some("sudo" | "sudoedit"))
}

/// Whether one of the options is among those before the command that `sudo` runs.
pub fn has_option(call: &Invocation, short: &str, long: &[&str]) -> bool {
    const VALUED: &str = "ugphCrtTUDRa";
    let mut arguments = call.arguments.iter();
    while let Some(text) = arguments.next().map(Field::text) {
        if text == "--" || !text.starts_with('-') {
            // `sudo A=b -S id` is no option of `sudo` any more.
            return false;
        }
        if text.starts_with("--") {
            // Any beginning of a long option counts as the option.
            if text.len() > 3 && long.iter().any(|option| option.starts_with(text)) {
                return true;
            }
            continue;
        }
        let cluster = text.trim_start_matches('-');
        let value_at = cluster.find(|c| VALUED.contains(c));
        let letters = value_at.and_then(|at| cluster.get(..at)).unwrap_or(cluster);
        if letters.contains(|c| short.contains(c)) {
            return true;
        }
        if value_at.is_some_and(|at| at + 1 == cluster.len()) {
            arguments.next();
        }
    }
    false
}
