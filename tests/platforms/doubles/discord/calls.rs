//! The calls of the API, with Discord's own codes for what is wrong.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, FromRequest, Multipart, Request, State as With};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use herm::platforms::contract::{Fault, Who};
use serde_json::{Value, json};

use super::super::door::Line;
use super::sending;
use super::state::{State, channel, channel_id, user};
use super::{HERM, Shared, TOKEN};
use herm_schema::events::ChatKind;

/// Largest request; a file of the longest length that a bot may send fits.
const REQUEST_BYTES_MAX: usize = 20 << 20;

/// Why a call is refused: status, code and words.
#[derive(Debug)]
pub struct Refusal(pub u16, pub u64, pub &'static str);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = json!({"code": self.1, "message": self.2});
        (StatusCode::from_u16(self.0).unwrap(), Json(body)).into_response()
    }
}

pub const UNKNOWN_CHANNEL: Refusal = Refusal(404, 10003, "Unknown Channel");

/// What a call says, and the file in it.
pub struct Call {
    pub body: Value,
    pub file: Option<(String, Bytes)>,
}

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

fn decoded(segment: &str) -> String {
    let bytes = segment.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let hex =
            |at: usize| u8::from_str_radix(str::from_utf8(&bytes[at + 1..at + 3]).unwrap(), 16).unwrap();
        let code = (bytes[at] == b'%').then(|| hex(at));
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap()
}

async fn answer(
    With(shared): With<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: Request,
) -> Response {
    let path = request.uri().path().to_owned();
    if path.starts_with("/attachments/") {
        let found = shared.state().files.get(&path).cloned();
        return match found {
            Some((media_type, bytes)) => ([("content-type", media_type)], bytes).into_response(),
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let Some(path) = path.strip_prefix("/api/v10/") else { return StatusCode::NOT_FOUND.into_response() };
    let given = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    if given != Some(&format!("Bot {TOKEN}")) || shared.state().unauthorised {
        return Refusal(401, 0, "401: Unauthorized").into_response();
    }
    let agent = request.headers().get("user-agent").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !agent.starts_with("DiscordBot (") {
        shared.state().problems.push(format!("the user agent is `{agent}`"));
    }
    let segments: Vec<String> = path.split('/').map(decoded).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let method = request.method().clone();
    let call = match read(request).await {
        Ok(call) => call,
        Err(refusal) => return refusal.into_response(),
    };
    match (method, segments.as_slice()) {
        (method @ (Method::POST | Method::PATCH), ["channels", id, "messages", rest @ ..]) => {
            let changed = rest.first().copied().filter(|_| method == Method::PATCH);
            send(&shared, &line, (id, changed), &call).await
        }
        (Method::GET, ["channels", id, "messages"]) => finish(page(&shared.state(), id, &query).map(Some)),
        (method, segments) => {
            let done = other(&mut shared.state(), &method, segments, &call.body);
            shared.changed.notify_waiters();
            finish(done)
        }
    }
}

fn finish(done: Result<Option<Value>, Refusal>) -> Response {
    match done {
        Ok(Some(value)) => Json(value).into_response(),
        Ok(None) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn read(request: Request) -> Result<Call, Refusal> {
    let garbled = Refusal(400, 50109, "The request body contains invalid JSON.");
    let kind = request.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("multipart/form-data") {
        let bytes = axum::body::to_bytes(request.into_body(), REQUEST_BYTES_MAX).await;
        let bytes = bytes.map_err(|_| Refusal(413, 40005, "Request entity too large"))?;
        if bytes.is_empty() {
            return Ok(Call { body: Value::Null, file: None });
        }
        let body = serde_json::from_slice(&bytes).map_err(|_| garbled)?;
        return Ok(Call { body, file: None });
    }
    let mut call = Call { body: Value::Null, file: None };
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| Refusal(400, 50109, "no form"))?;
    while let Ok(Some(field)) = form.next_field().await {
        match field.name() {
            Some("payload_json") => {
                let text = field.text().await.unwrap_or_default();
                call.body = serde_json::from_str(&text).map_err(|_| Refusal(400, 50109, "no JSON"))?;
            }
            Some("files[0]") => {
                let name = field.file_name().unwrap_or_default().to_owned();
                call.file = Some((name, field.bytes().await.unwrap_or_default()));
            }
            _ => return Err(Refusal(400, 50035, "Invalid Form Body")),
        }
    }
    Ok(call)
}

fn is_due(count: usize, every: usize) -> bool {
    every > 0 && count.is_multiple_of(every)
}

/// What goes wrong with this sending.
fn due(state: &mut State) -> Option<Fault> {
    if let Some(fault) = state.fault.take() {
        return Some(fault);
    }
    let (count, mischief) = (state.record.requests, state.mischief);
    let after = Duration::from_secs(1);
    [
        (mischief.cut_send_every, Fault::CutBeforeAnswer),
        (mischief.rate_limit_every, Fault::RateLimited { after }),
        (mischief.server_error_every, Fault::ServerError),
        (mischief.delay_every, Fault::Delayed(mischief.delay)),
    ]
    .into_iter()
    .find_map(|(every, fault)| is_due(count, every).then_some(fault))
}

async fn send(shared: &Shared, line: &Line, (id, changed): (&str, Option<&str>), call: &Call) -> Response {
    let (fault, done, exhausted) = {
        let mut state = shared.state();
        state.record.requests += 1;
        let fault = due(&mut state);
        let done = match fault {
            Some(Fault::RateLimited { after }) => return rate_limited(after, false),
            Some(Fault::ServerError) => return StatusCode::BAD_GATEWAY.into_response(),
            Some(Fault::Blocked) => Err(Refusal(403, 50007, "Cannot send messages to this user")),
            Some(Fault::ChatGone) => Err(UNKNOWN_CHANNEL),
            _ => match changed {
                Some(message) => sending::change(&mut state, id, message, call),
                None => sending::create(&mut state, id, call),
            },
        };
        (fault, done, state.tempers.exhausted.take())
    };
    shared.changed.notify_waiters();
    match fault {
        Some(Fault::CutBeforeAnswer) => line.cut(),
        Some(Fault::Delayed(pause)) => tokio::time::sleep(pause).await,
        _ => {}
    }
    let (remaining, after) = exhausted.map_or(("4", 5.0), |after| ("0", after.as_secs_f64()));
    let headers = [
        ("x-ratelimit-bucket", "80c17d2f203122d936070c88c8d10f33".to_owned()),
        ("x-ratelimit-limit", "5".to_owned()),
        ("x-ratelimit-remaining", remaining.to_owned()),
        ("x-ratelimit-reset-after", format!("{after:.3}")),
    ];
    (headers, finish(done.map(Some))).into_response()
}

fn rate_limited(after: Duration, global: bool) -> Response {
    let seconds = after.as_secs_f64();
    let body = json!({"message": "You are being rate limited.", "retry_after": seconds, "global": global});
    let headers = [("retry-after", format!("{}", seconds.ceil())), ("x-ratelimit-scope", "user".to_owned())];
    (StatusCode::TOO_MANY_REQUESTS, headers, Json(body)).into_response()
}

/// Messages of a channel behind one, the newest first.
fn page(state: &State, id: &str, query: &str) -> Result<Value, Refusal> {
    let asked = |name: &str| {
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        pair.and_then(|value| value.parse::<u64>().ok())
    };
    if channel(id).is_none() || state.removed.contains(id) {
        return Err(UNKNOWN_CHANNEL);
    }
    let limit = usize::try_from(asked("limit").unwrap_or(50)).unwrap();
    let behind = state.messages.range(asked("after").unwrap_or(0) + 1..);
    let of_channel = behind.map(|(_, message)| message).filter(|message| message["channel_id"] == id);
    // Those next to it, and of them the newest first. A page does not say the server.
    let mut page: Vec<Value> = of_channel.take(limit).cloned().collect();
    page.reverse();
    for message in &mut page {
        message.as_object_mut().unwrap().retain(|name, _| name != "guild_id" && name != "member");
    }
    Ok(page.into())
}

fn other(
    state: &mut State,
    method: &Method,
    segments: &[&str],
    body: &Value,
) -> Result<Option<Value>, Refusal> {
    match (method.as_str(), segments) {
        ("GET", ["users", "@me"]) => Ok(Some(user(Who::Herm))),
        ("GET", ["gateway", "bot"]) => Ok(Some(json!({
            "url": state.gateway_url, "shards": 1, "session_start_limit": {
                "total": 1000, "remaining": state.tempers.sessions_left, "reset_after": 60_000,
                "max_concurrency": 1,
            },
        }))),
        ("POST", ["users", "@me", "channels"]) => {
            let person = body["recipient_id"].as_str().and_then(|id| id.strip_prefix("101"));
            let number = person.and_then(|rest| rest.parse().ok());
            let number = number.ok_or(Refusal(400, 50033, "Invalid Recipient(s)"))?;
            Ok(channel(&channel_id(ChatKind::Direct, number)))
        }
        ("GET", ["channels", id]) => match channel(id).filter(|_| !state.removed.contains(*id)) {
            Some(channel) => Ok(Some(channel)),
            None => Err(UNKNOWN_CHANNEL),
        },
        ("PUT", ["applications", HERM, "commands"]) => {
            state.commands = body.as_array().cloned().ok_or(Refusal(400, 50035, "Invalid Form Body"))?;
            Ok(Some(body.clone()))
        }
        ("POST", ["interactions", id, token, "callback"]) => {
            let known = state.interactions.get_mut(*token).filter(|(known, _)| known == id);
            let (_, answered) = known.ok_or(Refusal(404, 10062, "Unknown interaction"))?;
            if std::mem::replace(answered, true) {
                return Err(Refusal(400, 40060, "Interaction has already been acknowledged."));
            }
            state.callbacks.push(body.clone());
            Ok(None)
        }
        ("POST", ["webhooks", HERM, token]) => {
            if !state.interactions.get(*token).is_some_and(|(_, answered)| *answered) {
                return Err(Refusal(404, 10015, "Unknown Webhook"));
            }
            state.record.answers.push(body["content"].as_str().unwrap_or_default().to_owned());
            Ok(Some(json!({"id": "1"})))
        }
        _ => sending::act(state, method, segments),
    }
}
