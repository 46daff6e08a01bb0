//! What a session has spent: every answered call at the price of its model.

use herm_schema::events::{ExitReason, Prices, SpendingStopped, SpendingWarned, Usage};

use super::turn;
use crate::reducer::state::*;
use crate::reducer::{cost, notices};

/// Counts one answered call.
pub fn spend(state: &mut SessionState, usage: Option<Usage>, prices: Option<&Prices>) {
    match usage.zip(prices).map(|(usage, prices)| cost::of(&usage, prices)) {
        Some(cost) => state.spending.spent = state.spending.spent.saturating_add(cost),
        None => state.spending.unpriced_calls = state.spending.unpriced_calls.saturating_add(1),
    }
}

pub fn warned(state: &mut SessionState, event: &SpendingWarned) {
    state.spending.warned.retain(|(scope, _)| *scope != event.scope);
    state.spending.warned.push((event.scope, event.percent));
}

pub fn stopped(state: &mut SessionState, event: &SpendingStopped) {
    if let Some(turn) = &mut state.turn {
        turn::close(turn, ExitReason::SpendingLimit, notices::spending_stopped(event));
    }
}
