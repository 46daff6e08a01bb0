//! What is remembered: writes, refusals, hand edits, taking back.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use herm_replay::log::{Append, Durability, Expect, Log, MemoryLog};
use herm_replay::memory::{Command, Limits, Memories, Operation, Refusal, chars, decide, evolve};
use herm_schema::events::*;
use herm_schema::{CallRef, Event, Micros, SessionId, StreamId, StreamKind, StreamPos};
use proptest::prelude::*;

const LIMITS: Limits = Limits { memory_chars: 500, user_chars: 100 };

/// A profile's stream, and the fold of it.
struct Given {
    log: MemoryLog,
    state: Memories,
}

fn stream() -> StreamId {
    StreamId::named(StreamKind::Profile, "default")
}

fn given() -> Given {
    Given { log: MemoryLog::new(), state: Memories::default() }
}

fn author() -> Author {
    let session = SessionId::opened(Micros(1), [1; 10]);
    Author::Model { session, call: CallRef { message: StreamPos(3), index: 0 } }
}

fn add(content: &str) -> Operation {
    Operation::Add { content: content.into() }
}

fn replace(old_text: &str, content: &str) -> Operation {
    Operation::Replace { old_text: old_text.into(), content: content.into() }
}

fn remove(old_text: &str) -> Operation {
    Operation::Remove { old_text: old_text.into() }
}

fn asked(operations: &[Operation], propose: bool) -> Command {
    let (space, target) = (MemorySpace::Profile, MemoryTarget::Memory);
    let (operations, author) = (operations.to_vec(), author());
    Command::Write { space, target, operations, author, limits: LIMITS, propose }
}

impl Given {
    /// Where the event stands that followed; `None` if none did.
    fn when(&mut self, command: Command) -> Result<Option<StreamPos>, Refusal> {
        let Some(event) = decide(&self.state, command)? else { return Ok(None) };
        let append = Append {
            stream: stream(),
            expect: Expect::At(self.state.head),
            key: None,
            at: Micros(1),
            durability: Durability::Queued,
            events: vec![event.into()],
        };
        for recorded in &self.log.append(append).unwrap().events {
            evolve(&mut self.state, recorded);
        }
        Ok(Some(self.state.head))
    }

    fn write(&mut self, operations: &[Operation]) -> Result<StreamPos, Refusal> {
        self.when(asked(operations, false)).map(|at| at.unwrap())
    }

    fn undo(&mut self, write: StreamPos) -> Result<StreamPos, Refusal> {
        let recorded = self.log.read_stream(stream(), write).next().unwrap().unwrap();
        let Event::MemoryWritten(written) = recorded.event else { panic!("{recorded:?}") };
        self.when(Command::Undo { write, written, by: None }).map(|at| at.unwrap())
    }

    /// The file holds this now; it was written last with what is remembered.
    fn take_in(&mut self, entries: &[&str]) -> Option<StreamPos> {
        let base: Vec<String> = self.entries().iter().map(ToString::to_string).collect();
        self.take_in_since(&base, entries)
    }

    fn take_in_since<T: ToString>(&mut self, base: &[T], entries: &[&str]) -> Option<StreamPos> {
        let base = base.iter().map(ToString::to_string).collect();
        let entries = entries.iter().map(ToString::to_string).collect();
        let (space, target) = (MemorySpace::Profile, MemoryTarget::Memory);
        self.when(Command::TakeIn { space, target, base, entries }).unwrap()
    }

    fn entries(&self) -> Vec<&str> {
        let entries = self.state.entries(&MemorySpace::Profile, MemoryTarget::Memory);
        entries.iter().map(String::as_str).collect()
    }
}

#[test]
fn entries_are_added_changed_by_a_part_of_them_and_removed() {
    let mut given = given();
    given.write(&[add(" server A runs nginx "), add("prefers tabs")]).unwrap();
    given.write(&[replace("tabs", "prefers four spaces")]).unwrap();
    assert_eq!(given.entries(), ["server A runs nginx", "prefers four spaces"]);
    given.write(&[remove("server A")]).unwrap();
    assert_eq!(given.entries(), ["prefers four spaces"]);
}

#[test]
fn a_part_that_several_entries_hold_names_none_of_them() {
    let mut given = given();
    given.write(&[add("server A runs nginx"), add("server B runs nginx")]).unwrap();
    let refused = given.write(&[replace("nginx", "apache")]).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("server A runs nginx") && said.contains("server B runs nginx"), "{said}");
    assert_eq!(given.entries(), ["server A runs nginx", "server B runs nginx"]);
    given.write(&[add("nginx")]).unwrap();
    given.write(&[remove("nginx")]).unwrap();
    assert_eq!(given.entries().len(), 2, "an entry that is the text itself is meant");
    assert!(matches!(given.write(&[remove("caddy")]), Err(Refusal::NotFound { .. })));
}

#[test]
fn several_operations_are_done_all_or_none() {
    let mut given = given();
    given.write(&[add("one")]).unwrap();
    let refused = given.write(&[add("two"), remove("three")]);
    assert!(matches!(refused, Err(Refusal::NotFound { .. })));
    assert_eq!(given.entries(), ["one"]);
    given.write(&[add("two"), replace("two", "three"), remove("one")]).unwrap();
    assert_eq!(given.entries(), ["three"]);
}

#[test]
fn what_does_not_fit_says_what_there_is_and_what_it_would_be() {
    let mut given = given();
    let long = |c: char, count: usize| c.to_string().repeat(count);
    given.write(&[add(&long('a', 100)), add(&long('b', 387))]).unwrap();
    let refused = given.write(&[add(&long('c', 30))]).unwrap_err();
    assert_eq!(refused, Refusal::Full { used: 490, limit: 500, asked: 523 });
    let said = refused.to_string();
    assert!(said.contains("490 of 500") && said.contains("523") && said.contains("at least 23"), "{said}");
    given.write(&[replace(&long('a', 100), &long('a', 60))]).unwrap();
    given.write(&[add(&long('c', 30))]).unwrap();
}

#[test]
fn above_the_limit_it_may_shrink_and_not_grow() {
    let mut given = given();
    let (a, b) = ("a".repeat(400), "b".repeat(400));
    given.take_in(&[&a, &b]).unwrap();
    given.write(&[replace(&a, &"a".repeat(390))]).unwrap();
    assert!(given.write(&[replace(&b, &"b".repeat(401))]).is_err());
    assert!(chars(given.state.entries(&MemorySpace::Profile, MemoryTarget::Memory)) > 500);
}

#[test]
fn the_same_entry_is_not_kept_twice() {
    let mut given = given();
    given.write(&[add("one"), add("two")]).unwrap();
    assert!(matches!(given.write(&[add("one ")]), Err(Refusal::Duplicate { .. })));
    assert!(matches!(given.write(&[replace("two", "one")]), Err(Refusal::Duplicate { .. })));
    assert!(matches!(given.write(&[add("  ")]), Err(Refusal::Malformed { .. })));
    assert!(matches!(given.write(&[remove("")]), Err(Refusal::Malformed { .. })));
    assert!(matches!(given.write(&[]), Err(Refusal::Malformed { .. })));
}

#[test]
fn a_write_is_taken_back_and_the_taking_back_too() {
    let mut given = given();
    let first = given.write(&[add("one"), add("two")]).unwrap();
    let second = given.write(&[replace("one", "ONE"), remove("two")]).unwrap();
    assert_eq!(given.undo(first), Err(Refusal::Superseded { entry: "two".into() }));
    let back = given.undo(second).unwrap();
    assert_eq!(given.entries(), ["one", "two"]);
    assert_eq!(given.undo(second), Err(Refusal::Undone));
    given.undo(back).unwrap();
    assert_eq!(given.entries(), ["ONE"]);
}

#[test]
fn a_proposal_waits_for_a_word() {
    let mut given = given();
    let first = given.when(asked(&[add("one")], true)).unwrap().unwrap();
    let second = given.when(asked(&[add("two")], true)).unwrap().unwrap();
    assert!(given.entries().is_empty());
    assert_eq!(given.state.proposals(&MemorySpace::Profile).count(), 2);
    given.when(Command::Approve { proposal: first, by: None, limits: LIMITS }).unwrap();
    given.when(Command::Decline { proposal: second, by: None }).unwrap();
    assert_eq!(given.entries(), ["one"]);
    let again = given.when(Command::Approve { proposal: first, by: None, limits: LIMITS });
    assert_eq!(again, Err(Refusal::NoProposal));
    let stale = given.when(asked(&[remove("one")], true)).unwrap().unwrap();
    given.write(&[replace("one", "three")]).unwrap();
    let refused = given.when(Command::Approve { proposal: stale, by: None, limits: LIMITS });
    assert!(matches!(refused, Err(Refusal::Superseded { .. })));
}

#[test]
fn an_edit_of_an_older_file_loses_nothing_that_was_written_since() {
    let mut given = given();
    given.write(&[add("one"), add("two")]).unwrap();
    given.write(&[add("three"), replace("two", "TWO")]).unwrap();
    given.take_in_since(&["one", "two"], &["ONE", "two", "four"]).unwrap();
    let mut entries = given.entries();
    entries.sort_unstable();
    assert_eq!(entries, ["ONE", "TWO", "four", "three"]);
    assert!(given.take_in_since::<&str>(&[], &["ONE", "three"]).is_none(), "it is all there already");
}

#[test]
fn spaces_and_lists_do_not_touch_each_other() {
    let mut given = given();
    given.write(&[add("of the profile")]).unwrap();
    let space = MemorySpace::Person { platform: "telegram".into(), id: "7".into() };
    let operations = vec![add("of seven")];
    let (target, author, limits) = (MemoryTarget::User, author(), LIMITS);
    let write = Command::Write { space: space.clone(), target, operations, author, limits, propose: false };
    given.when(write).unwrap();
    assert_eq!(given.entries(), ["of the profile"]);
    assert_eq!(given.state.entries(&space, MemoryTarget::User), ["of seven"]);
    assert!(given.state.entries(&space, MemoryTarget::Memory).is_empty());
}

proptest! {
    /// Whatever a file holds becomes what is remembered, and can be taken back.
    #[test]
    fn a_hand_edit_is_taken_in_whole(
        before in proptest::collection::vec("[a-d]", 0..6),
        after in proptest::collection::vec("[a-d]", 0..6),
    ) {
        let unique = |list: Vec<String>| {
            let mut seen = std::collections::BTreeSet::new();
            list.into_iter().filter(|entry| seen.insert(entry.clone())).collect::<Vec<_>>()
        };
        let (before, after) = (unique(before), unique(after));
        let texts = |list: &[String]| list.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        let mut given = given();
        given.take_in(&before.iter().map(String::as_str).collect::<Vec<_>>());
        let edited = given.take_in(&after.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(given.entries().join(" "), texts(&after));
        prop_assert_eq!(edited.is_none(), before == after);
        if let Some(edited) = edited {
            given.undo(edited).unwrap();
            prop_assert_eq!(given.entries().join(" "), texts(&before));
        }
    }
}
