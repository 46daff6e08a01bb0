//! Events as lines, and one event whole.

use herm_schema::{Event, Micros, Position, Recorded, SessionId, StreamPos};
use serde_json::{Value, json};

use super::Report;
use super::describe::describe;
use crate::export::events;
use crate::log::{Log, Records};
use crate::projections::session_search::moment;

/// Which events are shown.
pub struct Chosen {
    pub session: Option<SessionId>,
    pub since: Option<Micros>,
    /// Only events whose name is one of these; all if empty.
    pub events: Vec<String>,
    pub limit: Option<usize>,
}

/// Writes a line an event.
///
/// # Errors
/// Those of the log and of the writer.
pub fn timeline(log: &dyn Log, chosen: &Chosen, report: &mut Report<'_>) -> anyhow::Result<()> {
    let records: Records<'_> = match chosen.session {
        Some(session) => log.read_stream(session.stream(), StreamPos(1)),
        None => log.read_all(Position(1)),
    };
    let mut shown = 0;
    for recorded in records {
        let recorded = recorded?;
        if !fits(&recorded, chosen) {
            continue;
        }
        if chosen.limit.is_some_and(|limit| shown >= limit) {
            break;
        }
        shown += 1;
        report.line(|| line(&recorded, chosen.session.is_none()), &object(&recorded))?;
    }
    Ok(())
}

fn fits(recorded: &Recorded, chosen: &Chosen) -> bool {
    let name = recorded.event.name();
    chosen.since.is_none_or(|since| recorded.envelope.recorded_at >= since)
        && (chosen.events.is_empty() || chosen.events.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)))
}

fn line(recorded: &Recorded, with_stream: bool) -> String {
    let envelope = &recorded.envelope;
    let salt: String = envelope.stream.to_string().chars().rev().take(6).collect();
    let stream: String = match with_stream {
        true => format!("{} ", salt.chars().rev().collect::<String>()),
        false => String::new(),
    };
    let turn = envelope.turn.map_or_else(|| "-".to_owned(), |turn| turn.to_string());
    format!(
        "{:>8}  {stream}{:>5}  {}  {:>3}  {:<19} {}",
        envelope.position.0,
        envelope.stream_pos.0,
        clock(envelope.recorded_at),
        turn,
        recorded.event.name(),
        describe(&recorded.event)
    )
}

/// A moment to the millisecond, always as wide.
fn clock(at: Micros) -> String {
    let zoned =
        jiff::Timestamp::from_microsecond(at.0).map(|at| at.to_zoned_datetime(jiff::tz::TimeZone::UTC));
    zoned.map_or_else(|_| format!("{:>23}", at.0), |at| at.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string())
}

fn object(recorded: &Recorded) -> Value {
    let envelope = &recorded.envelope;
    json!({
        "position": envelope.position,
        "stream": envelope.stream,
        "stream_pos": envelope.stream_pos,
        "time": moment(envelope.recorded_at),
        "turn": envelope.turn,
        "event": recorded.event.name(),
        "summary": describe(&recorded.event),
    })
}

/// Writes the event at `position` with everything that is known of it.
///
/// # Errors
/// When there is none, or the log cannot be read.
pub fn show(log: &dyn Log, position: Position, report: &mut Report<'_>) -> anyhow::Result<()> {
    let last = log.tail().last;
    let found = if position == Position(0) { None } else { log.read_all(position).next() };
    let recorded =
        found.ok_or_else(|| anyhow::anyhow!("no event at position `{position}`; the last is `{last}`"))??;
    let object = events::object(&recorded)?;
    if report.json {
        return Ok(report.object(&object)?);
    }
    for (name, value) in object.as_object().into_iter().flatten().filter(|(name, _)| *name != "payload") {
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        report.text(&format!("{name:<12} {value}"))?;
    }
    report.text(&format!("{:<12} {}", "time", moment(recorded.envelope.recorded_at)))?;
    let payload = object.get("payload").cloned().unwrap_or_default();
    report.text(&format!("payload      {}", serde_json::to_string_pretty(&payload)?))?;
    for cause in recorded.envelope.cause.into_iter().filter_map(|cause| log.read_all(cause).next()) {
        let cause: Recorded = cause?;
        report.text(&format!("caused by    {}", line(&cause, false).trim_start()))?;
    }
    Ok(())
}

/// Whether a name is that of an event.
pub fn is_event_name(name: &str) -> bool {
    Event::KINDS.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name))
}
