//! `POST /v1/chat/completions`.
//!
//! The client sends the whole conversation; the last message of the user is answered, the rest is what was
//! said before. With `X-Hermes-Session-Id` herm's own session goes on, and only the last message counts.
//! Tools are herm's own: what it does between is told as `event: hermes.tool.progress`.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use herm_schema::events::*;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input;
use super::server::{Api, Refusal};
use super::sse::{Shape, stream};
use super::talk::{Asked, id_of};
use super::turn::{Answer, Following, Step};

#[derive(Debug, Deserialize)]
struct Request {
    model: Option<String>,
    messages: Vec<Message>,
    #[serde(default)]
    stream: bool,
}

#[derive(Debug, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
}

pub async fn create(State(api): State<Api>, headers: HeaderMap, body: Bytes) -> Response {
    created(&api, &headers, &body).await.unwrap_or_else(Refusal::into_response)
}

async fn created(api: &Api, headers: &HeaderMap, body: &Bytes) -> Result<Response, Refusal> {
    let request: Request = parse(body)?;
    let mut asked = asked(api, request.messages)?;
    asked.session = header(headers, "x-hermes-session-id");
    asked.person = header(headers, PERSON);
    asked.idempotency = header(headers, "idempotency-key");
    let place = api.places.one().await?;
    let following = api.ask(asked).await?;
    let head = Head {
        id: id_of("chatcmpl", following.session, following.message),
        created: crate::runtime::Clock::now(&crate::runtime::SystemClock).0 / 1_000_000,
        model: request.model.unwrap_or_else(|| api.model_name()),
    };
    let session = following.session.to_string();
    let mut response = match request.stream {
        true => stream(following, Chunks { head }, Some(place)),
        false => whole(following, &head).await?,
    };
    if let Ok(value) = HeaderValue::from_str(&session) {
        response.headers_mut().insert("x-hermes-session-id", value);
    }
    Ok(response)
}

/// A body of JSON.
///
/// # Errors
/// What is wrong with it.
pub fn parse<T: serde::de::DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::bad(format!("the body is not understood: {error}")))
}

/// The header that says for whom a program speaks.
pub const PERSON: &str = "x-hermes-session-key";

pub fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// What was said before, and what is said now.
fn asked(api: &Api, messages: Vec<Message>) -> Result<Asked, Refusal> {
    let log = &*api.profile.engine.log;
    let mut asked = Asked::default();
    let mut system = Vec::new();
    let last = messages.iter().rposition(|message| message.role == "user");
    let last = last.ok_or_else(|| Refusal::bad("there is no message of the role `user`"))?;
    for (index, message) in messages.into_iter().enumerate() {
        let said = input::read(&message.content, log)?;
        match message.role.as_str() {
            "system" | "developer" => system.push(said.text),
            _ if index > last => {}
            "user" if index == last => asked.said = said,
            "user" => asked.history.push(given(GivenBy::Person, said)),
            "assistant" if said.text.is_empty() => {}
            "assistant" => asked.history.push(given(GivenBy::Model, said)),
            // What the client's own tools said stands in no conversation of ours.
            "tool" | "function" => {}
            other => return Err(Refusal::bad(format!("messages of the role `{other}` are not taken"))),
        }
    }
    asked.system = Some(system.join("\n\n")).filter(|text| !text.trim().is_empty());
    Ok(asked)
}

pub fn given(by: GivenBy, said: input::Said) -> GivenMessage {
    GivenMessage { by, text: said.text, attachments: said.attachments }
}

struct Head {
    id: String,
    created: i64,
    model: String,
}

async fn whole(following: Following, head: &Head) -> Result<Response, Refusal> {
    let answer = following.answer().await.map_err(Refusal::failed)?;
    if answer.failed() {
        return Err(failure(&answer));
    }
    Ok(axum::Json(json!({
        "id": head.id, "object": "chat.completion", "created": head.created, "model": head.model,
        "choices": [{
            "index": 0, "finish_reason": finish(&answer), "logprobs": null,
            "message": { "role": "assistant", "content": answer.text, "refusal": null },
        }],
        "usage": usage(&answer.usage),
    }))
    .into_response())
}

/// A turn without an answer.
pub fn failure(answer: &Answer) -> Refusal {
    Refusal::new(StatusCode::BAD_GATEWAY, "turn_failed", answer.text.clone())
}

pub fn finish(answer: &Answer) -> &'static str {
    match answer.exit {
        Some(ExitReason::OutputTruncated | ExitReason::IterationLimit | ExitReason::IterationBudgetSpent) => {
            "length"
        }
        Some(ExitReason::ModelRefused) => "content_filter",
        _ => "stop",
    }
}

/// Of all model calls of the turn.
fn usage(usage: &Usage) -> Value {
    let prompt = usage.input + usage.cached_read + usage.cached_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output, "total_tokens": prompt + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached_read },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

struct Chunks {
    head: Head,
}

impl Chunks {
    fn chunk(&self, choices: Value, usage: Option<Value>) -> Event {
        let mut chunk = json!({
            "id": self.head.id, "object": "chat.completion.chunk", "created": self.head.created,
            "model": self.head.model, "choices": choices,
        });
        if let (Some(usage), Some(chunk)) = (usage, chunk.as_object_mut()) {
            chunk.insert("usage".to_owned(), usage);
        }
        Event::default().data(chunk.to_string())
    }

    fn delta(&self, delta: Value) -> Event {
        self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), None)
    }
}

impl Shape for Chunks {
    fn begin(&mut self) -> Vec<Event> {
        vec![self.delta(json!({ "role": "assistant", "content": "" }))]
    }

    fn step(&mut self, step: Step) -> Vec<Event> {
        match step {
            Step::Text(text) => vec![self.delta(json!({ "content": text }))],
            Step::Reasoning(text) => vec![self.delta(json!({ "reasoning_content": text }))],
            Step::ToolStarted { call, name, arguments } => {
                vec![progress(&name, &call.to_string(), "running", &arguments)]
            }
            Step::ToolFinished { call, name, failed } => {
                vec![progress(&name, &call.to_string(), if failed { "failed" } else { "completed" }, "")]
            }
            Step::ApprovalAsked { .. } | Step::ApprovalAnswered { .. } => vec![],
            Step::Ended(answer) if answer.failed() => {
                let error = Event::default().data(failure(&answer).body().to_string());
                vec![error, done()]
            }
            Step::Ended(answer) => {
                let end = json!([{ "index": 0, "delta": {}, "finish_reason": finish(&answer) }]);
                vec![self.chunk(end, None), self.chunk(json!([]), Some(usage(&answer.usage))), done()]
            }
        }
    }

    fn failed(&mut self, why: &str) -> Vec<Event> {
        vec![Event::default().data(Refusal::failed(why).body().to_string()), done()]
    }
}

fn done() -> Event {
    Event::default().data("[DONE]")
}

/// What herm does between, for front ends that show it.
fn progress(tool: &str, call: &str, status: &str, arguments: &str) -> Event {
    let label: String = arguments.chars().take(200).collect();
    let data = json!({ "tool": tool, "emoji": "⚙", "label": label, "toolCallId": call, "status": status });
    Event::default().event("hermes.tool.progress").data(data.to_string())
}
