//! A model call: the request is built from the state, sent, and its answer taken back, redacted.

use std::sync::{Arc, Mutex, PoisonError};

use herm_replay::reducer::state::Phase;
use herm_replay::reducer::{Command, SessionState, transcript};
use herm_schema::events::*;
use herm_schema::{JsonText, SessionId, StreamPos};

use super::veil::Veil;
use super::{Outcome, Run, Shown, Task, load};
use crate::providers::dialects::Scrubber;
use crate::providers::{Answer, CallContext, Delta};
use crate::runtime::{Ports, Redact};

pub fn run(intent: StreamPos, purpose: ModelPurpose, state: &SessionState, run: Run) -> Task {
    let route = state.turn.as_ref().map_or(0, |turn| turn.route);
    let request = transcript::request(state, purpose, route);
    let choice = state.choice().cloned();
    let credential = match state.turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::Calling(running)) => running.credential.clone(),
        _ => None,
    };
    Box::pin(async move {
        let Some(choice) = choice else {
            return Outcome::Fault("a model call without settings".to_owned());
        };
        let Some(provider) = run.ports.models.provider(&choice, credential.as_deref()) else {
            let key = credential.map(|key| format!(" with {key}")).unwrap_or_default();
            let message = format!("there is no provider `{}`{key} any more", choice.provider);
            return failed(intent, FailureClass::ModelNotFound, message);
        };
        let loaded = match load::request(&*run.ports.log, request, choice) {
            Ok(loaded) => loaded,
            Err(error) => return Outcome::Fault(error.to_string()),
        };
        let curtain = Arc::new(Mutex::new(Curtain::new(&run.ports.redact)));
        let context = context(&run, &curtain);
        let answer = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return Outcome::Cancelled,
            answer = provider.call(&loaded, context) => answer,
        };
        let left = curtain.lock().unwrap_or_else(PoisonError::into_inner).end();
        left.into_iter().for_each(|delta| show(&run.shown, &run.ports, run.session, delta));
        let command = match answer {
            Ok(answer) => Command::ModelAnswered { intent, answer: redacted(answer, &run.ports.redact) },
            Err(mut failure) => {
                if failure.status.is_none() && !loaded.choice.base_url.is_empty() {
                    // Where nobody answered, the address is what may be wrong.
                    failure.message = format!("{} (at {})", failure.message, loaded.choice.base_url);
                }
                failure.message = (run.ports.redact)(&failure.message);
                Command::ModelFailed { intent, failure }
            }
        };
        Outcome::Command(command)
    })
}

fn failed(intent: StreamPos, class: FailureClass, message: String) -> Outcome {
    let failure = ModelFailure { class, status: None, message, retry_after_us: None };
    Outcome::Command(Command::ModelFailed { intent, failure })
}

/// What stands between an answer that comes in and those who see it: memory that the model repeats
/// is taken out, then secrets are.
struct Curtain {
    memory: Scrubber,
    veil: Veil,
}

impl Curtain {
    fn new(redact: &Redact) -> Self {
        Self { memory: Scrubber::memory(), veil: Veil::new(Arc::clone(redact)) }
    }

    fn push(&mut self, delta: Delta) -> Vec<Delta> {
        match delta {
            Delta::Text(text) => match self.memory.feed(&text).visible {
                visible if visible.is_empty() => Vec::new(),
                visible => self.veil.push(Delta::Text(visible)),
            },
            other => self.veil.push(other),
        }
    }

    fn end(&mut self) -> Vec<Delta> {
        let left = std::mem::replace(&mut self.memory, Scrubber::memory()).finish().visible;
        let mut out = self.veil.push(Delta::Text(left));
        out.extend(self.veil.end());
        out
    }
}

fn context(run: &Run, curtain: &Arc<Mutex<Curtain>>) -> CallContext {
    let (shown, ports, session) = (run.shown.clone(), Arc::clone(&run.ports), run.session);
    let curtain = Arc::clone(curtain);
    CallContext {
        cancel: run.cancel.clone(),
        deadlines: run.ports.deadlines,
        show: Arc::new(move |delta| {
            let ripe = curtain.lock().unwrap_or_else(PoisonError::into_inner).push(delta);
            ripe.into_iter().for_each(|delta| show(&shown, &ports, session, delta));
        }),
    }
}

fn show(shown: &Shown, ports: &Ports, session: SessionId, delta: Delta) {
    if let Delta::Text(text) = &delta {
        shown.push(text);
    }
    ports.watch.delta(session, &delta);
}

/// As it came, where the model repeats nothing that was meant for it alone.
fn without_memory(text: String) -> String {
    let scrubbed = Scrubber::memory().scrubbed(&text);
    if scrubbed.hidden.is_empty() { text } else { scrubbed.visible }
}

/// Secrets never reach the log, whoever said them. Signed reasoning cannot be edited: with a secret in
/// it, it is left out whole.
fn redacted(answer: Answer, redact: &Redact) -> ModelCallSucceeded {
    let Answer { message, finish, usage, timings, response_id } = answer;
    let calls = message.calls.into_iter().map(|call| ToolCall {
        arguments: JsonText(redact(&call.arguments.0)),
        id: redact(&call.id),
        name: redact(&call.name),
    });
    let message = AssistantMessage {
        text: redact(&without_memory(message.text)),
        reasoning: message.reasoning.map(|reasoning| redact(&reasoning)),
        calls: calls.collect(),
        extras: message.extras.filter(|extras| redact(&extras.json.0) == extras.json.0),
    };
    ModelCallSucceeded { message, finish, usage, timings, response_id }
}
