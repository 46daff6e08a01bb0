//! `/v1/responses`: OpenAI's Responses API. A response is named by the message that it answers, so that it
//! is found as long as the log is kept.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use herm_replay::reducer::Command;
use herm_schema::events::*;
use herm_schema::{SessionId, StreamPos};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_completions::{PERSON, given, header, parse};
use super::input::{self, Said};
use super::server::{Api, Refusal};
use super::sse::{Shape, stream};
use super::talk::{Asked, id_of, read_id};
use super::turn::{Answer, Step};
use crate::gateway::past;

const PREFIX: &str = "resp";

#[derive(Debug, Deserialize)]
struct Request {
    model: Option<String>,
    input: Value,
    instructions: Option<String>,
    previous_response_id: Option<String>,
    conversation: Option<Value>,
    #[serde(default)]
    stream: bool,
}

pub async fn create(State(api): State<Api>, headers: HeaderMap, body: Bytes) -> Response {
    created(&api, &headers, &body).await.unwrap_or_else(Refusal::into_response)
}

async fn created(api: &Api, headers: &HeaderMap, body: &Bytes) -> Result<Response, Refusal> {
    let request: Request = parse(body)?;
    let mut asked = said(api, &request.input)?;
    asked.system = request.instructions.clone().filter(|text| !text.trim().is_empty());
    asked.idempotency = header(headers, "idempotency-key");
    asked.person = header(headers, PERSON);
    let conversation = request.conversation.as_ref().and_then(|conversation| {
        conversation.as_str().or_else(|| conversation.get("id")?.as_str()).map(str::to_owned)
    });
    asked.session = match &request.previous_response_id {
        Some(previous) => Some(after(api, previous).await?.to_string()),
        None => conversation.or_else(|| header(headers, "x-hermes-session-id")),
    };
    let place = api.places.one().await?;
    let following = api.ask(asked).await?;
    let head = Head {
        session: following.session,
        message: following.message,
        model: request.model.unwrap_or_else(|| api.model_name()),
        previous: request.previous_response_id,
        instructions: request.instructions,
        created: crate::runtime::Clock::now(&crate::runtime::SystemClock).0 / 1_000_000,
    };
    if request.stream {
        return Ok(stream(
            following,
            Events { head, number: 0, text: String::new(), items: vec![], open: false },
            Some(place),
        ));
    }
    let answer = following.answer().await.map_err(Refusal::failed)?;
    Ok(axum::Json(head.response(&answer)).into_response())
}

/// The session that goes on after a response: its own, or a copy from there if it has gone on since.
async fn after(api: &Api, previous: &str) -> Result<SessionId, Refusal> {
    let (session, message) = read_id(PREFIX, previous)?;
    let following = api.follow(session, message)?;
    if following.so_far().exit.is_none() && following.has_begun() {
        return Err(Refusal::bad(format!("`{previous}` is not finished")));
    }
    let handle = api.session(session).await?;
    let state = handle.state().await.map_err(Refusal::failed)?;
    let later = state.view.iter().filter(|entry| entry.at > message).count();
    let users = state.view.iter().filter(|entry| {
        entry.at > message && matches!(entry.body, herm_replay::reducer::state::Body::User { .. })
    });
    let since = users.count();
    if since == 0 || later == 0 {
        return Ok(session);
    }
    let history = past::without_last(&state, since).ok_or_else(|| Refusal::not_found("such response"))?;
    let copy = api.open("").await?;
    copy.send(Command::GiveHistory(history), None).await.map_err(Refusal::failed)?;
    Ok(copy.id())
}

/// A text, or a list of messages of which the last of the user is answered.
fn said(api: &Api, input: &Value) -> Result<Asked, Refusal> {
    let log = &*api.profile.engine.log;
    let Some(items) = input.as_array() else {
        return Ok(Asked { said: input::read(input, log)?, ..Asked::default() });
    };
    let mut asked = Asked::default();
    let mut all: Vec<(GivenBy, Said)> = Vec::new();
    for item in items {
        let role = item.get("role").and_then(Value::as_str).unwrap_or("user");
        let said = input::read(item.get("content").unwrap_or(item), log)?;
        match role {
            "user" => all.push((GivenBy::Person, said)),
            "assistant" => all.push((GivenBy::Model, said)),
            "system" | "developer" => asked.history.push(given(GivenBy::Person, said)),
            other => return Err(Refusal::bad(format!("items of the role `{other}` are not taken"))),
        }
    }
    let last = all.iter().rposition(|(by, _)| *by == GivenBy::Person);
    let last = last.ok_or_else(|| Refusal::bad("`input` has no message of the user"))?;
    for (index, (by, said)) in all.into_iter().enumerate().take(last + 1) {
        match index == last {
            true => asked.said = said,
            false => asked.history.push(given(by, said)),
        }
    }
    Ok(asked)
}

pub async fn one(State(api): State<Api>, Path(id): Path<String>) -> Response {
    found(&api, &id).await.unwrap_or_else(Refusal::into_response)
}

async fn found(api: &Api, id: &str) -> Result<Response, Refusal> {
    let (session, message) = read_id(PREFIX, id)?;
    let row = api.profile.engine.views.session(session).map_err(Refusal::failed)?;
    if row.is_some_and(|row| row.activity == herm_replay::projections::sessions::Activity::Ended) {
        return Err(Refusal::not_found("such response"));
    }
    let following = api.follow(session, message)?;
    let answer = following.so_far();
    let (model, created) = (api.model_name(), api.hub.started_at.0 / 1_000_000);
    let head = Head { session, message, model, previous: None, instructions: None, created };
    Ok(axum::Json(head.response(answer)).into_response())
}

/// The conversation of a response ends, and the response is found no more; the log keeps what happened.
pub async fn delete(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let deleted = async {
        let (session, message) = read_id(PREFIX, &id)?;
        api.follow(session, message)?;
        super::sessions::end(&api, session).await?;
        Ok(axum::Json(json!({ "id": id, "object": "response", "deleted": true })).into_response())
    };
    deleted.await.unwrap_or_else(Refusal::into_response)
}

struct Head {
    session: SessionId,
    message: StreamPos,
    model: String,
    previous: Option<String>,
    instructions: Option<String>,
    created: i64,
}

impl Head {
    fn id(&self) -> String {
        id_of(PREFIX, self.session, self.message)
    }

    fn item_id(&self) -> String {
        id_of("msg", self.session, self.message)
    }

    fn response(&self, answer: &Answer) -> Value {
        let (status, error) = match (answer.exit, answer.failed()) {
            (None, _) => ("in_progress", Value::Null),
            (Some(_), true) => ("failed", json!({ "code": "server_error", "message": answer.text })),
            (Some(ExitReason::OutputTruncated), _) => ("incomplete", Value::Null),
            (Some(_), false) => ("completed", Value::Null),
        };
        let output = match status {
            "completed" | "incomplete" => vec![self.message_item(&answer.text, status)],
            _ => vec![],
        };
        let usage = &answer.usage;
        let input = usage.input + usage.cached_read + usage.cached_write;
        json!({
            "id": self.id(), "object": "response", "created_at": self.created, "status": status, "error": error,
            "incomplete_details": if status == "incomplete" { json!({ "reason": "max_output_tokens" }) } else { Value::Null },
            "instructions": self.instructions, "max_output_tokens": null, "model": self.model, "output": output,
            "parallel_tool_calls": true, "previous_response_id": self.previous, "temperature": null, "top_p": null,
            "tool_choice": "auto", "tools": [], "truncation": "disabled", "store": true, "metadata": {},
            "conversation": { "id": self.session.to_string() },
            "usage": {
                "input_tokens": input, "output_tokens": usage.output, "total_tokens": input + usage.output,
                "input_tokens_details": { "cached_tokens": usage.cached_read },
                "output_tokens_details": { "reasoning_tokens": usage.reasoning },
            },
        })
    }

    fn message_item(&self, text: &str, status: &str) -> Value {
        json!({
            "id": self.item_id(), "type": "message", "role": "assistant", "status": status,
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        })
    }
}

/// The events of a stream, numbered.
struct Events {
    head: Head,
    number: u64,
    text: String,
    items: Vec<Value>,
    /// The item of the answer has begun.
    open: bool,
}

impl Events {
    fn event(&mut self, kind: &str, mut data: Value) -> Event {
        if let Some(data) = data.as_object_mut() {
            data.insert("type".to_owned(), json!(kind));
            data.insert("sequence_number".to_owned(), json!(self.number));
        }
        self.number += 1;
        Event::default().event(kind).data(data.to_string())
    }

    fn text(&mut self, text: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let (item, index) = (self.head.item_id(), self.items.len());
        if !std::mem::replace(&mut self.open, true) {
            let mut added = self.head.message_item("", "in_progress");
            if let Some(added) = added.as_object_mut() {
                added.insert("content".to_owned(), json!([]));
            }
            events.push(
                self.event("response.output_item.added", json!({ "output_index": index, "item": added })),
            );
            let part = json!({ "type": "output_text", "text": "", "annotations": [] });
            let data = json!({ "item_id": item, "output_index": index, "content_index": 0, "part": part });
            events.push(self.event("response.content_part.added", data));
        }
        self.text.push_str(text);
        let data = json!({ "item_id": item, "output_index": index, "content_index": 0, "delta": text, "logprobs": [] });
        events.push(self.event("response.output_text.delta", data));
        events
    }

    fn end(&mut self, answer: &Answer) -> Vec<Event> {
        let mut events = Vec::new();
        let (item, index) = (self.head.item_id(), self.items.len());
        if self.open {
            // What was passed on of calls before the last stays a part of the item.
            let text = self.text.clone();
            let data = json!({ "item_id": item, "output_index": index, "content_index": 0, "text": text, "logprobs": [] });
            events.push(self.event("response.output_text.done", data));
            let part = json!({ "type": "output_text", "text": text, "annotations": [] });
            let data = json!({ "item_id": item, "output_index": index, "content_index": 0, "part": part });
            events.push(self.event("response.content_part.done", data));
            let whole = self.head.message_item(&text, "completed");
            events.push(
                self.event("response.output_item.done", json!({ "output_index": index, "item": whole })),
            );
        }
        let response = self.head.response(answer);
        let kind = match response.get("status").and_then(Value::as_str) {
            Some("failed") => "response.failed",
            Some("incomplete") => "response.incomplete",
            _ => "response.completed",
        };
        events.push(self.event(kind, json!({ "response": response })));
        events
    }
}

impl Shape for Events {
    fn begin(&mut self) -> Vec<Event> {
        let response = self.head.response(&Answer::default());
        let created = self.event("response.created", json!({ "response": response.clone() }));
        vec![created, self.event("response.in_progress", json!({ "response": response }))]
    }

    fn step(&mut self, step: Step) -> Vec<Event> {
        match step {
            Step::Text(text) => self.text(&text),
            Step::Ended(answer) => self.end(&answer),
            Step::Reasoning(_)
            | Step::ToolStarted { .. }
            | Step::ToolFinished { .. }
            | Step::ApprovalAsked { .. }
            | Step::ApprovalAnswered { .. } => vec![],
        }
    }

    fn failed(&mut self, why: &str) -> Vec<Event> {
        vec![self.event("error", json!({ "code": "server_error", "message": why, "param": null }))]
    }
}
