//! Tool calls: let through, asked about, refused, ended, in doubt.

use herm_schema::events::*;
use herm_schema::{CallRef, Event, StreamPos};

use crate::reducer::command::{Prepared, ToolOutcome};
use crate::reducer::notices;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

fn calls(state: &SessionState) -> &[CallState] {
    match state.turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::Tools(batch)) => &batch.calls,
        _ => &[],
    }
}

fn skip(call: CallRef, reason: SkipReason, why: &str) -> Event {
    ToolCallSkipped { call, reason, shown: notices::skipped(why) }.into()
}

/// What the shell's look at a call leads to.
pub fn prepared(state: &SessionState, call: CallRef, verdict: Prepared) -> Result<Vec<Event>, Rejection> {
    let entry = state.call(call).ok_or(Rejection::Stale)?;
    let CallStatus::Ready { approved } = entry.status else {
        return Err(Rejection::Stale);
    };
    let name = entry.asked.name.clone();
    let effect = state.tool(&name).map(|tool| tool.effect).ok_or(Rejection::Stale)?;
    Ok(match verdict {
        Prepared::Run { arguments } => vec![ToolCallStarted { call, name, arguments, effect }.into()],
        // A call that a person allowed is not asked about again.
        Prepared::Ask { .. } if approved => return Err(Rejection::Stale),
        Prepared::Ask { subject, reason, rule, pattern } => {
            vec![ApprovalRequested { call, tool: name, subject, reason, rule, pattern }.into()]
        }
        Prepared::Block { rule, subject } => {
            let why = format!("Blocked and not run, whatever anybody says: {rule}. Do not try another way.");
            vec![CommandBlocked { call, rule, subject }.into(), skip(call, SkipReason::Blocked, &why)]
        }
        Prepared::Invalid { shown } => {
            vec![ToolCallSkipped { call, reason: SkipReason::InvalidArguments, shown }.into()]
        }
    })
}

/// Only the question that is open can be answered; silence is not a yes and not a refusal.
pub fn approval(
    state: &SessionState,
    request: StreamPos,
    decision: Decision,
    by: DecidedBy,
) -> Result<Vec<Event>, Rejection> {
    let open = calls(state)
        .iter()
        .find(|call| matches!(call.status, CallStatus::Asked { request: asked, .. } if asked == request));
    let call = open.ok_or(Rejection::Stale)?.call;
    let mut events: Vec<Event> = vec![ApprovalDecided { call, request, decision, by }.into()];
    match decision {
        Decision::Allowed { .. } => {}
        Decision::Denied => {
            events.push(skip(call, SkipReason::Denied, "The user refused this call. Do not repeat it."));
        }
        Decision::Expired => {
            let why = "Not run: nobody answered whether it may run. Say what you need it for.";
            events.push(skip(call, SkipReason::Unanswered, why));
        }
    }
    Ok(events)
}

fn started(state: &SessionState, intent: StreamPos) -> Result<CallRef, Rejection> {
    let running =
        |call: &&CallState| matches!(call.status, CallStatus::Started { intent: at, .. } if at == intent);
    calls(state).iter().find(running).map(|call| call.call).ok_or(Rejection::Stale)
}

pub fn finished(
    state: &SessionState,
    intent: StreamPos,
    outcome: ToolOutcome,
) -> Result<Vec<Event>, Rejection> {
    let call = started(state, intent)?;
    let ToolOutcome { status, shown, full, recovered, elapsed_us } = outcome;
    Ok(vec![ToolCallFinished { call, status, shown, full, recovered, elapsed_us }.into()])
}

pub fn in_doubt(state: &SessionState, intent: StreamPos, shown: &str) -> Result<Vec<Event>, Rejection> {
    let call = started(state, intent)?;
    Ok(vec![ToolCallInDoubt { call, shown: shown.to_owned() }.into()])
}
