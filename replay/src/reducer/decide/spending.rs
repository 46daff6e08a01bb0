//! What may be spent: looked at before every model call.

use herm_schema::Event;
use herm_schema::events::*;

use crate::reducer::command::Outlook;
use crate::reducer::state::*;

/// Shares in percent that the person is warned at, the highest first.
const WARN_PERCENTS: [u8; 2] = [80, 50];

/// What each limit says now: scope, spent, limit.
fn limits(state: &SessionState, outlook: &Outlook) -> Vec<(SpendingScope, u64, u64)> {
    let Some(policy) = &state.policy else {
        return Vec::new();
    };
    let session = policy.spending.session_max.map(|max| (SpendingScope::Session, state.spending.spent, max));
    let day = policy.spending.day_max.map(|max| (SpendingScope::Day, outlook.spent_today, max));
    session.into_iter().chain(day).collect()
}

/// The limit that is reached, if one is.
pub fn stopped(state: &SessionState, outlook: &Outlook) -> Option<SpendingStopped> {
    let reached = limits(state, outlook).into_iter().find(|(_, spent, limit)| spent >= limit);
    reached.map(|(scope, spent, limit)| SpendingStopped { scope, spent, limit })
}

/// A share that is passed and was not warned of yet.
pub fn warning(state: &SessionState, outlook: &Outlook) -> Option<Event> {
    limits(state, outlook).into_iter().find_map(|(scope, spent, limit)| {
        let passed = |percent: u8| u128::from(spent) * 100 >= u128::from(limit) * u128::from(percent);
        // A warning of another day says nothing about this one.
        let warned =
            state.spending.warned.iter().find(|(known, percent)| *known == scope && passed(*percent));
        let warned = warned.map_or(0, |(_, percent)| *percent);
        let percent = WARN_PERCENTS.into_iter().find(|percent| *percent > warned && passed(*percent))?;
        Some(SpendingWarned { scope, percent, spent, limit }.into())
    })
}
