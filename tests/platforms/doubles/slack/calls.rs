//! The methods of the Web API, with Slack's own words for what is wrong.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State as With};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use herm::platforms::contract::Fault;
use serde_json::{Value, json};

use super::super::door::Line;
use super::state::{State, conversation};
use super::{APP_TOKEN, HERM, HERM_BOT, Shared, TEAM, TOKEN, sending, socket};

/// Largest request.
const REQUEST_BYTES_MAX: usize = 20 << 20;
/// What is counted as sending or changing a message.
const SENDINGS: [&str; 3] = ["chat.postMessage", "chat.update", "files.completeUploadExternal"];

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(answer).with_state(shared)
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let hex =
            |at: usize| u8::from_str_radix(str::from_utf8(&bytes[at + 1..at + 3]).unwrap(), 16).unwrap();
        let code = (bytes[at] == b'%').then(|| hex(at));
        let plain = if bytes[at] == b'+' { b' ' } else { bytes[at] };
        out.push(code.unwrap_or(plain));
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
    let query = request.uri().query().unwrap_or_default().to_owned();
    let given = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().to_owned();
    let bytes = axum::body::to_bytes(request.into_body(), REQUEST_BYTES_MAX).await.unwrap_or_default();
    if path.starts_with("/files-pri/") {
        let found = shared.state().files.get(&decoded(&path)).cloned();
        return match found.filter(|_| given == TOKEN) {
            Some((media_type, bytes)) => ([("content-type", media_type)], bytes).into_response(),
            // Who is not let in is sent to where people sign in.
            None => (StatusCode::FOUND, [("location", "https://slack.com/signin")]).into_response(),
        };
    }
    if let Some(id) = path.strip_prefix("/upload/v1/") {
        let mut state = shared.state();
        if !given.is_empty() {
            state.problems.push("a token was given where none belongs".to_owned());
        }
        return match state.uploads.get_mut(id) {
            Some(upload) => {
                upload.2 = Some(bytes.to_vec());
                format!("OK - {}", bytes.len()).into_response()
            }
            None => StatusCode::NOT_FOUND.into_response(),
        };
    }
    let Some(method) = path.strip_prefix("/api/") else { return StatusCode::NOT_FOUND.into_response() };
    let needed = if method == "apps.connections.open" { APP_TOKEN } else { TOKEN };
    if given != needed || shared.state().unauthorised {
        return refused("invalid_auth");
    }
    let call = match query.is_empty() {
        true => serde_json::from_slice(&bytes).unwrap_or_default(),
        false => {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let pairs: HashMap<String, String> = pairs.map(|(a, b)| (decoded(a), decoded(b))).collect();
            json!(pairs)
        }
    };
    shared.state().calls.push(method.to_owned());
    let answer = match SENDINGS.contains(&method) {
        true => send(&shared, &line, method, &call).await,
        false => finish(other(&mut shared.state(), method, &call)),
    };
    shared.changed.notify_waiters();
    answer
}

fn refused(error: &str) -> Response {
    Json(json!({"ok": false, "error": error})).into_response()
}

fn finish(done: Result<Value, &str>) -> Response {
    match done {
        Ok(mut answer) => {
            answer["ok"] = true.into();
            Json(answer).into_response()
        }
        Err(error) => refused(error),
    }
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

async fn send(shared: &Shared, line: &Line, method: &str, call: &Value) -> Response {
    let (fault, done) = {
        let mut state = shared.state();
        state.record.requests += 1;
        let fault = due(&mut state);
        let done = match fault {
            Some(Fault::RateLimited { after }) => {
                let headers = [("retry-after", after.as_secs().to_string())];
                let body = Json(json!({"ok": false, "error": "ratelimited"}));
                return (StatusCode::TOO_MANY_REQUESTS, headers, body).into_response();
            }
            Some(Fault::ServerError) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
            Some(Fault::Blocked) => Err("is_archived"),
            Some(Fault::ChatGone) => Err("channel_not_found"),
            _ => match method {
                "chat.postMessage" => sending::post(&mut state, call),
                "chat.update" => sending::update(&mut state, call),
                _ => sending::complete_upload(&mut state, call),
            },
        };
        (fault, done)
    };
    match fault {
        Some(Fault::CutBeforeAnswer) => line.cut(),
        Some(Fault::Delayed(pause)) => tokio::time::sleep(pause).await,
        _ => {}
    }
    finish(done)
}

fn other(state: &mut State, method: &str, call: &Value) -> Result<Value, &'static str> {
    let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
    match method {
        "auth.test" => Ok(json!({
            "url": "https://team.slack.com/", "team": "Team", "user": "herm", "team_id": TEAM,
            "user_id": HERM, "bot_id": HERM_BOT,
        })),
        "apps.connections.open" => {
            Ok(json!({"url": format!("{}/link/?ticket={}&app_id=A0123", state.socket_url, socket::TICKET)}))
        }
        "conversations.info" => {
            let channel = conversation(&text("channel")).ok_or("channel_not_found")?;
            Ok(json!({"channel": channel}))
        }
        "users.info" => {
            let id = text("user");
            let number = id.strip_prefix("U0PERSON").ok_or("user_not_found")?;
            Ok(json!({"user": {
                "id": id, "name": format!("person_{number}"), "real_name": format!("Person {number}"),
                "is_bot": false, "profile": {"display_name": "", "email": format!("p{number}@example.org")},
            }}))
        }
        "conversations.history" | "conversations.replies" => Ok(match call["latest"].as_str() {
            Some(latest) => {
                let found = state.messages.get(&(text("channel"), latest.to_owned())).cloned();
                json!({"messages": found.into_iter().collect::<Vec<_>>(), "has_more": false})
            }
            None => state.history(&text("channel"), call["ts"].as_str(), &text("oldest"), &text("cursor")),
        }),
        "files.getUploadURLExternal" => {
            let length = text("length").parse().map_err(|_| "invalid_arguments")?;
            let id = format!("F{:08}", state.uploads.len());
            state.uploads.insert(id.clone(), (text("filename"), length, None));
            Ok(json!({"upload_url": format!("{}/upload/v1/{id}", state.own_url), "file_id": id}))
        }
        _ => sending::act(state, method, call),
    }
}
