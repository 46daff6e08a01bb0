//! The one door for calls that are not the conversation: titles, and what tools ask.
//!
//! Each attempt has its intent in the log before it is made and its outcome after. The models are
//! asked in the order that [`crate::runtime::Models::auxiliary`] gives for the task: the session's
//! own first, whose prompt cache is warm. What is cancelled is recorded as cancelled.

use std::time::Duration;

use herm_replay::reducer::failure::flags;
use herm_replay::reducer::request::RequestOptions;
use herm_replay::reducer::{Command, Route};
use herm_schema::events::*;
use herm_schema::{Digest, Event, StreamPos};
use tokio::time::timeout;

use super::Run;
use crate::providers::{CallContext, Deadlines, Image, LoadedMessage, LoadedRequest, classify};

/// Attempts at one task, over all keys and models.
const ATTEMPTS_MAX: u32 = 4;
/// Bytes that count as a token.
const BYTES_PER_TOKEN: u64 = 4;

/// A question besides the conversation.
pub struct Ask {
    pub task: AuxiliaryTask,
    pub system: String,
    pub text: String,
    pub images: Vec<Image>,
    pub output_tokens_max: u32,
}

/// A model for a task, and how long it may take.
#[derive(Clone, Debug)]
pub struct AuxiliaryModel {
    pub choice: ModelChoice,
    pub time_max: Duration,
}

/// What a model said, and which.
pub struct Answered {
    pub text: String,
    pub provider: String,
    pub model: String,
}

/// The answer of the first model that gives one; `None` if none does, if it is cancelled or if
/// nothing may be spent any more. The log says why.
pub async fn ask(run: &Run, policy: &Policy, ask: Ask) -> Option<Answered> {
    let mut attempt = 0;
    for model in run.ports.models.auxiliary(ask.task, policy) {
        let Route::Ready { credentials: ready } = run.ports.models.route(&model.choice) else {
            continue;
        };
        let keys = if ready.is_empty() { vec![None] } else { ready.into_iter().map(Some).collect() };
        for key in keys {
            attempt += 1;
            if attempt > ATTEMPTS_MAX {
                return None;
            }
            match once(run, &model, key, &ask, attempt).await? {
                Ok(text) => {
                    let ModelChoice { provider, model, .. } = model.choice;
                    return Some(Answered { text, provider, model });
                }
                Err(class) if flags(class).should_rotate_credential => {}
                Err(_) => break,
            }
        }
    }
    None
}

/// One attempt, recorded before and after; `None` if there is to be no other.
async fn once(
    run: &Run,
    model: &AuxiliaryModel,
    credential: Option<String>,
    ask: &Ask,
    attempt: u32,
) -> Option<Result<String, FailureClass>> {
    let provider = run.ports.models.provider(&model.choice, credential.as_deref())?;
    let started = AuxiliaryCallStarted {
        task: ask.task,
        attempt,
        request_digest: digest(ask),
        estimated_tokens: ((ask.system.len() + ask.text.len()) as u64).div_ceil(BYTES_PER_TOKEN),
        provider: model.choice.provider.clone(),
        model: model.choice.model.clone(),
        credential,
        prices: model.choice.prices.clone(),
    };
    let at = recorded_at(&run.recorder.record(Command::BeginAuxiliary(started)).await.ok()?)?;
    let request = request(model, ask);
    let context = CallContext {
        cancel: run.cancel.clone(),
        deadlines: Deadlines { total: model.time_max, ..run.ports.deadlines },
        show: std::sync::Arc::new(|_| {}),
    };
    let answered = tokio::select! {
        biased;
        () = run.cancel.cancelled() => None,
        answered = timeout(model.time_max, provider.call(&request, context)) => Some(answered),
    };
    let redact = &run.ports.redact;
    let outcome = match answered {
        None => AuxiliaryOutcome::Cancelled,
        Some(Ok(Ok(answer))) => AuxiliaryOutcome::Answered {
            text: redact(&answer.message.text),
            usage: answer.usage,
            timings: answer.timings,
        },
        Some(Ok(Err(failure))) => {
            let message = redact(&failure.message);
            AuxiliaryOutcome::Failed { failure: ModelFailure { message, ..failure } }
        }
        Some(Err(_)) => {
            let phase = classify::Phase::Total;
            let late = classify::TransportFailure::TooLate { phase, limit: model.time_max };
            AuxiliaryOutcome::Failed { failure: classify::transport(&late) }
        }
    };
    let result = match &outcome {
        AuxiliaryOutcome::Answered { text, .. } => Some(Ok(text.clone())),
        AuxiliaryOutcome::Failed { failure } => Some(Err(failure.class)),
        AuxiliaryOutcome::Cancelled => None,
    };
    let finished = AuxiliaryCallFinished { started: at, outcome };
    run.recorder.record(Command::EndAuxiliary(finished)).await.ok()?;
    result
}

/// Of all that the model is shown; images count by what they hold.
fn digest(ask: &Ask) -> Digest {
    let mut text = format!("{}\0{}", ask.system, ask.text);
    for image in &ask.images {
        text.push('\0');
        text.push_str(&Digest::of(&image.bytes).to_string());
    }
    Digest::of(text.as_bytes())
}

fn recorded_at(recorded: &[herm_schema::Recorded]) -> Option<StreamPos> {
    let started =
        |recorded: &&herm_schema::Recorded| matches!(recorded.event, Event::AuxiliaryCallStarted(_));
    recorded.iter().find(started).map(|recorded| recorded.envelope.stream_pos)
}

fn request(model: &AuxiliaryModel, ask: &Ask) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice { stream: false, ..model.choice.clone() },
        system: Some(ask.system.clone()),
        tools: Vec::new(),
        messages: vec![LoadedMessage::User { text: ask.text.clone(), images: ask.images.clone() }],
        output_tokens_max: ask.output_tokens_max.min(model.choice.output_tokens_max),
        options: RequestOptions::default(),
    }
}
