//! Invariants over generated histories: whatever people, models, tools and crashes do.
//!
//! A walk asks the reducer random commands that fit what is owed. A failure prints its seed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use herm_replay::reducer::command::{Prepared, Question, ToolOutcome};
use herm_replay::reducer::request::{Message, Request};
use herm_replay::reducer::state::Waiting;
use herm_replay::reducer::{Command, Effect, SessionState, compaction, evolve, owed, transcript};
use herm_schema::events::*;
use herm_schema::{CallRef, Event, JsonText, Recorded};
use support::*;

const WALKS: u64 = 300;
const STEPS: u32 = 160;

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len() as u64) as usize]
    }
}

fn settings(dice: &mut Dice) -> Policy {
    let busy = *dice.pick(&[BusyPolicy::Queue, BusyPolicy::Steer, BusyPolicy::Interrupt]);
    let delivery = *dice.pick(&[DeliveryPolicy::AtLeastOnce, DeliveryPolicy::AtMostOnce]);
    let small = dice.roll(2) == 0;
    let base = policy();
    let limits = Limits { iterations_max: 3 + dice.roll(8) as u32, ..base.limits };
    let compression = CompressionPolicy {
        protect_first: dice.roll(3) as u32,
        protect_last: 1 + dice.roll(5) as u32,
        prune_above_tokens: if dice.roll(3) == 0 { 300 } else { 0 },
        prune_reclaim_min_tokens: 50,
        ..base.compression
    };
    let window = if small { 1_500 } else { 128_000 };
    let model = ModelChoice { context_window_tokens: window, output_tokens_max: 100, ..base.model };
    let keys = ["k1", "k2"].map(str::to_owned);
    let model = ModelChoice { credentials: keys[..dice.roll(3) as usize].to_vec(), ..model };
    let fallback = ModelChoice { model: "other".into(), ..model.clone() };
    let fallbacks = vec![fallback; dice.roll(3) as usize];
    let titles = dice.roll(2) == 0;
    Policy { busy, delivery, limits, compression, model, fallbacks, titles, ..base }
}

fn random_answer(dice: &mut Dice) -> ModelCallSucceeded {
    let calls = dice.roll(4);
    let names = ["read_file", "terminal", "write_file", "execute_code", "unknown"];
    let arguments =
        [r#"{"path":"a"}"#, r#"{"path":"b/c"}"#, r#"{ "command" : "make" }"#, r#"{"path": "cut"#, "", "[]"];
    let ids = ["a", "b", "exec_0", ""];
    let calls: Vec<_> =
        (0..calls).map(|_| (*dice.pick(&ids), *dice.pick(&names), *dice.pick(&arguments))).collect();
    let text = *dice.pick(&["", "done", "日本語の答え", "two\nlines", "  "]);
    let mut answer = answer(text, &calls);
    if dice.roll(3) == 0 {
        answer.message.extras = Some(ProviderExtras { family: "f".into(), json: "{}".into() });
    }
    if dice.roll(8) == 0 {
        answer.finish = Finish::Length;
    }
    if dice.roll(2) == 0 {
        answer.usage = Some(Usage { input: dice.roll(2_000), output: 10, ..Usage::default() });
    }
    answer
}

fn outcome_of(session: &Session, effect: &Effect, dice: &mut Dice) -> Option<Command> {
    let classes = [
        FailureClass::ServerError,
        FailureClass::RateLimit,
        FailureClass::ContextOverflow,
        FailureClass::AuthPermanent,
        FailureClass::Unknown,
        FailureClass::Auth,
        FailureClass::ThinkingSignature,
        FailureClass::LlamaCppGrammarPattern,
        FailureClass::ImageTooLarge,
    ];
    Some(match effect {
        Effect::Advance | Effect::Wait { .. } => Command::Advance,
        Effect::BuildPrompt { .. } => return None,
        Effect::CallModel { intent, .. } if dice.roll(6) == 0 => Command::ModelFailed {
            intent: *intent,
            failure: ModelFailure {
                class: *dice.pick(&classes),
                status: Some(500),
                message: "no".into(),
                retry_after_us: None,
            },
        },
        Effect::CallModel { intent, .. } => {
            Command::ModelAnswered { intent: *intent, answer: random_answer(dice) }
        }
        Effect::Compress { intent, .. } => Command::Compressed {
            intent: *intent,
            result: match dice.roll(5) {
                0 => Err("engine failed".into()),
                _ => compaction::plan(&session.state).ok_or_else(String::new),
            },
        },
        Effect::PrepareCall { call, approved } => Command::CallPrepared {
            call: *call,
            verdict: match dice.roll(6) {
                0 if !approved => Prepared::Ask(Question {
                    subject: "x".into(),
                    reason: "y".into(),
                    rule: "z".into(),
                    pattern: "p".into(),
                    target: None,
                }),
                1 => Prepared::Block { rule: "no".into(), subject: "x".into(), shown: "no".into() },
                2 if dice.roll(2) == 0 => Prepared::Veto { why: "no".into() },
                2 => Prepared::Invalid { shown: "{}".into() },
                _ => Prepared::Run { arguments: JsonText("{}".into()) },
            },
        },
        Effect::AskApproval { request, .. } => Command::ApprovalAnswered {
            request: *request,
            decision: *dice.pick(&[
                Decision::Allowed { scope: GrantScope::Once },
                Decision::Denied,
                Decision::Expired,
            ]),
            by: DecidedBy::Person,
            answerer: None,
        },
        Effect::RunTool { intent, .. } => {
            let status = *dice.pick(&[ToolStatus::Succeeded, ToolStatus::Failed]);
            let shown = "x".repeat(dice.roll(3_000) as usize);
            let images = if dice.roll(4) == 0 { vec![screenshot()] } else { Vec::new() };
            let outcome = ToolOutcome { images, ..outcome(status, &shown) };
            Command::ToolFinished { intent: *intent, outcome }
        }
        Effect::Title => title(session, dice),
        Effect::PlanDelivery { text, .. } => {
            let chunks = vec![text.clone(); 1 + dice.roll(3) as usize];
            Command::DeliveryPrepared {
                chunks: chunks.into_iter().map(Into::into).collect(),
                keyed: dice.roll(2) == 0,
            }
        }
        Effect::Deliver { intent, .. } if dice.roll(4) == 0 => Command::DeliveryFailed {
            intent: *intent,
            class: DeliveryFailure::Unreachable,
            message: String::new(),
            retry_at: (dice.roll(2) == 0).then(|| session.now.plus(5_000_000)),
        },
        Effect::Deliver { intent, .. } => Command::Delivered { intent: *intent, platform_message_id: None },
    })
}

fn screenshot() -> Attachment {
    let content = herm_schema::BlobRef::of(b"png");
    Attachment { content, media_type: "image/png".into(), name: "shot.png".into() }
}

/// Somebody answers a question that was parked.
fn answer_parked(session: &mut Session, dice: &mut Dice) {
    let Some(parked) = session.state.parked.first() else {
        return;
    };
    let scope = *dice.pick(&[GrantScope::Once, GrantScope::Session]);
    let decision = *dice.pick(&[Decision::Allowed { scope }, Decision::Denied]);
    let (request, by) = (parked.request, DecidedBy::Person);
    session.ask(Command::ApprovalAnswered { request, decision, by, answerer: None }).unwrap();
}

fn notice() -> NoticeReceived {
    let source = NoticeSource::ProcessEnded;
    NoticeReceived { source, about: "proc_1".into(), text: "exited with 0".into() }
}

/// A step of asking a model for a title.
fn title(session: &Session, dice: &mut Dice) -> Command {
    let Some(open) = session.state.auxiliary.first() else {
        return Command::BeginAuxiliary(AuxiliaryCallStarted {
            task: AuxiliaryTask::Title,
            attempt: 1,
            request_digest: herm_schema::Digest::of(b"t"),
            estimated_tokens: 10,
            provider: "p".into(),
            model: "m".into(),
            credential: None,
            prices: None,
        });
    };
    if dice.roll(2) == 0 {
        return Command::Title("a talk".into());
    }
    let finished = AuxiliaryCallFinished { started: open.at, outcome: AuxiliaryOutcome::Cancelled };
    Command::EndAuxiliary(finished)
}

/// Another process takes over: folds anew, resumes, and finds out about what was under way.
fn crash(session: &mut Session) {
    session.state = session.refolded();
    let _ = session.ask(Command::Resume);
    for effect in owed(&session.state) {
        let _ = match effect {
            Effect::RunTool { intent, .. } => session.ask(Command::ToolInDoubt { intent }),
            Effect::Deliver { intent, .. } => session.ask(Command::DeliveryUncertain { intent }),
            _ => continue,
        };
    }
}

fn step(session: &mut Session, dice: &mut Dice, disturb: bool) {
    session.now = session.now.plus(dice.roll(3_000_000));
    let text = "word ".repeat(1 + dice.roll(60) as usize);
    match dice.roll(if disturb { 16 } else { u64::MAX }) {
        0 => drop(session.receive(&text)),
        1 => {
            let by = InterruptSource::Person;
            let _ = session.ask(Command::Interrupt { by, visible_text: "so far".into() });
        }
        2 => crash(session),
        3 | 4 => answer_parked(session, dice),
        5 => drop(session.ask(Command::Notice(notice())).unwrap()),
        _ => {
            let owed = owed(&session.state);
            if owed.is_empty() {
                return;
            }
            let effect = dice.pick(&owed).clone();
            match outcome_of(session, &effect, dice) {
                Some(command) => drop(session.ask_with(command, dice.roll(1 << 40))),
                None => session.build_prompt(),
            }
        }
    }
}

fn walk(seed: u64) -> Session {
    let mut dice = Dice(seed);
    let settings = settings(&mut dice);
    let mut session = Session::open(settings);
    session.receive("begin");
    for _ in 0..STEPS {
        step(&mut session, &mut dice, true);
    }
    for _ in 0..5_000 {
        if !session.state.has_open_work() {
            return session;
        }
        step(&mut session, &mut dice, false);
    }
    panic!("seed {seed}: work never ends: {:?}", session.state.turn);
}

/// Invariant 4: roles alternate, every call has exactly one result at once, ids are unique.
fn well_formed(request: &Request) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    let mut waiting: Vec<String> = Vec::new();
    let mut before = "system";
    for message in &request.messages {
        let role = match message {
            Message::User { .. } => "user",
            Message::Assistant { .. } => "assistant",
            Message::Tool { .. } => "tool",
        };
        if role != "tool" && !waiting.is_empty() {
            return Err(format!("calls {waiting:?} have no result"));
        }
        if role == before && role != "tool" {
            return Err(format!("two {role} messages in a row"));
        }
        if before == "system" && role != "user" {
            return Err(format!("begins with {role}"));
        }
        match message {
            Message::Assistant { calls, .. } => {
                for call in calls {
                    serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&call.arguments.0)
                        .map_err(|error| error.to_string())?;
                    if call.id.is_empty() || !ids.insert(call.id.clone()) {
                        return Err(format!("id `{}` is not unique", call.id));
                    }
                }
                waiting = calls.iter().rev().map(|call| call.id.clone()).collect();
            }
            Message::Tool { id, .. } => {
                if waiting.pop().as_ref() != Some(id) {
                    return Err(format!("result `{id}` is out of place"));
                }
            }
            Message::User { .. } => {}
        }
        before = role;
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("calls {waiting:?} have no result")) }
}

fn breaks_prefix(event: &Event) -> bool {
    matches!(
        event,
        Event::CompressionFinished(_)
            | Event::ToolResultsPruned(_)
            | Event::SystemPromptBuilt(_)
            | Event::ToolsOffered(_)
            | Event::SessionConfigured(_)
            | Event::ModelCallFailed(ModelCallFailed {
                action: FailureAction::Strip { .. } | FailureAction::FallBack { .. },
                ..
            })
    )
}

/// What was sent at a model call: the state before its event, as `decide` saw it.
fn requests(events: &[Recorded]) -> Vec<(usize, ModelCallStarted, Request)> {
    let mut state = SessionState::default();
    let mut requests = Vec::new();
    for (index, recorded) in events.iter().enumerate() {
        if let Event::ModelCallStarted(started) = &recorded.event {
            requests.push((
                index,
                started.clone(),
                transcript::request(&state, started.purpose, started.route),
            ));
        }
        evolve(&mut state, recorded);
    }
    requests
}

#[test]
fn every_request_is_well_formed_at_every_prefix_and_equals_its_digest() {
    for seed in 0..WALKS {
        let session = walk(seed);
        let mut state = SessionState::default();
        for recorded in &session.events {
            evolve(&mut state, recorded);
            let request = transcript::request(&state, ModelPurpose::Turn, 0);
            if let Err(why) = well_formed(&request) {
                panic!("seed {seed}, event {}: {why}: {request:#?}", recorded.envelope.position);
            }
        }
        for (_, started, request) in requests(&session.events) {
            assert_eq!(started.request_digest, request.digest(), "seed {seed}, call {}", started.call);
        }
    }
}

#[test]
fn a_request_begins_with_the_one_before_unless_an_event_says_so() {
    for seed in 0..WALKS {
        let session = walk(seed);
        let mut last: Option<(usize, Request)> = None;
        for (index, started, request) in requests(&session.events) {
            if started.purpose != ModelPurpose::Turn {
                continue;
            }
            if let Some((from, before)) = &last {
                let broken = session.events[*from..index].iter().any(|r| breaks_prefix(&r.event));
                let mut pairs = before.messages.iter().zip(&request.messages);
                let differs = pairs.position(|(before, now)| before != now);
                let kept = differs.is_none() && before.messages.len() <= request.messages.len();
                let at = differs.unwrap_or_default();
                let (was, is) = (before.messages.get(at), request.messages.get(at));
                assert!(
                    broken || kept,
                    "seed {seed}, call {}, message {at} of {}: was {was:#?}, is {is:#?}",
                    started.call,
                    before.messages.len()
                );
            }
            last = Some((index, request));
        }
    }
}

#[test]
fn what_may_happen_once_begins_at_most_once_and_everything_begun_ends() {
    for seed in 0..WALKS {
        let session = walk(seed);
        let mut calls: BTreeMap<CallRef, (u32, u32)> = BTreeMap::new();
        let mut parked = BTreeSet::new();
        for recorded in &session.events {
            match &recorded.event {
                // It has not ended: it may be allowed yet.
                Event::ToolCallSkipped(event) if event.reason == SkipReason::Parked => {
                    assert!(parked.insert(event.call), "seed {seed}, call {} parked twice", event.call);
                }
                Event::ToolCallStarted(event) => calls.entry(event.call).or_default().0 += 1,
                Event::ToolCallFinished(event) => calls.entry(event.call).or_default().1 += 1,
                Event::ToolCallSkipped(event) => calls.entry(event.call).or_default().1 += 1,
                Event::ToolCallInDoubt(event) => calls.entry(event.call).or_default().1 += 1,
                _ => {}
            }
        }
        for (call, (started, ended)) in calls {
            assert!(started <= 1 && ended == 1, "seed {seed}, call {call}: {started} begun, {ended} ended");
            parked.remove(&call);
        }
        for call in parked {
            // Denied later, given up for newer ones, or still open; never lost while it was allowed.
            let waits = session.state.queue.iter().any(|queued| match &queued.what {
                Waiting::Call { call: waiting, .. } => *waiting == call,
                Waiting::Message { .. } => false,
            });
            assert!(!waits, "seed {seed}, call {call} was allowed and never ran");
        }
    }
}

#[test]
fn every_message_is_in_a_turn_and_every_turn_ends() {
    for seed in 0..WALKS {
        let session = walk(seed);
        let received = session.events.iter().filter(|r| matches!(r.event, Event::MessageReceived(_))).count();
        let answered: usize = session
            .events
            .iter()
            .map(|recorded| match &recorded.event {
                Event::TurnStarted(started) => started.inbound.len(),
                _ => 0,
            })
            .sum();
        let ended = session.events.iter().filter(|r| matches!(r.event, Event::TurnEnded(_))).count();
        assert!(answered >= received, "seed {seed}: {received} received, {answered} taken up");
        assert_eq!(ended as u64, session.state.turns, "seed {seed}");
    }
}

#[test]
fn folding_is_deterministic_and_snapshots_are_the_same_as_folds() {
    for seed in 0..WALKS / 10 {
        let session = walk(seed);
        assert_eq!(session.refolded().digest(), session.state.digest(), "seed {seed}");
        let half = session.events.len() / 2;
        let mut state = SessionState::default();
        session.events[..half].iter().for_each(|recorded| evolve(&mut state, recorded));
        let configuration = bincode::config::standard();
        let bytes = bincode::serde::encode_to_vec(&state, configuration).unwrap();
        let (mut state, _): (SessionState, _) =
            bincode::serde::decode_from_slice(&bytes, configuration).unwrap();
        session.events[half..].iter().for_each(|recorded| evolve(&mut state, recorded));
        assert_eq!(state.digest(), session.state.digest(), "seed {seed}");
    }
}
