//! The request as the model saw it, rebuilt from the log.

use herm_schema::{Digest, Event, Position, SessionId, StreamPos};
use serde::Serialize;
use serde_json::{Value, json};

use crate::export::openai;
use crate::log::Log;
use crate::reducer::request::{Message, Request};
use crate::reducer::{SessionState, evolve, transcript};

/// A model call and its request.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    pub position: Position,
    pub stream_pos: StreamPos,
    pub call: u32,
    pub attempt: u32,
    /// What `ModelCallStarted` recorded.
    pub recorded: Digest,
    /// Of the request as it is built today.
    pub rebuilt: Digest,
    pub equal: bool,
    #[serde(skip)]
    pub request: Request,
}

/// Rebuilds the request of model call `call` of a session: of its attempt `attempt`, or the last.
///
/// # Errors
/// When there is no such call, or the log cannot be read.
pub fn prompt(log: &dyn Log, session: SessionId, call: u32, attempt: Option<u32>) -> anyhow::Result<Prompt> {
    let mut state = SessionState::default();
    let mut found = None;
    for recorded in log.read_stream(session.stream(), StreamPos(1)) {
        let recorded = recorded?;
        if let Event::ModelCallStarted(started) = &recorded.event
            && started.call == call
            && attempt.is_none_or(|attempt| attempt == started.attempt)
        {
            let request = transcript::request(&state, started.purpose, started.route);
            let rebuilt = request.digest();
            found = Some(Prompt {
                position: recorded.envelope.position,
                stream_pos: recorded.envelope.stream_pos,
                call,
                attempt: started.attempt,
                recorded: started.request_digest,
                rebuilt,
                equal: rebuilt == started.request_digest,
                request,
            });
        }
        evolve(&mut state, &recorded);
    }
    let calls = state.model_calls;
    found.ok_or_else(|| match attempt {
        Some(attempt) => {
            anyhow::anyhow!("model call `{call}` of session `{session}` has no attempt `{attempt}`")
        }
        None => anyhow::anyhow!("session `{session}` has no model call `{call}`; it has {calls}"),
    })
}

impl Prompt {
    /// Everything about it, the request in the form of OpenAI's chat completions.
    ///
    /// # Errors
    /// When a text of the request is not in the blob store.
    pub fn object(&self, log: &dyn Log) -> anyhow::Result<Value> {
        let mut object = serde_json::to_value(self)?;
        if let Some(object) = object.as_object_mut() {
            object.insert("request".to_owned(), openai::body(log, &self.request)?);
        }
        Ok(object)
    }

    /// The request for people: roles and texts.
    ///
    /// # Errors
    /// When a text of the request is not in the blob store.
    pub fn plain(&self, log: &dyn Log) -> anyhow::Result<String> {
        let mut out = format!(
            "model call {}, attempt {}, position {}, model {}\n",
            self.call, self.attempt, self.position, self.request.model
        );
        if let Some(system) = self.request.system {
            out += &format!("\n--- system\n{}\n", openai::blob_text(log, system)?);
        }
        if let Some(tools) = self.request.tools {
            let names = tool_names(&openai::blob_text(log, tools)?);
            out += &format!("\n--- tools\n{}\n", names.join(", "));
        }
        for message in &self.request.messages {
            out += &match message {
                Message::User { parts } => format!("\n--- user\n{}\n", openai::joined(log, parts)?),
                Message::Assistant { text, calls, .. } => {
                    let calls =
                        calls.iter().map(|call| format!("{} {}{}\n", call.id, call.name, call.arguments.0));
                    let text = if text.is_empty() { String::new() } else { format!("{text}\n") };
                    format!("\n--- assistant\n{text}{}", calls.collect::<String>())
                }
                Message::Tool { id, name, parts } => {
                    format!("\n--- tool {name} {id}\n{}\n", openai::joined(log, parts)?)
                }
            };
        }
        Ok(out)
    }
}

fn tool_names(definitions: &str) -> Vec<String> {
    let parsed: Value = serde_json::from_str(definitions).unwrap_or(json!([]));
    let tools = parsed.as_array().into_iter().flatten();
    tools.filter_map(|tool| tool.get("name").and_then(Value::as_str).map(ToOwned::to_owned)).collect()
}
