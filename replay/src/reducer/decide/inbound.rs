//! What people say, and when: to a session at rest, or in the middle of a turn.

use herm_schema::Event;
use herm_schema::events::*;

use crate::reducer::notices;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

/// Longest message that is accepted, in bytes of UTF-8.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;

fn admit(state: &SessionState, text: &str) -> Result<(), Rejection> {
    if let Some(reason) = state.ended {
        return Err(Rejection::Ended { reason });
    }
    if text.len() > MESSAGE_BYTES_MAX {
        return Err(Rejection::TooLarge { what: "message", found: text.len(), limit: MESSAGE_BYTES_MAX });
    }
    Ok(())
}

/// A message: its own turn, or what the busy policy makes of it.
pub fn receive(
    state: &SessionState,
    message: MessageReceived,
    visible_text: String,
) -> Result<Vec<Event>, Rejection> {
    admit(state, &message.text)?;
    let busy = state.policy.as_ref().map_or(BusyPolicy::Queue, |policy| policy.busy);
    let Some(turn) = &state.turn else {
        return Ok(vec![message.into()]);
    };
    match (busy, &turn.phase) {
        (BusyPolicy::Queue, _) | (_, Phase::Closing { .. } | Phase::Delivering { .. }) => {
            Ok(vec![message.into()])
        }
        // A file has no place beside a tool result: its message waits for a turn of its own.
        _ if turn.stop.is_some() || !message.attachments.is_empty() => Ok(vec![message.into()]),
        (BusyPolicy::Steer, _) | (BusyPolicy::Interrupt, Phase::Tools(_)) => {
            Ok(vec![as_steer(message).into()])
        }
        (BusyPolicy::Interrupt, Phase::Calling(intent)) if intent.purpose == ModelPurpose::Turn => {
            let aborted = ModelCallAborted { reason: AbortReason::Redirected, visible_text };
            Ok(vec![aborted.into(), as_redirect(message).into()])
        }
        (BusyPolicy::Interrupt, Phase::Waiting { .. }) => {
            Ok(vec![message.into(), InterruptRequested { by: InterruptSource::NewMessage }.into()])
        }
        (BusyPolicy::Interrupt, Phase::Gate | Phase::Calling(_) | Phase::Compressing { .. }) => {
            Ok(vec![message.into()])
        }
    }
}

fn as_steer(message: MessageReceived) -> SteerReceived {
    SteerReceived { message_id: message.message_id, sender: message.sender, text: message.text }
}

fn as_redirect(message: MessageReceived) -> RedirectReceived {
    RedirectReceived { message_id: message.message_id, sender: message.sender, text: message.text }
}

pub fn steer(state: &SessionState, steer: SteerReceived) -> Result<Vec<Event>, Rejection> {
    admit(state, &steer.text)?;
    match &state.turn {
        Some(_) => Ok(vec![steer.into()]),
        None => Err(Rejection::NothingRunning),
    }
}

/// What herm has to say waits for its own turn.
pub fn notice(state: &SessionState, notice: NoticeReceived) -> Result<Vec<Event>, Rejection> {
    admit(state, &notice.text)?;
    Ok(vec![notice.into()])
}

/// A conversation that was had elsewhere: only where none has begun.
pub fn give(state: &SessionState, history: HistoryGiven) -> Result<Vec<Event>, Rejection> {
    history.messages.iter().try_for_each(|message| admit(state, &message.text))?;
    match state.view.is_empty() && state.queue.is_empty() && state.turn.is_none() {
        true => Ok(vec![history.into()]),
        false => Err(Rejection::WorkOpen),
    }
}

/// Said in this chat from elsewhere. During a turn it would come between a call and its result.
pub fn mirror(state: &SessionState, mirrored: MessageMirrored) -> Result<Vec<Event>, Rejection> {
    admit(state, &mirrored.text)?;
    match state.turn {
        Some(_) => Err(Rejection::WorkOpen),
        None => Ok(vec![mirrored.into()]),
    }
}

/// Ends the turn now: what runs is stopped, what has not begun does not begin.
pub fn interrupt(
    state: &SessionState,
    by: InterruptSource,
    visible_text: String,
) -> Result<Vec<Event>, Rejection> {
    let turn = state.turn.as_ref().ok_or(Rejection::NothingRunning)?;
    let mut events: Vec<Event> = vec![InterruptRequested { by }.into()];
    match &turn.phase {
        Phase::Closing { .. } | Phase::Delivering { .. } => return Err(Rejection::AlreadyEnding),
        _ if turn.interrupted => return Err(Rejection::AlreadyEnding),
        Phase::Gate | Phase::Waiting { .. } => {}
        Phase::Calling(_) => {
            events.push(ModelCallAborted { reason: AbortReason::Interrupted, visible_text }.into());
        }
        Phase::Compressing { .. } => {
            let message = "interrupted".to_owned();
            events.push(CompressionFailed { reason: CompressionFailure::Engine, message }.into());
        }
        Phase::Tools(batch) => {
            let unbegun = batch
                .calls
                .iter()
                .filter(|call| matches!(call.status, CallStatus::Ready { .. } | CallStatus::Asked { .. }));
            events.extend(unbegun.map(|call| {
                let shown = notices::skipped("Cancelled: the user interrupted before it began.");
                ToolCallSkipped { call: call.call, reason: SkipReason::Interrupted, shown }.into()
            }));
        }
    }
    Ok(events)
}

pub fn end(state: &SessionState, reason: EndReason) -> Result<Vec<Event>, Rejection> {
    match (state.ended, &state.turn) {
        (Some(reason), _) => Err(Rejection::Ended { reason }),
        (None, Some(_)) => Err(Rejection::WorkOpen),
        (None, None) if !state.queue.is_empty() => Err(Rejection::WorkOpen),
        (None, None) => Ok(vec![SessionEnded { reason, state: Some(state.digest()) }.into()]),
    }
}
