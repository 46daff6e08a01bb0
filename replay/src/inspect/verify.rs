//! Whether a log means today what it meant when it was written.
//!
//! The log itself checks its bytes as it is read. Here every event is decoded, every session folded,
//! every request rebuilt and compared with its recorded digest, every snapshot compared with the fold.

use std::collections::BTreeMap;

use herm_schema::{Event, Micros, Position, Recorded, SessionId, StreamId, StreamPos};
use serde::Serialize;

use crate::log::{Error, Log};
use crate::projections::Views;
use crate::reducer::{SessionState, evolve, transcript};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where in the log.
    pub position: Position,
    pub session: Option<SessionId>,
    pub what: &'static str,
    pub detail: String,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    pub events: u64,
    pub sessions: u64,
    pub requests: u64,
    pub states: u64,
    pub snapshots: u64,
    pub problems: u64,
}

/// Checks a log, or one session of it; each problem is handed over as it is found. With `views`
/// their snapshots are compared as well.
///
/// # Errors
/// Those of `found` only: what is wrong with the log is a problem, not an error.
pub fn verify<E>(
    log: &dyn Log,
    only: Option<SessionId>,
    views: Option<&Views>,
    found: &mut dyn FnMut(Problem) -> Result<(), E>,
) -> Result<Verified, E> {
    let mut verified = Verified::default();
    let mut report = |verified: &mut Verified, problem| {
        verified.problems += 1;
        found(problem)
    };
    let sessions = match only {
        Some(session) => vec![session],
        None => {
            let (sessions, problems) = read_through(log, &mut verified);
            problems.into_iter().try_for_each(|problem| report(&mut verified, problem))?;
            sessions
        }
    };
    for session in sessions {
        for problem in fold_through(log, session, views, &mut verified) {
            report(&mut verified, problem)?;
        }
    }
    Ok(verified)
}

/// Reads everything once, for order.
fn read_through(log: &dyn Log, verified: &mut Verified) -> (Vec<SessionId>, Vec<Problem>) {
    let mut heads: BTreeMap<StreamId, (StreamPos, Micros)> = BTreeMap::new();
    let (mut sessions, mut problems) = (Vec::new(), Vec::new());
    let mut last = Position(0);
    for recorded in log.read_all(Position(1)) {
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                problems.push(unreadable(last.next(), None, &error));
                break;
            }
        };
        verified.events += 1;
        let envelope = &recorded.envelope;
        let session = SessionId::of_stream(envelope.stream);
        let mut wrong =
            |what, detail| problems.push(Problem { position: envelope.position, session, what, detail });
        if envelope.position != last.next() {
            wrong("gap", format!("follows position `{last}`"));
        }
        let before = heads.insert(envelope.stream, (envelope.stream_pos, envelope.recorded_at));
        let (pos, at) = before.unwrap_or((StreamPos(0), Micros(i64::MIN)));
        if envelope.stream_pos != pos.next() {
            wrong("gap in a stream", format!("stream position `{}` follows `{pos}`", envelope.stream_pos));
        }
        if envelope.recorded_at < at {
            wrong("time runs backwards", format!("`{}` µs after `{}` µs", envelope.recorded_at.0, at.0));
        }
        if before.is_none() {
            sessions.extend(session);
        }
        last = envelope.position;
    }
    (sessions, problems)
}

fn unreadable(position: Position, session: Option<SessionId>, error: &Error) -> Problem {
    Problem { position, session, what: "unreadable", detail: error.to_string() }
}

/// Folds one session and compares what was recorded about its states.
fn fold_through(
    log: &dyn Log,
    session: SessionId,
    views: Option<&Views>,
    verified: &mut Verified,
) -> Vec<Problem> {
    verified.sessions += 1;
    let mut problems = Vec::new();
    let mut state = SessionState::default();
    let snapshot = views.and_then(|views| views.snapshot(session).ok().flatten());
    let mut last = Position(0);
    for recorded in log.read_stream(session.stream(), StreamPos(1)) {
        let recorded = match recorded {
            Ok(recorded) => recorded,
            Err(error) => {
                problems.push(unreadable(last, Some(session), &error));
                break;
            }
        };
        problems.extend(compare(&state, &recorded, session, verified));
        evolve(&mut state, &recorded);
        last = recorded.envelope.position;
        if let Some(snapshot) =
            snapshot.as_ref().filter(|taken| taken.stream_pos == recorded.envelope.stream_pos)
        {
            verified.snapshots += 1;
            if snapshot.digest != state.digest() {
                let detail = format!(
                    "`{}` is kept, the fold has `{}`",
                    snapshot.digest.short(),
                    state.digest().short()
                );
                problems.push(Problem { position: last, session: Some(session), what: "snapshot", detail });
            }
        }
    }
    problems
}

/// What an event says about the state before it.
fn compare(
    state: &SessionState,
    recorded: &Recorded,
    session: SessionId,
    verified: &mut Verified,
) -> Option<Problem> {
    let (what, said, is) = match &recorded.event {
        Event::ModelCallStarted(started) => {
            verified.requests += 1;
            (
                "request",
                started.request_digest,
                transcript::request(state, started.purpose, started.route).digest(),
            )
        }
        Event::SessionEnded(ended) => {
            verified.states += 1;
            ("state", ended.state?, state.digest())
        }
        _ => return None,
    };
    let detail = format!("`{}` was recorded, today it is `{}`", said.short(), is.short());
    let problem = Problem { position: recorded.envelope.position, session: Some(session), what, detail };
    (said != is).then_some(problem)
}
