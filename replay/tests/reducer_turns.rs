//! The turn of the seeds' chapter 3, rule by rule.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod support;

use herm_replay::reducer::command::{Prepared, Question};
use herm_replay::reducer::request::{Message, Part};
use herm_replay::reducer::state::Grant;
use herm_replay::reducer::{Command, Effect, Rejection, owed, transcript};
use herm_schema::Event;
use herm_schema::events::*;
use support::*;

fn sent(session: &Session) -> Vec<String> {
    let text = |parts: &[Part]| {
        let inline = |part: &Part| match part {
            Part::Inline(text) => text.clone(),
            Part::Stored(blob) | Part::Image { content: blob, .. } => format!("<{} bytes>", blob.bytes),
        };
        parts.iter().map(inline).collect::<String>()
    };
    let request = transcript::request(&session.state, ModelPurpose::Turn, 0);
    let line = |message: &Message| match message {
        Message::User { parts } => format!("user:{}", text(parts)),
        Message::Assistant { text, calls, .. } => {
            let ids: Vec<_> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("assistant:{text}[{}]", ids.join(","))
        }
        Message::Tool { id, parts, .. } => format!("tool {id}:{}", text(parts)),
    };
    request.messages.iter().map(line).collect()
}

#[test]
fn a_plain_turn_is_the_row_of_events_of_the_architecture_page() {
    let mut session = Session::open(policy());
    session.receive("what is in notes.md?");
    session.answer("Let me look.", &[("a", "read_file", r#"{"path":"notes.md"}"#)]);
    session.run_batch("milk");
    session.answer("Milk.", &[]);
    session.deliver();
    let row: Vec<_> = session.events.iter().skip(2).map(|recorded| recorded.event.name()).collect();
    assert_eq!(
        row,
        [
            "MessageReceived",
            "TurnStarted",
            "SystemPromptBuilt",
            "ToolsOffered",
            "ModelCallStarted",
            "ModelCallSucceeded",
            "ToolCallStarted",
            "ToolCallFinished",
            "ModelCallStarted",
            "ModelCallSucceeded",
            "DeliveryPlanned",
            "DeliveryAttempted",
            "DeliveryConfirmed",
            "TurnEnded",
        ]
    );
    assert_eq!(session.exit(), Some(ExitReason::Answered));
    assert!(!session.state.has_open_work());
}

#[test]
fn five_messages_during_a_turn_are_five_messages_answered() {
    let mut session = Session::open(Policy { busy: BusyPolicy::Queue, ..policy() });
    session.receive("0");
    session.model_intent();
    for n in 1..=5 {
        assert_eq!(names(&session.receive(&n.to_string())), ["MessageReceived"]);
    }
    for _ in 0..=5 {
        session.answer("ok", &[]);
        session.deliver();
    }
    assert_eq!(session.state.turns, 6);
    assert!(!session.state.has_open_work());
}

#[test]
fn a_steer_waits_for_a_tool_result_and_stands_beside_it() {
    let mut session = Session::open(Policy { busy: BusyPolicy::Steer, ..policy() });
    session.receive("go");
    session.model_intent();
    assert_eq!(names(&session.receive("in French")), ["SteerReceived"]);
    assert_eq!(sent(&session), ["user:go"]);
    session.answer("", &[("a", "read_file", r#"{"path":"x"}"#)]);
    session.run_batch("text");
    session.model_intent();
    assert_eq!(sent(&session)[2], "tool a:text\n\n[The user adds, while you work: in French]");
}

#[test]
fn a_steer_that_found_no_result_becomes_a_message_of_its_own() {
    let mut session = Session::open(Policy { busy: BusyPolicy::Steer, ..policy() });
    session.receive("go");
    session.model_intent();
    session.receive("in French");
    session.answer("done", &[]);
    session.deliver();
    assert_eq!(session.state.turn.as_ref().map(|turn| turn.id.0), Some(2));
    session.model_intent();
    assert_eq!(sent(&session), ["user:go", "assistant:done[]", "user:in French"]);
}

#[test]
fn a_redirect_keeps_what_was_visible_and_goes_on_in_the_same_turn() {
    let mut session = Session::open(policy());
    session.receive("write a script");
    session.model_intent();
    assert_eq!(names(&session.receive("no, in Python")), ["ModelCallAborted", "RedirectReceived"]);
    session.model_intent();
    assert_eq!(
        sent(&session),
        ["user:write a script", "assistant:half an\n[Interrupted here.][]", "user:no, in Python"]
    );
    assert_eq!(session.state.turns, 1);
}

#[test]
fn a_correction_while_tools_run_steers_and_kills_nothing() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.answer("", &[("a", "terminal", r#"{"command":"make"}"#)]);
    let running = session.start_calls();
    assert_eq!(names(&session.receive("faster")), ["SteerReceived"]);
    assert_eq!(session.running(), running);
}

#[test]
fn an_interrupt_stops_what_runs_and_skips_what_has_not_begun() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.answer("", &[("a", "terminal", r#"{"command":"1"}"#), ("b", "terminal", r#"{"command":"2"}"#)]);
    let running = session.start_calls();
    let events = session.ask(Command::Interrupt { by: InterruptSource::Person, visible_text: String::new() });
    assert_eq!(names(&events.unwrap()), ["InterruptRequested", "ToolCallSkipped"]);
    assert!(owed(&session.state).iter().all(|effect| matches!(effect, Effect::RunTool { stop: true, .. })));
    let killed = outcome(ToolStatus::Interrupted, "part");
    session.ask(Command::ToolFinished { intent: running[0], outcome: killed }).unwrap();
    session.settle();
    assert_eq!(session.exit(), Some(ExitReason::InterruptedByUser));
    session.receive("and now?");
    session.model_intent();
    assert_eq!(sent(&session).len(), 6, "{:?}", sent(&session));
}

#[test]
fn an_interrupt_during_a_model_call_keeps_the_visible_text() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.model_intent();
    let interrupt = Command::Interrupt { by: InterruptSource::Person, visible_text: "I was".into() };
    assert_eq!(names(&session.ask(interrupt.clone()).unwrap()), ["InterruptRequested", "ModelCallAborted"]);
    session.settle();
    assert_eq!(session.exit(), Some(ExitReason::InterruptedDuringModelCall));
    assert_eq!(session.ask(interrupt), Err(Rejection::NothingRunning));
}

#[test]
fn retries_are_attempts_at_the_same_call_with_the_same_request() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.fail(FailureClass::ServerError);
    assert!(matches!(owed(&session.state)[..], [Effect::Wait { .. }]));
    session.now = session.now.plus(60_000_000);
    session.ask(Command::Advance).unwrap();
    let calls: Vec<_> = session
        .events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::ModelCallStarted(started) => {
                Some((started.call, started.attempt, started.iteration, started.request_digest))
            }
            _ => None,
        })
        .collect();
    assert_eq!((calls[0].0, calls[0].1, calls[0].2), (1, 1, 1));
    assert_eq!((calls[1].0, calls[1].1, calls[1].2), (1, 2, 1));
    assert_eq!(calls[0].3, calls[1].3);
}

#[test]
fn what_no_attempt_mends_ends_the_turn_with_a_word_to_the_person() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.fail(FailureClass::AuthPermanent);
    let owed = session.settle();
    assert!(
        matches!(&owed[..], [Effect::PlanDelivery { kind: DeliveryKind::Notice, text }] if text.contains("key"))
    );
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::ModelFailed));
}

#[test]
fn attempts_that_run_out_are_told_apart_from_a_failure_at_once() {
    let mut session = Session::open(policy());
    session.receive("go");
    for _ in 0..3 {
        session.fail(FailureClass::Overloaded);
        session.now = session.now.plus(600_000_000);
    }
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::RetriesExhausted));
}

#[test]
fn at_the_iteration_limit_the_model_has_a_last_word_without_tools() {
    let limits = Limits { iterations_max: 2, ..policy().limits };
    let mut session = Session::open(Policy { limits, ..policy() });
    session.receive("go");
    for n in 0..2 {
        session.answer("", &[("a", "read_file", &format!(r#"{{"path":"{n}"}}"#))]);
        session.run_batch("x");
    }
    let owed = session.settle();
    let limit = ModelPurpose::ClosingSummary { reason: ExitReason::IterationLimit };
    assert!(matches!(owed[..], [Effect::CallModel { purpose, .. }] if purpose == limit));
    let request = transcript::request(&session.state, limit, 0);
    assert!(request.options.no_tool_calls, "the tools stay for the prefix, and none may be called");
    assert_eq!(request.tools, session.state.offer.as_ref().map(|offer| offer.definitions));
    session.answer("So far.", &[]);
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::IterationLimit));
}

#[test]
fn iterations_that_only_ran_code_are_given_back() {
    let limits = Limits { iteration_budget: 2, ..policy().limits };
    let mut session = Session::open(Policy { limits, ..policy() });
    session.receive("go");
    for n in 0..5 {
        session.answer("", &[("a", "execute_code", &format!(r#"{{"code":"{n}"}}"#))]);
        session.run_batch("x");
    }
    session.answer("done", &[]);
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::Answered));
}

#[test]
fn most_of_the_time_gone_the_model_is_reminded_once() {
    let limits = Limits { run_budget_us: Some(100_000_000), ..policy().limits };
    let mut session = Session::open(Policy { limits, ..policy() });
    session.receive("go");
    for n in 0..4 {
        session.answer("", &[("a", "read_file", &format!(r#"{{"path":"{n}"}}"#))]);
        session.run_batch("x");
        session.now = session.now.plus(41_000_000);
    }
    let warned = session.events.iter().filter(|r| matches!(r.event, Event::BudgetWarned(_))).count();
    assert_eq!(warned, 1);
    session.answer("late", &[]);
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::RunBudgetSpent));
}

#[test]
fn calls_that_cannot_run_are_answered_with_the_answer_that_asked_for_them() {
    let mut session = Session::open(policy());
    session.receive("go");
    let calls = [
        ("a", "read_file", r#"{"path":"x"}"#),
        ("b", "read_file", r#"{ "path": "x" }"#),
        ("c", "nonsense", "{}"),
        ("d", "read_file", r#"{"path": "a"#),
    ];
    let events = session.answer("", &calls);
    assert_eq!(
        names(&events),
        ["ModelCallSucceeded", "ToolCallSkipped", "ToolCallSkipped", "ToolCallSkipped"]
    );
    assert_eq!(session.start_calls().len(), 1);
}

#[test]
fn arguments_that_the_output_limit_cut_are_never_executed() {
    let mut session = Session::open(policy());
    session.receive("go");
    let intent = session.model_intent();
    let mut answer = answer("", &[("a", "terminal", r#"{"command":"rm -rf build"}"#)]);
    answer.finish = Finish::Length;
    let events = session.ask(Command::ModelAnswered { intent, answer }).unwrap();
    assert_eq!(names(&events), ["ModelCallSucceeded", "ToolCallSkipped"]);
}

#[test]
fn an_answer_that_the_output_limit_cut_is_continued() {
    let mut session = Session::open(policy());
    session.receive("go");
    let intent = session.model_intent();
    let cut = ModelCallSucceeded { finish: Finish::Length, ..answer("One, ", &[]) };
    session.ask(Command::ModelAnswered { intent, answer: cut }).unwrap();
    session.answer("two.", &[]);
    assert!(matches!(&session.settle()[..], [Effect::PlanDelivery { text, .. }] if text == "One, two."));
}

#[test]
fn calls_run_in_segments_and_results_stand_in_the_order_of_the_calls() {
    let mut session = Session::open(policy());
    session.receive("go");
    let calls = [
        ("a", "read_file", r#"{"path":"x"}"#),
        ("b", "read_file", r#"{"path":"y"}"#),
        ("c", "terminal", r#"{"command":"make"}"#),
    ];
    session.answer("", &calls);
    let running = session.start_calls();
    assert_eq!(running.len(), 2);
    session.finish(running[1], "second");
    session.finish(running[0], "first");
    let running = session.start_calls();
    assert_eq!(running.len(), 1);
    session.finish(running[0], "third");
    session.model_intent();
    assert_eq!(sent(&session)[2..], ["tool a:first", "tool b:second", "tool c:third"]);
}

#[test]
fn an_approval_answers_one_question_and_silence_parks_the_call() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.answer("", &[("a", "terminal", r#"{"command":"make"}"#)]);
    let [Effect::PrepareCall { call, approved: false }] = session.settle()[..] else { panic!() };
    let ask = Prepared::Ask(Question {
        subject: "make".into(),
        reason: "it writes".into(),
        rule: "unknown".into(),
        pattern: "make".into(),
        target: None,
    });
    session.ask(Command::CallPrepared { call, verdict: ask }).unwrap();
    let [Effect::AskApproval { request, .. }] = session.settle()[..] else { panic!() };
    let stale = Command::ApprovalAnswered {
        request: request.next(),
        decision: Decision::Allowed { scope: GrantScope::Once },
        by: DecidedBy::Person,
        answerer: None,
    };
    assert_eq!(session.ask(stale), Err(Rejection::Stale));
    let silence = Command::ApprovalAnswered {
        request,
        decision: Decision::Expired,
        by: DecidedBy::Silence,
        answerer: None,
    };
    let events = session.ask(silence).unwrap();
    assert!(matches!(
        &events[..],
        [
            Event::ApprovalDecided(_),
            Event::ToolCallSkipped(ToolCallSkipped { reason: SkipReason::Parked, .. })
        ]
    ));
}

#[test]
fn a_lasting_yes_is_remembered_with_its_pattern() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.answer("", &[("a", "terminal", r#"{"command":"make"}"#)]);
    let [Effect::PrepareCall { call, .. }] = session.settle()[..] else { panic!() };
    let ask = Prepared::Ask(Question {
        subject: "make".into(),
        reason: String::new(),
        rule: "unknown".into(),
        pattern: "make".into(),
        target: None,
    });
    session.ask(Command::CallPrepared { call, verdict: ask }).unwrap();
    let [Effect::AskApproval { request, .. }] = session.settle()[..] else { panic!() };
    let decision = Decision::Allowed { scope: GrantScope::Session };
    session
        .ask(Command::ApprovalAnswered { request, decision, by: DecidedBy::Person, answerer: None })
        .unwrap();
    assert_eq!(
        session.state.grants,
        [Grant { tool: "terminal".to_owned(), pattern: "make".to_owned(), target: None }]
    );
    assert!(matches!(session.settle()[..], [Effect::PrepareCall { approved: true, .. }]));
}

#[test]
fn a_model_that_repeats_a_failing_call_is_warned_then_stopped() {
    let mut session = Session::open(policy());
    session.receive("go");
    for round in 1..=5 {
        session.answer("", &[("a", "terminal", r#"{"command":"false"}"#)]);
        let running = session.start_calls();
        let failed = outcome(ToolStatus::Failed, "exit 1");
        session.ask(Command::ToolFinished { intent: running[0], outcome: failed }).unwrap();
        if round == 2 {
            session.model_intent();
            assert!(sent(&session).last().unwrap().contains("has failed 2 times"));
        }
    }
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::GuardrailStopped));
}

fn small_window() -> Policy {
    let model = ModelChoice { context_window_tokens: 2_000, output_tokens_max: 200, ..policy().model };
    let compression = CompressionPolicy { protect_first: 1, protect_last: 2, ..policy().compression };
    Policy { model, compression, ..policy() }
}

fn compress(session: &mut Session) -> Vec<Event> {
    let owed = session.settle();
    let Some(Effect::Compress { intent, .. }) = owed.first() else { panic!("{owed:?}") };
    let result = herm_replay::reducer::compaction::plan(&session.state).ok_or_else(String::new);
    session.ask(Command::Compressed { intent: *intent, result }).unwrap()
}

#[test]
fn a_full_context_is_compressed_and_the_events_stay() {
    let mut session = Session::open(small_window());
    for _ in 0..6 {
        session.receive(&"word ".repeat(120));
        if matches!(session.settle()[..], [Effect::Compress { .. }]) {
            break;
        }
        session.answer("ok", &[]);
        session.deliver();
    }
    let before = session.events.len();
    assert_eq!(names(&compress(&mut session)), ["CompressionFinished"]);
    session.model_intent();
    assert!(sent(&session).iter().any(|line| line.contains("REFERENCE ONLY")));
    assert!(session.events.len() > before);
    assert_eq!(session.state.context.attempts, 1, "only a count of the provider's re-arms it");
    let intent = session.model_intent();
    let counted =
        ModelCallSucceeded { usage: Some(Usage { input: 300, ..Usage::default() }), ..answer("ok", &[]) };
    session.ask(Command::ModelAnswered { intent, answer: counted }).unwrap();
    assert_eq!(session.state.context.attempts, 0);
}

#[test]
fn a_context_that_the_provider_refuses_is_compressed_until_attempts_run_out() {
    let mut session = Session::open(policy());
    for _ in 0..8 {
        session.receive(&"word ".repeat(400));
        session.answer("ok", &[]);
        session.deliver();
    }
    session.receive("more");
    for _ in 0..10 {
        match session.settle().first() {
            Some(Effect::CallModel { .. }) => drop(session.fail(FailureClass::ContextOverflow)),
            Some(Effect::Compress { .. }) => drop(compress(&mut session)),
            _ => break,
        }
    }
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::ContextOverflow));
}

#[test]
fn a_restart_calls_the_model_again_and_keeps_nothing_of_the_attempt() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.model_intent();
    session.state = session.refolded();
    assert_eq!(names(&session.ask(Command::Resume).unwrap()), ["TurnResumed", "ModelCallAborted"]);
    session.model_intent();
    assert_eq!(sent(&session), ["user:go"]);
}

#[test]
fn a_session_that_restarts_its_own_host_is_given_up_after_three_resumes() {
    let mut session = Session::open(policy());
    session.receive("restart yourself");
    for _ in 0..4 {
        session.answer("", &[("a", "terminal", r#"{"command":"systemctl --user restart agent"}"#)]);
        let running = session.start_calls();
        session.state = session.refolded();
        session.ask(Command::Resume).unwrap();
        // After the fourth restart the reducer closes the call itself.
        if session.state.turn.as_ref().unwrap().stop.is_none() {
            session.ask(Command::ToolInDoubt { intent: running[0] }).unwrap();
        }
    }
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::ResumesExhausted));
    let starts = session.events.iter().filter(|r| matches!(r.event, Event::ToolCallStarted(_))).count();
    assert_eq!(starts, 4);
}

#[test]
fn an_uncertain_delivery_is_repeated_once_with_a_mark_or_not_at_all() {
    for (delivery, expected) in
        [(DeliveryPolicy::AtLeastOnce, "DeliveryAttempted"), (DeliveryPolicy::AtMostOnce, "DeliveryFailed")]
    {
        let mut session = Session::open(Policy { delivery, ..policy() });
        session.receive("go");
        session.answer("here", &[]);
        session.settle();
        session.ask(Command::DeliveryPrepared { chunks: vec!["here".into()], keyed: false }).unwrap();
        let [Effect::Deliver { intent, .. }] = session.settle()[..] else { panic!() };
        session.state = session.refolded();
        let events = session.ask(Command::DeliveryUncertain { intent }).unwrap();
        assert_eq!(names(&events), [expected]);
        if let Event::DeliveryAttempted(attempt) = &events[0] {
            assert!(attempt.possible_repeat);
        }
    }
}

#[test]
fn a_failed_delivery_does_not_hold_the_turn_and_is_tried_again_when_its_time_has_come() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.answer("here", &[]);
    session.settle();
    session.ask(Command::DeliveryPrepared { chunks: vec!["here".into()], keyed: false }).unwrap();
    let [Effect::Deliver { intent, .. }] = session.settle()[..] else { panic!() };
    let retry_at = Some(session.now.plus(30_000_000));
    let class = DeliveryFailure::Unreachable;
    session.ask(Command::DeliveryFailed { intent, class, message: String::new(), retry_at }).unwrap();
    assert!(matches!(session.settle()[..], [Effect::Wait { .. }]));
    assert_eq!(session.exit(), Some(ExitReason::Answered));
    session.now = session.now.plus(31_000_000);
    session.ask(Command::Advance).unwrap();
    assert!(matches!(session.settle()[..], [Effect::Deliver { .. }]));
}

#[test]
fn a_fault_of_our_own_is_recorded_and_the_turn_goes_on() {
    let mut session = Session::open(policy());
    session.receive("go");
    session.answer("", &[("a", "terminal", r#"{"command":"x"}"#)]);
    session.start_calls();
    let effect = owed(&session.state)[0].id();
    let events = session.ask(Command::Fault { effect, message: "boom".into() }).unwrap();
    assert_eq!(names(&events), ["TurnFaulted", "ToolCallInDoubt"]);
    session.model_intent();
}
