//! What the model is told of a command line that ran, or could not.

use std::time::Duration;

use herm_schema::events::ToolStatus;
use serde::Serialize;

use super::meaning::meaning;
use crate::environments::{Ending, Excerpt, Outcome, Sandboxed, Window, excerpt};
use crate::tools::sanitize::sanitize;
use crate::tools::{OutputLimits, ToolResult};

/// The result object, `{"output":"ok\n","exit_code":0,"error":null}` for most.
#[derive(Serialize)]
struct Report<'a> {
    output: &'a str,
    exit_code: i32,
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code_meaning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    /// Said where nothing holds the command in: `off`, or why it cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    /// Size of the whole output, where `output` is an excerpt.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<u64>,
    /// File that holds the whole output.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output: Option<String>,
}

/// What the report says besides the outcome.
pub struct Told<'a> {
    pub command_line: &'a str,
    pub timeout: Duration,
}

/// The result of a command line that was not begun.
pub fn refused(reason: &str) -> ToolResult {
    let report = Report {
        output: "",
        exit_code: -1,
        error: Some(sanitize(reason)),
        exit_code_meaning: None,
        notice: None,
        sandbox: None,
        output_bytes: None,
        full_output: None,
    };
    result(ToolStatus::Failed, &report, None)
}

/// The result of a command line that ended.
pub async fn finished(outcome: Outcome, told: Told<'_>, limits: OutputLimits) -> ToolResult {
    let window = Window { bytes_max: limits.bytes_max, lines_max: limits.lines_max };
    let path = outcome.output.clone();
    let read = tokio::task::spawn_blocking(move || excerpt(&path, window)).await;
    let (shown, unreadable) = match read.map_err(std::io::Error::other).flatten() {
        Ok(shown) => (shown, None),
        // It ran, and how it ended is known: that must reach the model whatever became of the file.
        Err(error) => (nothing(&outcome), Some(format!("its output cannot be read: {error}"))),
    };
    let ended = error(outcome.ending, told.timeout);
    let report = Report {
        output: &shown.text,
        exit_code: outcome.ending.exit_code(),
        error: match (ended, unreadable) {
            (Some(ended), Some(unreadable)) => Some(format!("{ended}; {unreadable}")),
            (ended, unreadable) => ended.or(unreadable),
        },
        exit_code_meaning: match outcome.ending {
            Ending::Exited { code } => meaning(told.command_line, code),
            _ => None,
        },
        notice: notice(&outcome, &shown.text),
        sandbox: match &outcome.sandboxed {
            Sandboxed::Yes | Sandboxed::Elsewhere => None,
            Sandboxed::Off => Some("off".into()),
            Sandboxed::Unavailable { why } => Some(format!("unavailable: {why}")),
        },
        output_bytes: shown.overflow.then_some(shown.bytes_total),
        full_output: shown.overflow.then(|| outcome.output.display().to_string()),
    };
    result(status(outcome.ending), &report, shown.overflow.then_some(outcome.output))
}

/// What programs say that may not write where they want to, or use the network, or become root.
const HELD_IN: &[&str] = &[
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "no new privileges",
    "EACCES",
    "EPERM",
];

/// What is to be known besides: a failure inside of the sandbox may be the sandbox.
fn notice(outcome: &Outcome, shown: &str) -> Option<String> {
    let mut notices = outcome.notices.clone();
    let failed = outcome.ending.exit_code() != 0 && HELD_IN.iter().any(|words| shown.contains(words));
    if failed && outcome.sandboxed == Sandboxed::Yes {
        notices.push(
            "this ran in herm's sandbox: only the workspace, temporary folders and those of \
             `terminal.sandbox.writable` can be written, and sudo does not work; if that is the reason, tell \
             the user, who can change `terminal.sandbox`"
                .into(),
        );
    }
    (!notices.is_empty()).then(|| notices.join("; "))
}

fn nothing(outcome: &Outcome) -> Excerpt {
    Excerpt { text: String::new(), bytes_total: outcome.output_bytes, overflow: false }
}

fn error(ending: Ending, timeout: Duration) -> Option<String> {
    match ending {
        Ending::Exited { .. } => None,
        Ending::TimedOut => Some(format!("stopped after its timeout of {} s", timeout.as_secs())),
        Ending::Interrupted => Some("stopped by an interrupt".into()),
        Ending::Lost => Some(
            "the shell that ran it was killed from outside; its exit status is unknown, and parts of it may \
             still be running"
                .into(),
        ),
    }
}

fn status(ending: Ending) -> ToolStatus {
    match ending {
        Ending::Exited { code: 0 } => ToolStatus::Succeeded,
        Ending::Interrupted => ToolStatus::Interrupted,
        Ending::Exited { .. } | Ending::TimedOut | Ending::Lost => ToolStatus::Failed,
    }
}

fn result(status: ToolStatus, report: &Report<'_>, full: Option<std::path::PathBuf>) -> ToolResult {
    let shown = serde_json::to_string(report)
        .unwrap_or_else(|error| format!(r#"{{"output":"","exit_code":-1,"error":"unreportable: {error}"}}"#));
    ToolResult { full, ..ToolResult::text(status, shown) }
}
