//! What is owed to the world: one function an effect.
//!
//! [`run`] is the one match. It copies what an effect needs out of the state and returns a future
//! that owns it; the future returns the command that its outcome is for the reducer.

mod ask_approval;
mod auxiliary;
mod build_prompt;
mod call_model;
mod checkpoint;
mod deliver;
mod images;
mod load;
mod prepare_call;
mod program_call;
mod run_tool;
mod services;
mod smart_judge;
pub mod spool;
mod title;
mod veil;

pub use ask_approval::{Answer, profile_stream};
pub use auxiliary::AuxiliaryModel;
pub use deliver::content;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use herm_replay::reducer::{Command, Effect, SessionState};
use herm_schema::SessionId;
use herm_schema::events::Part;
use tokio_util::sync::CancellationToken;

use crate::delivery::{Way, plan};
use crate::runtime::{Ports, Recorder};

/// What an effect came to.
pub enum Outcome {
    Command(Command),
    /// Time has come: ask the reducer to advance.
    Due,
    /// Whether it took effect before a restart cannot be known. If the command is refused, the
    /// effect is simply run.
    Uncertain(Command, Effect),
    /// herm's own failure.
    Fault(String),
    /// It was cancelled, and nobody waits for it.
    Cancelled,
}

/// What has been shown of an answer that is being written.
#[derive(Clone, Debug, Default)]
pub struct Shown(Arc<Mutex<String>>);

impl Shown {
    pub fn push(&self, text: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    }

    pub fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What an effect is run with.
#[derive(Clone)]
pub struct Run {
    pub session: SessionId,
    pub ports: Arc<Ports>,
    /// Cancelled when it is not owed any more, or is to end with what it has.
    pub cancel: CancellationToken,
    pub shown: Shown,
    pub recorder: Recorder,
    /// Its intent was written by a process that is gone.
    pub inherited: bool,
}

/// A future that owns everything it needs.
pub type Task = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Begins an effect.
pub fn run(effect: Effect, state: &SessionState, run: Run) -> Task {
    match &effect {
        Effect::Advance => Box::pin(async { Outcome::Due }),
        Effect::Wait { until } => {
            let until = *until;
            Box::pin(async move {
                tokio::select! {
                    biased;
                    () = run.cancel.cancelled() => Outcome::Cancelled,
                    () = tokio::time::sleep(run.ports.clock.left(until)) => Outcome::Due,
                }
            })
        }
        Effect::BuildPrompt { .. } => build_prompt::run(state, run),
        Effect::CallModel { intent, purpose, .. } => call_model::run(*intent, *purpose, state, run),
        Effect::Compress { intent, .. } => {
            let (intent, state) = (*intent, state.clone());
            Box::pin(async move {
                let result = run.ports.engine.compress(&state);
                Outcome::Command(Command::Compressed { intent, result })
            })
        }
        Effect::PrepareCall { call, approved } => prepare_call::run(*call, *approved, state, run),
        Effect::AskApproval { request, call, .. } => ask_approval::run(*request, *call, state, run),
        Effect::RunTool { intent, call, .. } => run_tool::run(*intent, *call, state, run),
        Effect::Title => title::run(state, run),
        Effect::PlanDelivery { text, .. } => {
            let (text, target) = (text.clone(), state.opened.as_ref().map(|opened| opened.chat.clone()));
            Box::pin(async move {
                let Some(target) = target else {
                    return Outcome::Cancelled;
                };
                let Way { format, keyed } = run.ports.outlet.way(&target);
                let chunks = plan::parts(&text, &format);
                let chunks = chunks.into_iter().map(Part::Text).collect();
                Outcome::Command(Command::DeliveryPrepared { chunks, keyed })
            })
        }
        Effect::Deliver { intent, delivery, chunk, .. } => {
            let intent = *intent;
            if run.inherited {
                let command = Command::DeliveryUncertain { intent };
                return Box::pin(async move { Outcome::Uncertain(command, effect) });
            }
            deliver::run(intent, *delivery, *chunk, state, run)
        }
    }
}
