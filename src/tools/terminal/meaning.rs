//! Exit statuses that are an answer rather than a failure. A model that takes "no match" for a
//! failure tries again and again.

use crate::approval::last_program;

/// Programs and the status that is an answer of theirs.
const ANSWERS: &[(&[&str], i32, &str)] = &[
    (&["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "git grep"], 1, "no matches, not an error"),
    (&["diff", "colordiff", "git diff"], 1, "files differ, not an error"),
    (&["cmp"], 1, "files differ, not an error"),
    (&["test", "[", "[["], 1, "the condition is false, not an error"),
    (&["pgrep", "pidof", "pkill"], 1, "no process matched, not an error"),
    (&["which", "type"], 1, "not found, not an error"),
    (&["find"], 1, "some places could not be read; what was found is shown"),
    (&["expr"], 1, "the result is empty or zero, not an error"),
    (&["timeout"], 124, "the time given to `timeout` ran out"),
    (&["curl"], 6, "the host name could not be resolved"),
    (&["curl"], 7, "the connection was refused"),
    (&["curl"], 22, "the server answered with an HTTP error status"),
    (&["curl"], 28, "the time ran out"),
];

/// Statuses that shells give for any program.
const SHELL_ANSWERS: &[(i32, &str)] = &[
    (126, "found, but not executable"),
    (127, "program not found"),
    (137, "killed (SIGKILL), perhaps for want of memory"),
    (139, "crashed (SIGSEGV)"),
];

/// What an exit status means, where that is worth saying.
pub fn meaning(command_line: &str, code: i32) -> Option<&'static str> {
    if code == 0 {
        return None;
    }
    let of_shell = || SHELL_ANSWERS.iter().find(|(status, _)| *status == code).map(|(_, says)| *says);
    let Some(program) = last_program(command_line) else { return of_shell() };
    ANSWERS
        .iter()
        .find(|(programs, status, _)| *status == code && programs.contains(&program.as_str()))
        .map(|(_, _, says)| *says)
        .or_else(of_shell)
}
