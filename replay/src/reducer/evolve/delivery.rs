//! Deliveries: planned, attempted, confirmed, failed.

use herm_schema::Micros;
use herm_schema::events::*;

use super::Placed;
use crate::reducer::state::*;

pub fn planned(state: &mut SessionState, at: Placed, event: &DeliveryPlanned) {
    let due = || ChunkStatus::Due { not_before: Micros(0) };
    let chunks = event.chunks.iter().map(|text| Chunk {
        text: text.clone(),
        attempts: 0,
        uncertain: false,
        status: due(),
    });
    let delivery = Delivery {
        planned: at.position,
        target: event.target.clone(),
        kind: event.kind,
        keyed: event.keyed,
        chunks: chunks.collect(),
    };
    state.deliveries.insert(at.pos, delivery);
    if let Some(turn) = &mut state.turn
        && let Phase::Closing { reason, .. } = turn.phase
    {
        turn.phase = Phase::Delivering { reason, delivery: at.pos };
    }
}

pub fn attempted(state: &mut SessionState, at: Placed, event: &DeliveryAttempted) {
    let chunk = state.deliveries.get_mut(&event.delivery);
    if let Some(chunk) = chunk.and_then(|delivery| delivery.chunks.get_mut(usize::from(event.chunk))) {
        chunk.attempts = event.attempt;
        chunk.uncertain |= event.possible_repeat;
        chunk.status = ChunkStatus::Attempted {
            intent: at.pos,
            position: at.position,
            possible_repeat: event.possible_repeat,
        };
    }
}

pub fn confirmed(state: &mut SessionState, event: &DeliveryConfirmed) {
    settle(state, event.delivery, event.chunk, ChunkStatus::Confirmed);
}

pub fn failed(state: &mut SessionState, event: &DeliveryFailed) {
    let status = match event.retry_at {
        Some(not_before) => ChunkStatus::Due { not_before },
        None => ChunkStatus::Failed,
    };
    if event.class == DeliveryFailure::Unknown {
        let chunks = state.deliveries.get_mut(&event.delivery).map(|delivery| &mut delivery.chunks);
        if let Some(chunk) = chunks.and_then(|chunks| chunks.get_mut(usize::from(event.chunk))) {
            chunk.uncertain = true;
        }
    }
    settle(state, event.delivery, event.chunk, status);
    if event.retry_at.is_none() {
        // The rest of an answer makes no sense without this part of it.
        let rest = state.deliveries.get_mut(&event.delivery).map(|delivery| &mut delivery.chunks);
        for chunk in rest.into_iter().flatten().skip(usize::from(event.chunk)) {
            chunk.status = ChunkStatus::Failed;
        }
        drop_resolved(state, event.delivery);
    }
}

fn settle(state: &mut SessionState, id: herm_schema::StreamPos, index: u16, status: ChunkStatus) {
    let chunk = state.deliveries.get_mut(&id);
    if let Some(chunk) = chunk.and_then(|delivery| delivery.chunks.get_mut(usize::from(index))) {
        chunk.status = status;
    }
    drop_resolved(state, id);
}

fn drop_resolved(state: &mut SessionState, id: herm_schema::StreamPos) {
    if state.deliveries.get(&id).is_some_and(|delivery| delivery.chunks.iter().all(Chunk::resolved)) {
        state.deliveries.remove(&id);
    }
}
