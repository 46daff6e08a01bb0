//! After a restart, and after a fault of herm's own: the turn goes on, and the model is told.

use herm_schema::Event;
use herm_schema::events::*;

use super::{auxiliary, delivery, tool};
use crate::reducer::command::Stamp;
use crate::reducer::effect::EffectId;
use crate::reducer::notices;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

/// Goes on with the turn that another process left. A model call that ran then is made again; what
/// tools ran is found out by the shell. After too many restarts the turn is closed instead.
pub fn resume(state: &SessionState) -> Result<Vec<Event>, Rejection> {
    let abandoned: Vec<Event> = auxiliary::abandon(state).collect();
    let Some(turn) = &state.turn else {
        return if abandoned.is_empty() { Err(Rejection::NothingRunning) } else { Ok(abandoned) };
    };
    let limits = &state.policy.as_ref().ok_or(Rejection::NotConfigured)?.limits;
    let attempt = turn.resumes.saturating_add(1);
    let mut events: Vec<Event> = vec![TurnResumed { attempt }.into()];
    events.extend(abandoned);
    let give_up = attempt > limits.resumes_max;
    match &turn.phase {
        Phase::Calling(_) => {
            let reason = if give_up { AbortReason::Interrupted } else { AbortReason::Crashed };
            events.push(ModelCallAborted { reason, visible_text: String::new() }.into());
        }
        Phase::Tools(batch) if give_up => {
            events.extend(batch.calls.iter().filter_map(close_call));
        }
        Phase::Compressing { .. } if give_up => {
            let message = "restarted too often".to_owned();
            events.push(CompressionFailed { reason: CompressionFailure::Crashed, message }.into());
        }
        Phase::Tools(_)
        | Phase::Compressing { .. }
        | Phase::Gate
        | Phase::Waiting { .. }
        | Phase::Closing { .. }
        | Phase::Delivering { .. } => {}
    }
    Ok(events)
}

fn close_call(call: &CallState) -> Option<Event> {
    match call.status {
        CallStatus::Done => None,
        CallStatus::Started { .. } => {
            Some(ToolCallInDoubt { call: call.call, shown: notices::IN_DOUBT.to_owned() }.into())
        }
        CallStatus::Ready { .. } | CallStatus::Asked { .. } => {
            let shown = notices::skipped("Not run: herm was restarted too often.");
            Some(ToolCallSkipped { call: call.call, reason: SkipReason::Faulted, shown }.into())
        }
    }
}

/// A fault is recorded with the outcome of what it struck, so that nothing stays open.
/// A delivery may fault when no turn runs any more.
pub fn fault(
    state: &SessionState,
    effect: EffectId,
    message: String,
    stamp: &Stamp,
) -> Result<Vec<Event>, Rejection> {
    let sending = match effect {
        EffectId::Deliver(intent) => delivery::faulted(state, intent, stamp).unwrap_or_default(),
        _ => Vec::new(),
    };
    let Some(turn) = &state.turn else {
        return if sending.is_empty() { Err(Rejection::NothingRunning) } else { Ok(sending) };
    };
    let during = effect.name().to_owned();
    let mut events: Vec<Event> = vec![TurnFaulted { during, message }.into()];
    events.extend(sending);
    match (effect, &turn.phase) {
        (EffectId::CallModel(intent), Phase::Calling(running)) if running.at == intent => {
            events
                .push(ModelCallAborted { reason: AbortReason::Crashed, visible_text: String::new() }.into());
        }
        (EffectId::Compress(_), Phase::Compressing { .. }) => {
            let message = "herm failed while compressing".to_owned();
            events.push(CompressionFailed { reason: CompressionFailure::Engine, message }.into());
        }
        (EffectId::PrepareCall(call, _), Phase::Tools(_)) if state.call(call).is_some() => {
            let shown = notices::skipped("Not run: herm failed while preparing it.");
            events.push(ToolCallSkipped { call, reason: SkipReason::Faulted, shown }.into());
        }
        (EffectId::RunTool(intent), Phase::Tools(_)) => {
            let unknown = tool::in_doubt(state, intent, notices::OUTCOME_UNKNOWN);
            events.extend(unknown.unwrap_or_default());
        }
        (EffectId::AskApproval(request), Phase::Tools(_)) => {
            let (decision, by) = (Decision::Expired, DecidedBy::Undelivered);
            let expired = tool::Answer { request, decision, by, answerer: None };
            events.extend(tool::approval(state, expired).unwrap_or_default());
        }
        _ => {}
    }
    Ok(events)
}
