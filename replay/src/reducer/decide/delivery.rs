//! Deliveries of a session: its last word, and what else is to be said in its chat.

use herm_schema::events::*;
use herm_schema::{Event, Micros, StreamPos};

use crate::deliveries::{self, Doubt, Failure};
use crate::reducer::command::Stamp;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

/// The last word is owed, and its first chunk is on its way.
pub fn prepared(state: &SessionState, chunks: Vec<Part>, keyed: bool) -> Result<Vec<Event>, Rejection> {
    let turn = state.turn.as_ref().ok_or(Rejection::Stale)?;
    let opened = state.opened.as_ref().ok_or(Rejection::NotOpen)?;
    let Phase::Closing { kind, .. } = turn.phase else {
        return Err(Rejection::Stale);
    };
    let (target, reply_to) = (opened.chat.clone(), turn.answers.clone());
    let planned = DeliveryPlanned { target, kind, chunks, keyed, reply_to, possible_repeat: false };
    Ok(deliveries::plan(&state.deliveries, state.next_pos(), planned))
}

/// Something is to be said in a chat besides the answers of turns.
pub fn say(state: &SessionState, planned: DeliveryPlanned) -> Result<Vec<Event>, Rejection> {
    Ok(deliveries::plan(&state.deliveries, state.next_pos(), planned))
}

/// The first chunk that is due, of the first delivery of its target.
pub fn next_attempt(state: &SessionState, stamp: &Stamp) -> Option<Vec<Event>> {
    deliveries::next_attempt(&state.deliveries, stamp.now).map(|event| vec![event])
}

pub fn delivered(
    state: &SessionState,
    intent: StreamPos,
    platform_message_id: Option<String>,
) -> Result<Vec<Event>, Rejection> {
    let confirmed = deliveries::confirm(&state.deliveries, intent, platform_message_id);
    confirmed.map(|event| vec![event]).ok_or(Rejection::Stale)
}

pub fn failed(
    state: &SessionState,
    intent: StreamPos,
    class: DeliveryFailure,
    message: String,
    retry_at: Option<Micros>,
) -> Result<Vec<Event>, Rejection> {
    fail(state, intent, Failure { class, message, retry_at })
}

/// herm failed while it was being sent.
pub fn faulted(state: &SessionState, intent: StreamPos, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
    fail(state, intent, Failure::of_herm(stamp.now))
}

fn fail(state: &SessionState, intent: StreamPos, failure: Failure) -> Result<Vec<Event>, Rejection> {
    let failed = deliveries::fail(&state.deliveries, policy(state), intent, failure);
    failed.map(|event| vec![event]).ok_or(Rejection::Stale)
}

fn policy(state: &SessionState) -> DeliveryPolicy {
    state.policy.as_ref().map_or(DeliveryPolicy::AtLeastOnce, |policy| policy.delivery)
}

/// Sent or not, nobody knows.
pub fn uncertain(state: &SessionState, intent: StreamPos) -> Result<Vec<Event>, Rejection> {
    match deliveries::doubt(&state.deliveries, policy(state), intent) {
        Doubt::Stale => Err(Rejection::Stale),
        Doubt::SameAttempt => Err(Rejection::NothingDue),
        Doubt::Event(event) => Ok(vec![*event]),
    }
}

/// A person gives up what is left of a delivery.
pub fn drop(state: &SessionState, delivery: StreamPos) -> Result<Vec<Event>, Rejection> {
    match state.deliveries.contains_key(&delivery) {
        true => Ok(vec![DeliveryDropped { delivery }.into()]),
        false => Err(Rejection::Stale),
    }
}
