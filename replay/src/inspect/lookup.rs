//! Finds what a person names.

use herm_schema::{Event, Micros, Recorded, SessionId, StreamPos};

use crate::log::{Error, Log};
use crate::reducer::{SessionState, evolve};

/// Why a name names nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LookupError {
    #[error("no session begins with `{text}`")]
    NoSession { text: String },
    #[error("the log holds no session")]
    Empty,
    #[error("`{text}` could be {count} sessions, such as `{first}` and `{second}`")]
    Ambiguous { text: String, count: usize, first: SessionId, second: SessionId },
    #[error("`{text}` is neither a time like `2026-11-30T20:15:00Z` nor a day like `2026-11-30`")]
    Time { text: String },
    #[error("read the log: {source}")]
    Log {
        #[from]
        source: Error,
    },
}

/// The session that `text` names: whole, by its beginning, or `last` for the one opened last.
///
/// # Errors
/// When none or several do.
pub fn session_named(log: &dyn Log, text: &str) -> Result<SessionId, LookupError> {
    if let Ok(id) = text.parse::<SessionId>() {
        return match log.head(id.stream())? {
            Some(_) => Ok(id),
            None => Err(LookupError::NoSession { text: text.to_owned() }),
        };
    }
    let bare = text.strip_prefix("session-").unwrap_or(text);
    let mut found: Vec<SessionId> = Vec::new();
    for id in sessions(log) {
        let id = id?;
        match text {
            "last" => found = vec![id],
            _ if id.to_string().starts_with(bare) => found.push(id),
            _ => {}
        }
    }
    match found.as_slice() {
        [id] => Ok(*id),
        [] if text == "last" => Err(LookupError::Empty),
        [] => Err(LookupError::NoSession { text: text.to_owned() }),
        [first, second, ..] => Err(LookupError::Ambiguous {
            text: text.to_owned(),
            count: found.len(),
            first: *first,
            second: *second,
        }),
    }
}

/// Every session, in the order in which they were opened.
pub fn sessions(log: &dyn Log) -> impl Iterator<Item = Result<SessionId, Error>> + '_ {
    log.read_all(herm_schema::Position(1)).filter_map(|recorded| match recorded {
        Ok(Recorded { envelope, event: Event::SessionOpened(_) }) => {
            SessionId::of_stream(envelope.stream).map(Ok)
        }
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The state of a session after its event `until`, folded from the first.
///
/// # Errors
/// Those of the log.
pub fn state_after(log: &dyn Log, session: SessionId, until: StreamPos) -> Result<SessionState, Error> {
    let mut state = SessionState::default();
    for recorded in log.read_stream(session.stream(), StreamPos(1)) {
        let recorded = recorded?;
        if recorded.envelope.stream_pos > until {
            break;
        }
        evolve(&mut state, &recorded);
    }
    Ok(state)
}

/// A moment as a person writes it: a time, or the beginning of a day (UTC).
///
/// # Errors
/// When it is neither.
pub fn moment_named(text: &str) -> Result<Micros, LookupError> {
    let micros = |at: jiff::Timestamp| Micros(at.as_microsecond());
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Ok(micros(at));
    }
    let day = text.parse::<jiff::civil::Date>().ok();
    let zoned = day.and_then(|day| day.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok());
    zoned.map(|at| micros(at.timestamp())).ok_or_else(|| LookupError::Time { text: text.to_owned() })
}
