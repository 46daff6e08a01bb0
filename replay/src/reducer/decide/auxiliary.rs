//! Calls besides the conversation, and the title that one of them thinks of.

use herm_schema::Event;
use herm_schema::events::*;

use super::spending;
use crate::reducer::command::Outlook;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

/// Longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 120;

pub fn begin(
    state: &SessionState,
    call: AuxiliaryCallStarted,
    outlook: &Outlook,
) -> Result<Vec<Event>, Rejection> {
    match spending::stopped(state, outlook) {
        Some(_) => Err(Rejection::SpendingLimit),
        None => Ok(vec![call.into()]),
    }
}

pub fn end(state: &SessionState, call: AuxiliaryCallFinished) -> Result<Vec<Event>, Rejection> {
    match state.auxiliary.iter().any(|open| open.at == call.started) {
        true => Ok(vec![call.into()]),
        false => Err(Rejection::Stale),
    }
}

/// What a process that is gone asked, nobody waits for.
pub fn abandon(state: &SessionState) -> impl Iterator<Item = Event> {
    let finished =
        |open: &Auxiliary| AuxiliaryCallFinished { started: open.at, outcome: AuxiliaryOutcome::Cancelled };
    state.auxiliary.iter().map(finished).map(Event::from)
}

/// A model's title never replaces one that is there.
pub fn titled(state: &SessionState, title: Option<String>, by: TitledBy) -> Result<Vec<Event>, Rejection> {
    let title: String = title.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
    if title.is_empty() || (by == TitledBy::Model && state.title.is_some()) {
        return Err(Rejection::NothingDue);
    }
    Ok(vec![SessionTitled { title, by }.into()])
}
