//! The context: compressed, pruned. The events it stands for stay in the log.

use herm_schema::Micros;
use herm_schema::events::*;

use super::Placed;
use crate::reducer::state::*;

pub fn started(state: &mut SessionState, at: Placed, event: &CompressionStarted) {
    state.context.attempts = event.attempt;
    if let Some(turn) = &mut state.turn {
        turn.overflowed = false;
        turn.totals.compressions = turn.totals.compressions.saturating_add(1);
        turn.phase =
            Phase::Compressing { intent: at.pos, position: at.position, before_tokens: event.before_tokens };
    }
}

pub fn finished(state: &mut SessionState, at: Placed, event: &CompressionFinished) {
    replace(&mut state.view, at, event);
    shorten(&mut state.view, &event.pruned);
    state.context.reported = None;
    state.context.ineffective = 0;
    state.context.failures = 0;
    state.context.rests_until = None;
    state.context.compressions = state.context.compressions.saturating_add(1);
    state.prompt_due = Some(PromptReason::Compressed);
    leave(state);
}

/// Rest after a compression that failed, in microseconds; after the second in a row three times as long,
/// after more nine times.
const REST_US: u64 = 60_000_000;

pub fn failed(state: &mut SessionState, now: Micros, event: &CompressionFailed) {
    if !matches!(event.reason, CompressionFailure::Crashed) {
        state.context.ineffective = state.context.ineffective.saturating_add(1);
        state.context.failures = state.context.failures.saturating_add(1);
        let times = match state.context.failures {
            1 => 1,
            2 => 3,
            _ => 9,
        };
        state.context.rests_until = Some(now.plus(REST_US * times));
    }
    leave(state);
}

pub fn pruned(state: &mut SessionState, event: &ToolResultsPruned) {
    shorten(&mut state.view, &event.pruned);
    state.context.reported = None;
    let saved = event.before_tokens.saturating_sub(event.after_tokens);
    let trigger = state.policy.as_ref().map_or(0, |policy| u64::from(policy.compression.prune_above_tokens));
    state.context.prune_rearm_tokens = event.after_tokens.saturating_add(saved.max(trigger));
}

/// Puts the summary where the messages were that it stands for.
pub fn replace(view: &mut Vec<Entry>, at: Placed, event: &CompressionFinished) {
    let first = view.iter().position(|entry| entry.at == event.first);
    let last = view.iter().rposition(|entry| entry.at == event.last);
    let (Some(first), Some(last)) = (first, last) else {
        return;
    };
    if first > last {
        return;
    }
    let summary = Entry { at: at.pos, body: Body::Summary { text: event.summary.clone() } };
    view.splice(first..=last, [summary]);
}

fn shorten(view: &mut [Entry], pruned: &[PrunedResult]) {
    for entry in view {
        if let Body::Result { call, shown, .. } = &mut entry.body
            && let Some(short) = pruned.iter().find(|pruned| pruned.call == *call)
        {
            *shown = short.shown.as_str().into();
        }
    }
}

fn leave(state: &mut SessionState) {
    if let Some(turn) = &mut state.turn
        && matches!(turn.phase, Phase::Compressing { .. })
    {
        turn.phase = Phase::Gate;
    }
}
