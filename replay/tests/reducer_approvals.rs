//! Approvals: asked, judged, parked, answered late, preset, from another place; and what tools show.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod support;

use herm_replay::reducer::command::{Fact, Prepared, Question, ToolOutcome};
use herm_replay::reducer::request::{Message, Part};
use herm_replay::reducer::{Command, Effect, Rejection, transcript};
use herm_schema::events::*;
use herm_schema::{BlobRef, CallRef, Event, JsonText, StreamPos};
use support::*;

fn question() -> Question {
    Question {
        subject: "rm -r build".into(),
        reason: "it deletes a folder".into(),
        rule: "recursive-delete".into(),
        pattern: "rm -r".into(),
        target: Some("build".into()),
    }
}

/// A session with one call that is to be looked at.
fn calling() -> (Session, CallRef) {
    let mut session = Session::open(policy());
    session.receive("clean up");
    session.answer("", &[("a", "terminal", r#"{"command":"rm -r build"}"#)]);
    let [Effect::PrepareCall { call, approved: false }] = session.settle()[..] else { panic!() };
    (session, call)
}

fn asked() -> (Session, CallRef, StreamPos) {
    let (mut session, call) = calling();
    session.ask(Command::CallPrepared { call, verdict: Prepared::Ask(question()) }).unwrap();
    let [Effect::AskApproval { request, .. }] = session.settle()[..] else { panic!() };
    (session, call, request)
}

fn answered(request: StreamPos, decision: Decision) -> Command {
    Command::ApprovalAnswered { request, decision, by: DecidedBy::Person, answerer: None }
}

fn parked() -> (Session, CallRef, StreamPos) {
    let (mut session, call, request) = asked();
    let (decision, by) = (Decision::Expired, DecidedBy::Silence);
    session.ask(Command::ApprovalAnswered { request, decision, by, answerer: None }).unwrap();
    (session, call, request)
}

const ONCE: Decision = Decision::Allowed { scope: GrantScope::Once };

#[test]
fn a_parked_call_leaves_its_turn_and_runs_as_it_was_asked_when_somebody_says_yes() {
    let (mut session, call, request) = parked();
    session.answer("I need your yes for that.", &[]);
    session.deliver();
    assert_eq!(session.exit(), Some(ExitReason::Answered));
    assert!(!session.state.has_open_work(), "nothing waits for a parked question");
    session.receive("something else");
    session.answer("done", &[]);
    session.deliver();
    let before = transcript::request(&session.state, ModelPurpose::Turn, 0).messages;

    assert_eq!(names(&session.ask(answered(request, ONCE)).unwrap()), ["ApprovalDecided"]);
    let [Effect::PrepareCall { call: again, approved: true }] = session.settle()[..] else { panic!() };
    assert_eq!(again, call);
    let arguments = JsonText(r#"{"command":"rm -r build"}"#.into());
    session.ask(Command::CallPrepared { call, verdict: Prepared::Run { arguments } }).unwrap();
    let [intent] = session.running()[..] else { panic!() };
    session.finish(intent, "gone");
    session.model_intent();
    let after = transcript::request(&session.state, ModelPurpose::Turn, 0).messages;
    assert_eq!(after[..before.len()], before[..], "what was said stays as it was said");
    let Some(Message::User { parts }) = after.last() else { panic!("{after:?}") };
    assert!(
        matches!(&parts[0], Part::Inline(text) if text.contains("allowed a call") && text.contains("rm -r build"))
    );
    assert_eq!(parts[1], Part::Inline("gone".into()));
    assert_eq!(session.refolded(), session.state);
}

#[test]
fn a_parked_question_is_answered_once_and_a_no_lets_nothing_run() {
    let (mut session, _, request) = parked();
    session.answer("well", &[]);
    session.deliver();
    session.ask(answered(request, Decision::Denied)).unwrap();
    assert!(session.settle().is_empty());
    assert_eq!(session.ask(answered(request, ONCE)), Err(Rejection::Stale));
}

#[test]
fn silence_is_parked_and_a_question_that_reached_nobody_too() {
    for by in [DecidedBy::Silence, DecidedBy::Undelivered] {
        let (mut session, _, request) = asked();
        let decision = Decision::Expired;
        let events =
            session.ask(Command::ApprovalAnswered { request, decision, by, answerer: None }).unwrap();
        let [Event::ApprovalDecided(decided), Event::ToolCallSkipped(skipped)] = &events[..] else {
            panic!()
        };
        assert_eq!((decided.decision, skipped.reason), (Decision::Expired, SkipReason::Parked));
        assert!(skipped.shown.contains("stays open"), "{}", skipped.shown);
        assert_eq!(session.state.parked.len(), 1);
    }
}

#[test]
fn more_parked_calls_than_are_kept_lose_the_oldest() {
    let mut session = Session::open(policy());
    let mut requests = Vec::new();
    for _ in 0..40 {
        session.receive("clean up");
        session.answer("", &[("a", "terminal", r#"{"command":"rm -r build"}"#)]);
        let [Effect::PrepareCall { call, .. }] = session.settle()[..] else { panic!() };
        session.ask(Command::CallPrepared { call, verdict: Prepared::Ask(question()) }).unwrap();
        let [Effect::AskApproval { request, .. }] = session.settle()[..] else { panic!() };
        let (decision, by) = (Decision::Expired, DecidedBy::Silence);
        session.ask(Command::ApprovalAnswered { request, decision, by, answerer: None }).unwrap();
        session.answer("ok", &[]);
        session.deliver();
        requests.push(request);
    }
    assert_eq!(session.state.parked.len(), 32);
    assert_eq!(session.ask(answered(requests[0], ONCE)), Err(Rejection::Stale));
    assert!(session.ask(answered(requests[39], ONCE)).is_ok());
}

#[test]
fn an_answer_from_another_chat_is_refused() {
    let (mut session, _, request) = asked();
    let elsewhere = ChatRef { platform: "telegram".into(), chat: "other".into(), thread: None };
    let from = |chat: ChatRef| Some(Answerer { chat, sender: sender() });
    let (decision, by) = (ONCE, DecidedBy::Person);
    let hijack = Command::ApprovalAnswered { request, decision, by, answerer: from(elsewhere) };
    assert_eq!(session.ask(hijack), Err(Rejection::Elsewhere));
    let own = Command::ApprovalAnswered { request, decision, by, answerer: from(chat()) };
    assert!(session.ask(own).is_ok());
}

#[test]
fn where_nobody_is_there_the_preset_refuses_and_says_so() {
    let (mut session, call) = calling();
    let events = session.ask(Command::CallPrepared { call, verdict: Prepared::Refuse(question()) }).unwrap();
    let [Event::ApprovalRequested(_), Event::ApprovalDecided(decided), Event::ToolCallSkipped(skipped)] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((decided.decision, decided.by), (Decision::Denied, DecidedBy::Preset));
    let asked = session.events.iter().find(|r| matches!(r.event, Event::ApprovalRequested(_))).unwrap();
    assert_eq!(decided.request, asked.envelope.stream_pos);
    assert_eq!(skipped.reason, SkipReason::Denied);
    assert!(session.state.parked.is_empty());
    session.model_intent();
}

#[test]
fn what_a_judge_thought_is_recorded_before_what_came_of_it() {
    let judged = |then: Prepared| Prepared::Judged {
        verdict: JudgeVerdict::Safe,
        why: "only build output".into(),
        provider: "p".into(),
        model: "m".into(),
        then: Box::new(then),
    };
    let (mut session, call) = calling();
    let run = Prepared::Run { arguments: JsonText("{}".into()) };
    let events = session.ask(Command::CallPrepared { call, verdict: judged(run) }).unwrap();
    assert_eq!(names(&events), ["ApprovalJudged", "ToolCallStarted"]);
    let (mut session, call) = calling();
    let refuse = Prepared::Refuse(question());
    let events = session.ask(Command::CallPrepared { call, verdict: judged(refuse) }).unwrap();
    let decided = events.iter().find_map(|event| match event {
        Event::ApprovalDecided(decided) => Some(decided.request),
        _ => None,
    });
    let asked = session.events.iter().find(|r| matches!(r.event, Event::ApprovalRequested(_))).unwrap();
    assert_eq!(decided, Some(asked.envelope.stream_pos));
}

#[test]
fn a_grant_covers_its_tool_pattern_and_target() {
    let (mut session, _, request) = asked();
    session.ask(answered(request, Decision::Allowed { scope: GrantScope::Session })).unwrap();
    let [grant] = &session.state.grants[..] else { panic!() };
    assert!(grant.covers("terminal", "rm -r", Some("build")));
    assert!(!grant.covers("terminal", "rm -r", Some("src")));
    assert!(!grant.covers("terminal", "rm", Some("build")));
    assert!(!grant.covers("execute_code", "rm -r", Some("build")));
}

#[test]
fn grants_for_the_profile_are_not_the_sessions() {
    for scope in [GrantScope::Always, GrantScope::Times { count: 3 }, GrantScope::Once] {
        let (mut session, _, request) = asked();
        session.ask(answered(request, Decision::Allowed { scope })).unwrap();
        assert!(session.state.grants.is_empty(), "{scope:?}");
    }
}

#[test]
fn a_veto_reaches_the_model_and_nothing_runs() {
    let (mut session, call) = calling();
    let veto = Prepared::Veto { why: "not on Fridays".into() };
    session.ask(Command::CallPrepared { call, verdict: veto }).unwrap();
    session.model_intent();
    let request = transcript::request(&session.state, ModelPurpose::Turn, 0);
    let Some(Message::Tool { parts, .. }) = request.messages.last() else { panic!() };
    assert!(matches!(&parts[0], Part::Inline(text) if text.contains("not on Fridays")));
}

fn shot() -> Attachment {
    Attachment { content: BlobRef::of(b"png"), media_type: "image/png".into(), name: "shot.png".into() }
}

/// A session whose newest tool result shows a picture, before the next model call.
fn showing() -> Session {
    let mut session = Session::open(Policy { model: seeing(), ..policy() });
    session.receive("look");
    session.answer("", &[("a", "read_file", r#"{"path":"a"}"#)]);
    let [intent] = session.start_calls()[..] else { panic!() };
    let outcome = ToolOutcome { images: vec![shot()], ..outcome(ToolStatus::Succeeded, "a picture") };
    session.ask(Command::ToolFinished { intent, outcome }).unwrap();
    session.model_intent();
    session
}

fn seeing() -> ModelChoice {
    ModelChoice { images: true, ..policy().model }
}

fn pictures(session: &Session) -> usize {
    let request = transcript::request(&session.state, ModelPurpose::Turn, 0);
    let parts = request.messages.iter().flat_map(|message| match message {
        Message::Tool { parts, .. } | Message::User { parts } => parts.as_slice(),
        Message::Assistant { .. } => &[],
    });
    parts.filter(|part| matches!(part, Part::Image { .. })).count()
}

#[test]
fn pictures_of_tools_go_out_until_a_provider_refuses_them_and_are_named_then() {
    let mut session = showing();
    assert_eq!(pictures(&session), 1);
    session.fail(FailureClass::MultimodalToolContentUnsupported);
    session.model_intent();
    assert_eq!(pictures(&session), 0);
    let request = transcript::request(&session.state, ModelPurpose::Turn, 0);
    let Some(Message::Tool { parts, .. }) = request.messages.last() else { panic!() };
    assert!(parts.iter().any(|part| matches!(part, Part::Inline(text) if text.contains("shot.png"))));
}

#[test]
fn a_notice_waits_for_a_turn_and_is_not_said_by_the_user() {
    let mut session = Session::open(policy());
    let source = NoticeSource::ProcessEnded;
    let notice = NoticeReceived { source, about: "proc_1".into(), text: "exited with 0".into() };
    session.ask(Command::Notice(notice)).unwrap();
    session.model_intent();
    let request = transcript::request(&session.state, ModelPurpose::Turn, 0);
    let Some(Message::User { parts }) = request.messages.last() else { panic!() };
    assert!(
        matches!(&parts[0], Part::Inline(text) if text.contains("not from the user") && text.contains("proc_1"))
    );
}

#[test]
fn a_background_process_is_known_until_it_has_ended() {
    let (mut session, call) = calling();
    let started = ProcessStarted {
        call,
        process: "proc_1".into(),
        command: "make serve".into(),
        pid: Some(7),
        notify: true,
    };
    session.ask(Command::Record(Fact::ProcessStarted(started.clone()))).unwrap();
    assert_eq!(session.ask(Command::Record(Fact::ProcessStarted(started))), Err(Rejection::Stale));
    assert_eq!(session.state.processes.len(), 1);
    let ended = ProcessEnded { process: "proc_1".into(), exit_code: Some(0) };
    session.ask(Command::Record(Fact::ProcessEnded(ended.clone()))).unwrap();
    assert_eq!(session.ask(Command::Record(Fact::ProcessEnded(ended))), Err(Rejection::Stale));
    assert!(session.state.processes.is_empty());
}

#[test]
fn a_question_of_a_program_leaves_its_call_running_and_ends_with_it() {
    let (mut session, call) = calling();
    let arguments = JsonText("{}".into());
    session.ask(Command::CallPrepared { call, verdict: Prepared::Run { arguments } }).unwrap();
    let [intent] = session.running()[..] else { panic!() };
    let aside = || Command::AskAside { call, question: question() };
    session.ask(aside()).unwrap();
    assert_eq!(session.running(), [intent], "it goes on running");
    let request = session.state.asides[0].request;
    session.ask(answered(request, Decision::Allowed { scope: GrantScope::Session })).unwrap();
    assert!(session.state.asides.is_empty() && session.state.grants.len() == 1);
    assert_eq!(session.ask(answered(request, ONCE)), Err(Rejection::Stale));
    session.ask(aside()).unwrap();
    session.finish(intent, "done");
    assert!(session.state.asides.is_empty() && session.state.parked.is_empty());
    assert_eq!(session.ask(aside()), Err(Rejection::Stale));
    assert_eq!(session.refolded(), session.state);
}
