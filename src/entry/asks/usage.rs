//! `/usage`: what a session has spent.

use herm_replay::reducer::SessionState;
use herm_replay::reducer::notices::dollars;

/// In words.
pub fn usage(state: &SessionState) -> String {
    let spent = dollars(state.spending.spent);
    let unknown = match state.spending.unpriced_calls {
        0 => String::new(),
        calls => format!(", and {calls} calls whose price is not known"),
    };
    let limit = state.policy.as_ref().and_then(|policy| policy.spending.session_max);
    let limit = limit.map(|limit| format!(" of {}", dollars(limit))).unwrap_or_default();
    let (calls, turns) = (state.model_calls, state.turns);
    format!("{turns} turns, {calls} model calls: {spent}{limit}{unknown}; `herm usage` has the rest")
}
