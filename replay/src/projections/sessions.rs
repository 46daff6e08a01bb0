//! Sessions: the list of them, and snapshots of their states.
//!
//! A snapshot is a cache with a digest: it is taken every [`SNAPSHOT_EVERY_EVENTS`] events, only the newest
//! is kept, and one that does not fit the log is as good as none.

use herm_schema::events::ExitReason;
use herm_schema::{Digest, Event, Micros, Position, Recorded, SessionId, StreamId, StreamPos};
use serde::{Deserialize, Serialize};

use super::keyed::{Fold, Rows};
use super::{Error, messages};
use crate::log::Log;
use crate::reducer::state::STATE_VERSION;
use crate::reducer::{SessionState, evolve};

/// Events between snapshots; as many are folded again, at most, when a session is taken up.
pub const SNAPSHOT_EVERY_EVENTS: u64 = 64;
/// Largest state that is read back, in bytes; a damaged length is not believed.
const STATE_BYTES_MAX: usize = 256 << 20;
/// Length of a title in characters, at most.
const TITLE_CHARS_MAX: usize = 60;

/// What a session is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activity {
    #[default]
    Idle,
    /// A turn is under way.
    Running,
    /// A turn waits for a person.
    Waiting,
    Ended,
}

/// A session in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    pub id: SessionId,
    /// What a model or a person called it; the first message, cut, until then; empty before it.
    pub title: String,
    pub profile: String,
    pub platform: String,
    pub chat: String,
    pub thread: Option<String>,
    /// By which messages find it; empty where none look for it.
    pub key: String,
    pub cwd: String,
    /// The model that its next call goes to.
    pub model: String,
    pub provider: String,
    pub opened_at: Micros,
    pub active_at: Micros,
    /// Said by a person or the model.
    pub messages: u64,
    pub turns: u64,
    pub tool_calls: u64,
    pub activity: Activity,
    /// How the last turn ended.
    pub exit: Option<ExitReason>,
    pub last: StreamPos,
    pub last_position: Position,
}

/// Folds the list.
pub struct SessionList;

impl Fold for SessionList {
    const NAME: &'static str = "sessions";
    const SCHEMA: u32 = 3;

    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, _: &dyn Log) -> Result<(), Error> {
        let Some(id) = SessionId::of_stream(recorded.envelope.stream) else {
            return Ok(());
        };
        let key = key_of(id.stream());
        if let Event::SessionOpened(opened) = &recorded.event {
            let row = SessionRow {
                id,
                title: String::new(),
                profile: opened.profile.clone(),
                platform: opened.chat.platform.clone(),
                chat: opened.chat.chat.clone(),
                thread: opened.chat.thread.clone(),
                key: opened.key.clone(),
                cwd: opened.cwd.clone(),
                model: String::new(),
                provider: String::new(),
                opened_at: recorded.envelope.recorded_at,
                active_at: recorded.envelope.recorded_at,
                messages: 0,
                turns: 0,
                tool_calls: 0,
                activity: Activity::Idle,
                exit: None,
                last: recorded.envelope.stream_pos,
                last_position: recorded.envelope.position,
            };
            return rows.put(key, &row);
        }
        rows.modify(&key, |row: &mut SessionRow| take_in(row, recorded))
    }
}

fn take_in(row: &mut SessionRow, recorded: &Recorded) {
    row.active_at = recorded.envelope.recorded_at;
    row.last = recorded.envelope.stream_pos;
    row.last_position = recorded.envelope.position;
    match &recorded.event {
        Event::SessionConfigured(configured) => {
            row.model.clone_from(&configured.policy.model.model);
            row.provider.clone_from(&configured.policy.model.provider);
        }
        Event::MessageReceived(message) => {
            row.messages += 1;
            if row.title.is_empty() {
                row.title = title_of(&message.text);
            }
        }
        Event::SessionTitled(titled) => row.title = title_of(&titled.title),
        Event::SteerReceived(_) | Event::RedirectReceived(_) | Event::ModelCallSucceeded(_) => {
            row.messages += 1
        }
        Event::ToolCallStarted(_) => row.tool_calls += 1,
        Event::TurnStarted(_) => {
            row.turns += 1;
            row.activity = Activity::Running;
        }
        Event::ApprovalRequested(_) => row.activity = Activity::Waiting,
        Event::ApprovalDecided(_) => row.activity = Activity::Running,
        Event::TurnEnded(ended) => {
            row.exit = Some(ended.reason);
            row.activity = Activity::Idle;
        }
        Event::SessionEnded(_) => row.activity = Activity::Ended,
        _ => {}
    }
}

/// A message as a title: its words on one line, cut by characters.
pub fn title_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(TITLE_CHARS_MAX).collect();
    messages::cut(&words.join(" "), TITLE_CHARS_MAX)
}

/// Every session, the last active one first.
///
/// # Errors
/// Those of the store.
pub fn list(rows: &Rows<'_>) -> Result<Vec<SessionRow>, Error> {
    let mut sessions: Vec<SessionRow> = rows.rows(b"s")?.into_iter().map(|(_, row)| row).collect();
    sessions.sort_by_key(|row| std::cmp::Reverse(row.last_position));
    Ok(sessions)
}

/// One session; `None` if it is not in the log.
///
/// # Errors
/// Those of the store.
pub fn get(rows: &Rows<'_>, id: SessionId) -> Result<Option<SessionRow>, Error> {
    rows.get(&key_of(id.stream()))
}

fn key_of(stream: StreamId) -> Vec<u8> {
    [b"s".as_slice(), stream.bytes()].concat()
}

/// Folds the snapshots.
pub struct Snapshots;

/// A state that was, for not having to fold it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`STATE_VERSION`] at the time.
    pub version: u32,
    /// The last event in it.
    pub stream_pos: StreamPos,
    /// Of the stream up to that event.
    pub chain: Digest,
    /// Of the state.
    pub digest: Digest,
    /// The state, in bincode: decoded only when the rest fits.
    state: Vec<u8>,
}

impl Fold for Snapshots {
    const NAME: &'static str = "snapshots";
    const SCHEMA: u32 = STATE_VERSION;

    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, log: &dyn Log) -> Result<(), Error> {
        let stream = recorded.envelope.stream;
        if SessionId::of_stream(stream).is_none() || !is_due(recorded, log)? {
            return Ok(());
        }
        let until = recorded.envelope.stream_pos;
        let state = state_at(log, stream, rows.get(&key_of(stream))?, until)?;
        let bytes = bincode::serde::encode_to_vec(&state, bincode::config::standard())
            .map_err(|error| Error::store(Self::NAME, "encode a state", error))?;
        let snapshot = Snapshot {
            version: STATE_VERSION,
            stream_pos: until,
            chain: recorded.envelope.chain,
            digest: state.digest(),
            state: bytes,
        };
        rows.put(key_of(stream), &snapshot)
    }
}

/// Whether a snapshot is taken after this event. One that a later event of the log would replace
/// anyhow is left out, so that building anew does not take them all.
fn is_due(recorded: &Recorded, log: &dyn Log) -> Result<bool, Error> {
    let at = recorded.envelope.stream_pos.0;
    if !at.is_multiple_of(SNAPSHOT_EVERY_EVENTS) {
        return Ok(false);
    }
    let head = log.head(recorded.envelope.stream)?.map_or(0, |head| head.stream_pos.0);
    Ok(head.saturating_sub(at) < SNAPSHOT_EVERY_EVENTS)
}

/// The newest snapshot of a session, as it is.
///
/// # Errors
/// Those of the store.
pub fn snapshot(rows: &Rows<'_>, id: SessionId) -> Result<Option<Snapshot>, Error> {
    rows.get(&key_of(id.stream()))
}

/// The state of a stream after its event `until`: that of `snapshot` and what follows, or all of it.
///
/// # Errors
/// Those of the log.
pub fn state_at(
    log: &dyn Log,
    stream: StreamId,
    snapshot: Option<Snapshot>,
    until: StreamPos,
) -> Result<SessionState, Error> {
    let started = match snapshot {
        Some(snapshot) if snapshot.stream_pos <= until => restored(log, stream, &snapshot)?,
        _ => None,
    };
    let (mut state, from) = started.unwrap_or_default();
    for recorded in log.read_stream(stream, from.next()) {
        let recorded = recorded?;
        if recorded.envelope.stream_pos > until {
            break;
        }
        evolve(&mut state, &recorded);
    }
    Ok(state)
}

/// What a snapshot holds, if it is of this stream of this log, of this herm's shape, and whole.
fn restored(
    log: &dyn Log,
    stream: StreamId,
    snapshot: &Snapshot,
) -> Result<Option<(SessionState, StreamPos)>, Error> {
    let Some(state) = decoded(snapshot) else {
        return Ok(None);
    };
    match log.read_stream(stream, snapshot.stream_pos).next().transpose()? {
        Some(last) if last.envelope.chain == snapshot.chain => Ok(Some((state, snapshot.stream_pos))),
        _ => Ok(None),
    }
}

fn decoded(snapshot: &Snapshot) -> Option<SessionState> {
    if snapshot.version != STATE_VERSION {
        return None;
    }
    let configuration = bincode::config::standard().with_limit::<STATE_BYTES_MAX>();
    let decoded = bincode::serde::decode_from_slice(&snapshot.state, configuration);
    let (state, _): (SessionState, usize) = decoded.ok()?;
    (state.digest() == snapshot.digest).then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_and_is_cut_by_characters() {
        assert_eq!(title_of("  what is\n\tin notes.md? "), "what is in notes.md?");
        let long = "é".repeat(200);
        assert_eq!(title_of(&long), format!("{}…", "é".repeat(TITLE_CHARS_MAX)));
        assert_eq!(title_of(""), "");
    }
}
