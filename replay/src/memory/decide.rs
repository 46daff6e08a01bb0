//! A command and what is remembered to the event that follows, or a reason why none does.

use herm_schema::events::*;
use herm_schema::{Event, StreamPos};

use super::evolve::apply;
use super::merge::merged;
use super::{Memories, chars};

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The model changes entries: all of it, or nothing.
    Write {
        space: MemorySpace,
        target: MemoryTarget,
        operations: Vec<Operation>,
        author: Author,
        limits: Limits,
        /// A person is to say yes first.
        propose: bool,
    },
    /// Somebody changed the file: `base` is what it held when it was written last, `entries` what it
    /// holds now.
    TakeIn { space: MemorySpace, target: MemoryTarget, base: Vec<String>, entries: Vec<String> },
    /// An earlier write is taken back.
    Undo { write: StreamPos, written: MemoryWritten, by: Option<Answerer> },
    /// A person says yes.
    Approve { proposal: StreamPos, by: Option<Answerer>, limits: Limits },
    /// A person says no.
    Decline { proposal: StreamPos, by: Option<Answerer> },
}

/// One change, as the model asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    Add {
        content: String,
    },
    /// `old_text` is a part of one entry alone.
    Replace {
        old_text: String,
        content: String,
    },
    Remove {
        old_text: String,
    },
}

/// How many characters fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub memory_chars: usize,
    pub user_chars: usize,
}

impl Limits {
    pub fn of(self, target: MemoryTarget) -> usize {
        match target {
            MemoryTarget::Memory => self.memory_chars,
            MemoryTarget::User => self.user_chars,
        }
    }
}

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "{used} of {limit} characters are used and this would make it {asked}: free at least {} more; merge \
         entries with replace or remove stale ones, then add again",
        asked.saturating_sub(*limit)
    )]
    Full { used: usize, limit: usize, asked: usize },
    #[error("this very entry is there already: `{entry}`")]
    Duplicate { entry: String },
    #[error("several entries hold `{old_text}`; quote more of the one that is meant:\n{}", found.join("\n"))]
    Ambiguous { old_text: String, found: Vec<String> },
    #[error("no entry holds `{old_text}`")]
    NotFound { old_text: String },
    #[error("{why}")]
    Malformed { why: &'static str },
    #[error("`{entry}` is not there any more: it was changed since")]
    Superseded { entry: String },
    #[error("there is no such proposal, or it has been answered")]
    NoProposal,
    #[error("it was taken back already")]
    Undone,
}

impl Refusal {
    /// What of it is recorded.
    pub fn class(&self) -> MemoryRefusal {
        match self {
            Self::Full { .. } => MemoryRefusal::Full,
            Self::Duplicate { .. } => MemoryRefusal::Duplicate,
            Self::Ambiguous { .. } => MemoryRefusal::Ambiguous,
            Self::NotFound { .. } => MemoryRefusal::NotFound,
            Self::Malformed { .. } => MemoryRefusal::Malformed,
            Self::Superseded { .. } | Self::NoProposal | Self::Undone => MemoryRefusal::Superseded,
        }
    }
}

/// What follows; nothing where nothing changes.
///
/// # Errors
/// Why not.
pub fn decide(state: &Memories, command: Command) -> Result<Option<Event>, Refusal> {
    match command {
        Command::Write { space, target, operations, author, limits, propose } => {
            let held = state.entries(&space, target);
            let changes = changes(held, &operations)?;
            fits(held, &changes, limits.of(target))?;
            Ok(Some(match propose {
                true => MemoryProposed { space, target, changes, author }.into(),
                false => {
                    MemoryWritten { space, target, changes, author, undoes: None, proposal: None }.into()
                }
            }))
        }
        Command::TakeIn { space, target, base, entries } => {
            let changes = merged(state.entries(&space, target), &base, &entries);
            let author = Author::Files;
            let written = MemoryWritten { space, target, changes, author, undoes: None, proposal: None };
            Ok((!written.changes.is_empty()).then(|| written.into()))
        }
        Command::Undo { write, written, by } => {
            if state.is_undone(write) {
                return Err(Refusal::Undone);
            }
            let MemoryWritten { space, target, .. } = written;
            let changes = inverse(state.entries(&space, target), &written.changes)?;
            let (author, undoes) = (Author::Person { by }, Some(write));
            Ok(Some(MemoryWritten { space, target, changes, author, undoes, proposal: None }.into()))
        }
        Command::Approve { proposal, by, limits } => {
            let asked = state.proposals.get(&proposal).cloned().ok_or(Refusal::NoProposal)?;
            let MemoryProposed { space, target, changes, .. } = asked;
            let held = state.entries(&space, target);
            still_holds(held, &changes)?;
            fits(held, &changes, limits.of(target))?;
            let (author, proposal) = (Author::Person { by }, Some(proposal));
            Ok(Some(MemoryWritten { space, target, changes, author, undoes: None, proposal }.into()))
        }
        Command::Decline { proposal, by } => match state.proposals.contains_key(&proposal) {
            true => Ok(Some(MemoryDeclined { proposal, by }.into())),
            false => Err(Refusal::NoProposal),
        },
    }
}

/// What operations come to, each on what the one before it left.
fn changes(held: &[String], operations: &[Operation]) -> Result<Vec<MemoryChange>, Refusal> {
    if operations.is_empty() {
        return Err(Refusal::Malformed { why: "nothing is asked for" });
    }
    let mut list = held.to_vec();
    let mut changes = Vec::new();
    for operation in operations {
        let change = change(&list, operation)?;
        apply(&mut list, &change);
        changes.push(change);
    }
    Ok(changes)
}

fn change(list: &[String], operation: &Operation) -> Result<MemoryChange, Refusal> {
    match operation {
        Operation::Add { content } => {
            let after = content_of(content)?;
            new_in(list, &after)?;
            Ok(MemoryChange { at: place(list.len()), before: None, after: Some(after) })
        }
        Operation::Replace { old_text, content } => {
            let (at, before) = meant(list, old_text)?;
            let after = content_of(content)?;
            new_in(list, &after)?;
            Ok(MemoryChange { at, before: Some(before), after: Some(after) })
        }
        Operation::Remove { old_text } => {
            let (at, before) = meant(list, old_text)?;
            Ok(MemoryChange { at, before: Some(before), after: None })
        }
    }
}

fn content_of(content: &str) -> Result<String, Refusal> {
    // Files have one kind of line end.
    match content.replace("\r\n", "\n").trim() {
        "" => Err(Refusal::Malformed { why: "`content` is empty; `remove` takes an entry away" }),
        content => Ok(content.to_owned()),
    }
}

fn new_in(list: &[String], entry: &str) -> Result<(), Refusal> {
    match list.iter().any(|known| known == entry) {
        true => Err(Refusal::Duplicate { entry: entry.to_owned() }),
        false => Ok(()),
    }
}

/// The one entry that a part of it names; an entry that is this text itself before those that hold it.
fn meant(list: &[String], old_text: &str) -> Result<(u32, String), Refusal> {
    let old_text = old_text.trim();
    if old_text.is_empty() {
        return Err(Refusal::Malformed {
            why: "`old_text` is empty; quote a part of the entry that is meant",
        });
    }
    let all = || list.iter().enumerate();
    if let Some((at, entry)) = all().find(|(_, entry)| *entry == old_text) {
        return Ok((place(at), entry.clone()));
    }
    let holding: Vec<_> = all().filter(|(_, entry)| entry.contains(old_text)).collect();
    match holding.as_slice() {
        [(at, entry)] => Ok((place(*at), (*entry).clone())),
        [] => Err(Refusal::NotFound { old_text: old_text.to_owned() }),
        several => Err(Refusal::Ambiguous {
            old_text: old_text.to_owned(),
            found: several.iter().map(|(_, entry)| (*entry).clone()).collect(),
        }),
    }
}

/// What is above the limit already may shrink towards it.
fn fits(held: &[String], changes: &[MemoryChange], limit: usize) -> Result<(), Refusal> {
    let mut list = held.to_vec();
    changes.iter().for_each(|change| apply(&mut list, change));
    let (used, asked) = (chars(held), chars(&list));
    match asked <= limit || asked < used {
        true => Ok(()),
        false => Err(Refusal::Full { used, limit, asked }),
    }
}

fn still_holds(held: &[String], changes: &[MemoryChange]) -> Result<(), Refusal> {
    let mut list = held.to_vec();
    for change in changes {
        if let Some(before) = change.before.as_ref().filter(|before| !list.contains(before)) {
            return Err(Refusal::Superseded { entry: before.clone() });
        }
        apply(&mut list, change);
    }
    // Only at the end: on the way two entries may be the same, where they change places.
    let after: Vec<&String> = changes.iter().filter_map(|change| change.after.as_ref()).collect();
    match after.into_iter().find(|entry| list.iter().filter(|known| known == entry).count() > 1) {
        Some(entry) => Err(Refusal::Duplicate { entry: entry.clone() }),
        None => Ok(()),
    }
}

/// The changes that take `changes` back, from the last to the first.
fn inverse(held: &[String], changes: &[MemoryChange]) -> Result<Vec<MemoryChange>, Refusal> {
    let back = |change: &MemoryChange| MemoryChange {
        at: change.at,
        before: change.after.clone(),
        after: change.before.clone(),
    };
    let back: Vec<MemoryChange> = changes.iter().rev().map(back).collect();
    still_holds(held, &back)?;
    Ok(back)
}

/// A place in a list, as it is recorded.
pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
