//! Who lets a dangerous call through: a person now or later, a lasting yes, the settings, a model.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herm::approval::Verdict;
use herm::effects::Answer;
use herm::providers::{self, BoxFuture, CallContext, LoadedMessage, LoadedRequest, Provider};
use herm::runtime::{ApprovalQuestion, People, Ports, SessionHandle, Sessions, TokioClock};
use herm_replay::log::MemoryLog;
use herm_replay::reducer::{Command, Rejection};
use herm_schema::events::*;
use herm_schema::{Event, Micros, SessionId};

use crate::checks::stream;
use crate::world::*;

fn sessions(world: &World, change: impl FnOnce(&mut Ports)) -> (Arc<MemoryLog>, Sessions) {
    let log = Arc::new(MemoryLog::new());
    let mut ports = world.ports(log.clone(), Arc::new(TokioClock::starting(START, 1)));
    ports.judge = Arc::new(|_: &str, _: &serde_json::Value, _: &Path, _: Scene| Verdict::Ask {
        reason: "It is asked.".into(),
        rule: "test",
        pattern: "send".into(),
        target: None,
    });
    change(&mut ports);
    (log, Sessions::new(Arc::new(ports)))
}

fn names(log: &MemoryLog, session: SessionId) -> Vec<&'static str> {
    stream(log, session).iter().map(|recorded| recorded.event.name()).collect()
}

async fn say_to(handle: &SessionHandle, text: &str) {
    handle.receive(message(text, text)).await.unwrap();
    handle.idle().await.unwrap();
}

/// Two calls of `send`, an answer after each.
fn twice() -> Vec<Reply> {
    vec![call("Now.", &[("send", "{}")]), say("Done."), call("Again.", &[("send", "{}")]), say("Done again.")]
}

fn effects(world: &World) -> usize {
    world.ground().effects.len()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_answered_for_runs_when_somebody_says_yes_after_a_restart() {
    let script = vec![call("Now.", &[("send", "{}")]), say("I need your yes."), say("Done.")];
    let world = World { decision: Decision::Expired, ..World::new(policy(), script, Vec::new()) };
    let (log, sessions) = sessions(&world, |_| {});
    let handle = sessions.open(opened(), policy()).await.unwrap();
    let id = handle.id();
    say_to(&handle, "go").await;
    assert_eq!(effects(&world), 0);
    drop((handle, sessions));
    let again = Sessions::new(Arc::new(world.ports(log.clone(), Arc::new(TokioClock::starting(START, 2)))));
    let handle = again.resume(id, None).await.unwrap();
    let state = handle.state().await.unwrap();
    assert!(state.turn.is_none(), "the turn went on without it");
    let request = state.parked[0].request;
    let (decision, by) = (Decision::Allowed { scope: GrantScope::Once }, DecidedBy::Person);
    let yes = Command::ApprovalAnswered { request, decision, by, answerer: None };
    handle.send(yes.clone(), None).await.unwrap();
    handle.idle().await.unwrap();
    assert_eq!(effects(&world), 1);
    let state = handle.state().await.unwrap();
    assert_eq!((state.turns, state.last_exit), (2, Some(ExitReason::Answered)));
    assert!(matches!(handle.send(yes, None).await, Err(herm::runtime::Error::Rejected(Rejection::Stale))));
    let last = world.ground().requests.last().cloned().unwrap();
    let Some(LoadedMessage::User { text, .. }) = last.last() else { panic!("{last:?}") };
    assert!(text.contains("allowed a call of yours") && text.contains("\"done\":\"send\""), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_so_many_times_is_used_up() {
    let scope = GrantScope::Times { count: 2 };
    let script = [twice(), vec![call("Once more.", &[("send", "{}")]), say("Done.")]].concat();
    let world = World { decision: Decision::Allowed { scope }, ..World::new(policy(), script, Vec::new()) };
    let (log, sessions) = sessions(&world, |_| {});
    let handle = sessions.open(opened(), policy()).await.unwrap();
    for text in ["one", "two", "three"] {
        say_to(&handle, text).await;
    }
    let count = |name: &str| log.events().iter().filter(|r| r.event.name() == name).count();
    assert_eq!((effects(&world), count("ApprovalRequested"), count("ApprovalUsed")), (3, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_yes_that_is_taken_back_is_asked_for_again() {
    let decision = Decision::Allowed { scope: GrantScope::Always };
    let world = World { decision, ..World::new(policy(), twice(), Vec::new()) };
    let mut grants = None;
    let (log, sessions) = sessions(&world, |ports| grants = Some(ports.grants.clone()));
    let grants = grants.unwrap();
    let handle = sessions.open(opened(), policy()).await.unwrap();
    say_to(&handle, "one").await;
    let grant = grants.list().await.unwrap().all().next().map(|(at, _)| at).unwrap();
    assert!(grants.revoke(grant, Micros(START.0 + 60_000_000)).await.unwrap());
    say_to(&handle, "two").await;
    assert_eq!(names(&log, handle.id()).iter().filter(|name| **name == "ApprovalRequested").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_is_there_it_is_refused_and_nothing_waits() {
    for scene in [Scene::SingleQuery, Scene::Cron] {
        let decision = Decision::Allowed { scope: GrantScope::Once };
        let world = World { decision, ..World::new(policy(), twice(), Vec::new()) };
        let (log, sessions) = sessions(&world, |_| {});
        let handle = sessions.open(opened(), Policy { scene, ..policy() }).await.unwrap();
        say_to(&handle, "go").await;
        assert_eq!(effects(&world), 0, "{scene:?}");
        let decided = stream(&log, handle.id()).into_iter().find_map(|recorded| match recorded.event {
            Event::ApprovalDecided(decided) => Some((decided.decision, decided.by)),
            _ => None,
        });
        assert_eq!(decided, Some((Decision::Denied, DecidedBy::Preset)));
        assert!(handle.state().await.unwrap().parked.is_empty());
    }
}

/// Answers what is asked besides the conversation with one text, and follows the script otherwise.
struct Judge {
    script: ScriptedModel,
    thinks: &'static str,
    asked: Arc<Mutex<Vec<LoadedRequest>>>,
}

impl Provider for Judge {
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<providers::Answer, ModelFailure>> {
        if !request.tools.is_empty() {
            return self.script.call(request, context);
        }
        self.asked.lock().unwrap().push(request.clone());
        let message = AssistantMessage {
            text: self.thinks.to_owned(),
            reasoning: None,
            calls: Vec::new(),
            extras: None,
        };
        let (finish, usage, timings, response_id) = (Finish::Stop, None, Timings::default(), None);
        Box::pin(async move { Ok(providers::Answer { message, finish, usage, timings, response_id }) })
    }
}

/// What a session with a judge came to: effects, questions to a person, the judge's verdict.
async fn judged(thinks: &'static str) -> (usize, Vec<String>, Option<JudgeVerdict>, Vec<LoadedRequest>) {
    let world = World { decision: Decision::Denied, ..World::new(policy(), twice(), Vec::new()) };
    let asked = Arc::new(Mutex::new(Vec::new()));
    let script = ScriptedModel { ground: world.ground.clone(), script: world.script.clone() };
    let judge = Judge { script, thinks, asked: asked.clone() };
    let (log, sessions) = sessions(&world, |ports| ports.models = Arc::new(OneModel(Arc::new(judge))));
    let smart = Policy { approvals: ApprovalMode::Smart, ..policy() };
    let handle = sessions.open(opened(), smart).await.unwrap();
    say_to(&handle, "go").await;
    let events = stream(&log, handle.id());
    let reasons = events.iter().filter_map(|recorded| match &recorded.event {
        Event::ApprovalRequested(asked) => Some(asked.reason.clone()),
        _ => None,
    });
    let verdict = events.iter().find_map(|recorded| match &recorded.event {
        Event::ApprovalJudged(judged) => Some(judged.verdict),
        _ => None,
    });
    let asked = asked.lock().unwrap().clone();
    (effects(&world), reasons.collect(), verdict, asked)
}

#[tokio::test(start_paused = true)]
async fn a_judge_lets_through_what_it_finds_safe_and_leaves_the_rest_to_a_person() {
    let (effects, reasons, verdict, asked) = judged("APPROVE: harmless").await;
    assert_eq!((effects, reasons.len(), verdict), (1, 0, Some(JudgeVerdict::Safe)));
    let LoadedMessage::User { text, .. } = &asked[0].messages[0] else { panic!() };
    assert!(text.contains("<command>\n{}\n</command>"), "{text}");

    let (effects, reasons, verdict, _) = judged("DENY: it sends money").await;
    assert_eq!((effects, verdict), (0, Some(JudgeVerdict::Dangerous)));
    assert!(reasons[0].contains("it sends money"), "{reasons:?}");

    let (effects, reasons, verdict, _) = judged("Well, that depends.").await;
    assert_eq!((effects, reasons.len(), verdict), (0, 1, Some(JudgeVerdict::Unsure)));
}

/// Never answers anything.
struct Mute {
    script: ScriptedModel,
}

impl Provider for Mute {
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<providers::Answer, ModelFailure>> {
        match request.tools.is_empty() {
            true => Box::pin(std::future::pending()),
            false => self.script.call(request, context),
        }
    }
}

fn mute(world: &World) -> Arc<OneModel> {
    let script = ScriptedModel { ground: world.ground.clone(), script: world.script.clone() };
    Arc::new(OneModel(Arc::new(Mute { script })))
}

fn cancelled(log: &MemoryLog, session: SessionId) -> usize {
    let ended = |event: &Event| matches!(event, Event::AuxiliaryCallFinished(call) if call.outcome == AuxiliaryOutcome::Cancelled);
    stream(log, session).iter().filter(|recorded| ended(&recorded.event)).count()
}

async fn until_an_auxiliary_call_runs(handle: &SessionHandle) {
    while handle.state().await.unwrap().auxiliary.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_title_that_a_person_gives_cancels_the_call_that_looks_for_one() {
    let world = World::new(policy(), vec![say("Here.")], Vec::new());
    let (log, sessions) = sessions(&world, |ports| ports.models = mute(&world));
    let handle = sessions.open(opened(), Policy { titles: true, ..policy() }).await.unwrap();
    say_to(&handle, "go").await;
    until_an_auxiliary_call_runs(&handle).await;
    handle.send(Command::Title("mine".into()), None).await.unwrap();
    while !handle.state().await.unwrap().auxiliary.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(cancelled(&log, handle.id()), 1);
    assert_eq!(handle.state().await.unwrap().title.as_deref(), Some("mine"));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_cancels_the_judge_with_its_turn() {
    let world = World::new(policy(), twice(), Vec::new());
    let (log, sessions) = sessions(&world, |ports| ports.models = mute(&world));
    let smart = Policy { approvals: ApprovalMode::Smart, ..policy() };
    let handle = sessions.open(opened(), smart).await.unwrap();
    handle.receive(message("go", "go")).await.unwrap();
    until_an_auxiliary_call_runs(&handle).await;
    handle.interrupt(InterruptSource::Person).await.unwrap();
    handle.idle().await.unwrap();
    while !handle.state().await.unwrap().auxiliary.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((cancelled(&log, handle.id()), effects(&world)), (1, 0));
}

/// Cannot reach anybody.
struct Unreachable;

impl People for Unreachable {
    fn approve<'a>(&'a self, _: &'a ApprovalQuestion) -> BoxFuture<'a, Answer> {
        let (decision, by) = (Decision::Expired, DecidedBy::Undelivered);
        Box::pin(async move { Answer { decision, by, answerer: None } })
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_reached_nobody_is_no_refusal() {
    let world = World::new(policy(), twice(), Vec::new());
    let (log, sessions) = sessions(&world, |ports| ports.people = Arc::new(Unreachable));
    let handle = sessions.open(opened(), policy()).await.unwrap();
    say_to(&handle, "go").await;
    assert_eq!(handle.state().await.unwrap().parked.len(), 1);
    let skipped = stream(&log, handle.id()).into_iter().find_map(|recorded| match recorded.event {
        Event::ToolCallSkipped(skipped) => Some((skipped.reason, skipped.shown)),
        _ => None,
    });
    let (reason, shown) = skipped.unwrap();
    assert_eq!(reason, SkipReason::Parked);
    assert!(shown.contains("could not be brought to anybody"), "{shown}");
}
