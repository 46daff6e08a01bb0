//! Secrets that become known while herm runs.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use aho_corasick::AhoCorasick;

use super::redact::spellings;

/// How many are kept; the oldest are forgotten first. A token lives for hours, so that these are weeks.
const LEARNT_MAX: usize = 1_000;

/// What was learnt so far. As long as that is nothing, to look costs one load.
#[derive(Default)]
pub(super) struct Learnt {
    any: AtomicBool,
    held: RwLock<Held>,
}

#[derive(Default)]
struct Held {
    secrets: VecDeque<String>,
    /// Finds every spelling of them.
    finder: Option<AhoCorasick>,
}

impl Learnt {
    /// Takes in those that are new.
    pub(super) fn add<'a>(&self, secrets: impl Iterator<Item = &'a str>) {
        let is_new = |secret: &&str| {
            let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
            !held.secrets.iter().any(|known| known == secret)
        };
        let new: Vec<&str> = secrets.filter(is_new).collect();
        if new.is_empty() {
            return;
        }
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        for secret in new {
            if !held.secrets.iter().any(|known| known == secret) {
                held.secrets.push_back(secret.to_owned());
            }
        }
        while held.secrets.len() > LEARNT_MAX {
            held.secrets.pop_front();
        }
        // It fails for a size beyond all memory only; then what was known before is better than nothing.
        if let Ok(finder) = AhoCorasick::new(held.secrets.iter().flat_map(|secret| spellings(secret))) {
            held.finder = Some(finder);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Where they stand in `text`.
    pub(super) fn spans(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(finder) = &held.finder {
            spans.extend(finder.find_overlapping_iter(text).map(|found| found.range()));
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.held.read().unwrap().secrets.len()
    }
}
