//! What chats ask of a session: messages that share a turn, people who share a session, what is said
//! during a compression, compressions that fail.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod support;

use herm_replay::reducer::command::{Compression, Fact};
use herm_replay::reducer::state::Body;
use herm_replay::reducer::{Command, Effect};
use herm_schema::events::*;
use herm_schema::{Event, StreamPos};
use support::{Session, policy};

const SECOND: u64 = 1_000_000;

fn answers(session: &mut Session, text: &str) {
    let intent = session.model_intent();
    let message = AssistantMessage { text: text.into(), ..AssistantMessage::default() };
    let answer = ModelCallSucceeded {
        message,
        finish: Finish::Stop,
        usage: None,
        timings: Timings::default(),
        response_id: None,
    };
    session.ask(Command::ModelAnswered { intent, answer }).unwrap();
    session.settle();
    session.ask(Command::DeliveryPrepared { chunks: vec![text.into()], keyed: false }).unwrap();
    let sent = session.settle().into_iter().find_map(|effect| match effect {
        Effect::Deliver { intent, .. } => Some(intent),
        _ => None,
    });
    session.ask(Command::Delivered { intent: sent.unwrap(), platform_message_id: None }).unwrap();
    session.settle();
}

fn said(session: &Session) -> Vec<String> {
    let texts = session.state.view.iter().filter_map(|entry| match &entry.body {
        Body::User { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

/// Compresses everything but the newest message as soon as there are more than four.
fn compressing() -> Policy {
    let compression =
        CompressionPolicy { messages_max: 4, protect_first: 0, protect_last: 1, ..policy().compression };
    Policy { compression, busy: BusyPolicy::Queue, ..policy() }
}

fn compressing_intent(session: &mut Session) -> StreamPos {
    let found = session.settle().into_iter().find_map(|effect| match effect {
        Effect::Compress { intent, .. } => Some(intent),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no compression is owed"))
}

fn filled() -> Session {
    let mut session = Session::open(compressing());
    for text in ["one", "two"] {
        session.receive(text);
        answers(&mut session, &format!("answer to {text}"));
    }
    session.receive("three");
    session
}

#[test]
fn route_compress_o_a_message_during_a_compression_is_in_the_conversation_that_goes_on() {
    let mut session = filled();
    let intent = compressing_intent(&mut session);
    session.receive("said during the compression");
    let view = &session.state.view;
    let (first, last) = (view[0].at, view[view.len() - 2].at);
    let compression = Compression {
        first,
        last,
        summary: "what was said before".into(),
        pruned: vec![],
        engine: "test".into(),
    };
    session.ask(Command::Compressed { intent, result: Ok(compression) }).unwrap();
    answers(&mut session, "answer to three");
    answers(&mut session, "answer to the other");
    let said = said(&session);
    assert_eq!(
        said.iter().filter(|text| text.contains("said during the compression")).count(),
        1,
        "{said:?}"
    );
    assert!(session.state.queue.is_empty() && session.state.turn.is_none());
    // One stream, one session: there is no other id that it could have been written to.
    assert!(session.events.iter().all(|recorded| recorded.envelope.stream == session.id.stream()));
}

#[test]
fn a_compression_that_failed_rests_and_three_and_nine_times_as_long_if_it_fails_again() {
    let mut session = filled();
    let mut rests = Vec::new();
    for _ in 0..2 {
        let intent = compressing_intent(&mut session);
        session.ask(Command::Compressed { intent, result: Err("no".into()) }).unwrap();
        let until = session.state.context.rests_until.unwrap();
        rests.push(until.since(session.now) / SECOND);
        answers(&mut session, "an answer");
        session.now = until;
        session.receive("more");
    }
    assert_eq!(rests, [60, 180]);
}

#[test]
fn during_the_rest_a_turn_goes_on_without_a_compression() {
    let mut session = filled();
    let intent = compressing_intent(&mut session);
    session.ask(Command::Compressed { intent, result: Err("no".into()) }).unwrap();
    answers(&mut session, "an answer");
    session.receive("more");
    let owed = session.settle();
    assert!(!owed.iter().any(|effect| matches!(effect, Effect::Compress { .. })), "{owed:?}");
}

#[test]
fn messages_of_one_person_in_quick_succession_share_a_turn() {
    let mut session = Session::open(Policy { debounce_us: SECOND, ..policy() });
    session.receive("look at");
    let owed = session.settle();
    assert!(matches!(owed.as_slice(), [Effect::Wait { .. }]), "{owed:?}");
    session.now = session.now.plus(SECOND / 2);
    session.receive("this");
    session.now = session.now.plus(SECOND);
    answers(&mut session, "done");
    let turns = session.events.iter().filter(|recorded| matches!(recorded.event, Event::TurnStarted(_)));
    assert_eq!(turns.count(), 1);
    assert_eq!(said(&session), ["look at", "this"]);
}

#[test]
fn a_preview_gives_its_place_to_the_answer_and_to_nothing_after_it() {
    let mut session = Session::open(policy());
    session.receive("hello");
    session.settle();
    let fact = Fact::PreviewPosted(PreviewPosted { platform_message_id: "7".into() });
    session.ask(Command::Record(fact)).unwrap();
    let intent = session.model_intent();
    let message = AssistantMessage { text: "hi".into(), ..AssistantMessage::default() };
    let (usage, response_id) = (None, None);
    let answer =
        ModelCallSucceeded { message, finish: Finish::Stop, usage, timings: Timings::default(), response_id };
    session.ask(Command::ModelAnswered { intent, answer }).unwrap();
    session.settle();
    session.ask(Command::DeliveryPrepared { chunks: vec!["hi".into()], keyed: false }).unwrap();
    let previews: Vec<_> =
        session.state.deliveries.values().map(|delivery| delivery.preview.clone()).collect();
    assert_eq!(previews, [Some("7".to_owned())]);
}

#[test]
fn history_is_given_before_the_first_message_and_not_after() {
    let mut session = Session::open(policy());
    let given = |by, text: &str| GivenMessage { by, text: text.into(), attachments: vec![] };
    let history = HistoryGiven {
        system: Some("be brief".into()),
        messages: vec![given(GivenBy::Person, "my name is Ada"), given(GivenBy::Model, "noted")],
    };
    session.ask(Command::GiveHistory(history.clone())).unwrap();
    assert_eq!(session.state.view.len(), 2);
    assert_eq!(session.state.client_system.as_deref(), Some("be brief"));
    session.receive("who am I?");
    assert!(session.ask(Command::GiveHistory(history)).is_err());
}
