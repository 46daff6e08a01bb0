//! `/v1/runs`: turns that go on by themselves: begun, looked at, followed, answered, stopped.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use herm_schema::events::*;
use herm_schema::{SessionId, StreamPos};
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat_completions::{PERSON, header, parse};
use super::input;
use super::server::{Api, Refusal};
use super::sse::{Shape, stream};
use super::talk::{Asked, id_of, read_id};
use super::turn::{Answer, Step};
use crate::effects;
use crate::gateway::late;
use crate::gateway::questions::Word;

const PREFIX: &str = "run";

#[derive(Debug, Deserialize)]
struct Request {
    input: Value,
    instructions: Option<String>,
    session_id: Option<String>,
}

pub async fn create(State(api): State<Api>, headers: HeaderMap, body: Bytes) -> Response {
    let created = async {
        let request: Request = parse(&body)?;
        let said = input::read(&request.input, &*api.profile.engine.log)?;
        let session = request.session_id.or_else(|| header(&headers, "x-hermes-session-id"));
        let idempotency = header(&headers, "idempotency-key");
        let person = header(&headers, PERSON);
        let system = request.instructions;
        let place = api.places.one().await?;
        let asked = Asked { person, session, said, system, idempotency, ..Asked::default() };
        let following = api.ask(asked).await?;
        let (session, message) = (following.session, following.message);
        let facts = json!({
            "run_id": id_of(PREFIX, session, message), "object": "run", "status": "started",
            "session_id": session.to_string(),
        });
        tokio::spawn(async move {
            // The place is kept until the turn has ended.
            let _place = place;
            drop(following.answer().await);
        });
        Ok((StatusCode::ACCEPTED, axum::Json(facts)).into_response())
    };
    created.await.unwrap_or_else(Refusal::into_response)
}

pub async fn one(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let found = async {
        let (session, message) = read_id(PREFIX, &id)?;
        let following = api.follow(session, message)?;
        let answer = following.so_far();
        let asks = api.profile.questions.waiting(session).len();
        let status = match answer.exit {
            Some(_) => ended(answer),
            None if asks > 0 => "requires_approval",
            None if following.has_begun() => "running",
            None => "queued",
        };
        Ok(axum::Json(facts(&id, session, status, answer)).into_response())
    };
    found.await.unwrap_or_else(Refusal::into_response)
}

fn ended(answer: &Answer) -> &'static str {
    match answer.exit {
        Some(ExitReason::InterruptedByUser | ExitReason::InterruptedDuringModelCall) => "cancelled",
        _ if answer.failed() => "failed",
        _ => "completed",
    }
}

fn facts(id: &str, session: SessionId, status: &str, answer: &Answer) -> Value {
    let usage = &answer.usage;
    let input = usage.input + usage.cached_read + usage.cached_write;
    json!({
        "run_id": id, "object": "run", "status": status, "session_id": session.to_string(), "output": answer.text,
        "usage": { "input_tokens": input, "output_tokens": usage.output, "total_tokens": input + usage.output },
        "tools": answer.tools.iter().map(|(name, _)| name).collect::<Vec<_>>(),
    })
}

pub async fn events(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let found = async {
        let (session, message) = read_id(PREFIX, &id)?;
        let following = api.follow(session, message)?;
        Ok(stream(following, Told { id, session }, None))
    };
    found.await.unwrap_or_else(Refusal::into_response)
}

struct Told {
    id: String,
    session: SessionId,
}

impl Told {
    fn event(&self, kind: &str, mut data: Value) -> Event {
        if let Some(data) = data.as_object_mut() {
            data.insert("event".to_owned(), json!(kind));
            data.insert("run_id".to_owned(), json!(self.id));
        }
        Event::default().event(kind).data(data.to_string())
    }
}

impl Shape for Told {
    fn begin(&mut self) -> Vec<Event> {
        vec![]
    }

    fn step(&mut self, step: Step) -> Vec<Event> {
        vec![match step {
            Step::Text(text) => self.event("message.delta", json!({ "delta": text })),
            Step::Reasoning(text) => self.event("reasoning.available", json!({ "text": text })),
            Step::ToolStarted { call, name, arguments } => {
                let preview: String = arguments.chars().take(400).collect();
                let data = json!({ "tool": name, "call_id": call.to_string(), "preview": preview });
                self.event("tool.started", data)
            }
            Step::ToolFinished { call, name, failed } => {
                let data = json!({ "tool": name, "call_id": call.to_string(), "error": failed });
                self.event("tool.completed", data)
            }
            Step::ApprovalAsked { request, tool, subject, reason } => {
                let choices = ["once", "session", "always", "deny"];
                let data = json!({ "approval_id": request.0, "tool": tool, "command": subject, "description": reason,
                                   "choices": choices });
                self.event("approval.request", data)
            }
            Step::ApprovalAnswered { request, decision } => {
                let data = json!({ "approval_id": request.0, "decision": format!("{decision:?}") });
                self.event("approval.responded", data)
            }
            Step::Ended(answer) => {
                let status = ended(&answer);
                let data = facts(&self.id, self.session, status, &answer);
                self.event(&format!("run.{status}"), data)
            }
        }]
    }

    fn failed(&mut self, why: &str) -> Vec<Event> {
        vec![self.event("run.failed", json!({ "error": why }))]
    }
}

#[derive(Debug, Deserialize)]
struct Answered {
    /// `once`, `session`, `always` or `deny`.
    choice: String,
    /// Which question; the oldest if it is not said.
    approval_id: Option<u64>,
    #[serde(default)]
    all: bool,
}

pub async fn approval(State(api): State<Api>, Path(id): Path<String>, body: Bytes) -> Response {
    let answered = async {
        let (session, message) = read_id(PREFIX, &id)?;
        api.follow(session, message)?;
        let asked: Answered = parse(&body)?;
        let word = Word::named(&asked.choice)
            .ok_or_else(|| Refusal::bad("`choice` is one of once, session, always, deny"))?;
        let mut open = api.profile.questions.waiting(session);
        if let Some(one) = asked.approval_id {
            open = vec![StreamPos(one)];
        } else if !asked.all {
            open.truncate(1);
        }
        if open.is_empty() {
            return Err(Refusal::new(StatusCode::CONFLICT, "nothing_waits", "nothing waits for a yes"));
        }
        let mut said = Vec::new();
        for request in open {
            said.push(
                json!({ "approval_id": request.0, "said": decide(&api, session, request, word).await? }),
            );
        }
        Ok(axum::Json(json!({ "run_id": id, "answered": said })).into_response())
    };
    answered.await.unwrap_or_else(Refusal::into_response)
}

/// Whoever has the key is an owner.
async fn decide(api: &Api, session: SessionId, request: StreamPos, word: Word) -> Result<String, Refusal> {
    // A question is answered where it was asked.
    let chat = api.profile.feed.chat(session).unwrap_or_else(super::talk::chat);
    let sender = Sender { id: "api".to_owned(), name: None };
    let answerer = Some(Answerer { chat, sender });
    let answer = effects::Answer { decision: word.decision(), by: DecidedBy::Person, answerer };
    if api.profile.questions.approve(session, request, answer.clone()) {
        return Ok(word.said().to_owned());
    }
    late::answer(&api.profile, session, request, answer).await.map_err(Refusal::failed)
}

pub async fn stop(State(api): State<Api>, Path(id): Path<String>) -> Response {
    let stopped = async {
        let (session, message) = read_id(PREFIX, &id)?;
        api.follow(session, message)?;
        let handle = api.session(session).await?;
        let status = match handle.interrupt(InterruptSource::Person).await {
            Ok(_) => "stopping",
            Err(crate::runtime::Error::Rejected(_)) => "not_running",
            Err(error) => return Err(Refusal::failed(error)),
        };
        Ok(axum::Json(json!({ "run_id": id, "status": status })).into_response())
    };
    stopped.await.unwrap_or_else(Refusal::into_response)
}
