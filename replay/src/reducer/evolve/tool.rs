//! Tool calls: asked, begun, ended, left out.

use herm_schema::events::*;
use herm_schema::{CallRef, Digest, Text};

use super::Placed;
use super::model::INVALID_ROUNDS_MAX;
use crate::reducer::guardrails;
use crate::reducer::state::*;

fn call_mut(state: &mut SessionState, call: CallRef) -> Option<&mut CallState> {
    match &mut state.turn.as_mut()?.phase {
        Phase::Tools(batch) => batch.calls.iter_mut().find(|state| state.call == call),
        _ => None,
    }
}

pub fn asked(state: &mut SessionState, at: Placed, event: &ApprovalRequested) {
    let question = Asked {
        tool: event.tool.clone(),
        subject: event.subject.clone(),
        reason: event.reason.clone(),
        pattern: event.pattern.clone(),
        target: event.target.clone(),
    };
    match call_mut(state, event.call) {
        Some(CallState { status: CallStatus::Started { .. }, call, .. }) => {
            let call = *call;
            state.asides.push(Aside { request: at.pos, call, question });
        }
        Some(call) => {
            call.status = CallStatus::Asked { request: at.pos, position: at.position, question };
        }
        None => {}
    }
}

pub fn process_started(state: &mut SessionState, event: &ProcessStarted) {
    state.processes.push(Process {
        name: event.process.clone(),
        command: event.command.clone(),
        notify: event.notify,
        call: event.call,
    });
}

/// A yes lets the call be looked at again, and may cover others; silence parks it. What a no or
/// silence means for the model is said by the `ToolCallSkipped` that follows.
pub fn decided(state: &mut SessionState, at: Placed, event: &ApprovalDecided) {
    if let Some(index) = state.asides.iter().position(|aside| aside.request == event.request) {
        let Aside { question, .. } = state.asides.remove(index);
        if let Decision::Allowed { scope } = event.decision {
            grant(state, scope, question);
        }
        return;
    }
    let Some(call) = call_mut(state, event.call).filter(|call| call.asked_at(event.request)) else {
        return decided_late(state, at, event);
    };
    let Decision::Allowed { scope } = event.decision else {
        if let (Decision::Expired, CallStatus::Asked { question, .. }) = (event.decision, &call.status) {
            let (asked, question) = (call.asked.clone(), question.clone());
            park(state, Parked { request: event.request, call: event.call, asked, question });
        }
        return;
    };
    let approved = CallStatus::Ready { approved: true };
    if let CallStatus::Asked { question, .. } = std::mem::replace(&mut call.status, approved) {
        grant(state, scope, question);
    }
}

fn park(state: &mut SessionState, parked: Parked) {
    if state.parked.len() >= PARKED_MAX {
        state.parked.remove(0);
    }
    state.parked.push(parked);
}

/// A call whose turn went on without it gets a turn of its own.
fn decided_late(state: &mut SessionState, at: Placed, event: &ApprovalDecided) {
    let Some(index) = state.parked.iter().position(|parked| parked.request == event.request) else {
        return;
    };
    let Parked { call, asked, question, .. } = state.parked.remove(index);
    if let Decision::Allowed { scope } = event.decision {
        grant(state, scope, question);
        state.queue.push_back(Queued { at: at.pos, said_at: at.time, what: Waiting::Call { call, asked } });
    }
}

/// Only what holds for the session; longer ones stand in the stream of the profile.
fn grant(state: &mut SessionState, scope: GrantScope, question: Asked) {
    let Asked { tool, pattern, target, .. } = question;
    let grant = Grant { tool, pattern, target };
    if scope == GrantScope::Session && !state.grants.contains(&grant) {
        state.grants.push(grant);
    }
}

pub fn started(state: &mut SessionState, at: Placed, event: &ToolCallStarted) {
    if let Some(turn) = &mut state.turn {
        turn.totals.tool_calls = turn.totals.tool_calls.saturating_add(1);
    }
    if let Some(call) = call_mut(state, event.call) {
        call.status = CallStatus::Started {
            intent: at.pos,
            position: at.position,
            arguments: event.arguments.clone(),
            effect: event.effect,
        };
    }
}

pub fn finished(state: &mut SessionState, at: Placed, event: &ToolCallFinished) {
    let trace = call_mut(state, event.call).map(|call| trace_of(call, event));
    if let (Some(turn), ToolStatus::Succeeded, false) = (&mut state.turn, event.status, event.recovered) {
        // Something new was done since the last restart: it is no loop of restarts.
        turn.resumes = 0;
    }
    let mut notes = Vec::new();
    if let (Some(trace), Some(turn)) = (trace, &mut state.turn) {
        turn.history.push(trace);
        if let Some(policy) = &state.policy {
            notes.extend(guardrails::warning(&policy.guardrails, &turn.history));
            if guardrails::stops(&policy.guardrails, &turn.history) {
                turn.stop.get_or_insert(ExitReason::GuardrailStopped);
            }
        }
    }
    end(state, at, event.call, Shown { text: event.shown.clone(), images: event.images.clone(), notes });
}

/// What a call came to, as the model sees it.
struct Shown {
    text: Text,
    images: Vec<Attachment>,
    notes: Vec<String>,
}

impl Shown {
    fn text(text: &str) -> Self {
        Self { text: Text::Inline(text.to_owned()), images: Vec::new(), notes: Vec::new() }
    }
}

fn trace_of(call: &CallState, event: &ToolCallFinished) -> CallTrace {
    let (arguments, effect) = match &call.status {
        CallStatus::Started { arguments, effect, .. } => (arguments, *effect),
        _ => (&call.asked.arguments, EffectClass::Once),
    };
    let result = match &event.shown {
        Text::Inline(text) => Digest::of(text.as_bytes()),
        Text::Stored(blob) => blob.hash,
    };
    CallTrace {
        name: call.asked.name.clone(),
        arguments: Digest::of(arguments.0.as_bytes()),
        result,
        failed: event.status != ToolStatus::Succeeded,
        repeatable: effect == EffectClass::Repeatable,
    }
}

pub fn skipped(state: &mut SessionState, at: Placed, event: &ToolCallSkipped) {
    end(state, at, event.call, Shown::text(&event.shown));
    let Some(turn) = &mut state.turn else {
        return;
    };
    let unreadable = matches!(event.reason, SkipReason::InvalidArguments | SkipReason::UnknownTool);
    if let (true, Phase::Gate) = (unreadable, &turn.phase) {
        // The last of its answer: a whole answer of unreadable calls counts once.
        turn.invalid_rounds = turn.invalid_rounds.saturating_add(1);
        if turn.invalid_rounds >= INVALID_ROUNDS_MAX {
            turn.stop.get_or_insert(ExitReason::InvalidToolCalls);
        }
    }
}

pub fn in_doubt(state: &mut SessionState, at: Placed, event: &ToolCallInDoubt) {
    end(state, at, event.call, Shown::text(&event.shown));
}

/// The call has its result. Results stand in the order of their calls, not of their arrival.
fn end(state: &mut SessionState, at: Placed, call: CallRef, shown: Shown) {
    let Some(entry) = call_mut(state, call) else {
        return;
    };
    entry.status = CallStatus::Done;
    state.asides.retain(|aside| aside.call != call);
    let Some(entry) = call_mut(state, call) else {
        return;
    };
    let asked = entry.asked.clone();
    let Shown { text: shown, images, notes } = shown;
    if let Some(Phase::Tools(Batch { late: true, .. })) = state.turn.as_ref().map(|turn| &turn.phase) {
        state.view.push(Entry { at: at.pos, body: Body::Late { asked, shown, images } });
        return finish_batch(state);
    }
    let body = Body::Result { call, shown, images, notes };
    let before = |entry: &Entry| match &entry.body {
        Body::Result { call: other, .. } => other.message != call.message || other.index < call.index,
        Body::User { .. } | Body::Assistant { .. } | Body::Summary { .. } | Body::Late { .. } => true,
    };
    let index = state.view.iter().rposition(before).map_or(0, |index| index + 1);
    state.view.insert(index, Entry { at: at.pos, body });
    finish_batch(state);
}

/// With its last result the batch is over; iterations of refunding tools are given back.
fn finish_batch(state: &mut SessionState) {
    let Some(Phase::Tools(batch)) = state.turn.as_ref().map(|turn| &turn.phase) else {
        return;
    };
    if batch.calls.iter().any(|call| call.status != CallStatus::Done) {
        return;
    }
    let late = batch.late;
    let refunds = batch
        .calls
        .iter()
        .all(|call| state.tool(&call.asked.name).is_some_and(|tool| tool.refunds_iteration));
    if let Some(turn) = &mut state.turn {
        turn.phase = Phase::Gate;
        turn.unsent_result = !late;
        if refunds && !late {
            turn.budget_used = turn.budget_used.saturating_sub(1);
        }
    }
}
