//! The methods of the Bot API that can be called, with Telegram's own sentences for what is wrong.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, FromRequest, Multipart, Request, State as With};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use herm::platforms::contract::Fault;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::super::door::Line;
use super::state::{State, herm};
use super::{Shared, TOKEN, sending};

/// Largest request; a file of the longest length that bots may send fits.
const REQUEST_BYTES_MAX: usize = 60_000_000;
/// Largest file that is given to a bot.
const FILE_BYTES_MAX: usize = 20_000_000;

/// Why a call is refused: code, description and what helps.
pub struct Refusal(pub u16, pub String, pub Option<Value>);

pub fn bad(description: &str) -> Refusal {
    Refusal(400, format!("Bad Request: {description}"), None)
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(code, description, parameters) = self;
        let mut body = json!({"ok": false, "error_code": code, "description": description});
        if let Some(parameters) = parameters {
            body["parameters"] = parameters;
        }
        (StatusCode::from_u16(code).unwrap(), Json(body)).into_response()
    }
}

/// What a call says: its settings, and the files in it.
pub struct Call {
    pub settings: Value,
    /// Field, name and bytes.
    pub files: HashMap<String, (String, Bytes)>,
}

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

async fn answer(
    With(shared): With<Arc<Shared>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: Request,
) -> Response {
    let path = request.uri().path().to_owned();
    if let Some(rest) = path.strip_prefix("/file/bot") {
        return file(&shared, rest);
    }
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|rest| rest.split_once('/')) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    if token != TOKEN || shared.state().unauthorised {
        return Refusal(401, "Unauthorized".to_owned(), None).into_response();
    }
    let call = match read(request).await {
        Ok(call) => call,
        Err(refusal) => return refusal.into_response(),
    };
    let done = match method {
        "getUpdates" => updates(&shared, &call.settings, &line).await,
        "sendMessage" | "sendPhoto" | "sendDocument" | "editMessageText" => {
            return send(&shared, method, &call, &line).await;
        }
        _ => other(&mut shared.state(), method, &call.settings),
    };
    finish(done)
}

fn finish(done: Result<Value, Refusal>) -> Response {
    match done {
        Ok(result) => Json(json!({"ok": true, "result": result})).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn read(request: Request) -> Result<Call, Refusal> {
    let kind = request.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("application/json") {
        let bytes = axum::body::to_bytes(request.into_body(), REQUEST_BYTES_MAX).await;
        let settings = serde_json::from_slice(&bytes.map_err(|_| bad("body is too large"))?);
        let settings = settings.map_err(|_| bad("can't parse JSON object"))?;
        return Ok(Call { settings, files: HashMap::new() });
    }
    let (mut settings, mut files) = (json!({}), HashMap::new());
    if !kind.starts_with("multipart/form-data") {
        return Ok(Call { settings, files });
    }
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| bad("no form"))?;
    while let Some(field) = form.next_field().await.map_err(|_| bad("a broken form"))? {
        let name = field.name().unwrap_or_default().to_owned();
        match field.file_name().map(str::to_owned) {
            Some(file) => {
                let bytes = field.bytes().await.map_err(|_| bad("a broken file"))?;
                files.insert(name, (file, bytes));
            }
            None => {
                let text = field.text().await.map_err(|_| bad("a broken field"))?;
                settings[&name] = match text.starts_with('{') {
                    true => serde_json::from_str(&text).map_err(|_| bad("can't parse JSON"))?,
                    false => text.into(),
                };
            }
        }
    }
    Ok(Call { settings, files })
}

fn file(shared: &Shared, rest: &str) -> Response {
    let state = shared.state();
    let stored = rest.split_once('/').filter(|(token, _)| *token == TOKEN && !state.unauthorised);
    let stored = stored.and_then(|(_, path)| state.files.values().find(|stored| stored.path == path));
    match stored {
        Some(stored) => stored.bytes.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Whether something that is done every so often is due.
fn is_due(count: usize, every: usize) -> bool {
    every > 0 && count.is_multiple_of(every)
}

async fn updates(shared: &Shared, settings: &Value, line: &Line) -> Result<Value, Refusal> {
    let reader = {
        let mut state = shared.state();
        if state.webhook.is_some() {
            let why = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to \
                       delete the webhook first";
            return Err(Refusal(409, why.to_owned(), None));
        }
        if let Some(allowed) = settings["allowed_updates"].as_array() {
            state.allowed = allowed.iter().filter_map(|kind| Some(kind.as_str()?.to_owned())).collect();
        }
        let offset = settings["offset"].as_i64().unwrap_or(0);
        state.confirmed = state.confirmed.max(offset);
        let confirmed = state.confirmed;
        state.queue.retain(|update| update["update_id"].as_i64() >= Some(confirmed));
        state.polls += 1;
        if is_due(state.polls, state.mischief.cut_poll_every) {
            line.cut();
        }
        if is_due(state.polls, state.mischief.duplicate_every) {
            let given = state.given.clone();
            state.again.extend(given);
        }
        state.reader += 1;
        state.reader
    };
    shared.changed.notify_waiters();
    let limit = usize::try_from(settings["limit"].as_u64().unwrap_or(100)).unwrap().clamp(1, 100);
    let end = Instant::now() + Duration::from_secs(settings["timeout"].as_u64().unwrap_or(0));
    loop {
        // Made before the look, so that nothing that happens between is missed.
        let mut changed = std::pin::pin!(shared.changed.notified());
        changed.as_mut().enable();
        {
            let mut state = shared.state();
            if state.unauthorised {
                return Err(Refusal(401, "Unauthorized".to_owned(), None));
            }
            if state.reader != reader {
                let why = "Conflict: terminated by other getUpdates request; make sure that only one bot \
                           instance is running";
                return Err(Refusal(409, why.to_owned(), None));
            }
            let found = take(&mut state, limit);
            if !found.is_empty() || Instant::now() >= end {
                return Ok(found.into());
            }
        }
        // A time that has come is seen by the next look.
        let _ = timeout_at(end, changed).await;
    }
}

fn take(state: &mut State, limit: usize) -> Vec<Value> {
    let mut found = std::mem::take(&mut state.again);
    found.extend(state.queue.iter().cloned());
    found.truncate(limit);
    if !found.is_empty() {
        state.given.clone_from(&found);
    }
    found
}

fn other(state: &mut State, method: &str, settings: &Value) -> Result<Value, Refusal> {
    match method {
        "getMe" => Ok(herm()),
        "setWebhook" | "deleteWebhook" => {
            if settings["drop_pending_updates"] == true {
                state.problems.push(format!("`{method}` drops what waits"));
            }
            let url = settings["url"].as_str().unwrap_or_default();
            if method == "deleteWebhook" || url.is_empty() {
                state.webhook = None;
            } else if url.starts_with("https://") {
                let secret = settings["secret_token"].as_str().unwrap_or_default();
                state.webhook = Some((url.to_owned(), secret.to_owned()));
            } else {
                return Err(bad("bad webhook: An HTTPS URL must be provided for webhook"));
            }
            Ok(true.into())
        }
        "getFile" => {
            let file_id = settings["file_id"].as_str().unwrap_or_default();
            let stored = state.files.get(file_id);
            let stored = stored.ok_or_else(|| bad("wrong file_id or the file is temporarily unavailable"))?;
            if stored.bytes.len() > FILE_BYTES_MAX {
                return Err(bad("file is too big"));
            }
            Ok(json!({"file_id": file_id, "file_unique_id": "u", "file_size": stored.bytes.len(),
                "file_path": stored.path}))
        }
        _ => sending::act(state, method, settings),
    }
}

async fn send(shared: &Shared, method: &str, call: &Call, line: &Line) -> Response {
    let (fault, done) = {
        let mut state = shared.state();
        state.record.requests += 1;
        let fault = due(&mut state, call);
        match refusal(fault) {
            Some(refusal) => (fault, Err(refusal)),
            None => (fault, sending::send(&mut state, method, call)),
        }
    };
    match fault {
        Some(Fault::CutBeforeAnswer) => line.cut(),
        Some(Fault::Delayed(pause)) => tokio::time::sleep(pause).await,
        _ => {}
    }
    finish(done)
}

/// What goes wrong with this sending.
fn due(state: &mut State, call: &Call) -> Option<Fault> {
    if state.fault == Some(Fault::MarkupRefused) && call.settings["parse_mode"].is_null() {
        return None;
    }
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

fn refusal(fault: Option<Fault>) -> Option<Refusal> {
    Some(match fault? {
        Fault::RateLimited { after } => {
            let seconds = after.as_secs();
            let why = format!("Too Many Requests: retry after {seconds}");
            Refusal(429, why, Some(json!({"retry_after": seconds})))
        }
        Fault::ServerError => Refusal(500, "Internal Server Error".to_owned(), None),
        Fault::Blocked => Refusal(403, "Forbidden: bot was blocked by the user".to_owned(), None),
        Fault::ChatGone => bad("chat not found"),
        Fault::MarkupRefused => bad("can't parse entities: Can't find end of Bold entity at byte offset 5"),
        _ => return None,
    })
}
