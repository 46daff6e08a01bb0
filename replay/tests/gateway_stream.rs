//! The gateway's own stream: given what happened, when something is asked, then these events follow.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use herm_replay::deliveries::Owed;
use herm_replay::gateway::{self, Command, GatewayState, Rejection};
use herm_replay::log::memory::MemoryLog;
use herm_replay::log::{Append, Durability, Expect, Log};
use herm_schema::events::*;
use herm_schema::{Digest, Event, Micros, StreamPos};

const SECOND: u64 = 1_000_000;

struct Gateway {
    log: MemoryLog,
    state: GatewayState,
    now: Micros,
}

impl Gateway {
    fn new() -> Self {
        Self { log: MemoryLog::new(), state: GatewayState::default(), now: Micros(1_000_000_000_000_000) }
    }

    fn ask(&mut self, command: Command) -> Result<Vec<Event>, Rejection> {
        let events = gateway::decide(&self.state, command, self.now)?;
        assert!(!events.is_empty(), "a decision is never nothing");
        let append = Append {
            stream: gateway::stream(),
            expect: Expect::At(self.state.head.stream_pos),
            key: None,
            at: self.now,
            durability: Durability::Queued,
            events,
        };
        let committed = self.log.append(append).unwrap();
        for recorded in &committed.events {
            gateway::evolve(&mut self.state, recorded);
        }
        // The same events fold to the same state.
        let mut again = GatewayState::default();
        for recorded in self.log.read_stream(gateway::stream(), StreamPos(0)) {
            gateway::evolve(&mut again, &recorded.unwrap());
        }
        assert_eq!(again, self.state);
        Ok(committed.events.into_iter().map(|recorded| recorded.event).collect())
    }

    fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus(seconds * SECOND);
    }

    fn start(&mut self, open_work: u32) -> bool {
        let events = self.ask(Command::Start { herm_version: "0".into(), open_work }).unwrap();
        let Event::GatewayStarted(started) = &events[0] else { panic!("{events:?}") };
        started.resumes
    }
}

fn chat(name: &str) -> ChatRef {
    ChatRef { platform: "telegram".into(), chat: name.into(), thread: None }
}

fn planned(name: &str, text: &str, keyed: bool) -> DeliveryPlanned {
    DeliveryPlanned {
        target: chat(name),
        kind: DeliveryKind::Notice,
        chunks: vec![text.into()],
        keyed,
        reply_to: None,
        possible_repeat: false,
    }
}

fn code(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn asks(gateway: &mut Gateway, who: &str, text: &str) -> Result<Vec<Event>, Rejection> {
    let asked = PairingRequested {
        chat: chat(who),
        sender: Sender { id: who.into(), name: None },
        code: code(text),
        expires_at: gateway.now.plus(3_600 * SECOND),
    };
    gateway.ask(Command::AskPairing { asked, answer: planned(who, text, false) })
}

fn approves(gateway: &mut Gateway, text: &str) -> Result<Vec<Event>, Rejection> {
    gateway.ask(Command::ApprovePairing { platform: "telegram".into(), code: code(text) })
}

/// The first intent that is being sent.
fn intent(gateway: &Gateway) -> StreamPos {
    let owed = gateway::owed(&gateway.state);
    let sent = owed.into_iter().find_map(|owed| match owed {
        Owed::Send { intent, .. } => Some(intent),
        _ => None,
    });
    sent.unwrap_or_else(|| panic!("nothing is being sent"))
}

#[test]
fn the_third_start_in_a_row_with_open_work_does_not_go_on_with_it_once() {
    let mut gateway = Gateway::new();
    assert!(gateway.start(1));
    gateway.wait(299);
    assert!(gateway.start(2));
    gateway.wait(299);
    assert!(!gateway.start(2), "three within 300 s of each other are a loop");
    gateway.wait(10);
    assert!(gateway.start(2), "skipped once, not for ever");
}

#[test]
fn starts_far_apart_or_without_open_work_are_no_loop() {
    let mut gateway = Gateway::new();
    for _ in 0..6 {
        assert!(gateway.start(1));
        gateway.wait(301);
    }
    for _ in 0..6 {
        assert!(gateway.start(0));
        gateway.wait(1);
    }
    assert!(gateway.start(1));
}

#[test]
fn a_code_lets_in_whom_it_was_given_and_only_once() {
    let mut gateway = Gateway::new();
    asks(&mut gateway, "ada", "AAAA").unwrap();
    let events = approves(&mut gateway, "AAAA").unwrap();
    assert!(matches!(&events[0], Event::PairingApproved(approved) if approved.sender.id == "ada"));
    assert!(matches!(approves(&mut gateway, "AAAA").unwrap()[0], Event::PairingMissed(_)));
    let key = ("telegram".to_owned(), "ada".to_owned());
    assert!(gateway.state.paired.contains_key(&key));
    let revoke = Command::RevokePairing { platform: "telegram".into(), sender_id: "ada".into() };
    gateway.ask(revoke.clone()).unwrap();
    assert!(!gateway.state.paired.contains_key(&key));
    assert!(matches!(gateway.ask(revoke), Err(Rejection::NotPaired { .. })));
}

#[test]
fn a_code_expires_and_is_not_given_again_at_every_message() {
    let mut gateway = Gateway::new();
    asks(&mut gateway, "ada", "AAAA").unwrap();
    assert_eq!(asks(&mut gateway, "ada", "BBBB"), Err(Rejection::NothingDue));
    gateway.wait(601);
    asks(&mut gateway, "ada", "CCCC").unwrap();
    assert!(
        matches!(approves(&mut gateway, "AAAA").unwrap()[0], Event::PairingMissed(_)),
        "the older is void"
    );
    gateway.wait(3_601);
    assert!(matches!(approves(&mut gateway, "CCCC").unwrap()[0], Event::PairingMissed(_)));
}

#[test]
fn strangers_are_given_few_codes_and_wrong_ones_close_the_door() {
    let mut gateway = Gateway::new();
    for who in ["a", "b", "c"] {
        asks(&mut gateway, who, who).unwrap();
    }
    assert!(matches!(asks(&mut gateway, "d", "d"), Err(Rejection::TooManyCodes { .. })));
    for _ in 0..5 {
        approves(&mut gateway, "wrong").unwrap();
    }
    assert!(matches!(approves(&mut gateway, "a"), Err(Rejection::Locked { .. })), "even a right one");
    gateway.wait(3_601);
    asks(&mut gateway, "d", "d").unwrap();
    assert!(matches!(approves(&mut gateway, "d").unwrap()[0], Event::PairingApproved(_)));
}

#[test]
fn a_command_waits_for_its_answer_and_is_answered_once() {
    let mut gateway = Gateway::new();
    let received = CommandReceived {
        message_id: "1".into(),
        profile: "default".into(),
        chat: chat("ada"),
        session_key: "k".into(),
        sender: Sender { id: "ada".into(), name: None },
        name: "new".into(),
        arguments: String::new(),
        owner: false,
    };
    gateway.ask(Command::Receive(received)).unwrap();
    let at = *gateway.state.commands.keys().next().unwrap();
    let answer = || Command::Answer { command: at, answer: Some(planned("ada", "done", false)) };
    let events = gateway.ask(answer()).unwrap();
    // The answer and the first attempt at it go with the end of the command: one wait for the disk.
    assert!(matches!(
        events.as_slice(),
        [Event::CommandAnswered(_), Event::DeliveryPlanned(_), Event::DeliveryAttempted(_)]
    ));
    assert_eq!(gateway.ask(answer()), Err(Rejection::NothingDue));
}

#[test]
fn deliveries_to_one_target_go_in_order_and_to_others_at_the_same_time() {
    let mut gateway = Gateway::new();
    gateway.ask(Command::Say(planned("ada", "one", false))).unwrap();
    gateway.ask(Command::Say(planned("ada", "two", false))).unwrap();
    gateway.ask(Command::Say(planned("bob", "three", false))).unwrap();
    assert_eq!(gateway::owed(&gateway.state).len(), 2);
    let first = intent(&gateway);
    gateway.ask(Command::Delivered { intent: first, platform_message_id: None }).unwrap();
    assert!(gateway::owed(&gateway.state).contains(&Owed::Attempt));
    gateway.ask(Command::Advance).unwrap();
    assert_eq!(gateway.state.deliveries.len(), 2);
}

#[test]
fn a_failure_waits_as_the_platform_says_over_a_restart_and_a_permanent_one_ends_it() {
    let mut gateway = Gateway::new();
    gateway.ask(Command::Say(planned("ada", "one", false))).unwrap();
    let retry_at = gateway.now.plus(30 * SECOND);
    let failed =
        |intent, class, retry_at| Command::NotDelivered { intent, class, message: "x".into(), retry_at };
    let at = intent(&gateway);
    gateway.ask(failed(at, DeliveryFailure::RateLimited, Some(retry_at))).unwrap();
    assert_eq!(gateway::owed(&gateway.state), [Owed::Wait { until: retry_at }]);
    assert_eq!(gateway.ask(Command::Advance), Err(Rejection::NothingDue), "not before");
    gateway.wait(30);
    gateway.ask(Command::Advance).unwrap();
    let at = intent(&gateway);
    gateway.ask(failed(at, DeliveryFailure::Gone, None)).unwrap();
    assert!(gateway.state.deliveries.is_empty());
}

#[test]
fn what_nobody_knows_goes_again_with_the_mark_or_under_its_key_without() {
    let mut gateway = Gateway::new();
    gateway.ask(Command::Say(planned("ada", "one", false))).unwrap();
    let at = intent(&gateway);
    let events = gateway.ask(Command::Uncertain { intent: at }).unwrap();
    assert!(matches!(&events[0], Event::DeliveryAttempted(attempted) if attempted.possible_repeat));
    let mut gateway = Gateway::new();
    gateway.ask(Command::Say(planned("ada", "one", true))).unwrap();
    let at = intent(&gateway);
    assert_eq!(gateway.ask(Command::Uncertain { intent: at }), Err(Rejection::NothingDue), "sent as it is");
}

#[test]
fn a_dead_target_is_named_once_and_revived_by_a_sign_of_life() {
    let mut gateway = Gateway::new();
    let died = || Command::Die(TargetDied { target: chat("ada"), why: "blocked".into() });
    gateway.ask(died()).unwrap();
    assert_eq!(gateway.ask(died()), Err(Rejection::NothingDue));
    assert_eq!(gateway.state.dead(&chat("ada")).unwrap().why, "blocked");
    gateway.ask(Command::Revive { target: chat("ada") }).unwrap();
    assert!(gateway.state.dead(&chat("ada")).is_none());
    assert_eq!(gateway.ask(Command::Revive { target: chat("ada") }), Err(Rejection::NothingDue));
}

#[test]
fn a_cursor_moves_is_kept_and_has_a_limit() {
    let mut gateway = Gateway::new();
    let moved = |cursor: String| Command::MoveCursor(CursorMoved { platform: "matrix".into(), cursor });
    gateway.ask(moved("s1".into())).unwrap();
    assert_eq!(gateway.ask(moved("s1".into())), Err(Rejection::NothingDue));
    assert!(matches!(gateway.ask(moved("x".repeat(5_000))), Err(Rejection::CursorTooLong { found: 5_000 })));
    assert_eq!(gateway.state.cursors["matrix"], "s1");
}
