use std::collections::BTreeMap;

use herm_replay::log::MemoryLog;
use herm_schema::{Micros, Position, StreamKind, StreamPos};

use super::*;
use crate::runtime::SystemClock;

const MINUTE_US: u64 = 60_000_000;

fn choice(keys: &[&str]) -> ModelChoice {
    let credentials = keys.iter().map(|key| (*key).to_owned()).collect();
    ModelChoice { credentials, ..ModelChoice::new("p", "m", "chat_completions") }
}

fn failure(class: FailureClass, retry_after_s: Option<u64>) -> ModelFailure {
    let retry_after_us = retry_after_s.map(|seconds| seconds * 1_000_000);
    ModelFailure { class, status: None, message: "no".into(), retry_after_us }
}

fn strategies(strategy: Strategy) -> Strategies {
    BTreeMap::from([("p".to_owned(), strategy)])
}

fn ready(credentials: &Credentials, strategy: Strategy, now: Micros, seed: u64) -> Vec<String> {
    match credentials.route(&choice(&["a", "b", "c"]), &strategies(strategy), now, seed) {
        Route::Ready { credentials } => credentials,
        Route::Resting { until } => panic!("all rest until {until:?}"),
    }
}

#[test]
fn a_key_rests_as_long_as_its_cause_asks_for() {
    let now = Micros(1_000_000_000);
    for (class, retry_after_s, minutes) in [
        (FailureClass::Auth, None, 5),
        (FailureClass::RateLimit, None, 60),
        (FailureClass::RateLimit, Some(120), 2),
        (FailureClass::Billing, Some(120), 60),
    ] {
        let until = credentials::rests_until(&failure(class, retry_after_s), now);
        assert_eq!(until, now.plus(minutes * MINUTE_US), "{class:?}");
    }
    let at_once = credentials::rests_until(&failure(FailureClass::RateLimit, Some(0)), now);
    assert_eq!(at_once, now.plus(1_000_000));
    let never = credentials::rests_until(&failure(FailureClass::AuthPermanent, None), now);
    assert_eq!(never, Micros(i64::MAX));
}

#[test]
fn strategies_order_the_keys_that_are_ready() {
    let mut credentials = Credentials::default();
    for key in ["a", "b", "a", "c", "a", "b"] {
        credentials.used("p", Some(key));
    }
    let now = Micros(5);
    assert_eq!(ready(&credentials, Strategy::FillFirst, now, 0), ["a", "b", "c"]);
    assert_eq!(ready(&credentials, Strategy::RoundRobin, now, 0), ["c", "a", "b"]);
    assert_eq!(ready(&credentials, Strategy::LeastUsed, now, 0), ["c", "b", "a"]);
    assert_eq!(ready(&credentials, Strategy::Random, now, 1), ["b", "c", "a"]);
    let class = FailureClass::RateLimit;
    let rested = |credential: &str, until| CredentialRested {
        provider: "p".into(),
        credential: credential.into(),
        class,
        until,
    };
    credentials.rested(&rested("a", Micros(10)));
    assert_eq!(ready(&credentials, Strategy::FillFirst, now, 0), ["b", "c"]);
    assert_eq!(ready(&credentials, Strategy::FillFirst, Micros(10), 0), ["a", "b", "c"]);
    credentials.rested(&rested("b", Micros(20)));
    credentials.rested(&rested("c", Micros(30)));
    let route = credentials.route(&choice(&["a", "b", "c"]), &Strategies::new(), now, 0);
    assert_eq!(route, Route::Resting { until: Micros(10) });
    credentials.reset(&CredentialReset { provider: "p".into(), credential: Some("b".into()) });
    assert_eq!(ready(&credentials, Strategy::FillFirst, now, 0), ["b"]);
    credentials.reset(&CredentialReset { provider: "p".into(), credential: None });
    assert_eq!(ready(&credentials, Strategy::FillFirst, now, 0), ["a", "b", "c"]);
    let without_keys = credentials.route(&choice(&[]), &Strategies::new(), now, 0);
    assert_eq!(without_keys, Route::Ready { credentials: Vec::new() });
}

fn table(log: &Arc<dyn Log>) -> ModelTable {
    let beginning = Beginning {
        log: Arc::clone(log),
        clock: Arc::new(SystemClock),
        profile: StreamId::named(StreamKind::Profile, "default"),
        models: Vec::new(),
        strategies: Strategies::new(),
        auxiliary: Vec::new(),
        anyone: Vec::new(),
        spent_today: 0,
        uses: Vec::new(),
    };
    ModelTable::new(beginning).unwrap()
}

fn recorded(event: impl Into<Event>, position: u64) -> Recorded {
    let mut recorded = herm_schema::testing::recorded(&[]);
    recorded.event = event.into();
    recorded.envelope.position = Position(position);
    recorded.envelope.recorded_at = SystemClock.now();
    recorded
}

/// A session that waits for `choice`'s answer with its first key.
fn calling(choice: &ModelChoice) -> SessionState {
    let mut state = SessionState::default();
    let policy = Policy { model: choice.clone(), ..policy() };
    let started = ModelCallStarted {
        call: 1,
        attempt: 1,
        iteration: 1,
        purpose: ModelPurpose::Turn,
        request_digest: herm_schema::Digest::default(),
        estimated_tokens: 0,
        provider: choice.provider.clone(),
        model: choice.model.clone(),
        credential: choice.credentials.first().cloned(),
        route: 0,
    };
    let events: [Event; 3] = [
        SessionConfigured { policy }.into(),
        TurnStarted { inbound: vec![StreamPos(1)] }.into(),
        started.into(),
    ];
    for (at, event) in events.into_iter().enumerate() {
        herm_replay::reducer::evolve(&mut state, &recorded(event, at as u64 + 1));
    }
    state
}

fn policy() -> Policy {
    herm_schema::testing::generate(&mut herm_schema::testing::Entropy(&[]))
}

#[test]
fn a_key_that_failed_rests_also_after_a_restart_and_only_that_key() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let (first, choice) = (table(&log), choice(&["a", "b"]));
    let failed = |class, action| ModelCallFailed { failure: failure(class, None), action };
    let waits = FailureAction::Retry { not_before: Micros(0) };
    first.note(&recorded(failed(FailureClass::RateLimit, waits), 7), &calling(&choice));
    assert_eq!(first.route(&choice), Route::Ready { credentials: vec!["a".into(), "b".into()] });
    first.note(&recorded(failed(FailureClass::Overloaded, FailureAction::GiveUp), 8), &calling(&choice));
    assert_eq!(first.route(&choice), Route::Ready { credentials: vec!["a".into(), "b".into()] });
    first.note(&recorded(failed(FailureClass::RateLimit, FailureAction::Rotate), 9), &calling(&choice));
    assert_eq!(first.route(&choice), Route::Ready { credentials: vec!["b".into()] });
    let second = table(&log);
    assert_eq!(second.route(&choice), Route::Ready { credentials: vec!["b".into()] });
    // Another provider's key of the same name is another key.
    let other = ModelChoice { provider: "q".into(), ..choice };
    assert_eq!(second.route(&other), Route::Ready { credentials: vec!["a".into(), "b".into()] });
}

#[test]
fn what_is_spent_today_is_counted_over_sessions() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let table = table(&log);
    let prices = Prices {
        input: 1_000_000,
        cached_read: 0,
        cached_write: 0,
        output: 2_000_000,
        source: "test".into(),
        as_of: "2026-11-01".into(),
    };
    let choice = ModelChoice { prices: Some(prices), ..choice(&["a"]) };
    let answer = ModelCallSucceeded {
        message: AssistantMessage::default(),
        finish: Finish::Stop,
        usage: Some(Usage { input: 100, output: 10, ..Usage::default() }),
        timings: Timings::default(),
        response_id: None,
    };
    for position in 1..=3 {
        table.note(&recorded(answer.clone(), position), &calling(&choice));
    }
    assert_eq!(table.outlook(&Policy { model: choice, ..policy() }).spent_today, 3 * 120);
}

#[test]
fn a_task_asks_its_own_model_first_and_the_sessions_after() {
    let own = ModelChoice::new("cheap", "small", "chat_completions");
    let settings = AuxiliarySettings {
        task: AuxiliaryTask::Title,
        choice: Some(own),
        effort: Some(ReasoningEffort::Low),
        time_max: std::time::Duration::from_secs(7),
    };
    let fallback = ModelChoice::new("q", "other", "chat_completions");
    let policy = Policy { model: choice(&[]), fallbacks: vec![fallback], ..policy() };
    let sees = ModelChoice { images: true, ..ModelChoice::new("r", "any", "chat_completions") };
    let asked_of = |anyone: &[ModelChoice], task| -> Vec<(String, u64)> {
        let models = auxiliary::models(std::slice::from_ref(&settings), anyone, task, &policy);
        models.into_iter().map(|model| (model.choice.provider, model.time_max.as_secs())).collect()
    };
    let asked = |task| asked_of(&[], task);
    assert_eq!(asked(AuxiliaryTask::Title), [("cheap".into(), 7), ("p".into(), 7), ("q".into(), 7)]);
    assert_eq!(asked(AuxiliaryTask::Review), [("p".into(), 30), ("q".into(), 30)]);
    assert_eq!(asked(AuxiliaryTask::Vision), [], "none of them sees");
    let anyone = [ModelChoice::new("blind", "any", "chat_completions"), sees];
    assert_eq!(asked_of(&anyone, AuxiliaryTask::Vision), [("r".into(), 30)]);
    let names: Vec<String> =
        asked_of(&anyone, AuxiliaryTask::Title).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["cheap", "p", "q", "blind", "r"]);
}
