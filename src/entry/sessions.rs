//! `herm sessions`: which conversations there are, and what was said in one.

use clap::{Args, Subcommand};
use herm_replay::inspect::session_named;
use herm_replay::projections::messages::{Role, calls, said, text_of};
use herm_replay::projections::sessions::{Activity, SessionRow};
use herm_schema::{Recorded, StreamPos};
use serde_json::json;

use super::chat::lines::cut;
use super::time::Clockface;
use super::{Exit, Failure, Out, Start, store};

/// Cells of a title in the list.
const TITLE_COLUMNS: usize = 60;
/// Lines of a tool's result that are shown without `--full`.
const TOOL_LINES: usize = 6;
/// Cells of such a line.
const TOOL_COLUMNS: usize = 120;

/// List conversations and read them.
#[derive(Args, Debug)]
pub struct Sessions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List the conversations, the last active one first.
    #[command(after_help = "\
Examples:
  herm sessions list
  herm sessions list --limit 100
  herm sessions list --json")]
    List {
        /// So many at most; 0 for all.
        #[arg(long, default_value_t = 20, value_name = "COUNT")]
        limit: usize,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show what was said in a conversation.
    #[command(after_help = "\
Examples:
  herm sessions show last
  herm sessions show 20261130-2010 --full
  herm sessions show last --json")]
    Show {
        /// Its id, the beginning of it, or `last`.
        session: String,
        /// The results of tools whole.
        #[arg(long)]
        full: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &Sessions, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List { limit, json } => list(*limit, *json, start, out)?,
        Action::Show { session, full, json } => show(session, *full, *json, start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn list(limit: usize, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let views = store::views(store::log(&start.home)?, &start.home);
    let rows = views.sessions()?;
    let limit = if limit == 0 { rows.len() } else { limit };
    let clock = Clockface::of(start);
    for row in rows.iter().take(limit) {
        if json { out.json(row)? } else { out.line(&listed(row, &clock))? }
    }
    let left = rows.len().saturating_sub(limit);
    if left > 0 && !json {
        eprintln!("{left} more: herm sessions list --limit 0");
    }
    Ok(())
}

fn listed(row: &SessionRow, clock: &Clockface) -> String {
    let activity = match row.activity {
        Activity::Idle => "idle",
        Activity::Running => "running",
        Activity::Waiting => "waiting",
        Activity::Ended => "ended",
    };
    let title = if row.title.is_empty() { "(nothing said)" } else { &row.title };
    format!(
        "{}  {}  {activity:7}  {:4} messages  {}",
        row.id,
        clock.minute(row.active_at),
        row.messages,
        cut(title, TITLE_COLUMNS)
    )
}

fn show(name: &str, full: bool, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let log = store::log(&start.home)?;
    let session = session_named(log.as_ref(), name)
        .map_err(|error| Failure::new(Exit::Failed, error).hint("herm sessions list"))?;
    let clock = Clockface::of(start);
    for recorded in log.read_stream(session.stream(), StreamPos(1)) {
        let recorded = recorded?;
        let Some((role, text)) = said(&recorded.event) else { continue };
        let text = text_of(log.as_ref(), &text)?;
        if json {
            out.json(&message(&recorded, role, &text))?;
        } else {
            out.line(&shown(&recorded, role, &text, full, &clock))?;
        }
    }
    Ok(())
}

fn message(recorded: &Recorded, role: Role, text: &str) -> serde_json::Value {
    json!({
        "position": recorded.envelope.position,
        "at": recorded.envelope.recorded_at,
        "role": role,
        "text": text,
        "calls": calls(&recorded.event),
    })
}

fn shown(recorded: &Recorded, role: Role, text: &str, full: bool, clock: &Clockface) -> String {
    let calls = calls(&recorded.event);
    let called = if calls.is_empty() { String::new() } else { format!("  → {}", calls.join(", ")) };
    let head = format!("── {} ── {}{called}", role.word(), clock.minute(recorded.envelope.recorded_at));
    let body = if role == Role::Tool && !full { excerpt(text) } else { text.trim_end().to_owned() };
    if body.is_empty() { format!("{head}\n") } else { format!("{head}\n{body}\n") }
}

/// The first lines of a tool's result.
fn excerpt(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(TOOL_LINES).map(|line| cut(line, TOOL_COLUMNS)).collect();
    let left = text.lines().count().saturating_sub(TOOL_LINES);
    if left > 0 {
        lines.push(format!("… {left} more lines (--full)"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_cut_and_say_so() {
        let text: String = (1..=9).map(|n| format!("line {n}\n")).collect();
        let cut = excerpt(&text);
        assert!(cut.starts_with("line 1\nline 2\n"), "{cut}");
        assert!(cut.ends_with("line 6\n… 3 more lines (--full)"), "{cut}");
        assert_eq!(excerpt("short"), "short");
    }
}
