//! What is remembered.

use std::collections::{BTreeMap, BTreeSet};

use herm_schema::StreamPos;
use herm_schema::events::{MemoryProposed, MemorySpace, MemoryTarget};

/// Characters between two entries, as the files and the prompt write it: a line of `§`.
const BETWEEN_CHARS: usize = 3;

/// What a profile remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memories {
    pub(super) lists: BTreeMap<(MemorySpace, MemoryTarget), Vec<String>>,
    /// What waits for a person's word.
    pub(super) proposals: BTreeMap<StreamPos, MemoryProposed>,
    /// Writes that were taken back.
    pub(super) undone: BTreeSet<StreamPos>,
    /// Where the last event stands that this knows.
    pub head: StreamPos,
}

/// A change that waits for a person's word; named by its place in the stream.
pub type Proposal<'a> = (StreamPos, &'a MemoryProposed);

impl Memories {
    /// The entries of a list, the oldest first.
    pub fn entries(&self, space: &MemorySpace, target: MemoryTarget) -> &[String] {
        self.lists.get(&(space.clone(), target)).map_or(&[], Vec::as_slice)
    }

    /// Every list that was ever written to.
    pub fn lists(&self) -> impl Iterator<Item = (&MemorySpace, MemoryTarget, &[String])> {
        self.lists.iter().map(|((space, target), entries)| (space, *target, entries.as_slice()))
    }

    /// What waits in a space.
    pub fn proposals<'a>(&'a self, space: &'a MemorySpace) -> impl Iterator<Item = Proposal<'a>> {
        self.proposals.iter().filter(move |(_, asked)| asked.space == *space).map(|(at, asked)| (*at, asked))
    }

    /// Whether a write was taken back.
    pub fn is_undone(&self, write: StreamPos) -> bool {
        self.undone.contains(&write)
    }
}

/// What entries come to in characters, with what stands between them.
pub fn chars(entries: &[String]) -> usize {
    let between = entries.len().saturating_sub(1) * BETWEEN_CHARS;
    entries.iter().map(|entry| entry.chars().count()).sum::<usize>() + between
}
