//! `/api/sessions`: the conversations of a profile, and turns in them.

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use herm_replay::projections::messages::{Role, said, text_of};
use herm_replay::projections::sessions::{Activity, SessionRow};
use herm_replay::reducer::Command;
use herm_schema::events::*;
use herm_schema::{SessionId, StreamPos};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_completions::parse;
use super::input;
use super::server::{Api, Refusal};
use super::sse::{Shape, stream};
use super::talk::id_of;
use super::turn::{Answer, Following, Step};
use crate::gateway::past;
use crate::runtime::{Clock, Error, SystemClock};

/// Sessions of one list, at most.
const LIST_MAX: usize = 500;
const LIST_USUAL: usize = 50;

#[derive(Debug, Default, Deserialize)]
pub struct Page {
    limit: Option<usize>,
    offset: Option<usize>,
}

pub async fn list(State(api): State<Api>, Query(page): Query<Page>) -> Response {
    let rows = match api.profile.engine.views.sessions() {
        Ok(rows) => rows,
        Err(error) => return Refusal::failed(error).into_response(),
    };
    let limit = page.limit.unwrap_or(LIST_USUAL).min(LIST_MAX);
    let open: Vec<&SessionRow> = rows.iter().filter(|row| row.activity != Activity::Ended).collect();
    let shown: Vec<Value> =
        open.iter().skip(page.offset.unwrap_or(0)).take(limit).map(|row| facts(row)).collect();
    axum::Json(json!({ "object": "list", "total": open.len(), "data": shown })).into_response()
}

fn facts(row: &SessionRow) -> Value {
    json!({
        "id": row.id.to_string(), "object": "session", "title": row.title, "platform": row.platform,
        "model": row.model, "created_at": row.opened_at.0 / 1_000_000, "updated_at": row.active_at.0 / 1_000_000,
        "message_count": row.messages, "turns": row.turns, "tool_calls": row.tool_calls,
        "status": serde_json::to_value(row.activity).unwrap_or_default(),
    })
}

#[derive(Debug, Default, Deserialize)]
struct New {
    title: Option<String>,
    system: Option<String>,
}

pub async fn create(State(api): State<Api>, body: Bytes) -> Response {
    let created = async {
        let new: New = if body.is_empty() { New::default() } else { parse(&body)? };
        let handle = api.open("").await?;
        if let Some(system) = new.system {
            let history = HistoryGiven { system: Some(system), messages: vec![] };
            handle.send(Command::GiveHistory(history), None).await.map_err(Refusal::failed)?;
        }
        if let Some(title) = new.title {
            handle.send(Command::Title(title), None).await.map_err(Refusal::failed)?;
        }
        let facts = json!({ "id": handle.id().to_string(), "object": "session" });
        Ok((StatusCode::CREATED, axum::Json(facts)).into_response())
    };
    created.await.unwrap_or_else(Refusal::into_response)
}

/// A session of this profile that has not ended.
fn row(api: &Api, id: &str) -> Result<SessionRow, Refusal> {
    let missing = || Refusal::not_found("such session");
    let id: SessionId = id.parse().map_err(|_| missing())?;
    let row = api.profile.engine.views.session(id).map_err(Refusal::failed)?;
    row.filter(|row| row.activity != Activity::Ended).ok_or_else(missing)
}

pub async fn one(State(api): State<Api>, Path(id): Path<String>) -> Response {
    row(&api, &id).map(|row| axum::Json(facts(&row)).into_response()).unwrap_or_else(Refusal::into_response)
}

#[derive(Debug, Deserialize)]
struct Renamed {
    title: String,
}

pub async fn rename(State(api): State<Api>, Path(id): Path<String>, body: Bytes) -> Response {
    let renamed = async {
        let row = row(&api, &id)?;
        let Renamed { title } = parse(&body)?;
        let handle = api.session(row.id).await?;
        handle
            .send(Command::Title(title.clone()), None)
            .await
            .map_err(|error| Refusal::bad(error.to_string()))?;
        Ok(axum::Json(json!({ "id": id, "object": "session", "title": title })).into_response())
    };
    renamed.await.unwrap_or_else(Refusal::into_response)
}

/// The session ends and is listed no more; the log keeps what happened.
pub async fn delete(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let deleted = async {
        let row = row(&api, &id)?;
        end(&api, row.id).await?;
        Ok(axum::Json(json!({ "id": id, "object": "session", "deleted": true })).into_response())
    };
    deleted.await.unwrap_or_else(Refusal::into_response)
}

/// Ends a session.
///
/// # Errors
/// A turn of it runs.
pub async fn end(api: &Api, id: SessionId) -> Result<(), Refusal> {
    let handle = api.session(id).await?;
    match handle.send(Command::End(EndReason::Closed), None).await {
        Ok(_) => {
            api.profile.engine.sessions.release(id);
            Ok(())
        }
        Err(Error::Rejected(herm_replay::reducer::Rejection::WorkOpen)) => {
            let message = "a turn is running; stop it first";
            Err(Refusal::new(StatusCode::CONFLICT, "turn_running", message))
        }
        Err(error) => Err(Refusal::failed(error)),
    }
}

pub async fn messages(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let found = async {
        let row = row(&api, &id)?;
        let log = &api.profile.engine.log;
        let mut messages = Vec::new();
        for recorded in log.read_stream(row.id.stream(), StreamPos(0)) {
            let recorded = recorded.map_err(Refusal::failed)?;
            let Some((role, text)) = said(&recorded.event) else { continue };
            let text = text_of(&**log, &text).map_err(Refusal::failed)?;
            let role = match role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            messages.push(json!({
                "id": recorded.envelope.stream_pos.0, "role": role, "content": text,
                "created_at": recorded.envelope.recorded_at.0 / 1_000_000,
            }));
        }
        Ok(axum::Json(json!({ "object": "list", "session_id": id, "data": messages })).into_response())
    };
    found.await.unwrap_or_else(Refusal::into_response)
}

pub async fn fork(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let forked = async {
        let row = row(&api, &id)?;
        let state = api.session(row.id).await?.state().await.map_err(Refusal::failed)?;
        let copy = api.open("").await?;
        let history = past::whole(&state);
        copy.send(Command::GiveHistory(history), None).await.map_err(Refusal::failed)?;
        let facts = json!({ "id": copy.id().to_string(), "object": "session", "forked_from": id });
        Ok((StatusCode::CREATED, axum::Json(facts)).into_response())
    };
    forked.await.unwrap_or_else(Refusal::into_response)
}

#[derive(Debug, Deserialize)]
struct Chat {
    message: Value,
}

async fn begun(api: &Api, id: &str, body: &Bytes) -> Result<Following, Refusal> {
    let row = row(api, id)?;
    let Chat { message } = parse(body)?;
    let said = input::read(&message, &*api.profile.engine.log)?;
    let handle = api.session(row.id).await?;
    let message_id = format!("{}-{:016x}", SystemClock.now().0, SystemClock.seed());
    api.say(&handle, said, message_id).await
}

fn answer(id: &str, following: (SessionId, StreamPos), answer: &Answer) -> Value {
    let usage = &answer.usage;
    let input = usage.input + usage.cached_read + usage.cached_write;
    json!({
        "object": "session.message", "session_id": id, "run_id": id_of("run", following.0, following.1),
        "message": { "role": "assistant", "content": answer.text },
        "usage": { "input_tokens": input, "output_tokens": usage.output, "total_tokens": input + usage.output },
    })
}

pub async fn chat(State(api): State<Api>, Path(id): Path<String>, body: Bytes) -> Response {
    let answered = async {
        let _place = api.places.one().await?;
        let following = begun(&api, &id, &body).await?;
        let names = (following.session, following.message);
        let done = following.answer().await.map_err(Refusal::failed)?;
        if done.failed() {
            return Err(super::chat_completions::failure(&done));
        }
        Ok(axum::Json(answer(&id, names, &done)).into_response())
    };
    answered.await.unwrap_or_else(Refusal::into_response)
}

pub async fn chat_stream(State(api): State<Api>, Path(id): Path<String>, body: Bytes) -> Response {
    let answered = async {
        let place = api.places.one().await?;
        let following = begun(&api, &id, &body).await?;
        let names = (following.session, following.message);
        Ok(stream(following, Told { id, names }, Some(place)))
    };
    answered.await.unwrap_or_else(Refusal::into_response)
}

struct Told {
    id: String,
    names: (SessionId, StreamPos),
}

impl Shape for Told {
    fn begin(&mut self) -> Vec<Event> {
        let data = json!({ "session_id": self.id, "run_id": id_of("run", self.names.0, self.names.1) });
        vec![Event::default().event("run.started").data(data.to_string())]
    }

    fn step(&mut self, step: Step) -> Vec<Event> {
        let event = |kind: &str, data: Value| vec![Event::default().event(kind).data(data.to_string())];
        match step {
            Step::Text(text) => event("message.delta", json!({ "delta": text })),
            Step::Reasoning(text) => event("reasoning.available", json!({ "text": text })),
            Step::ToolStarted { call, name, .. } => {
                event("tool.started", json!({ "tool": name, "call_id": call.to_string() }))
            }
            Step::ToolFinished { call, name, failed } => {
                event("tool.completed", json!({ "tool": name, "call_id": call.to_string(), "error": failed }))
            }
            Step::ApprovalAsked { request, tool, subject, .. } => event(
                "approval.request",
                json!({ "approval_id": request.0, "tool": tool, "command": subject }),
            ),
            Step::ApprovalAnswered { request, .. } => {
                event("approval.responded", json!({ "approval_id": request.0 }))
            }
            Step::Ended(done) => {
                let kind = if done.failed() { "run.failed" } else { "run.completed" };
                event(kind, answer(&self.id, self.names, &done))
            }
        }
    }

    fn failed(&mut self, why: &str) -> Vec<Event> {
        vec![Event::default().event("run.failed").data(json!({ "error": why }).to_string())]
    }
}
