//! The plain context engine: deterministic, without a model. Keeps a protected head and tail and
//! puts a digest of the middle in its place; old tool output is what goes first.

use std::fmt::Write as _;

use herm_schema::Text;
use herm_schema::events::PrunedResult;

use super::command::Compression;
use super::state::*;

/// Name of this engine in the events.
pub const ENGINE: &str = "plain";
/// Longest summary, in characters.
const SUMMARY_CHARS_MAX: usize = 8_000;
/// Longest excerpt of one message in a summary, in characters.
const EXCERPT_CHARS_MAX: usize = 300;
/// Tool results above this size are shortened when they are old, in bytes.
const RESULT_BYTES_MAX: u64 = 2_000;

/// What this engine would do now; `None` if everything is protected.
pub fn plan(state: &SessionState) -> Option<Compression> {
    let policy = &state.policy.as_ref()?.compression;
    let head = if state.context.compressions == 0 { policy.protect_first as usize } else { 0 };
    let (first, end) = middle(&state.view, head, policy.protect_last as usize)?;
    let middle = state.view.get(first..end)?;
    let pruned = state.view.get(end..).map(prune).unwrap_or_default();
    Some(Compression {
        first: middle.first()?.at,
        last: middle.last()?.at,
        summary: summarise(middle),
        pruned,
        engine: ENGINE.to_owned(),
    })
}

/// The part that may go, as a range of indexes: neither cuts an answer from its results, nor takes
/// the newest thing that a person said.
fn middle(view: &[Entry], head: usize, tail: usize) -> Option<(usize, usize)> {
    let is_result = |index: usize| matches!(view.get(index).map(|e| &e.body), Some(Body::Result { .. }));
    let mut first = head.min(view.len());
    while is_result(first) {
        first += 1;
    }
    let newest_user = view.iter().rposition(|entry| matches!(entry.body, Body::User { .. }))?;
    let mut end = view.len().saturating_sub(tail).min(newest_user);
    while end > first && is_result(end) {
        end -= 1;
    }
    // With nothing before the newest message, the turn's own older steps go: the message stays.
    if end <= first {
        first = first.max(newest_user + 1);
        while is_result(first) {
            first += 1;
        }
        end = view.len().saturating_sub(tail.clamp(1, 2));
        while end > first && is_result(end) {
            end -= 1;
        }
    }
    (end > first).then_some((first, end))
}

/// What is said of the middle: who said what, in a line each, the newest in full room.
fn summarise(entries: &[Entry]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for entry in entries {
        match &entry.body {
            Body::User { text, .. } => lines.push(format!("User: {}", excerpt(text))),
            Body::Summary { text } => lines.push(text.clone()),
            Body::Assistant { message, .. } => {
                if !message.text.trim().is_empty() {
                    lines.push(format!("Assistant: {}", excerpt(&message.text)));
                }
                for call in &message.calls {
                    lines.push(format!("Called {} {}", call.name, excerpt(&call.arguments.0)));
                }
            }
            Body::Result { shown, .. } => lines.push(format!("  -> {}", result_line(shown))),
            Body::Late { asked, shown, .. } => {
                lines.push(format!("Allowed later: {} {}", asked.name, excerpt(&asked.arguments.0)));
                lines.push(format!("  -> {}", result_line(shown)));
            }
        }
    }
    newest_within(&lines, SUMMARY_CHARS_MAX)
}

fn result_line(shown: &Text) -> String {
    match shown {
        Text::Inline(text) if text.len() as u64 <= RESULT_BYTES_MAX => excerpt(text),
        other => format!("{} bytes of output, left out", other.bytes()),
    }
}

/// One line, cut to [`EXCERPT_CHARS_MAX`].
fn excerpt(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = String::new();
    let mut chars = 0;
    for word in words.by_ref() {
        for c in word.chars().chain([' ']) {
            if chars == EXCERPT_CHARS_MAX {
                line.push('…');
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line.truncate(line.trim_end().len());
    line
}

/// The newest lines that fit, with a word on how many do not.
fn newest_within(lines: &[String], chars_max: usize) -> String {
    let mut room = chars_max;
    let mut keep = 0;
    for line in lines.iter().rev() {
        let chars = line.chars().count() + 1;
        if chars > room {
            break;
        }
        room -= chars;
        keep += 1;
    }
    let dropped = lines.len() - keep;
    let mut text = String::new();
    if dropped > 0 {
        let _ = writeln!(text, "({dropped} older lines left out)");
    }
    for line in lines.iter().skip(dropped) {
        text.push_str(line);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// Shortens large results that an answer has followed already.
fn prune(tail: &[Entry]) -> Vec<PrunedResult> {
    let answered = tail.iter().rposition(|entry| matches!(entry.body, Body::Assistant { .. })).unwrap_or(0);
    tail.iter().take(answered).filter_map(shortened).map(|(_, pruned)| pruned).collect()
}

/// Large results outside the protected tail, with the tokens that shortening each would save.
pub fn prunable(view: &[Entry], tail: usize) -> Vec<(u64, PrunedResult)> {
    view.iter().take(view.len().saturating_sub(tail)).filter_map(shortened).collect()
}

fn shortened(entry: &Entry) -> Option<(u64, PrunedResult)> {
    let Body::Result { call, shown, .. } = &entry.body else {
        return None;
    };
    let bytes = shown.bytes();
    let short = format!("[{bytes} bytes of output, left out]");
    let saved = bytes.saturating_sub(short.len() as u64) / 4;
    (bytes > RESULT_BYTES_MAX).then_some((saved, PrunedResult { call: *call, shown: short }))
}
