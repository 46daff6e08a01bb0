//! Model calls: begun, answered, failed, cut off.

use herm_schema::events::*;
use herm_schema::{CallRef, Micros};

use super::{Placed, spending, turn};
use crate::reducer::state::*;
use crate::reducer::{estimate, notices, segments};

/// Answers without text or tool calls that are asked for again.
const EMPTY_ANSWERS_MAX: u32 = 3;
/// Rounds of unreadable tool calls that are answered before the turn ends.
pub const INVALID_ROUNDS_MAX: u32 = 3;
/// Times a cut answer is continued.
const CONTINUATIONS_MAX: u32 = 3;

pub fn started(state: &mut SessionState, at: Placed, event: &ModelCallStarted) {
    attach_notes(state);
    state.model_calls = event.call;
    let Some(turn) = &mut state.turn else {
        return;
    };
    turn.totals.model_calls = turn.totals.model_calls.saturating_add(1);
    if event.attempt == 1 {
        turn.route_attempts = 0;
        turn.failed_keys.clear();
        turn.totals.iterations = event.iteration;
        turn.budget_used = turn.budget_used.saturating_add(1);
    }
    if turn.route != event.route {
        turn.route = event.route;
        turn.route_attempts = 0;
    }
    turn.route_attempts = turn.route_attempts.saturating_add(1);
    turn.credential.clone_from(&event.credential);
    turn.phase = Phase::Calling(ModelIntent {
        at: at.pos,
        position: at.position,
        call: event.call,
        attempt: event.attempt,
        purpose: event.purpose,
        credential: event.credential.clone(),
    });
}

/// Steers and reminders are put beside the newest tool result that was not sent yet; the model
/// call that is starting is the first to see them. Without such a result they are held back.
fn attach_notes(state: &mut SessionState) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    if !std::mem::take(&mut turn.unsent_result) {
        return;
    }
    let Some(Entry { body: Body::Result { notes, .. }, .. }) = state.view.last_mut() else {
        return;
    };
    notes.extend(turn.notes.drain(..).map(|note| note.rendered()));
}

impl TurnNote {
    /// As the model sees it.
    pub fn rendered(&self) -> String {
        match self.steer {
            true => notices::steer(&self.text),
            false => self.text.clone(),
        }
    }
}

pub fn succeeded(state: &mut SessionState, at: Placed, event: &ModelCallSucceeded) {
    let Some(Phase::Calling(intent)) = state.turn.as_ref().map(|turn| turn.phase.clone()) else {
        return;
    };
    let message = &event.message;
    let closing = match intent.purpose {
        ModelPurpose::ClosingSummary { reason } => Some(reason),
        ModelPurpose::Turn => None,
    };
    let runs_tools = closing.is_none() && !message.calls.is_empty();
    if runs_tools {
        push_answer(state, at, message.clone(), false);
        begin_batch(state, at, message);
    } else if let Some(reason) = closing {
        close_with(state, at, event, reason);
    } else {
        answered(state, at, event);
    }
    report_usage(state, event);
    let prices = state.choice().and_then(|choice| choice.prices.clone());
    spending::spend(state, event.usage, prices.as_ref());
}

/// An answer without a word would be left out of the next request, and what comes after it would
/// run into what came before.
fn push_answer(state: &mut SessionState, at: Placed, mut message: AssistantMessage, cut: bool) {
    if message.text.trim().is_empty() && message.calls.is_empty() {
        message.text = notices::NOTHING_MORE.to_owned();
    }
    state.view.push(Entry { at: at.pos, body: Body::Assistant { message, cut } });
}

/// Only a count that the provider reports shows that a compression worked.
fn report_usage(state: &mut SessionState, event: &ModelCallSucceeded) {
    let Some(usage) = event.usage else {
        return;
    };
    let tokens = usage.input.saturating_add(usage.output);
    state.context.reported = Some(Reported { tokens, entries: state.view.len() as u64 });
    if usage.input < estimate::threshold(state) {
        state.context.attempts = 0;
        state.context.ineffective = 0;
    }
}

fn begin_batch(state: &mut SessionState, at: Placed, message: &AssistantMessage) {
    let segments = segments::cut(state, &message.calls);
    let calls = message.calls.iter().zip(segments).enumerate().map(|(index, (asked, segment))| CallState {
        call: CallRef { message: at.pos, index: index as u16 },
        asked: asked.clone(),
        segment,
        status: CallStatus::Ready { approved: false },
    });
    let batch = Batch { message: at.pos, calls: calls.collect(), late: false };
    if let Some(turn) = &mut state.turn {
        turn.phase = Phase::Tools(batch);
    }
}

fn close_with(state: &mut SessionState, at: Placed, event: &ModelCallSucceeded, reason: ExitReason) {
    let text = event.message.text.clone();
    let message = AssistantMessage { calls: Vec::new(), ..event.message.clone() };
    if !text.trim().is_empty() {
        push_answer(state, at, message, false);
    }
    if let Some(turn) = &mut state.turn {
        turn::close(turn, reason, text);
    }
}

/// An answer without tool calls: the end of the turn, unless it is empty or cut.
fn answered(state: &mut SessionState, at: Placed, event: &ModelCallSucceeded) {
    let text = event.message.text.clone();
    let Some(turn) = &mut state.turn else {
        return;
    };
    let whole = format!("{}{text}", turn.partial);
    match event.finish {
        Finish::ContentFilter => close_with(state, at, event, ExitReason::ModelRefused),
        Finish::Length if !text.trim().is_empty() && turn.continuations < CONTINUATIONS_MAX => {
            turn.continuations += 1;
            turn.partial = whole;
            turn.phase = Phase::Gate;
            push_answer(state, at, event.message.clone(), true);
        }
        Finish::Length | Finish::Stop | Finish::ToolCalls if whole.trim().is_empty() => {
            turn.empty_answers = turn.empty_answers.saturating_add(1);
            turn.phase = Phase::Gate;
            if turn.empty_answers >= EMPTY_ANSWERS_MAX {
                turn.stop.get_or_insert(ExitReason::EmptyAnswer);
            }
        }
        Finish::Length => {
            turn::close(turn, ExitReason::OutputTruncated, whole);
            push_answer(state, at, event.message.clone(), false);
        }
        Finish::Stop | Finish::ToolCalls => {
            turn::close(turn, ExitReason::Answered, whole);
            push_answer(state, at, event.message.clone(), false);
        }
    }
}

pub fn failed(state: &mut SessionState, at: Placed, event: &ModelCallFailed) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    let Phase::Calling(intent) = turn.phase.clone() else {
        return;
    };
    match event.action {
        FailureAction::Retry { not_before } => wait(turn, &intent, not_before),
        FailureAction::Rotate => {
            turn.failed_keys.extend(intent.credential.clone());
            wait(turn, &intent, at.time);
        }
        FailureAction::FallBack { route } => {
            turn.first_failure.get_or_insert_with(|| event.failure.clone());
            turn.route = route;
            turn.route_attempts = 0;
            turn.failed_keys.clear();
            wait(turn, &intent, at.time);
        }
        FailureAction::Strip { what } => {
            turn.route_attempts = turn.route_attempts.saturating_sub(1);
            wait(turn, &intent, at.time);
            leave_out(&mut state.without, what, at);
        }
        FailureAction::ShrinkImages { side_px_max } => {
            turn.route_attempts = turn.route_attempts.saturating_sub(1);
            wait(turn, &intent, at.time);
            state.without.image_side_px_max = Some(side_px_max);
        }
        FailureAction::Compress => {
            turn.overflowed = true;
            turn.budget_used = turn.budget_used.saturating_sub(1);
            turn.phase = Phase::Gate;
        }
        FailureAction::GiveUp => {
            let reason = match intent.purpose {
                ModelPurpose::ClosingSummary { reason } => reason,
                ModelPurpose::Turn => exit_of(event.failure.class, intent.attempt),
            };
            turn::close(turn, reason, String::new());
            if let Phase::Closing { text, .. } = &mut turn.phase {
                *text = notices::failure(turn.first_failure.as_ref().unwrap_or(&event.failure));
            }
        }
    }
}

fn leave_out(without: &mut Without, what: Stripped, at: Placed) {
    match what {
        Stripped::Reasoning => without.reasoning_to = Some(at.pos),
        Stripped::SchemaPatterns => without.schema_patterns = true,
        Stripped::LongContext => without.long_context = true,
        Stripped::ToolImages => without.tool_images = true,
    }
}

fn exit_of(class: FailureClass, attempt: u32) -> ExitReason {
    match class {
        FailureClass::ContentPolicyBlocked | FailureClass::ProviderPolicyBlocked => ExitReason::ModelRefused,
        FailureClass::ContextOverflow | FailureClass::PayloadTooLarge | FailureClass::LongContextTier => {
            ExitReason::ContextOverflow
        }
        _ if attempt > 1 => ExitReason::RetriesExhausted,
        _ => ExitReason::ModelFailed,
    }
}

fn wait(turn: &mut Turn, intent: &ModelIntent, not_before: Micros) {
    turn.phase = Phase::Waiting {
        not_before,
        call: intent.call,
        attempt: intent.attempt.saturating_add(1),
        purpose: intent.purpose,
    };
}

/// What had been shown stays in the conversation, marked as cut off; reasoning does not. After a
/// crash nothing of the attempt is an answer, and the same request is sent again.
pub fn aborted(state: &mut SessionState, at: Placed, event: &ModelCallAborted) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    let Phase::Calling(intent) = turn.phase.clone() else {
        return;
    };
    match event.reason {
        AbortReason::Crashed => wait(turn, &intent, at.time),
        AbortReason::Interrupted | AbortReason::Redirected => {
            turn.phase = Phase::Gate;
            let text = notices::cut_off(&event.visible_text);
            let message = AssistantMessage { text, ..AssistantMessage::default() };
            state.view.push(Entry { at: at.pos, body: Body::Assistant { message, cut: false } });
        }
    }
}
