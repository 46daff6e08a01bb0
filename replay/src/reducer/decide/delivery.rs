//! Deliveries: planned and first attempted in one append, then confirmed or tried again.

use herm_schema::events::*;
use herm_schema::{Event, Micros, StreamPos};

use crate::reducer::command::Stamp;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

/// Attempts at one chunk, after which it has failed for good.
pub const ATTEMPTS_MAX: u32 = 12;
/// Wait after a failure of herm's own before a chunk is sent again.
const FAULT_RETRY_US: u64 = 30_000_000;

/// The last word is owed, and its first chunk is on its way: one wait for the disk, not two.
pub fn prepared(state: &SessionState, chunks: Vec<String>, keyed: bool) -> Result<Vec<Event>, Rejection> {
    let turn = state.turn.as_ref().ok_or(Rejection::Stale)?;
    let opened = state.opened.as_ref().ok_or(Rejection::NotOpen)?;
    let Phase::Closing { kind, .. } = turn.phase else {
        return Err(Rejection::Stale);
    };
    let target = opened.chat.clone();
    let idle = !state.deliveries.values().any(|delivery| delivery.target == target);
    let planned = DeliveryPlanned { target, kind, chunks, keyed };
    let mut events: Vec<Event> = vec![planned.into()];
    if idle {
        events.push(attempt(state.next_pos(), 0, 1, false));
    }
    Ok(events)
}

fn attempt(delivery: StreamPos, chunk: u16, attempt: u32, possible_repeat: bool) -> Event {
    DeliveryAttempted { delivery, chunk, attempt, possible_repeat }.into()
}

/// The first chunk that is due, of the first delivery of its target.
pub fn next_attempt(state: &SessionState, stamp: &Stamp) -> Option<Vec<Event>> {
    let mut busy: Vec<&ChatRef> = Vec::new();
    for (id, delivery) in &state.deliveries {
        if busy.contains(&&delivery.target) {
            continue;
        }
        busy.push(&delivery.target);
        let next = delivery.chunks.iter().enumerate().find(|(_, chunk)| !chunk.resolved());
        if let Some((index, chunk)) = next
            && matches!(chunk.status, ChunkStatus::Due { not_before } if not_before <= stamp.now)
        {
            let repeat = chunk.uncertain && !delivery.keyed;
            return Some(vec![attempt(*id, index as u16, chunk.attempts.saturating_add(1), repeat)]);
        }
    }
    None
}

struct Sent {
    delivery: StreamPos,
    chunk: u16,
    attempts: u32,
    keyed: bool,
}

fn sent(state: &SessionState, intent: StreamPos) -> Result<Sent, Rejection> {
    let found = state.deliveries.iter().find_map(|(id, delivery)| {
        let chunk = delivery.chunks.iter().enumerate().find(
            |(_, chunk)| matches!(chunk.status, ChunkStatus::Attempted { intent: at, .. } if at == intent),
        )?;
        let (index, chunk) = chunk;
        Some(Sent { delivery: *id, chunk: index as u16, attempts: chunk.attempts, keyed: delivery.keyed })
    });
    found.ok_or(Rejection::Stale)
}

pub fn delivered(
    state: &SessionState,
    intent: StreamPos,
    platform_message_id: Option<String>,
) -> Result<Vec<Event>, Rejection> {
    let Sent { delivery, chunk, .. } = sent(state, intent)?;
    Ok(vec![DeliveryConfirmed { delivery, chunk, platform_message_id }.into()])
}

pub fn failed(
    state: &SessionState,
    intent: StreamPos,
    class: DeliveryFailure,
    message: String,
    retry_at: Option<Micros>,
) -> Result<Vec<Event>, Rejection> {
    let Sent { delivery, chunk, attempts, keyed } = sent(state, intent)?;
    let may_repeat =
        class != DeliveryFailure::Unknown || keyed || policy(state) == DeliveryPolicy::AtLeastOnce;
    let retry_at = retry_at.filter(|_| may_repeat && attempts < ATTEMPTS_MAX);
    Ok(vec![DeliveryFailed { delivery, chunk, class, message, retry_at }.into()])
}

/// herm failed while it was being sent: like a failure that leaves open whether it was.
pub fn faulted(state: &SessionState, intent: StreamPos, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
    let message = "herm failed while sending".to_owned();
    let retry_at = Some(stamp.now.plus(FAULT_RETRY_US));
    failed(state, intent, DeliveryFailure::Unknown, message, retry_at)
}

fn policy(state: &SessionState) -> DeliveryPolicy {
    state.policy.as_ref().map_or(DeliveryPolicy::AtLeastOnce, |policy| policy.delivery)
}

/// Sent or not, nobody knows. With a key it is sent again under the same one, as the same attempt;
/// without, the policy chooses between a possible repeat and a possible loss.
pub fn uncertain(state: &SessionState, intent: StreamPos) -> Result<Vec<Event>, Rejection> {
    let Sent { delivery, chunk, attempts, keyed } = sent(state, intent)?;
    if keyed {
        return Err(Rejection::NothingDue);
    }
    Ok(match policy(state) {
        DeliveryPolicy::AtLeastOnce => vec![attempt(delivery, chunk, attempts.saturating_add(1), true)],
        DeliveryPolicy::AtMostOnce => {
            let message = "sent or not, a restart came between; the policy is not to repeat".to_owned();
            let class = DeliveryFailure::Unknown;
            vec![DeliveryFailed { delivery, chunk, class, message, retry_at: None }.into()]
        }
    })
}
