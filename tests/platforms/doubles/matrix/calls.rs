//! The calls of the client-server API that can be made, with the codes of its errors.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, Query, Request, State as With};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use herm::platforms::contract::{Fault, Who};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::super::door::Line;
use super::state::{State, Stored, place, user_id};
use super::{SERVER, Shared, TOKEN};

/// Largest request; a file of the longest length fits.
const REQUEST_BYTES_MAX: usize = 60_000_000;
/// Largest event.
const EVENT_BYTES_MAX: usize = 65_536;
/// What a server adds to the content of an event, about.
const EVENT_BYTES_OWN: usize = 1_000;

/// Why a call is refused: status, code, and when to come again.
pub struct Refusal(u16, &'static str, Option<u64>);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(status, errcode, retry_after_ms) = self;
        let mut body = json!({"errcode": errcode, "error": "the double says so"});
        if let Some(millis) = retry_after_ms {
            body["retry_after_ms"] = millis.into();
        }
        (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
    }
}

type Answer = Result<Value, Refusal>;

const FORBIDDEN: Refusal = Refusal(403, "M_FORBIDDEN", None);
const MISSING: Refusal = Refusal(404, "M_NOT_FOUND", None);
const UNKNOWN_TOKEN: Refusal = Refusal(401, "M_UNKNOWN_TOKEN", None);

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

fn decoded(part: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let [first, more @ ..] = rest {
        let hex = more.get(..2).filter(|_| *first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

struct Asked {
    method: Method,
    query: HashMap<String, String>,
    media_type: String,
    body: Bytes,
}

fn header(request: &Request, name: &str) -> String {
    let value = request.headers().get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

async fn answer(
    With(shared): With<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    Query(query): Query<HashMap<String, String>>,
    request: Request,
) -> Response {
    let (authorization, media_type) = (header(&request, "authorization"), header(&request, "content-type"));
    if authorization != format!("Bearer {TOKEN}") || shared.state().unauthorised {
        return UNKNOWN_TOKEN.into_response();
    }
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let Ok(body) = axum::body::to_bytes(request.into_body(), REQUEST_BYTES_MAX).await else {
        return Refusal(413, "M_TOO_LARGE", None).into_response();
    };
    let asked = Asked { method, query, media_type, body };
    let parts: Vec<String> = path.split('/').skip(1).map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let done = match parts.as_slice() {
        ["_matrix", "client", "v3", "sync"] => sync(&shared, &asked).await,
        ["_matrix", "client", "v3", "rooms", room_id, "send", "m.room.message", key] => {
            send(&shared, room_id, key, &asked, &line).await
        }
        ["_matrix", "client", "v1", "media", "download", SERVER, id] => {
            return download(&shared, id);
        }
        ["_matrix", rest @ ..] => other(&mut shared.state(), rest, &asked),
        _ => Err(Refusal(404, "M_UNRECOGNIZED", None)),
    };
    shared.changed.notify_waiters();
    match done {
        Ok(value) => Json(value).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

fn download(shared: &Shared, id: &str) -> Response {
    match shared.state().media.get(id) {
        Some(stored) => ([("content-type", stored.media_type.clone())], stored.bytes.clone()).into_response(),
        None => MISSING.into_response(),
    }
}

fn number(token: Option<&String>, sign: char) -> Option<usize> {
    token?.strip_prefix(sign)?.parse().ok()
}

async fn sync(shared: &Shared, asked: &Asked) -> Answer {
    let since = number(asked.query.get("since"), 's');
    let limit = {
        let mut state = shared.state();
        if asked.query.contains_key("since") && since.is_none_or(|since| since > state.stream.len()) {
            return Err(Refusal(400, "M_INVALID_PARAM", None));
        }
        state.syncs += 1;
        state.since_max = state.since_max.max(since.unwrap_or(0));
        let filter: Value = serde_json::from_str(asked.query.get("filter").map_or("{}", String::as_str))
            .map_err(|_| Refusal(400, "M_INVALID_PARAM", None))?;
        let limit = filter["room"]["timeline"]["limit"].as_u64().unwrap_or(10);
        usize::try_from(limit).unwrap().min(state.events_max)
    };
    let timeout: u64 = asked.query.get("timeout").and_then(|millis| millis.parse().ok()).unwrap_or(0);
    let end = Instant::now() + Duration::from_millis(timeout);
    loop {
        // Made before the look, so that nothing that happens between is missed.
        let mut changed = std::pin::pin!(shared.changed.notified());
        changed.as_mut().enable();
        {
            let state = shared.state();
            if state.unauthorised {
                return Err(UNKNOWN_TOKEN);
            }
            if let Some(news) = state.news(since, limit) {
                return Ok(news);
            }
            if Instant::now() >= end {
                return Ok(json!({"next_batch": format!("s{}", state.stream.len())}));
            }
        }
        // A time that has come is seen by the next look.
        let _ = timeout_at(end, changed).await;
    }
}

async fn send(shared: &Shared, room_id: &str, key: &str, asked: &Asked, line: &Line) -> Answer {
    let (done, fault) = {
        let mut state = shared.state();
        state.record.requests += 1;
        let fault = state.fault.take();
        let done = match fault {
            Some(Fault::RateLimited { after }) => {
                let millis = u64::try_from(after.as_millis()).unwrap();
                Err(Refusal(429, "M_LIMIT_EXCEEDED", Some(millis)))
            }
            Some(Fault::ServerError) => Err(Refusal(500, "M_UNKNOWN", None)),
            Some(Fault::Blocked) => Err(FORBIDDEN),
            Some(Fault::ChatGone) => Err(MISSING),
            _ => sent(&mut state, room_id, key, asked),
        };
        (done, fault)
    };
    shared.changed.notify_waiters();
    match fault {
        Some(Fault::CutBeforeAnswer) => line.cut(),
        Some(Fault::Delayed(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    done
}

fn is_in(state: &State, room_id: &str) -> Result<(), Refusal> {
    let is_in = state.rooms.get(room_id).is_some_and(|room| room.membership == "join");
    if is_in { Ok(()) } else { Err(FORBIDDEN) }
}

fn content(asked: &Asked) -> Result<Value, Refusal> {
    if asked.body.len() + EVENT_BYTES_OWN > EVENT_BYTES_MAX {
        return Err(Refusal(413, "M_TOO_LARGE", None));
    }
    serde_json::from_slice(&asked.body).map_err(|_| Refusal(400, "M_NOT_JSON", None))
}

fn sent(state: &mut State, room_id: &str, key: &str, asked: &Asked) -> Answer {
    is_in(state, room_id)?;
    let content = content(asked)?;
    let transaction = format!("{room_id} {key}");
    let id = match state.transactions.get(&transaction) {
        Some(id) => id.clone(),
        None => state.sent(room_id, &content),
    };
    state.transactions.insert(transaction, id.clone());
    Ok(json!({"event_id": id}))
}

fn other(state: &mut State, parts: &[&str], asked: &Asked) -> Answer {
    let (herm, method) = (user_id(Who::Herm), asked.method.as_str());
    match (method, parts) {
        ("GET", ["client", "v3", "account", "whoami"]) => Ok(json!({"user_id": herm, "device_id": "HERM"})),
        ("GET", ["client", "v3", "profile", _]) => Ok(json!({"displayname": "herm"})),
        ("GET", ["client", "v3", "user", user, data @ ..]) if *user == herm => {
            state.account_data.get(&data.join(" ")).cloned().ok_or(MISSING)
        }
        ("PUT", ["client", "v3", "user", user, data @ ..]) if *user == herm => {
            state.account_data.insert(data.join(" "), content(asked)?);
            Ok(json!({}))
        }
        ("POST", ["client", "v3", "join", room_id]) => match state.join(room_id) {
            true => Ok(json!({"room_id": room_id})),
            false => Err(MISSING),
        },
        ("POST", ["media", "v3", "upload"]) => {
            let id = format!("media{}", state.media.len());
            let stored = Stored { media_type: asked.media_type.clone(), bytes: asked.body.to_vec() };
            state.media.insert(id.clone(), stored);
            Ok(json!({"content_uri": format!("mxc://{SERVER}/{id}")}))
        }
        (_, ["client", "v3", "rooms", room_id, rest @ ..]) => {
            is_in(state, room_id)?;
            in_room(state, room_id, rest, asked)
        }
        _ => {
            state.problems.push(format!("{method} {}", parts.join("/")));
            Err(Refusal(404, "M_UNRECOGNIZED", None))
        }
    }
}

fn in_room(state: &mut State, room_id: &str, parts: &[&str], asked: &Asked) -> Answer {
    let (herm, method) = (user_id(Who::Herm), asked.method.as_str());
    match (method, parts) {
        ("GET", ["joined_members"]) => {
            let members = &state.rooms[room_id].members;
            let name =
                |id: &String| id.trim_start_matches('@').split(':').next().unwrap_or_default().to_owned();
            let joined = members.iter().map(|id| (id.clone(), json!({"display_name": name(id)})));
            Ok(json!({"joined": joined.collect::<serde_json::Map<_, _>>()}))
        }
        ("GET", ["state", "m.room.name"]) => {
            let name = state.rooms[room_id].name.as_ref();
            name.map(|name| json!({"name": name})).ok_or(MISSING)
        }
        ("GET", ["state", _]) => Err(MISSING),
        ("GET", ["event", id]) => state.events.get(*id).cloned().ok_or(MISSING),
        ("GET", ["messages"]) => {
            let from = number(asked.query.get("from"), 't').ok_or(Refusal(400, "M_INVALID_PARAM", None))?;
            let to = number(asked.query.get("to"), 's').unwrap_or(0);
            let limit = asked.query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(10);
            if asked.query.get("dir").map(String::as_str) != Some("b") {
                return Err(Refusal(400, "M_MISSING_PARAM", None));
            }
            Ok(state.page(room_id, from, to, state.events_max.min(limit)))
        }
        ("PUT", ["send", "m.reaction", _]) => {
            let content = content(asked)?;
            let relation = &content["m.relates_to"];
            let text = |key: &str| relation[key].as_str().unwrap_or_default().to_owned();
            if !state.events.contains_key(&text("event_id")) {
                return Err(MISSING);
            }
            let reaction = (text("event_id"), text("key"));
            if state.record.reactions.contains(&reaction) {
                return Err(Refusal(400, "M_DUPLICATE_ANNOTATION", None));
            }
            state.record.reactions.push(reaction);
            Ok(json!({"event_id": state.put(room_id, &herm, "m.reaction", None, content)}))
        }
        ("PUT", ["redact", event_id, _]) => Ok(json!({"event_id": state.redact(room_id, event_id, &herm)})),
        ("PUT", ["typing", user]) if *user == herm => {
            state.record.typing.push(place(room_id, None));
            Ok(json!({}))
        }
        _ => {
            state.problems.push(format!("{method} in a room: {}", parts.join("/")));
            Err(Refusal(404, "M_UNRECOGNIZED", None))
        }
    }
}
