//! A model that follows a script, and checks every request it is sent.
//!
//! Every reply begins with a mark such as `[s3]`. Which reply is next is read from the request
//! alone: it is the one after the newest mark in it, so that a resumed run goes on with the script
//! wherever it was cut.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm::providers::{Answer, BoxFuture, CallContext, Delta, LoadedMessage, LoadedRequest, Provider};
use herm_schema::JsonText;
use herm_schema::events::*;

use super::Ground;

/// One answer of the script.
#[derive(Clone, Debug)]
pub struct Reply {
    pub text: String,
    /// Id, name, arguments.
    pub calls: Vec<(String, String, String)>,
    pub takes_ms: u64,
    pub usage: bool,
}

/// What goes wrong instead of an answer, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    Fail(FailureClass),
    /// An answer without a word.
    Empty,
    /// The output limit cuts the answer.
    Cut,
    Filtered,
    Panic,
    /// Nothing comes for so long.
    Late(u64),
}

/// A reply without tool calls.
pub fn say(text: &str) -> Reply {
    Reply { text: text.into(), calls: Vec::new(), takes_ms: 2_000, usage: true }
}

/// A reply that asks for tool calls: name and arguments each.
pub fn call(text: &str, calls: &[(&str, &str)]) -> Reply {
    let id = |(index, (name, arguments)): (usize, &(&str, &str))| {
        (format!("c{index}"), (*name).to_owned(), (*arguments).to_owned())
    };
    Reply { calls: calls.iter().enumerate().map(id).collect(), ..say(text) }
}

pub struct ScriptedModel {
    pub ground: Arc<Mutex<Ground>>,
    pub script: Arc<Vec<Reply>>,
}

impl Provider for ScriptedModel {
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Answer, ModelFailure>> {
        Box::pin(async move {
            let step = next_step(&request.messages);
            let trouble = self.note(request, step);
            let reply = self.script.get(step).cloned().unwrap_or_else(|| say("Nothing is left to do."));
            answer(step, reply, trouble, request, &context).await
        })
    }
}

impl ScriptedModel {
    /// Records the request and what is wrong with it; what goes wrong now.
    fn note(&self, request: &LoadedRequest, step: usize) -> Option<Trouble> {
        let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        ground.requests.push(request.messages.clone());
        if let Err(why) = well_formed(&request.messages) {
            ground.complaints.push(format!("{why}: {:#?}", request.messages));
        }
        if tokens(request) > u64::from(request.choice.context_window_tokens - request.output_tokens_max) {
            return Some(Trouble::Fail(FailureClass::ContextOverflow));
        }
        ground.troubles.get_mut(&step)?.pop_front()
    }
}

async fn answer(
    step: usize,
    reply: Reply,
    trouble: Option<Trouble>,
    request: &LoadedRequest,
    context: &CallContext,
) -> Result<Answer, ModelFailure> {
    let half = Duration::from_millis(reply.takes_ms / 2);
    let mut finish = if reply.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    let (mut text, mut calls) = (format!("[s{step}] {}", reply.text), reply.calls);
    match trouble {
        Some(Trouble::Fail(class)) => {
            tokio::time::sleep(half).await;
            return Err(ModelFailure {
                class,
                status: Some(500),
                message: "no".into(),
                retry_after_us: None,
            });
        }
        Some(Trouble::Panic) => panic!("the provider panics"),
        Some(Trouble::Empty) => (text, calls, finish) = (String::new(), Vec::new(), Finish::Stop),
        Some(Trouble::Cut) => finish = Finish::Length,
        Some(Trouble::Filtered) => finish = Finish::ContentFilter,
        Some(Trouble::Late(ms)) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => {}
    }
    tokio::time::sleep(half).await;
    (context.show)(Delta::Text(text.clone()));
    tokio::time::sleep(half).await;
    let output = text.len() as u64 / 4;
    let usage = reply.usage.then(|| Usage { input: tokens(request), output, ..Usage::default() });
    let call = |(id, name, arguments)| ToolCall { id, name, arguments: JsonText(arguments) };
    let calls = calls.into_iter().map(call).collect();
    let message = AssistantMessage { text, reasoning: None, calls, extras: None };
    Ok(Answer { message, finish, usage, timings: Timings::default(), response_id: None })
}

/// The number after the newest mark in the conversation.
fn next_step(messages: &[LoadedMessage]) -> usize {
    let marks = |text: &str| {
        let ends = text.split("[s").skip(1);
        ends.filter_map(|rest| rest.split(']').next()?.parse::<usize>().ok()).max()
    };
    let newest = messages.iter().filter_map(|message| match message {
        LoadedMessage::User { text, .. } | LoadedMessage::Assistant { text, .. } => marks(text),
        LoadedMessage::Tool { .. } => None,
    });
    newest.max().map_or(0, |newest| newest + 1)
}

/// Size of a request, counted as roughly as herm does.
fn tokens(request: &LoadedRequest) -> u64 {
    let size = |message: &LoadedMessage| match message {
        LoadedMessage::User { text, .. } | LoadedMessage::Tool { text, .. } => text.len(),
        LoadedMessage::Assistant { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.name.len() + call.arguments.0.len()).sum::<usize>()
        }
    };
    let tools = serde_json::to_string(&request.tools).unwrap().len();
    let system = request.system.as_ref().map_or(0, String::len);
    ((request.messages.iter().map(size).sum::<usize>() + tools + system) / 4) as u64
}

/// Roles alternate, every call has exactly one result at once, in order, ids are unique.
pub fn well_formed(messages: &[LoadedMessage]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let mut waiting: Vec<&str> = Vec::new();
    let mut before = "nothing";
    for message in messages {
        let role = match message {
            LoadedMessage::User { .. } => "user",
            LoadedMessage::Assistant { .. } => "assistant",
            LoadedMessage::Tool { .. } => "tool",
        };
        if role != "tool" && !waiting.is_empty() {
            return Err(format!("calls {waiting:?} have no result"));
        }
        if (role == before && role != "tool") || (before == "nothing" && role != "user") {
            return Err(format!("{role} after {before}"));
        }
        match message {
            LoadedMessage::Assistant { calls, .. } => {
                for call in calls {
                    serde_json::from_str::<serde_json::Map<_, _>>(&call.arguments.0)
                        .map_err(|error| error.to_string())?;
                    if call.id.is_empty() || !ids.insert(&call.id) {
                        return Err(format!("id `{}` is not unique", call.id));
                    }
                }
                waiting = calls.iter().rev().map(|call| call.id.as_str()).collect();
            }
            LoadedMessage::Tool { id, .. } if waiting.pop() != Some(id) => {
                return Err(format!("result `{id}` is out of place"));
            }
            LoadedMessage::Tool { .. } | LoadedMessage::User { .. } => {}
        }
        before = role;
    }
    match (waiting.is_empty(), before) {
        (false, _) => Err(format!("calls {waiting:?} have no result")),
        (true, "assistant" | "nothing") => Err(format!("ends with {before}")),
        (true, _) => Ok(()),
    }
}
