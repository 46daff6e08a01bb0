//! What a state owes the world, as data: the same state owes the same.

use herm_schema::events::{AuxiliaryTask, ExitReason, PromptReason};

use super::effect::Effect;
use super::state::*;
use crate::deliveries::{self, Owed};

/// Everything that is owed now. What is not in it any more is to be cancelled.
pub fn owed(state: &SessionState) -> Vec<Effect> {
    let mut effects = Vec::new();
    if let Some(turn) = &state.turn {
        owed_by_turn(state, turn, &mut effects);
    } else if state.ended.is_none() && state.policy.is_some() && !state.queue.is_empty() {
        effects.push(match state.debounced_until() {
            Some(until) => Effect::Wait { until },
            None => Effect::Advance,
        });
    }
    owed_to_chats(state, &mut effects);
    if wants_title(state) {
        effects.push(Effect::Title);
    }
    effects
}

/// Asked for once a turn until there is one, a few times at most; owed for as long as it is asked.
fn wants_title(state: &SessionState) -> bool {
    let asked = state.policy.as_ref().is_some_and(|policy| policy.titles);
    let running = state.auxiliary.iter().any(|call| call.task == AuxiliaryTask::Title);
    let answered = state.last_exit == Some(ExitReason::Answered);
    let due = u64::from(state.title_attempts) < state.turns.min(TITLE_ATTEMPTS_MAX);
    asked && state.title.is_none() && state.ended.is_none() && (running || (answered && due))
}

/// Times a model is asked for a title.
const TITLE_ATTEMPTS_MAX: u64 = 3;

fn owed_by_turn(state: &SessionState, turn: &Turn, effects: &mut Vec<Effect>) {
    match &turn.phase {
        Phase::Gate => effects.push(match prompt_due(state) {
            Some(reason) => Effect::BuildPrompt { reason },
            None => Effect::Advance,
        }),
        Phase::Waiting { not_before, .. } => effects.push(Effect::Wait { until: *not_before }),
        Phase::Calling(intent) => effects.push(Effect::CallModel {
            intent: intent.at,
            position: intent.position,
            purpose: intent.purpose,
        }),
        Phase::Tools(batch) => owed_by_batch(turn, batch, effects),
        Phase::Compressing { intent, position, .. } => {
            effects.push(Effect::Compress { intent: *intent, position: *position });
        }
        Phase::Closing { kind, text, .. } => effects.push(match text.is_empty() {
            true => Effect::Advance,
            false => Effect::PlanDelivery { kind: *kind, text: text.clone() },
        }),
        Phase::Delivering { delivery, .. } => {
            if turn_is_over(state, *delivery) {
                effects.push(Effect::Advance);
            }
        }
    }
}

/// Why a prompt has to be built before the next model call, if one has to.
pub fn prompt_due(state: &SessionState) -> Option<PromptReason> {
    state.prompt_due.or_else(|| state.prompt.is_none().then_some(PromptReason::SessionStart))
}

/// A turn ends when each part of its last word has met its fate once; what is to be tried again
/// goes on without it.
pub fn turn_is_over(state: &SessionState, delivery: herm_schema::StreamPos) -> bool {
    state.deliveries.get(&delivery).is_none_or(|delivery| {
        let mut open = delivery.chunks.iter().filter(|chunk| !chunk.resolved());
        open.next().is_none_or(|chunk| chunk.attempts > 0 && matches!(chunk.status, ChunkStatus::Due { .. }))
    })
}

fn owed_by_batch(turn: &Turn, batch: &Batch, effects: &mut Vec<Effect>) {
    let open = |call: &&CallState| call.status != CallStatus::Done;
    let Some(current) = batch.calls.iter().find(open).map(|call| call.segment) else {
        return;
    };
    for call in batch.calls.iter().filter(open).filter(|call| call.segment == current) {
        effects.push(match &call.status {
            CallStatus::Ready { approved } => Effect::PrepareCall { call: call.call, approved: *approved },
            CallStatus::Asked { request, position, .. } => {
                Effect::AskApproval { request: *request, position: *position, call: call.call }
            }
            CallStatus::Started { intent, position, .. } => Effect::RunTool {
                intent: *intent,
                position: *position,
                call: call.call,
                stop: turn.interrupted,
            },
            CallStatus::Done => continue,
        });
    }
}

fn owed_to_chats(state: &SessionState, effects: &mut Vec<Effect>) {
    effects.extend(deliveries::owed(&state.deliveries).into_iter().map(|owed| match owed {
        Owed::Attempt => Effect::Advance,
        Owed::Wait { until } => Effect::Wait { until },
        Owed::Send { intent, position, delivery, chunk } => {
            Effect::Deliver { intent, position, delivery, chunk }
        }
    }));
    effects.dedup();
}
