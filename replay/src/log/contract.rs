//! The contract kit: what every log must do, run over each of them.
//!
//! [`run`] takes a factory that makes an empty log and, given one, shuts it and opens it again; an
//! implementation that has nothing to open again gives back the same one.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use herm_schema::events::{ChatRef, MessageReceived, Sender, TurnStarted};
use herm_schema::{
    BlobRef, Digest, Event, IdempotencyKey, Micros, NewEvent, Position, Recorded, StreamId, StreamKind,
    StreamPos, codec,
};

use super::{APPEND_EVENTS_MAX, Append, Durability, Error, Expect, Log};

/// Makes an empty log, or opens again the one it is given.
pub type Factory<'a> = &'a dyn Fn(Option<Arc<dyn Log>>) -> Arc<dyn Log>;

/// Runs the whole kit.
///
/// # Panics
/// When a promise is not kept, naming it.
pub fn run(open: Factory<'_>) {
    for (name, check) in CHECKS {
        let (open, check) = (&open, *check);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(*open)));
        assert!(outcome.is_ok(), "the log breaks its promise: {name}");
    }
}

/// One promise, tried on logs of a factory.
type Check = fn(Factory<'_>);

const CHECKS: &[(&str, Check)] = &[
    ("positions are dense, and events read back as they were said", positions_are_dense),
    ("a stale expectation fails with the current position", stale_expectations_fail),
    ("a known key answers with what it recorded, before the expectation is looked at", keys_are_known),
    ("time never decreases within a stream", time_never_decreases),
    ("an append has one to a limit of events, or is refused whole", sizes_are_checked),
    ("what was acknowledged is there when the log is opened again", acknowledged_survives),
    ("answers that wait for the same come in the order of positions", answers_are_in_order),
    ("whoever asks is told when an event is on the disk", the_disk_can_be_waited_for),
    ("many threads may append at once", many_threads),
    ("who waits is woken", waiting),
    ("chains follow", chains_follow),
    ("blobs are kept by content", blobs),
    ("an empty log and an unknown stream are empty", emptiness),
];

/// A message, told apart by `text`.
pub fn message(text: &str) -> NewEvent {
    let chat = ChatRef { platform: "cli".into(), chat: "kit".into(), thread: None };
    let sender = Sender { id: "someone".into(), name: None };
    let message_id = text.to_owned();
    Event::from(MessageReceived {
        message_id,
        chat,
        sender,
        text: text.to_owned(),
        attachments: Vec::new(),
        context: None,
    })
    .into()
}

/// An event that did not come from outside.
pub fn turn() -> NewEvent {
    Event::from(TurnStarted { inbound: vec![StreamPos(1)] }).into()
}

/// An append of `events` to the stream of that name, which waits for the disk.
pub fn append(stream: &str, events: Vec<NewEvent>) -> Append {
    Append {
        stream: StreamId::named(StreamKind::Session, stream),
        expect: Expect::Any,
        key: None,
        at: Micros(1_000),
        durability: Durability::Disk,
        events,
    }
}

/// Everything in a log.
///
/// # Panics
/// When it does not read.
#[expect(clippy::expect_used, reason = "a kit for tests")]
pub fn all(log: &dyn Log) -> Vec<Recorded> {
    log.read_all(Position(0)).collect::<Result<_, _>>().expect("the log reads")
}

#[expect(clippy::expect_used, reason = "a kit for tests")]
fn put(log: &dyn Log, append: Append) -> Vec<Recorded> {
    log.append(append).expect("the append is taken").events
}

fn positions(events: &[Recorded]) -> Vec<u64> {
    events.iter().map(|event| event.envelope.position.0).collect()
}

fn positions_are_dense(open: Factory<'_>) {
    let log = open(None);
    let mut said = Vec::new();
    for number in 0..40 {
        let events: Vec<_> = (0..=number % 3).map(|part| message(&format!("é {number}.{part}"))).collect();
        said.extend(put(log.as_ref(), append(of(&["a", "b", "c"], number), events)));
    }
    assert_eq!(positions(&said), (1..=said.len() as u64).collect::<Vec<_>>());
    assert_eq!(all(log.as_ref()), said);
    for from in [0, 1, 2, 37, said.len(), said.len() + 1] {
        let read: Vec<_> = log.read_all(Position(from as u64)).filter_map(Result::ok).collect();
        assert_eq!(read, said.iter().skip(from.saturating_sub(1)).cloned().collect::<Vec<_>>());
    }
    for name in ["a", "b", "c"] {
        let stream = StreamId::named(StreamKind::Session, name);
        let own: Vec<_> = said.iter().filter(|event| event.envelope.stream == stream).cloned().collect();
        let places: Vec<_> = own.iter().map(|event| event.envelope.stream_pos.0).collect();
        assert_eq!(places, (1..=own.len() as u64).collect::<Vec<_>>());
        for from in [0, 1, 5, own.len(), own.len() + 1] {
            let read = log.read_stream(stream, StreamPos(from as u64)).filter_map(Result::ok);
            let expected: Vec<_> = own.iter().skip(from.saturating_sub(1)).cloned().collect();
            assert_eq!(read.collect::<Vec<_>>(), expected);
        }
        let head = log.head(stream).ok().flatten();
        let last = own.last().map(|event| &event.envelope);
        assert_eq!(head.map(|head| head.position), last.map(|last| last.position));
        assert_eq!(head.map(|head| head.chain), last.map(|last| last.chain));
    }
}

fn stale_expectations_fail(open: Factory<'_>) {
    let log = open(None);
    let at = |expected, text: &str| {
        let expect = Expect::At(StreamPos(expected));
        Append { expect, ..append("a", vec![message(text), message(text)]) }
    };
    put(log.as_ref(), at(0, "first"));
    for stale in [0, 1, 3] {
        let result = log.append(at(stale, "stale"));
        assert!(matches!(result, Err(Error::Conflict { actual: StreamPos(2), .. })), "{result:?}");
    }
    put(log.as_ref(), at(2, "second"));
    assert_eq!(log.tail().last, Position(4));
}

fn keys_are_known(open: Factory<'_>) {
    let log = open(None);
    let keyed = |name: &str, expect, text: &str| {
        let key = Some(IdempotencyKey::of(&[name]));
        Append { key, expect, ..append("a", vec![message(text), message("second of two")]) }
    };
    let first = put(log.as_ref(), keyed("k", Expect::At(StreamPos(0)), "first"));
    put(log.as_ref(), append("b", vec![message("other")]));
    let again = log.append(keyed("k", Expect::At(StreamPos(0)), "different text"));
    assert!(again.as_ref().is_ok_and(|again| again.duplicate && again.events == first), "{again:?}");
    let other = log.append(keyed("another", Expect::Any, "third"));
    assert!(other.is_ok_and(|other| !other.duplicate));
    // At once, so that both may be in one group.
    let (answer, answers) = mpsc::channel();
    for _ in 0..2 {
        let answer = answer.clone();
        log.submit(keyed("twice", Expect::Any, "x"), Box::new(move |result| drop(answer.send(result))));
    }
    let both: Vec<_> = answers.iter().take(2).filter_map(Result::ok).collect();
    assert_eq!(both.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, true]);
    assert_eq!(both.first().map(|one| &one.events), both.last().map(|one| &one.events));
    let log = open(Some(log));
    let again = log.append(keyed("k", Expect::Any, "after opening again"));
    assert!(again.as_ref().is_ok_and(|again| again.duplicate && again.events == first), "{again:?}");
}

fn time_never_decreases(open: Factory<'_>) {
    let log = open(None);
    let at = |stream, at| Append { at: Micros(at), ..append(stream, vec![message("m"), message("n")]) };
    let times = |events: Vec<Recorded>| events.iter().map(|e| e.envelope.recorded_at.0).collect::<Vec<_>>();
    assert_eq!(times(put(log.as_ref(), at("a", 50))), [50, 50]);
    assert_eq!(times(put(log.as_ref(), at("a", 40))), [50, 50]);
    assert_eq!(times(put(log.as_ref(), at("b", 40))), [40, 40]);
    let log = open(Some(log));
    assert_eq!(times(put(log.as_ref(), at("a", 10))), [50, 50]);
    assert_eq!(times(put(log.as_ref(), at("a", 60))), [60, 60]);
}

fn sizes_are_checked(open: Factory<'_>) {
    let log = open(None);
    let none = log.append(append("a", vec![]));
    assert!(matches!(none, Err(Error::TooFew { .. })), "{none:?}");
    let many = log.append(append("a", vec![turn(); APPEND_EVENTS_MAX + 1]));
    assert!(matches!(many, Err(Error::TooLarge { .. })), "{many:?}");
    let large = message(&"x".repeat(codec::PAYLOAD_BYTES_MAX));
    let large = log.append(append("a", vec![turn(), large]));
    assert!(matches!(large, Err(Error::TooLarge { .. })), "{large:?}");
    assert_eq!(log.tail().last, Position(0));
    assert_eq!(put(log.as_ref(), append("a", vec![turn(); APPEND_EVENTS_MAX])).len(), APPEND_EVENTS_MAX);
    assert_eq!(all(log.as_ref()).len(), APPEND_EVENTS_MAX);
}

fn acknowledged_survives(open: Factory<'_>) {
    let mut log = open(None);
    let mut said = Vec::new();
    for round in 0..4 {
        for number in 0..10 {
            let durability = if number % 2 == 0 { Durability::Disk } else { Durability::Queued };
            let events = vec![message(&format!("{round}.{number}")), turn()];
            said.extend(put(log.as_ref(), Append { durability, ..append(of(&["a", "b"], number), events) }));
        }
        log = open(Some(log));
        assert_eq!(all(log.as_ref()), said);
        assert_eq!(log.tail().last, Position(said.len() as u64));
        assert_eq!(log.tail().durable, log.tail().last);
    }
}

fn answers_are_in_order(open: Factory<'_>) {
    let log = open(None);
    let (answer, answers) = mpsc::channel();
    for number in 0..200u64 {
        let answer = answer.clone();
        let durability = if number % 7 == 0 { Durability::Disk } else { Durability::Queued };
        let append = Append { durability, ..append(&format!("{}", number % 9), vec![turn()]) };
        log.submit(append, Box::new(move |result| drop(answer.send((durability, result)))));
    }
    let given: Vec<_> = answers.iter().take(200).collect();
    let mut all = Vec::new();
    for wanted in [Durability::Disk, Durability::Queued] {
        let given = given.iter().filter(|(durability, _)| *durability == wanted);
        let given: Vec<_> =
            given.filter_map(|(_, result)| result.clone().ok()).flat_map(|one| one.events).collect();
        assert!(positions(&given).is_sorted(), "{wanted:?}");
        all.extend(positions(&given));
    }
    all.sort_unstable();
    assert_eq!(all, (1..=200).collect::<Vec<_>>());
}

fn the_disk_can_be_waited_for(open: Factory<'_>) {
    let log = open(None);
    let queued = Append { durability: Durability::Queued, ..append("a", vec![turn(), turn()]) };
    assert!(log.append(queued).is_ok());
    let last = log.tail().last;
    let (answer, answers) = mpsc::channel();
    // Twice: the second time it is there already.
    for _ in 0..2 {
        let answer = answer.clone();
        log.when_durable(last, Box::new(move |durable| drop(answer.send(durable))));
        assert!(answers.recv().is_ok_and(|durable| durable.is_ok()));
        assert!(log.tail().durable >= last);
    }
}

fn many_threads(open: Factory<'_>) {
    let log = open(None);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = log.as_ref();
            scope.spawn(move || {
                for number in 0..25 {
                    put(
                        log,
                        append(&format!("{}", thread % 3), vec![message(&format!("{thread}.{number}"))]),
                    );
                }
            });
        }
    });
    let events = all(log.as_ref());
    assert_eq!(positions(&events), (1..=200).collect::<Vec<_>>());
    assert!(chains_hold(&events));
}

fn waiting(open: Factory<'_>) {
    let log = open(None);
    assert_eq!(log.wait(Position(0), Duration::ZERO), Position(0));
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| log.wait(Position(0), Duration::from_secs(60)));
        put(log.as_ref(), append("a", vec![turn()]));
        assert_eq!(waiter.join().ok(), Some(Position(1)));
    });
}

fn chains_follow(open: Factory<'_>) {
    let log = open(None);
    for number in 0..20 {
        put(log.as_ref(), append(of(&["a", "b"], number), vec![message(&format!("{number}")), turn()]));
    }
    let log = open(Some(log));
    put(log.as_ref(), append("a", vec![turn()]));
    assert!(chains_hold(&all(log.as_ref())));
}

/// Whether each record's chain is the hash over the one before in its stream and itself.
pub fn chains_hold(events: &[Recorded]) -> bool {
    let mut chains = std::collections::BTreeMap::new();
    events.iter().all(|event| {
        let before = chains.insert(event.envelope.stream, event.envelope.chain).unwrap_or(Digest([0; 32]));
        let payload = codec::encode_event(&event.event).unwrap_or_default();
        codec::frame(&event.envelope, before, &payload, &mut Vec::new()) == event.envelope.chain
    })
}

fn blobs(open: Factory<'_>) {
    let log = open(None);
    let bytes = "a large thing, é".repeat(10_000).into_bytes();
    let blob = log.put_blob(&bytes).ok();
    assert_eq!(blob, Some(BlobRef::of(&bytes)));
    assert_eq!(log.put_blob(&bytes).ok(), blob);
    assert_eq!(log.put_blob(b"").ok(), Some(BlobRef::of(b"")));
    let log = open(Some(log));
    assert_eq!(log.blob(BlobRef::of(&bytes)).ok(), Some(bytes));
    assert_eq!(log.blob(BlobRef::of(b"")).ok(), Some(Vec::new()));
    let missing = log.blob(BlobRef::of(b"never kept"));
    assert!(matches!(missing, Err(Error::BlobMissing { .. })), "{missing:?}");
}

fn emptiness(open: Factory<'_>) {
    let log = open(Some(open(None)));
    assert!(all(log.as_ref()).is_empty());
    assert_eq!(log.tail().last, Position(0));
    let stream = StreamId::named(StreamKind::Session, "nobody");
    assert!(log.read_stream(stream, StreamPos(0)).next().is_none());
    assert!(matches!(log.head(stream), Ok(None)));
}

/// One of `names`, in turns.
fn of(names: &'static [&'static str], number: usize) -> &'static str {
    names.iter().cycle().nth(number % names.len().max(1)).copied().unwrap_or_default()
}
