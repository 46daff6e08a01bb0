//! Calls besides the conversation, and the title that one of them thinks of.

use herm_schema::Event;
use herm_schema::events::*;

use super::spending;
use crate::reducer::command::Outlook;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;
use crate::reducer::title;

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

/// A title that was asked for is there as soon as its answer is.
pub fn end(state: &SessionState, call: AuxiliaryCallFinished) -> Result<Vec<Event>, Rejection> {
    let open = state.auxiliary.iter().find(|open| open.at == call.started).ok_or(Rejection::Stale)?;
    let title = match &call.outcome {
        AuxiliaryOutcome::Answered { text, .. }
            if open.task == AuxiliaryTask::Title && state.title.is_none() =>
        {
            title::of_answer(text)
        }
        _ => None,
    };
    let titled = title.map(|title| SessionTitled { title, by: TitledBy::Model }.into());
    Ok([call.into()].into_iter().chain(titled).collect())
}

/// What a process that is gone asked, nobody waits for.
pub fn abandon(state: &SessionState) -> impl Iterator<Item = Event> {
    let finished =
        |open: &Auxiliary| AuxiliaryCallFinished { started: open.at, outcome: AuxiliaryOutcome::Cancelled };
    state.auxiliary.iter().map(finished).map(Event::from)
}

/// A person calls the session something.
pub fn titled(title: &str) -> Result<Vec<Event>, Rejection> {
    let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let title: String = title.chars().take(title::CHARS_MAX).collect();
    match title.is_empty() {
        true => Err(Rejection::NothingDue),
        false => Ok(vec![SessionTitled { title, by: TitledBy::Person }.into()]),
    }
}
