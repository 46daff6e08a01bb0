//! What is done about failed model calls, and what may be spent: given, when, then.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod support;

use herm_replay::reducer::{Command, Effect, Outlook, Rejection, Route, owed};
use herm_schema::events::*;
use herm_schema::{BlobRef, Event, Micros, StreamPos};
use support::{Session, policy};

fn keyed(provider: &str, keys: &[&str]) -> ModelChoice {
    ModelChoice {
        credentials: keys.iter().map(|key| (*key).to_owned()).collect(),
        context_window_tokens: 128_000,
        output_tokens_max: 8_000,
        ..ModelChoice::new(provider, &format!("{provider}-model"), "chat_completions")
    }
}

fn chain(models: &[ModelChoice]) -> Policy {
    let (model, fallbacks) = (models[0].clone(), models[1..].to_vec());
    Policy { model, fallbacks, ..policy() }
}

/// A session whose model call has begun.
fn calling(policy: Policy) -> Session {
    let mut session = Session::open(policy);
    session.receive("hi");
    session.settle();
    session
}

fn intent(session: &Session) -> StreamPos {
    let calls = owed(&session.state).into_iter().find_map(|effect| match effect {
        Effect::CallModel { intent, .. } => Some(intent),
        _ => None,
    });
    calls.unwrap()
}

/// Fails the running call; what is done about it.
fn fail(session: &mut Session, class: FailureClass, retry_after_s: Option<u64>) -> FailureAction {
    let retry_after_us = retry_after_s.map(|seconds| seconds * 1_000_000);
    let failure = ModelFailure { class, status: None, message: "no".into(), retry_after_us };
    let events = session.ask(Command::ModelFailed { intent: intent(session), failure }).unwrap();
    match &events[0] {
        Event::ModelCallFailed(failed) => failed.action,
        other => panic!("{other:?}"),
    }
}

/// Waits as long as is asked, and goes on; provider, key and attempt of the call that begins.
fn next_call(session: &mut Session) -> (String, Option<String>, u32) {
    for effect in owed(&session.state) {
        if let Effect::Wait { until } = effect {
            session.now = session.now.max(until);
        }
    }
    session.settle();
    let started = session.events.iter().rev().find_map(|recorded| match &recorded.event {
        Event::ModelCallStarted(started) => Some(started.clone()),
        _ => None,
    });
    let started = started.unwrap();
    (started.provider, started.credential, started.attempt)
}

fn answer(session: &mut Session, usage: Option<Usage>) {
    let answer = ModelCallSucceeded {
        message: AssistantMessage { text: "done".into(), ..AssistantMessage::default() },
        finish: Finish::Stop,
        usage,
        timings: Timings::default(),
        response_id: None,
    };
    session.ask(Command::ModelAnswered { intent: intent(session), answer }).unwrap();
}

fn finish_turn(session: &mut Session) -> ExitReason {
    for _ in 0..20 {
        match owed(&session.state).into_iter().next() {
            Some(Effect::PlanDelivery { text, .. }) => {
                session.ask(Command::DeliveryPrepared { chunks: vec![text.into()], keyed: true }).unwrap();
            }
            Some(Effect::Deliver { intent, .. }) => {
                session.ask(Command::Delivered { intent, platform_message_id: None }).unwrap();
            }
            Some(Effect::Advance) => drop(session.ask(Command::Advance).unwrap()),
            _ => break,
        }
    }
    assert!(session.state.turn.is_none());
    session.state.last_exit.unwrap()
}

#[test]
fn the_cheapest_step_comes_first_wait_then_key_then_model() {
    let mut session = calling(chain(&[keyed("a", &["k1", "k2"]), keyed("b", &["k3"])]));
    assert!(matches!(fail(&mut session, FailureClass::RateLimit, None), FailureAction::Retry { .. }));
    assert_eq!(next_call(&mut session), ("a".into(), Some("k1".into()), 2));
    // A wait of half a minute is dearer than the other key.
    assert_eq!(fail(&mut session, FailureClass::RateLimit, Some(30)), FailureAction::Rotate);
    assert_eq!(next_call(&mut session), ("a".into(), Some("k2".into()), 3));
    assert_eq!(fail(&mut session, FailureClass::RateLimit, Some(30)), FailureAction::FallBack { route: 1 });
    assert_eq!(next_call(&mut session), ("b".into(), Some("k3".into()), 4));
    answer(&mut session, None);
    assert_eq!(finish_turn(&mut session), ExitReason::Answered);
    // The next turn begins with the session's own model again.
    session.receive("again");
    assert_eq!(next_call(&mut session).0, "a");
}

#[test]
fn a_key_that_is_refused_is_not_tried_again_in_this_call() {
    let mut session = calling(chain(&[keyed("a", &["k1", "k2"])]));
    assert_eq!(fail(&mut session, FailureClass::Auth, None), FailureAction::Rotate);
    assert_eq!(next_call(&mut session).1.as_deref(), Some("k2"));
    assert_eq!(fail(&mut session, FailureClass::Billing, None), FailureAction::GiveUp);
    assert_eq!(session.state.turn.as_ref().unwrap().first_failure, None);
}

#[test]
fn a_bill_is_never_waited_for_and_another_model_answers() {
    let mut session = calling(chain(&[keyed("a", &["k1"]), keyed("b", &[])]));
    assert_eq!(fail(&mut session, FailureClass::Billing, Some(1)), FailureAction::FallBack { route: 1 });
    assert_eq!(next_call(&mut session), ("b".into(), None, 2));
    // What the fallback says last is not what the person is told: the first failure is.
    assert_eq!(fail(&mut session, FailureClass::ModelNotFound, None), FailureAction::GiveUp);
    let told = owed(&session.state).into_iter().find_map(|effect| match effect {
        Effect::PlanDelivery { text, .. } => Some(text),
        _ => None,
    });
    assert!(told.unwrap().contains("credit"));
}

#[test]
fn a_limit_upstream_goes_to_the_fallback_at_once_and_waits_without_one() {
    let mut session = calling(chain(&[keyed("a", &["k1", "k2"]), keyed("b", &[])]));
    assert_eq!(
        fail(&mut session, FailureClass::UpstreamRateLimit, None),
        FailureAction::FallBack { route: 1 }
    );
    let mut session = calling(chain(&[keyed("a", &["k1", "k2"])]));
    let action = fail(&mut session, FailureClass::UpstreamRateLimit, None);
    assert!(matches!(action, FailureAction::Retry { .. }), "{action:?}");
}

#[test]
fn a_server_that_fails_is_tried_as_often_as_configured_then_left() {
    let mut session = calling(chain(&[keyed("a", &["k1", "k2"]), keyed("b", &[])]));
    for attempt in 2..=3 {
        assert!(matches!(fail(&mut session, FailureClass::ServerError, None), FailureAction::Retry { .. }));
        assert_eq!(next_call(&mut session), ("a".into(), Some("k1".into()), attempt));
    }
    assert_eq!(fail(&mut session, FailureClass::ServerError, None), FailureAction::FallBack { route: 1 });
    next_call(&mut session);
    // The fallback has attempts of its own.
    assert!(matches!(fail(&mut session, FailureClass::Timeout, None), FailureAction::Retry { .. }));
}

#[test]
fn keys_that_rest_are_passed_over_also_at_the_start_of_a_turn() {
    let mut session = Session::open(chain(&[keyed("a", &["k1", "k2"]), keyed("b", &["k3"])]));
    session.outlook.routes = vec![Route::Ready { credentials: vec!["k2".into()] }];
    session.receive("hi");
    assert_eq!(next_call(&mut session).1.as_deref(), Some("k2"));
    let until = Micros(i64::MAX);
    session.outlook.routes = vec![Route::Resting { until }];
    assert_eq!(fail(&mut session, FailureClass::Auth, None), FailureAction::FallBack { route: 1 });
    assert_eq!(next_call(&mut session).0, "b");
    answer(&mut session, None);
    finish_turn(&mut session);
    session.receive("again");
    assert_eq!(next_call(&mut session), ("b".into(), Some("k3".into()), 1));
}

#[test]
fn where_every_key_rests_the_first_is_asked_all_the_same() {
    let mut session = Session::open(chain(&[keyed("a", &["k1"])]));
    session.outlook.routes = vec![Route::Resting { until: Micros(i64::MAX) }];
    session.receive("hi");
    assert_eq!(next_call(&mut session).1.as_deref(), Some("k1"));
}

#[test]
fn what_is_refused_is_left_out_once_and_never_in_a_loop() {
    for (class, what) in [
        (FailureClass::LlamaCppGrammarPattern, Stripped::SchemaPatterns),
        (FailureClass::OauthLongContextBetaForbidden, Stripped::LongContext),
    ] {
        let mut session = calling(policy());
        assert_eq!(fail(&mut session, class, None), FailureAction::Strip { what });
        next_call(&mut session);
        assert_eq!(fail(&mut session, class, None), FailureAction::GiveUp, "{class:?}");
    }
}

/// A session whose model call shows an image.
fn showing() -> Session {
    let mut session = Session::open(policy());
    let message = MessageReceived { attachments: image(), ..session.message("see this") };
    session.ask(Command::Receive { message, visible_text: String::new() }).unwrap();
    session.settle();
    session
}

fn image() -> Vec<Attachment> {
    let content = BlobRef::of(b"png");
    vec![Attachment { content, media_type: "image/png".into(), name: "a.png".into() }]
}

#[test]
fn what_is_too_large_loses_pixels_before_it_loses_words() {
    let mut session = showing();
    let action = fail(&mut session, FailureClass::PayloadTooLarge, None);
    assert_eq!(action, FailureAction::ShrinkImages { side_px_max: 1_568 });
    let mut session = calling(policy());
    assert_eq!(fail(&mut session, FailureClass::PayloadTooLarge, None), FailureAction::Compress);
}

#[test]
fn images_become_smaller_with_each_refusal_until_nothing_is_gained() {
    let mut session = calling(policy());
    let action = fail(&mut session, FailureClass::ImageTooLarge, None);
    assert_eq!(action, FailureAction::GiveUp, "there is no image to be made smaller");
    let mut session = showing();
    for side_px_max in [1_568, 1_024, 512] {
        assert_eq!(
            fail(&mut session, FailureClass::ImageTooLarge, None),
            FailureAction::ShrinkImages { side_px_max }
        );
        next_call(&mut session);
        assert_eq!(session.state.without.image_side_px_max, Some(side_px_max));
    }
    assert_eq!(fail(&mut session, FailureClass::ImageTooLarge, None), FailureAction::GiveUp);
}

#[test]
fn a_signature_that_is_refused_takes_all_reasoning_so_far_with_it() {
    let mut session = calling(policy());
    let extras = Some(ProviderExtras { family: "f".into(), json: "{}".into() });
    let message = AssistantMessage { text: "one".into(), extras, ..AssistantMessage::default() };
    let answer = ModelCallSucceeded {
        message,
        finish: Finish::Stop,
        usage: None,
        timings: Timings::default(),
        response_id: None,
    };
    session.ask(Command::ModelAnswered { intent: intent(&session), answer }).unwrap();
    finish_turn(&mut session);
    session.receive("two");
    next_call(&mut session);
    let action = fail(&mut session, FailureClass::ThinkingSignature, None);
    assert_eq!(action, FailureAction::Strip { what: Stripped::Reasoning });
    next_call(&mut session);
    let request = herm_replay::reducer::transcript::request(&session.state, ModelPurpose::Turn, 0);
    assert!(!format!("{request:?}").contains("ProviderExtras"), "{request:?}");
    assert_eq!(fail(&mut session, FailureClass::ThinkingSignature, None), FailureAction::GiveUp);
}

fn prices() -> Prices {
    Prices {
        input: 1_000_000,
        cached_read: 100_000,
        cached_write: 1_250_000,
        output: 10_000_000,
        source: "catalogue".into(),
        as_of: "2026-11-01".into(),
    }
}

fn priced(spending: SpendingPolicy) -> Policy {
    Policy { model: ModelChoice { prices: Some(prices()), ..policy().model }, spending, ..policy() }
}

#[test]
fn a_session_is_warned_at_half_and_four_fifths_and_stopped_at_its_limit() {
    let spending = SpendingPolicy { session_max: Some(1_000_000), day_max: None };
    let mut session = Session::open(priced(spending));
    let mut said = Vec::new();
    for turn in 0..6 {
        session.receive(&format!("turn {turn}"));
        let before = session.events.len();
        session.settle();
        said.push(
            session.events[before..]
                .iter()
                .filter_map(|recorded| match &recorded.event {
                    Event::SpendingWarned(warned) => Some(u64::from(warned.percent)),
                    Event::SpendingStopped(stopped) => Some(stopped.spent),
                    _ => None,
                })
                .collect::<Vec<_>>(),
        );
        if session.state.turn.as_ref().is_some_and(|turn| turn.totals.iterations > 0) {
            // 0.28 dollars.
            answer(&mut session, Some(Usage { input: 10_000, output: 27_000, ..Usage::default() }));
        }
        let end = finish_turn(&mut session);
        if turn == 4 {
            assert_eq!(end, ExitReason::SpendingLimit);
            break;
        }
    }
    assert_eq!(said, [vec![], vec![], vec![50], vec![80], vec![1_120_000]]);
    assert_eq!(session.state.spending.spent, 1_120_000);
}

#[test]
fn the_day_is_counted_over_all_sessions() {
    let mut session = Session::open(priced(SpendingPolicy { session_max: None, day_max: Some(2_000_000) }));
    session.outlook.spent_today = 1_900_000;
    session.receive("hi");
    assert_eq!(next_call(&mut session).2, 1);
    assert!(session.events.iter().any(|recorded| matches!(&recorded.event,
        Event::SpendingWarned(warned) if warned.percent == 80 && warned.scope == SpendingScope::Day)));
    answer(&mut session, None);
    finish_turn(&mut session);
    session.outlook.spent_today = 2_000_000;
    session.receive("again");
    session.settle();
    assert_eq!(finish_turn(&mut session), ExitReason::SpendingLimit);
    // On another day there is room again.
    session.outlook = Outlook::default();
    session.receive("tomorrow");
    assert_eq!(next_call(&mut session).2, 1);
}

#[test]
fn a_call_without_a_price_is_counted_as_unknown_and_never_as_free() {
    let mut session = calling(policy());
    answer(&mut session, Some(Usage { input: 5, output: 5, ..Usage::default() }));
    assert_eq!((session.state.spending.spent, session.state.spending.unpriced_calls), (0, 1));
}

fn title_call() -> AuxiliaryCallStarted {
    AuxiliaryCallStarted {
        task: AuxiliaryTask::Title,
        attempt: 1,
        request_digest: herm_schema::Digest::of(b"t"),
        estimated_tokens: 10,
        provider: "a".into(),
        model: "m".into(),
        credential: None,
        prices: Some(prices()),
    }
}

#[test]
fn a_title_is_owed_once_a_turn_is_answered_and_its_call_is_paid_for() {
    let mut session = calling(Policy { titles: true, ..priced(SpendingPolicy::default()) });
    assert!(!owed(&session.state).contains(&Effect::Title));
    answer(&mut session, None);
    finish_turn(&mut session);
    assert_eq!(owed(&session.state), [Effect::Title]);
    let at = session.state.next_pos();
    session.ask(Command::BeginAuxiliary(title_call())).unwrap();
    assert_eq!(owed(&session.state), [Effect::Title], "it is owed for as long as it is asked");
    let usage = Some(Usage { input: 100, output: 10, ..Usage::default() });
    let outcome =
        AuxiliaryOutcome::Answered { text: "Title:  A   talk.".into(), usage, timings: Timings::default() };
    session
        .ask(Command::EndAuxiliary(AuxiliaryCallFinished { started: at, outcome: outcome.clone() }))
        .unwrap();
    assert_eq!(session.state.spending.spent, 200);
    assert_eq!(session.state.title.as_deref(), Some("A talk"), "its answer is the title, at once");
    assert_eq!(owed(&session.state), []);
    let again = session.ask(Command::EndAuxiliary(AuxiliaryCallFinished { started: at, outcome }));
    assert_eq!(again, Err(Rejection::Stale));
    session.ask(Command::Title("  Mine,   and mine ".into())).unwrap();
    assert_eq!(session.state.title.as_deref(), Some("Mine, and mine"));
    assert_eq!(session.ask(Command::Title(" \n".into())), Err(Rejection::NothingDue));
}

#[test]
fn a_restart_ends_auxiliary_calls_that_nobody_waits_for() {
    let mut session = calling(Policy { titles: true, ..policy() });
    answer(&mut session, None);
    finish_turn(&mut session);
    session.ask(Command::BeginAuxiliary(title_call())).unwrap();
    let events = session.ask(Command::Resume).unwrap();
    assert!(
        matches!(&events[..], [Event::AuxiliaryCallFinished(finished)] if finished.outcome == AuxiliaryOutcome::Cancelled)
    );
    assert!(session.state.auxiliary.is_empty());
    assert_eq!(session.ask(Command::Resume), Err(Rejection::NothingRunning));
}

#[test]
fn nothing_auxiliary_begins_when_nothing_may_be_spent() {
    let spending = SpendingPolicy { session_max: Some(0), day_max: None };
    let mut session = Session::open(priced(spending));
    assert_eq!(session.ask(Command::BeginAuxiliary(title_call())), Err(Rejection::SpendingLimit));
}

#[test]
fn a_message_with_a_file_has_a_turn_of_its_own_also_under_steering() {
    let mut session = calling(Policy { busy: BusyPolicy::Interrupt, ..policy() });
    let message = MessageReceived { attachments: image(), ..session.message("see this") };
    let events = session.ask(Command::Receive { message, visible_text: String::new() }).unwrap();
    assert!(matches!(&events[..], [Event::MessageReceived(_)]), "{events:?}");
}

#[test]
fn a_wait_that_ends_after_the_turns_time_is_not_begun() {
    let limits = Limits { run_budget_us: Some(60_000_000), ..policy().limits };
    let mut session = calling(Policy { limits, ..policy() });
    assert!(matches!(fail(&mut session, FailureClass::RateLimit, Some(30)), FailureAction::Retry { .. }));
    next_call(&mut session);
    assert_eq!(fail(&mut session, FailureClass::RateLimit, Some(45)), FailureAction::GiveUp);
}
