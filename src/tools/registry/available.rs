//! Whether tools can work, remembered for half a minute: some look at the disk to know.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tools::Tool;

/// How long an answer is believed.
pub(super) const BELIEVED: Duration = Duration::from_secs(30);

type Answer = Result<(), String>;

/// By name of the tool. As many entries as there are tools.
#[derive(Default)]
pub(super) struct Availability(Mutex<HashMap<String, (Instant, Answer)>>);

impl Availability {
    pub fn of(&self, tool: &Arc<dyn Tool>, now: Instant) -> Answer {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = tool.facts().name;
        if let Some((asked, answer)) = lock().get(&name)
            && now.saturating_duration_since(*asked) < BELIEVED
        {
            return answer.clone();
        }
        // Not under the lock: one that takes long must not hold up the others.
        let answer = tool.available();
        lock().insert(name, (now, answer.clone()));
        answer
    }
}
