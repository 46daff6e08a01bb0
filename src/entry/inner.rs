//! What herm starts itself again for. Not for people: no help, no configuration, no home; the words are
//! those that [`crate::environments`] writes.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::environments::{container, sandbox};

/// Does it, if that is what this process was started for.
pub fn run() -> Option<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match words.as_slice() {
        [command] if command == "container-exec" => Some(container::client::run()),
        [command, flag, policy, end, program @ ..]
            if command == "sandbox-exec" && flag == "--policy" && end == "--" =>
        {
            Some(sandbox::exec::exec(&policy.to_string_lossy(), program))
        }
        _ => None,
    }
}
