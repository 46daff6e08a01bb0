//! The command line of the debugger, as `herm-replay` and `herm replay` share it.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use clap::{Subcommand, ValueEnum};
use herm_schema::{Position, SessionId, StreamPos};
use serde_json::json;

use super::lookup::{self, moment_named, session_named, state_after};
use super::timeline::{self, Chosen};
use super::{Report, diff, prompt, simulate, verify};
use crate::export;
use crate::log::Log;
use crate::projections::Views;
use crate::projections::messages::cut;

/// Length of a value in a difference, in characters.
const VALUE_CHARS_MAX: usize = 120;

/// What can be looked at. A SESSION is an identifier, the beginning of one, or `last`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check that every event decodes, and that states, requests and snapshots come out as recorded.
    #[command(after_help = "Example:\n  herm-replay verify\n  herm-replay verify --session last --json")]
    Verify {
        /// Only this session.
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
    },
    /// A line an event, of a session or of the whole log.
    #[command(after_help = "Example:\n  herm-replay timeline last\n  \
                            herm-replay timeline --since 2026-11-30 --event TurnEnded --event ModelCallFailed")]
    Timeline {
        #[arg(value_name = "SESSION")]
        session: Option<String>,
        /// Not before this day or time (UTC).
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only events of this name; may be given more than once.
        #[arg(long = "event", value_name = "NAME")]
        events: Vec<String>,
        /// At most so many.
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// One event with everything that is known of it, by its position in the log.
    #[command(after_help = "Example:\n  herm-replay show 45")]
    Show {
        #[arg(value_name = "POSITION")]
        position: u64,
    },
    /// The state of a session as JSON, now or after one of its events.
    #[command(after_help = "Example:\n  herm-replay state last\n  herm-replay state 20261130-2010 --at 12")]
    State {
        #[arg(value_name = "SESSION")]
        session: String,
        /// After the event at this place in the session (the second column of `timeline`).
        #[arg(long, value_name = "N")]
        at: Option<u64>,
    },
    /// What changed in the state of a session between two of its events.
    #[command(after_help = "Example:\n  herm-replay diff last 11 12")]
    Diff {
        #[arg(value_name = "SESSION")]
        session: String,
        /// Place in the session; zero is before its first event.
        #[arg(value_name = "N")]
        from: u64,
        #[arg(value_name = "M")]
        to: u64,
    },
    /// The request of a model call as the model saw it, and whether it still comes out the same.
    #[command(after_help = "Example:\n  herm-replay prompt last --call 2\n  \
                            herm-replay prompt last --call 2 --format openai > request.json")]
    Prompt {
        #[arg(value_name = "SESSION")]
        session: String,
        /// The how-manieth model call of the session.
        #[arg(long, value_name = "N")]
        call: u32,
        /// The how-manieth attempt at it; the last if not given.
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        #[arg(long, value_enum, default_value = "plain")]
        format: PromptFormat,
    },
    /// Put what happened to today's reducer, and list what it would decide otherwise.
    #[command(after_help = "Example:\n  herm-replay simulate\n  herm-replay simulate last --json")]
    Simulate {
        /// Only this session.
        #[arg(value_name = "SESSION")]
        session: Option<String>,
    },
    /// Write events or trajectories for other programs.
    #[command(subcommand)]
    Export(export::cli::Command),
}

/// How a request is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PromptFormat {
    /// Roles and texts.
    Plain,
    /// The body of a chat completion.
    Openai,
}

/// Whether everything was as recorded; the exit status says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Differs,
}

/// What is looked at.
pub struct Source {
    pub log: Arc<dyn Log>,
    /// Snapshots and the like, to be compared with the log; none if there are none.
    pub views: Option<Arc<Views>>,
}

/// Does what is asked. Data goes to `out`; with `json` it is one object a line.
///
/// # Errors
/// When what is named is not there, the log cannot be read, or `out` cannot be written.
pub fn run(command: Command, source: &Source, json: bool, out: &mut dyn Write) -> anyhow::Result<Verdict> {
    let log = source.log.as_ref();
    let named = |text: &str| session_named(log, text);
    let mut report = Report::new(out, json);
    let report = &mut report;
    match command {
        Command::Verify { session } => {
            let session = session.as_deref().map(named).transpose()?;
            verified(source, session, report)
        }
        Command::Timeline { session, since, events, limit } => {
            if let Some(unknown) = events.iter().find(|name| !timeline::is_event_name(name)) {
                anyhow::bail!("there is no event `{unknown}`");
            }
            let session = session.as_deref().map(named).transpose()?;
            let since = since.as_deref().map(moment_named).transpose()?;
            timeline::timeline(log, &Chosen { session, since, events, limit }, report)?;
            Ok(Verdict::Same)
        }
        Command::Show { position } => {
            timeline::show(log, Position(position), report)?;
            Ok(Verdict::Same)
        }
        Command::State { session, at } => state(log, named(&session)?, at, report),
        Command::Diff { session, from, to } => difference(log, named(&session)?, from, to, report),
        Command::Prompt { session, call, attempt, format } => {
            let prompt = prompt(log, named(&session)?, call, attempt)?;
            prompted(log, &prompt, format, report)
        }
        Command::Simulate { session } => {
            let session = session.as_deref().map(named).transpose()?;
            simulated(log, session, report)
        }
        Command::Export(command) => {
            export::cli::run(command, log, out)?;
            Ok(Verdict::Same)
        }
    }
}

fn verified(source: &Source, session: Option<SessionId>, report: &mut Report<'_>) -> anyhow::Result<Verdict> {
    let verified = verify(source.log.as_ref(), session, source.views.as_deref(), &mut |problem| {
        let text = || {
            let session = problem.session.map_or_else(String::new, |session| format!(" session {session}"));
            format!("position {}{session}: {}: {}", problem.position, problem.what, problem.detail)
        };
        report.line(text, &problem)
    })?;
    let text = || {
        format!(
            "{} events, {} sessions, {} requests, {} states, {} snapshots: {}",
            verified.events,
            verified.sessions,
            verified.requests,
            verified.states,
            verified.snapshots,
            match verified.problems {
                0 => "all as recorded".to_owned(),
                problems => format!("{problems} problems"),
            }
        )
    };
    report.line(text, &verified)?;
    Ok(verdict(verified.problems == 0))
}

fn verdict(same: bool) -> Verdict {
    if same { Verdict::Same } else { Verdict::Differs }
}

/// Fails for a place that the session does not have.
fn within(log: &dyn Log, session: SessionId, at: u64) -> anyhow::Result<StreamPos> {
    let last = log.head(session.stream())?.map_or(0, |head| head.stream_pos.0);
    match at <= last {
        true => Ok(StreamPos(at)),
        false => anyhow::bail!("session `{session}` has no event `{at}`; its last is `{last}`"),
    }
}

fn state(
    log: &dyn Log,
    session: SessionId,
    at: Option<u64>,
    report: &mut Report<'_>,
) -> anyhow::Result<Verdict> {
    let last = log.head(session.stream())?.map_or(0, |head| head.stream_pos.0);
    let at = within(log, session, at.unwrap_or(last))?;
    let state = state_after(log, session, at)?;
    let digest = state.digest();
    let object = json!({ "session": session, "at": at, "digest": digest, "state": state });
    match report.json {
        true => report.object(&object)?,
        false => {
            report.text(&format!("session {session} after event {at}, digest {digest}"))?;
            report.text(&serde_json::to_string_pretty(&state)?)?;
        }
    }
    Ok(Verdict::Same)
}

fn difference(
    log: &dyn Log,
    session: SessionId,
    from: u64,
    to: u64,
    report: &mut Report<'_>,
) -> anyhow::Result<Verdict> {
    let at = |at| {
        Ok::<_, anyhow::Error>(serde_json::to_value(state_after(log, session, within(log, session, at)?)?)?)
    };
    for (path, before, after) in diff::differences(&at(from)?, &at(to)?) {
        let shown = |value: &serde_json::Value| cut(&value.to_string(), VALUE_CHARS_MAX);
        let text = || match (&before, &after) {
            (Some(before), Some(after)) => format!("~ {path}: {} -> {}", shown(before), shown(after)),
            (Some(before), None) => format!("- {path}: {}", shown(before)),
            (None, after) => format!("+ {path}: {}", after.as_ref().map_or_else(String::new, shown)),
        };
        report.line(text, &diff::object(&path, before.as_ref(), after.as_ref()))?;
    }
    Ok(Verdict::Same)
}

fn prompted(
    log: &dyn Log,
    prompt: &super::Prompt,
    format: PromptFormat,
    report: &mut Report<'_>,
) -> anyhow::Result<Verdict> {
    match (report.json, format) {
        (true, _) => report.object(&prompt.object(log)?)?,
        (false, PromptFormat::Plain) => {
            report.text(&prompt.plain(log)?)?;
            report.text(&match prompt.equal {
                true => format!("digest {}, as recorded", prompt.rebuilt),
                false => format!("digest {}, but {} was recorded", prompt.rebuilt, prompt.recorded),
            })?;
        }
        (false, PromptFormat::Openai) => {
            let body = export::openai::body(log, &prompt.request)?;
            report.text(&serde_json::to_string_pretty(&body)?)?;
        }
    }
    Ok(verdict(prompt.equal))
}

fn simulated(log: &dyn Log, only: Option<SessionId>, report: &mut Report<'_>) -> anyhow::Result<Verdict> {
    let sessions: Vec<SessionId> = match only {
        Some(session) => vec![session],
        None => lookup::sessions(log).collect::<Result<_, _>>()?,
    };
    let (mut decisions, mut differ) = (0, 0);
    for session in &sessions {
        let (asked, found) = simulate(log, *session)?;
        decisions += asked;
        differ += found.len() as u64;
        for difference in found {
            let text = || {
                format!(
                    "position {} session {}: {}: {} became {}: {}",
                    difference.position,
                    difference.session,
                    difference.command,
                    difference.recorded.join("+"),
                    match difference.decided.is_empty() {
                        true => "nothing".to_owned(),
                        false => difference.decided.join("+"),
                    },
                    difference.detail
                )
            };
            report.line(text, &difference)?;
        }
    }
    let text = || format!("{} sessions, {decisions} decisions, {differ} differ", sessions.len());
    report.line(text, &json!({ "sessions": sessions.len(), "decisions": decisions, "differ": differ }))?;
    Ok(verdict(differ == 0))
}

/// The views of the home, if it has any, without writing to them.
pub fn views_of(log: &Arc<dyn Log>, index: &Path) -> Arc<Views> {
    Arc::new(Views::read_only(log.clone(), index.exists().then_some(index)))
}

/// Whether an error is that nobody reads what is written, which is no error.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(of)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}
