//! The `session_search` tool: one tool, four modes, told apart by what is given.
//!
//! | given | mode | answer |
//! |---|---|---|
//! | `query` | discover | sessions that fit, each with its best message in its surroundings |
//! | `session_id`, `around_message_id` | scroll | a window of messages around one |
//! | `session_id` | read | one session from its beginning and to its end |
//! | nothing | browse | the last active sessions |
//!
//! A message's id is its stream position. The result is bounded: messages are cut, all to the same
//! length, until it fits [`RESULT_BYTES_MAX`]. The messages that the asking session still sees are
//! left out; those that were compressed away in it are found like any other.

use herm_schema::{Event, Micros, SessionId, StreamPos};
use serde_json::{Map, Value, json};

use super::find::{Asked, Hit, Order};
use super::messages::{self, Role};
use super::query::Query;
use super::sessions::SessionRow;
use super::tokenizer::Words;
use super::{Error, Views};

/// Size of a result in bytes, at most.
pub const RESULT_BYTES_MAX: usize = 24 << 10;
/// Lengths in characters that messages are cut to, tried in this order.
const MESSAGE_CHARS: [usize; 7] = [2_000, 1_000, 500, 250, 120, 60, 20];
/// Sessions in an answer, unless told otherwise, and at most.
const LIMIT: u64 = 3;
const LIMIT_MAX: u64 = 10;
/// Messages on each side, unless told otherwise, and at most.
const WINDOW: u64 = 5;
const WINDOW_MAX: u64 = 20;
/// Messages from each end of a session that show what it was about.
const BOOKEND: usize = 3;
/// Messages from each end of a session that is read.
const READ_HEAD: usize = 20;
const READ_TAIL: usize = 10;
/// Messages that are looked at to find that many sessions; more where the first are of few.
const HITS_MAX: [usize; 2] = [60, 1_000];

struct Refusal(String);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error.to_string())
    }
}

impl From<crate::log::Error> for Refusal {
    fn from(error: crate::log::Error) -> Self {
        Self(error.to_string())
    }
}

/// Whether whoever asks may know of a session. One that they may not is one that there is not.
pub type Visible<'a> = &'a dyn Fn(&SessionRow) -> bool;

/// The result for these arguments; what cannot be answered says why.
pub fn answer(views: &Views, arguments: &str, current: Option<SessionId>, visible: Visible<'_>) -> String {
    let answered = read_arguments(arguments).and_then(|arguments| {
        let mut last = None;
        for chars in MESSAGE_CHARS {
            let text =
                Answering { views, arguments: &arguments, current, visible, chars }.answer()?.to_string();
            let fits = text.len() <= RESULT_BYTES_MAX;
            last = Some(text);
            if fits {
                break;
            }
        }
        Ok(last.unwrap_or_default())
    });
    answered.unwrap_or_else(|Refusal(error)| json!({ "success": false, "error": error }).to_string())
}

fn read_arguments(arguments: &str) -> Result<Map<String, Value>, Refusal> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Refusal("the arguments are not a JSON object".to_owned())),
        Err(error) => Err(Refusal(format!("the arguments are not JSON: {error}"))),
    }
}

struct Answering<'a> {
    views: &'a Views,
    arguments: &'a Map<String, Value>,
    current: Option<SessionId>,
    visible: Visible<'a>,
    /// What messages are cut to.
    chars: usize,
}

impl Answering<'_> {
    fn answer(&self) -> Result<Value, Refusal> {
        let query = self.text("query").filter(|query| !query.trim().is_empty());
        let session = self.text("session_id").map(|id| self.session(&id)).transpose()?;
        let around = self.number("around_message_id")?;
        match (query, session, around) {
            (_, Some(row), Some(around)) => self.scroll(&row, StreamPos(around)),
            (_, None, Some(_)) => {
                Err(Refusal("`around_message_id` needs the `session_id` it belongs to".to_owned()))
            }
            (Some(query), session, None) => self.discover(&query, session.map(|row| row.id)),
            (None, Some(row), None) => self.read(&row),
            (None, None, None) => self.browse(),
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.arguments.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// Models write numbers as strings, too.
    fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let found = match self.arguments.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Number(number)) => {
                number.as_u64().or_else(|| number.as_f64().map(|number| number.max(0.0) as u64))
            }
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        found.map(Some).ok_or_else(|| Refusal(format!("`{name}` is not a whole number")))
    }

    fn limit(&self) -> Result<usize, Refusal> {
        Ok(self.number("limit")?.unwrap_or(LIMIT).clamp(1, LIMIT_MAX) as usize)
    }

    fn window(&self) -> Result<usize, Refusal> {
        Ok(self.number("window")?.unwrap_or(WINDOW).clamp(1, WINDOW_MAX) as usize)
    }

    fn roles(&self) -> Result<Vec<Role>, Refusal> {
        let Some(filter) = self.text("role_filter") else {
            return Ok(Vec::new());
        };
        let named = |word: &str| {
            let unknown =
                || Refusal(format!("`{word}` is not a role; there are `user`, `assistant`, `tool`"));
            Role::named(&word.to_lowercase()).ok_or_else(unknown)
        };
        filter.split(',').map(str::trim).filter(|word| !word.is_empty()).map(named).collect()
    }

    fn order(&self) -> Result<Order, Refusal> {
        match self.text("sort").as_deref() {
            None => Ok(Order::Relevance),
            Some("newest") => Ok(Order::Newest),
            Some("oldest") => Ok(Order::Oldest),
            Some(other) => {
                Err(Refusal(format!("`{other}` is not a sort order; there are `newest`, `oldest`")))
            }
        }
    }

    fn session(&self, id: &str) -> Result<SessionRow, Refusal> {
        let parsed: SessionId =
            id.parse().map_err(|error: herm_schema::ids::BadId| Refusal(error.to_string()))?;
        let found = self.views.session(parsed)?.filter(|row| (self.visible)(row));
        found.ok_or_else(|| Refusal(format!("session `{id}` is not in the log")))
    }

    fn discover(&self, text: &str, only: Option<SessionId>) -> Result<Value, Refusal> {
        let query = Query::parse(&mut Words::default(), text);
        let (roles, order, limit) = (self.roles()?, self.order()?, self.limit()?);
        // Unless asked for, what tools printed is only looked at when nobody said it.
        let rounds = match roles.is_empty() {
            true => vec![vec![Role::User, Role::Assistant], Vec::new()],
            false => vec![roles],
        };
        let profile = self.text("profile");
        let mut results: Vec<Value> = Vec::new();
        for roles in rounds {
            for hits_max in HITS_MAX {
                let hits = self.views.find(&Asked { query: &query, roles: &roles, order, hits_max })?;
                let all = hits.len() < hits_max;
                let chosen = self.by_session(hits, only, profile.as_deref(), limit)?;
                results = chosen
                    .iter()
                    .map(|(row, hit)| self.result(row, hit, &query))
                    .collect::<Result<_, _>>()?;
                if all || results.len() == limit {
                    break;
                }
            }
            if !results.is_empty() {
                break;
            }
        }
        Ok(json!({
            "success": true,
            "mode": "discover",
            "query": text,
            "count": results.len(),
            "results": results,
            "sessions_searched": self.views.sessions()?.iter().filter(|row| (self.visible)(row)).count(),
        }))
    }

    /// The best hit of each session, in the order of the hits.
    fn by_session(
        &self,
        hits: Vec<Hit>,
        only: Option<SessionId>,
        profile: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(SessionRow, Hit)>, Refusal> {
        let hidden = self.current.map(|current| self.compressed_until(current)).transpose()?;
        let mut seen = Vec::new();
        let mut results = Vec::new();
        for hit in hits {
            if seen.contains(&hit.session) || only.is_some_and(|only| only != hit.session) {
                continue;
            }
            let in_sight =
                self.current == Some(hit.session) && hidden.is_none_or(|until| hit.message > until);
            if in_sight && only.is_none() {
                continue;
            }
            let Some(row) = self.views.session(hit.session)? else {
                continue;
            };
            if profile.is_some_and(|profile| profile != row.profile) || !(self.visible)(&row) {
                continue;
            }
            seen.push(hit.session);
            results.push((row, hit));
            if results.len() == limit {
                break;
            }
        }
        Ok(results)
    }

    /// The last message of a session that a summary stands for; zero if none does.
    fn compressed_until(&self, session: SessionId) -> Result<StreamPos, Refusal> {
        let mut until = StreamPos(0);
        for recorded in self.views.log().read_stream(session.stream(), StreamPos(1)) {
            if let Event::CompressionFinished(finished) = recorded?.event {
                until = until.max(finished.last);
            }
        }
        Ok(until)
    }

    fn result(&self, row: &SessionRow, hit: &Hit, query: &Query) -> Result<Value, Refusal> {
        let spoken = self.spoken(row.id)?;
        let at = spoken.iter().position(|at| *at == hit.message).unwrap_or(0);
        let (around, before, after) = window(&spoken, at, self.window()?);
        let head = spoken.get(..BOOKEND.min(spoken.len())).unwrap_or_default();
        let tail = spoken.get(spoken.len().saturating_sub(BOOKEND)..).unwrap_or_default();
        let apart =
            |ends: &[StreamPos]| ends.iter().filter(|at| !around.contains(at)).copied().collect::<Vec<_>>();
        let mut result = described(row);
        let rest = json!({
            "matched_role": hit.role,
            "match_message_id": hit.message,
            "snippet": self.views.snippet(hit, query)?,
            "bookend_start": self.shown(row.id, &apart(head))?,
            "messages": self.shown(row.id, around)?,
            "bookend_end": self.shown(row.id, &apart(tail))?,
            "messages_before": before,
            "messages_after": after,
            "parent_session_id": Value::Null,
        });
        merge(&mut result, rest);
        Ok(result)
    }

    fn scroll(&self, row: &SessionRow, around: StreamPos) -> Result<Value, Refusal> {
        let roles = self.roles()?;
        let spoken = self.spoken_by(row.id, &roles)?;
        // An id that is no message's stands for the next message.
        let Some(at) = spoken.iter().position(|at| *at >= around) else {
            return Err(Refusal(format!("session `{}` has no message at or after `{around}`", row.id)));
        };
        let (around, before, after) = window(&spoken, at, self.window()?);
        let mut result = described(row);
        let rest = json!({
            "success": true,
            "mode": "scroll",
            "messages": self.shown(row.id, around)?,
            "messages_before": before,
            "messages_after": after,
        });
        merge(&mut result, rest);
        Ok(result)
    }

    fn read(&self, row: &SessionRow) -> Result<Value, Refusal> {
        let spoken = self.spoken_by(row.id, &self.roles()?)?;
        let (head, tail) = match spoken.len() <= READ_HEAD + READ_TAIL {
            true => (spoken.as_slice(), [].as_slice()),
            false => (
                spoken.get(..READ_HEAD).unwrap_or_default(),
                spoken.get(spoken.len().saturating_sub(READ_TAIL)..).unwrap_or_default(),
            ),
        };
        let left_out = spoken.len() - head.len() - tail.len();
        let mut result = described(row);
        let rest = json!({
            "success": true,
            "mode": "read",
            "message_count": spoken.len(),
            "messages": self.shown(row.id, head)?,
            "left_out": left_out,
            "messages_end": self.shown(row.id, tail)?,
        });
        merge(&mut result, rest);
        Ok(result)
    }

    fn browse(&self) -> Result<Value, Refusal> {
        let profile = self.text("profile");
        let mut sessions = self.views.sessions()?;
        sessions.retain(|row| (self.visible)(row));
        let mut wanted: Vec<&SessionRow> = sessions
            .iter()
            .filter(|row| self.current != Some(row.id))
            .filter(|row| profile.as_deref().is_none_or(|profile| profile == row.profile))
            .collect();
        if self.order()? == Order::Oldest {
            wanted.reverse();
        }
        let results: Vec<Value> = wanted.into_iter().take(self.limit()?).map(listed).collect();
        Ok(json!({
            "success": true,
            "mode": "browse",
            "count": results.len(),
            "results": results,
            "sessions_searched": sessions.len(),
        }))
    }

    fn spoken(&self, session: SessionId) -> Result<Vec<StreamPos>, Refusal> {
        self.spoken_by(session, &[])
    }

    /// Which events of a session are messages.
    fn spoken_by(&self, session: SessionId, roles: &[Role]) -> Result<Vec<StreamPos>, Refusal> {
        let mut spoken = Vec::new();
        for recorded in self.views.log().read_stream(session.stream(), StreamPos(1)) {
            let recorded = recorded?;
            let role = messages::said(&recorded.event).map(|(role, _)| role);
            if role.is_some_and(|role| super::search::is_wanted(role, roles)) {
                spoken.push(recorded.envelope.stream_pos);
            }
        }
        Ok(spoken)
    }

    fn shown(&self, session: SessionId, messages: &[StreamPos]) -> Result<Vec<Value>, Refusal> {
        messages.iter().filter_map(|at| self.message(session, *at).transpose()).collect()
    }

    fn message(&self, session: SessionId, at: StreamPos) -> Result<Option<Value>, Refusal> {
        let log = self.views.log();
        let Some(recorded) = log.read_stream(session.stream(), at).next().transpose()? else {
            return Ok(None);
        };
        let Some((role, text)) = messages::said(&recorded.event) else {
            return Ok(None);
        };
        // A text whose blob is lost is said to be; the rest of the answer stands.
        let text = messages::text_of(log.as_ref(), &text).unwrap_or_else(|error| format!("({error})"));
        let mut message = json!({
            "id": at,
            "role": role,
            "content": messages::cut(&text, self.chars),
            "timestamp": moment(recorded.envelope.recorded_at),
        });
        let calls = messages::calls(&recorded.event);
        if !calls.is_empty() {
            merge(&mut message, json!({ "tool_calls": calls }));
        }
        Ok(Some(message))
    }
}

/// The messages up to `width` away from the one at `at`, and how many there are before and after.
fn window(spoken: &[StreamPos], at: usize, width: usize) -> (&[StreamPos], usize, usize) {
    let from = at.saturating_sub(width);
    let to = at.saturating_add(width).saturating_add(1).min(spoken.len());
    (spoken.get(from..to).unwrap_or_default(), from, spoken.len().saturating_sub(to))
}

fn described(row: &SessionRow) -> Value {
    json!({
        "session_id": row.id.to_string(),
        "when": moment(row.opened_at),
        "source": row.platform,
        "model": row.model,
        "title": row.title,
    })
}

fn listed(row: &SessionRow) -> Value {
    let mut listed = described(row);
    let rest = json!({
        "last_active": moment(row.active_at),
        "message_count": row.messages,
        "profile": row.profile,
        "state": row.activity,
        "parent_session_id": Value::Null,
    });
    merge(&mut listed, rest);
    listed
}

/// Adds the fields of `more`; where both have one, that of `more` holds.
fn merge(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

/// A moment in ISO form, UTC.
pub(crate) fn moment(at: Micros) -> String {
    jiff::Timestamp::from_microsecond(at.0).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}
