//! Turns: begun, interrupted, reminded, ended.

use herm_schema::StreamPos;
use herm_schema::events::*;

use super::Placed;
use crate::reducer::notices;
use crate::reducer::state::*;

pub fn started(state: &mut SessionState, at: Placed, event: &TurnStarted) {
    state.turns = at.turn.map_or(state.turns.saturating_add(1), |turn| turn.0);
    state.turn = Some(Turn {
        id: herm_schema::TurnId(state.turns),
        started_at: at.time,
        started: at.position,
        phase: Phase::Gate,
        totals: TurnTotals::default(),
        budget_used: 0,
        notes: Vec::new(),
        budget_warned: false,
        unsent_result: false,
        stop: None,
        interrupted: false,
        overflowed: false,
        faults: 0,
        resumes: 0,
        empty_answers: 0,
        invalid_rounds: 0,
        continuations: 0,
        partial: String::new(),
        route: 0,
        route_attempts: 0,
        credential: None,
        failed_keys: Vec::new(),
        first_failure: None,
        history: Vec::new(),
        checkpoints: Vec::new(),
        answers: None,
        preview: None,
    });
    for inbound in &event.inbound {
        take_queued(state, *inbound);
    }
}

fn take_queued(state: &mut SessionState, inbound: StreamPos) {
    let Some(index) = state.queue.iter().position(|queued| queued.at == inbound) else {
        return;
    };
    match state.queue.remove(index).map(|queued| queued.what) {
        Some(Waiting::Message { text, attachments, message_id, .. }) => {
            if let Some(turn) = &mut state.turn {
                turn.answers = Some(message_id).filter(|id| !id.is_empty());
            }
            state.view.push(Entry { at: inbound, body: Body::User { text, attachments } });
        }
        Some(Waiting::Call { call, asked }) => {
            if let Some(turn) = &mut state.turn {
                let status = CallStatus::Ready { approved: true };
                let calls = vec![CallState { call, asked, segment: 0, status }];
                turn.phase = Phase::Tools(Batch { message: call.message, calls, late: true });
            }
        }
        None => {}
    }
}

/// What was said for a turn that has ended becomes a message of its own: nothing is lost.
pub fn ended(state: &mut SessionState, at: Placed, event: &TurnEnded) {
    let Some(turn) = state.turn.take() else {
        return;
    };
    let answered = state.view.last().is_none_or(|entry| match &entry.body {
        Body::Assistant { message, cut } => message.calls.is_empty() && !cut,
        Body::Summary { .. } => true,
        Body::User { .. } | Body::Result { .. } | Body::Late { .. } => false,
    });
    if !answered {
        let text = notices::unanswered(event.reason);
        let message = AssistantMessage { text, ..AssistantMessage::default() };
        state.view.push(Entry { at: at.pos, body: Body::Assistant { message, cut: false } });
    }
    let steers = turn.notes.into_iter().filter(|note| note.steer);
    state.queue.extend(steers.map(|note| Queued::text(note.at, note.text)));
    state.last_exit = Some(event.reason);
}

pub fn steered(state: &mut SessionState, at: Placed, text: &str) {
    match &mut state.turn {
        Some(turn) => turn.notes.push(TurnNote { at: at.pos, text: text.to_owned(), steer: true }),
        None => state.queue.push_back(Queued::text(at.pos, text)),
    }
}

/// The abort of the model call comes before it in the same append and has left what was visible.
pub fn redirected(state: &mut SessionState, at: Placed, text: &str) {
    state
        .view
        .push(Entry { at: at.pos, body: Body::User { text: text.to_owned(), attachments: Vec::new() } });
}

pub fn interrupted(state: &mut SessionState) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    turn.interrupted = true;
    let reason = match turn.phase {
        Phase::Calling(_) | Phase::Waiting { .. } => ExitReason::InterruptedDuringModelCall,
        Phase::Gate
        | Phase::Tools(_)
        | Phase::Compressing { .. }
        | Phase::Closing { .. }
        | Phase::Delivering { .. } => ExitReason::InterruptedByUser,
    };
    turn.stop.get_or_insert(reason);
}

pub fn budget_warned(state: &mut SessionState, at: Placed, event: &BudgetWarned) {
    if let Some(turn) = &mut state.turn {
        turn.budget_warned = true;
        turn.notes.push(TurnNote { at: at.pos, text: notices::budget(event), steer: false });
    }
}

pub fn faulted(state: &mut SessionState) {
    let limit = state.policy.as_ref().map_or(0, |policy| policy.limits.faults_max);
    if let Some(turn) = &mut state.turn {
        turn.faults = turn.faults.saturating_add(1);
        if turn.faults >= limit {
            if let Phase::Closing { text, .. } = &mut turn.phase {
                // Not even its last word can be prepared: it stays in the log, and the turn ends.
                text.clear();
            }
            turn.stop.get_or_insert(ExitReason::RepeatedFaults);
        }
    }
}

pub fn resumed(state: &mut SessionState, event: &TurnResumed) {
    let limit = state.policy.as_ref().map_or(0, |policy| policy.limits.resumes_max);
    if let Some(turn) = &mut state.turn {
        turn.resumes = event.attempt;
        if turn.resumes > limit {
            turn.stop.get_or_insert(ExitReason::ResumesExhausted);
        }
    }
}

/// A turn that is to stop closes as soon as nothing is running.
pub fn settle(state: &mut SessionState) {
    let Some(turn) = &mut state.turn else {
        return;
    };
    if let Phase::Tools(batch) = &turn.phase
        && turn.stop.is_some()
        && batch.calls.iter().all(|call| call.status == CallStatus::Done)
    {
        turn.phase = Phase::Gate;
    }
    if let (Phase::Gate | Phase::Waiting { .. }, Some(reason)) = (&turn.phase, turn.stop) {
        close(turn, reason, String::new());
    }
}

/// The turn is over; `text` is its last word, and where there is none herm says why.
pub fn close(turn: &mut Turn, reason: ExitReason, text: String) {
    let (kind, text) = match text.trim().is_empty() {
        true => (DeliveryKind::Notice, notices::closing(reason)),
        false => (DeliveryKind::Answer, text),
    };
    turn.phase = Phase::Closing { reason, kind, text };
}
