//! Trajectories: a conversation a line, whole, as it went.
//!
//! What was compressed or shortened for the model's sake is left as it was said: the fold that makes
//! the conversation passes over those events. One session is in memory at a time.

use std::io::Write;

use clap::ValueEnum;
use herm_schema::events::ExitReason;
use herm_schema::{BlobRef, Event, Micros, SessionId, StreamPos};
use serde_json::{Value, json};

use super::openai::{assistant, blob_text, function_call};
use super::sharegpt;
use crate::inspect::sessions;
use crate::log::{Error, Log};
use crate::projections::messages::text_of;
use crate::reducer::repair::local_id;
use crate::reducer::state::Body;
use crate::reducer::{SessionState, evolve, notices};

/// Which conversations are exported.
pub struct Trajectories {
    pub format: Format,
    pub session: Option<SessionId>,
    /// Active at or after this moment.
    pub since: Option<Micros>,
    /// Only those whose last turn ended with an answer.
    pub completed_only: bool,
}

/// How a conversation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `{"conversations":[{"from","value"}],"timestamp","model","completed"}`.
    Sharegpt,
    /// `{"messages":[{"role","content"}]}`.
    Openai,
}

/// A session as a conversation.
pub struct Conversation {
    /// The system prompt as it was sent first.
    pub system: Option<String>,
    /// JSON array of tool definitions.
    pub tools: String,
    pub model: String,
    pub active_at: Micros,
    pub completed: bool,
    pub said: Vec<Said>,
}

/// What was said.
pub enum Said {
    User(String),
    Assistant { text: String, reasoning: Option<String>, calls: Vec<Called>, results: Vec<Answered> },
}

/// A tool call that the model asked for.
pub struct Called {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// What came of it.
pub struct Answered {
    pub id: String,
    pub name: String,
    pub content: String,
}

/// Writes a line a conversation, in the order in which the sessions were opened.
///
/// # Errors
/// Those of the log and of the writer.
pub fn write(log: &dyn Log, chosen: &Trajectories, out: &mut dyn Write) -> anyhow::Result<()> {
    let all: Box<dyn Iterator<Item = Result<SessionId, Error>>> = match chosen.session {
        Some(session) => Box::new(std::iter::once(Ok(session))),
        None => Box::new(sessions(log)),
    };
    for session in all {
        let conversation = conversation(log, session?)?;
        let wanted = chosen.since.is_none_or(|since| conversation.active_at >= since)
            && (conversation.completed || !chosen.completed_only)
            && !conversation.said.is_empty();
        if !wanted {
            continue;
        }
        let line = match chosen.format {
            Format::Sharegpt => json!({
                "conversations": sharegpt::turns(&conversation),
                "timestamp": naive(conversation.active_at),
                "model": conversation.model,
                "completed": conversation.completed,
            }),
            Format::Openai => json!({ "messages": openai_messages(&conversation) }),
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// A session as a conversation.
///
/// # Errors
/// Those of the log.
pub fn conversation(log: &dyn Log, session: SessionId) -> Result<Conversation, Error> {
    let mut state = SessionState::default();
    let mut first_prompt = None;
    let mut active_at = Micros(0);
    for recorded in log.read_stream(session.stream(), StreamPos(1)) {
        let recorded = recorded?;
        active_at = recorded.envelope.recorded_at;
        match &recorded.event {
            Event::CompressionFinished(_) | Event::ToolResultsPruned(_) => continue,
            Event::SystemPromptBuilt(built) => first_prompt = first_prompt.or(Some(built.prompt)),
            _ => {}
        }
        evolve(&mut state, &recorded);
    }
    let stored = |blob: Option<BlobRef>| blob.map(|blob| blob_text(log, blob)).transpose();
    Ok(Conversation {
        system: stored(first_prompt)?,
        tools: stored(state.offer.as_ref().map(|offer| offer.definitions))?
            .unwrap_or_else(|| "[]".to_owned()),
        model: state.policy.as_ref().map(|policy| policy.model.model.clone()).unwrap_or_default(),
        active_at,
        completed: state.turn.is_none() && state.last_exit == Some(ExitReason::Answered),
        said: said(log, &state)?,
    })
}

fn said(log: &dyn Log, state: &SessionState) -> Result<Vec<Said>, Error> {
    let mut said: Vec<Said> = Vec::new();
    for entry in &state.view {
        match &entry.body {
            Body::User { text, .. } | Body::Summary { text } => said.push(Said::User(text.clone())),
            Body::Assistant { message, .. } => {
                let called = message.calls.iter().enumerate().map(|(index, call)| Called {
                    id: local_id(&call.id, index),
                    name: call.name.clone(),
                    arguments: call.arguments.0.clone(),
                });
                said.push(Said::Assistant {
                    text: message.text.clone(),
                    reasoning: message.reasoning.clone(),
                    calls: called.collect(),
                    results: Vec::new(),
                });
            }
            Body::Late { asked, shown, .. } => {
                said.push(Said::User(notices::late(asked) + &text_of(log, shown)?));
            }
            Body::Result { call, shown, notes, .. } => {
                let mut content = text_of(log, shown)?;
                notes.iter().for_each(|note| content.push_str(note));
                if let Some(Said::Assistant { calls, results, .. }) = said.last_mut()
                    && let Some(called) = calls.get(usize::from(call.index))
                {
                    results.push(Answered { id: called.id.clone(), name: called.name.clone(), content });
                }
            }
        }
    }
    Ok(said)
}

fn openai_messages(conversation: &Conversation) -> Vec<Value> {
    let mut messages = Vec::new();
    messages.extend(conversation.system.iter().map(|system| json!({ "role": "system", "content": system })));
    for said in &conversation.said {
        match said {
            Said::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Said::Assistant { text, calls, results, .. } => {
                let calls = calls.iter().map(|call| function_call(&call.id, &call.name, &call.arguments));
                messages.push(assistant(text, calls.collect()));
                messages.extend(results.iter().map(|result| {
                    json!({
                        "role": "tool",
                        "tool_call_id": result.id,
                        "name": result.name,
                        "content": result.content,
                    })
                }));
            }
        }
    }
    messages
}

/// A moment in ISO form without a zone (it is UTC), to the microsecond.
fn naive(at: Micros) -> String {
    let zoned =
        jiff::Timestamp::from_microsecond(at.0).map(|at| at.to_zoned_datetime(jiff::tz::TimeZone::UTC));
    zoned.map_or_else(|_| at.0.to_string(), |at| at.strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string())
}
