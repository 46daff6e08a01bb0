//! Deliveries: the fold is [`deliveries`]; here is what they mean for the turn.

use herm_schema::events::*;

use super::Placed;
use crate::deliveries;
use crate::reducer::state::*;

pub fn planned(state: &mut SessionState, at: Placed, event: &DeliveryPlanned) {
    let mut preview = None;
    if let Some(turn) = &mut state.turn
        && let Phase::Closing { reason, .. } = turn.phase
    {
        turn.phase = Phase::Delivering { reason, delivery: at.pos };
        preview = turn.preview.take();
    }
    deliveries::planned(&mut state.deliveries, (at.pos, at.position), event, preview);
}

pub fn attempted(state: &mut SessionState, at: Placed, event: &DeliveryAttempted) {
    deliveries::attempted(&mut state.deliveries, (at.pos, at.position), event);
}

pub fn previewed(state: &mut SessionState, event: &PreviewPosted) {
    if let Some(turn) = &mut state.turn {
        turn.preview = Some(event.platform_message_id.clone());
    }
}
