//! Events that were seen, as far as later ones need them: an edit names who may make it only by the
//! message that it changes, a reaction stands in the thread of the one that it is given to.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mentions;
use super::wire::Event;

/// Events that are remembered; older ones are asked for anew.
const EVENTS_MAX: usize = 2000;
/// Longest text that is remembered, in characters: what an answer shows of it.
const TEXT_CHARS_MAX: usize = 1000;

/// What is remembered of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub sender: String,
    pub thread: Option<String>,
    pub text: Option<String>,
    /// What it is a reaction to, and which.
    pub reaction: Option<(String, String)>,
}

impl Known {
    /// `related` is what the event is about, where that is known.
    pub fn of(event: &Event, related: Option<&Self>) -> Self {
        let text = Some(mentions::body(event)).filter(|text| !text.is_empty());
        let reaction = (event.kind == "m.reaction")
            .then(|| Some((event.target()?.to_owned(), event.text(&["m.relates_to", "key"])?.to_owned())));
        let reaction = reaction.flatten();
        let thread = event.thread().map(str::to_owned);
        Self {
            sender: event.sender.clone(),
            thread: thread.or_else(|| reaction.is_some().then(|| related?.thread.clone()).flatten()),
            text: text.map(|text| text.chars().take(TEXT_CHARS_MAX).collect()),
            reaction,
        }
    }
}

/// The events that were seen last.
#[derive(Default)]
pub(super) struct Memory(Mutex<Events>);

#[derive(Default)]
struct Events {
    known: HashMap<String, Arc<Known>>,
    order: VecDeque<String>,
}

impl Memory {
    fn events(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get(&self, event_id: &str) -> Option<Arc<Known>> {
        self.events().known.get(event_id).cloned()
    }

    pub fn keep(&self, event_id: &str, known: Known) -> Arc<Known> {
        let (known, mut events) = (Arc::new(known), self.events());
        if events.known.insert(event_id.to_owned(), Arc::clone(&known)).is_none() {
            events.order.push_back(event_id.to_owned());
        }
        if events.order.len() > EVENTS_MAX
            && let Some(oldest) = events.order.pop_front()
        {
            events.known.remove(&oldest);
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten() {
        let memory = Memory::default();
        let known = Known { sender: "@a:b".to_owned(), thread: None, text: None, reaction: None };
        for number in 0..=EVENTS_MAX {
            memory.keep(&format!("${number}"), known.clone());
            memory.keep(&format!("${number}"), known.clone());
        }
        assert_eq!((memory.get("$0"), memory.events().known.len()), (None, EVENTS_MAX));
        assert!(memory.get("$1").is_some());
    }
}
