//! What is known of threads of mails: how they are called and which mail came last.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use herm_schema::events::ChatRef;

/// Threads that are remembered; the mailbox is asked for others.
const THREADS_MAX: usize = 2000;

/// Where a thread stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// As the last mail has it.
    pub subject: String,
    /// The id of the last mail.
    pub last: String,
    /// What that one refers to, oldest first.
    pub references: Vec<String>,
}

/// The threads that mails came in lately.
#[derive(Default)]
pub(super) struct Threads(Mutex<(HashMap<ChatRef, Standing>, VecDeque<ChatRef>)>);

impl Threads {
    pub fn get(&self, chat: &ChatRef) -> Option<Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get(chat).cloned()
    }

    pub fn keep(&self, chat: &ChatRef, standing: Standing) {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *threads;
        if known.insert(chat.clone(), standing).is_none() {
            order.push_back(chat.clone());
        }
        if order.len() > THREADS_MAX
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
    }
}
