//! Outcomes of model calls: what is kept, what is tried again, what is given up.

use herm_schema::events::*;
use herm_schema::{CallRef, Event, StreamPos};

use super::remedy;
use crate::reducer::command::Stamp;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;
use crate::reducer::{canonical, notices};

/// Tool calls of one answer that are run; the rest are answered with an error.
pub const CALLS_PER_ANSWER_MAX: usize = 128;

fn awaited(state: &SessionState, intent: StreamPos) -> Result<&ModelIntent, Rejection> {
    match state.turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::Calling(running)) if running.at == intent => Ok(running),
        _ => Err(Rejection::Stale),
    }
}

/// The answer is recorded before anything it asks for begins. Calls that cannot run are answered
/// in the same append.
pub fn answered(
    state: &SessionState,
    intent: StreamPos,
    mut answer: ModelCallSucceeded,
) -> Result<Vec<Event>, Rejection> {
    let running = awaited(state, intent)?;
    answer.message.calls.truncate(usize::from(u16::MAX));
    let skipped = match running.purpose {
        ModelPurpose::Turn => unrunnable(state, &answer),
        ModelPurpose::ClosingSummary { .. } => Vec::new(),
    };
    let mut events: Vec<Event> = vec![answer.into()];
    events.extend(skipped);
    Ok(events)
}

fn unrunnable(state: &SessionState, answer: &ModelCallSucceeded) -> Vec<Event> {
    let message = state.next_pos();
    let calls = &answer.message.calls;
    let mut seen: Vec<(&str, Option<String>)> = Vec::with_capacity(calls.len());
    let mut events = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let arguments = canonical::object(&call.arguments.0);
        let key = (call.name.as_str(), arguments.clone());
        let duplicate = arguments.is_some() && seen.contains(&key);
        let why = if answer.finish == Finish::Length {
            Some((SkipReason::InvalidArguments, "Not run: the output limit cut this answer.".to_owned()))
        } else if index >= CALLS_PER_ANSWER_MAX {
            let why = format!("Not run: at most {CALLS_PER_ANSWER_MAX} calls in one answer.");
            Some((SkipReason::InvalidArguments, why))
        } else if state.tool(&call.name).is_none() {
            Some((SkipReason::UnknownTool, unknown(state, &call.name)))
        } else if arguments.is_none() {
            Some((SkipReason::InvalidArguments, "Not run: the arguments are not a JSON object.".to_owned()))
        } else if duplicate {
            let why = "Not run: the same call stands earlier in this answer; see its result.".to_owned();
            Some((SkipReason::Duplicate, why))
        } else {
            None
        };
        seen.push(key);
        if let Some((reason, why)) = why {
            let call = CallRef { message, index: index as u16 };
            events.push(ToolCallSkipped { call, reason, shown: notices::skipped(&why) }.into());
        }
    }
    events
}

fn unknown(state: &SessionState, name: &str) -> String {
    let tools = state.offer.iter().flat_map(|offer| &offer.tools).map(|tool| tool.name.as_str());
    let known: Vec<_> = tools.collect();
    let name: String = name.chars().take(80).collect();
    format!("There is no tool `{name}`. There are: {}.", known.join(", "))
}

/// What is done about it follows from its class; see [`remedy`].
pub fn failed(
    state: &SessionState,
    intent: StreamPos,
    failure: ModelFailure,
    stamp: &Stamp,
) -> Result<Vec<Event>, Rejection> {
    let running = awaited(state, intent)?;
    let turn = state.turn.as_ref().ok_or(Rejection::Stale)?;
    let action = remedy::remedy(state, turn, running, &failure, stamp);
    Ok(vec![ModelCallFailed { failure, action }.into()])
}
