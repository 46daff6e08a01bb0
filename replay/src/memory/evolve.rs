//! The fold: total, as every fold; a change that does not fit alters as little as it can.

use herm_schema::events::MemoryChange;
use herm_schema::{Event, Recorded};

use super::Memories;

/// Folds one event of the profile's stream; those that are about something else only move the head.
pub fn evolve(state: &mut Memories, recorded: &Recorded) {
    let at = recorded.envelope.stream_pos;
    match &recorded.event {
        Event::MemoryWritten(event) => {
            let list = state.lists.entry((event.space.clone(), event.target)).or_default();
            event.changes.iter().for_each(|change| apply(list, change));
            state.undone.extend(event.undoes);
            if let Some(proposal) = event.proposal {
                state.proposals.remove(&proposal);
            }
        }
        Event::MemoryProposed(event) => drop(state.proposals.insert(at, event.clone())),
        Event::MemoryDeclined(event) => drop(state.proposals.remove(&event.proposal)),
        _ => {}
    }
    state.head = at;
}

/// Makes one change.
pub(super) fn apply(list: &mut Vec<String>, change: &MemoryChange) {
    let at = usize::try_from(change.at).unwrap_or(usize::MAX);
    let found = change.before.as_ref().and_then(|before| {
        let here = list.get(at).filter(|entry| *entry == before).map(|_| at);
        here.or_else(|| list.iter().position(|entry| entry == before))
    });
    match (found, &change.after) {
        (Some(found), Some(after)) => {
            if let Some(entry) = list.get_mut(found) {
                entry.clone_from(after);
            }
        }
        (Some(found), None) => drop(list.remove(found)),
        (None, Some(after)) => list.insert(at.min(list.len()), after.clone()),
        (None, None) => {}
    }
}
