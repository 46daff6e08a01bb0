//! One thing breaks or hangs, and nothing else does.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herm::approval::Verdict;
use herm::context::ContextEngine;
use herm::delivery::{Outlet, Parcel, Way};
use herm::providers::{Answer, BoxFuture, CallContext, LoadedRequest, Provider};
use herm::runtime::{Clock, Error, Ports, SessionHandle, Sessions, TokioClock, Watch};
use herm_replay::log::{self, Acknowledge, Append, Durable, Head, Log, MemoryLog, Records, Tail};
use herm_replay::reducer::command::Compression;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::*;
use herm_schema::{BlobRef, Event, Position, SessionId, StreamId, StreamPos};
use tokio::time::Instant;

use crate::checks::stream;
use crate::world::*;

/// Sessions over a fresh log, with ports changed by `change`.
fn sessions(world: &World, change: impl FnOnce(&mut Ports)) -> (Arc<MemoryLog>, Sessions) {
    let log = Arc::new(MemoryLog::new());
    let mut ports = world.ports(log.clone(), Arc::new(TokioClock::starting(START, 1)));
    change(&mut ports);
    (log, Sessions::new(Arc::new(ports)))
}

fn names(log: &MemoryLog, session: SessionId) -> Vec<&'static str> {
    stream(log, session).iter().map(|recorded| recorded.event.name()).collect()
}

async fn ask(handle: &SessionHandle, text: &str) {
    // An id is unique in its chat, whatever session it finds.
    let id = format!("{text}/{}", handle.id());
    handle.receive(message(&id, text)).await.unwrap();
}

/// Never answers when it is told `hang`, makes a call that never ends when it is told `stuck`, and
/// follows the script otherwise.
struct Hanging {
    script: ScriptedModel,
    stuck: ScriptedModel,
}

impl Provider for Hanging {
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Answer, ModelFailure>> {
        let said = format!("{:?}", request.messages);
        match (said.contains("hang"), said.contains("stuck")) {
            (true, _) => Box::pin(std::future::pending()),
            (_, true) => self.stuck.call(request, context),
            _ => self.script.call(request, context),
        }
    }
}

fn with_hanging(world: &World) -> impl FnOnce(&mut Ports) + use<> {
    let model = |script| ScriptedModel { ground: world.ground.clone(), script };
    let stuck = vec![call("Now.", &[("send", r#"{"goes":"stuck"}"#)]), say("Done.")];
    let hanging = Hanging { script: model(world.script.clone()), stuck: model(Arc::new(stuck)) };
    move |ports| ports.models = Arc::new(OneModel(Arc::new(hanging)))
}

/// More than an answer and its sending take, and less than two of them.
const ONE_ANSWER: Duration = Duration::from_millis(4_500);

#[tokio::test(start_paused = true)]
async fn a_stuck_provider_delays_no_other_session() {
    let world = World::new(policy(), vec![say("Here.")], Vec::new());
    let (log, sessions) = sessions(&world, with_hanging(&world));
    let stuck = sessions.open(opened(), policy()).await.unwrap();
    ask(&stuck, "hang").await;
    let mut others = Vec::new();
    for _ in 0..100 {
        others.push(sessions.open(opened(), policy()).await.unwrap());
    }
    let begun = Instant::now();
    for other in &others {
        ask(other, "hello").await;
    }
    for other in &others {
        other.idle().await.unwrap();
    }
    assert!(begun.elapsed() < ONE_ANSWER, "one answer's time, not a hundred: {:?}", begun.elapsed());
    assert_eq!(names(&log, stuck.id()).last(), Some(&"ModelCallStarted"));
    stuck.interrupt(InterruptSource::Person).await.unwrap();
    stuck.idle().await.unwrap();
    assert_eq!(names(&log, stuck.id()).last(), Some(&"TurnEnded"));
}

#[tokio::test(start_paused = true)]
async fn a_stuck_tool_delays_no_other_session_and_an_interrupt_gets_past_it() {
    let world = World::new(policy(), vec![say("Here.")], Vec::new());
    let (log, sessions) = sessions(&world, with_hanging(&world));
    let stuck = sessions.open(opened(), policy()).await.unwrap();
    ask(&stuck, "be stuck").await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(names(&log, stuck.id()).last(), Some(&"ToolCallStarted"));
    let free = sessions.open(opened(), policy()).await.unwrap();
    let begun = Instant::now();
    ask(&free, "hello").await;
    free.idle().await.unwrap();
    assert!(begun.elapsed() < ONE_ANSWER, "{:?}", begun.elapsed());
    // The tool does not even listen to being stopped.
    stuck.interrupt(InterruptSource::Person).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), stuck.idle()).await.unwrap().unwrap();
    assert_eq!(names(&log, stuck.id()).last(), Some(&"TurnEnded"));
    assert!(names(&log, stuck.id()).contains(&"ToolCallFinished"));
}

/// What was faulting in each `TurnFaulted`, and how the turn ended.
async fn faults(world: &World, change: impl FnOnce(&mut Ports)) -> (Vec<String>, Option<ExitReason>) {
    let (log, sessions) = sessions(world, change);
    let handle = sessions.open(opened(), world.policy.clone()).await.unwrap();
    ask(&handle, "go").await;
    tokio::time::timeout(Duration::from_secs(86_400), handle.idle()).await.unwrap().unwrap();
    let during = stream(&log, handle.id()).into_iter().filter_map(|recorded| match recorded.event {
        Event::TurnFaulted(event) => Some(event.during),
        _ => None,
    });
    (during.collect(), handle.state().await.unwrap().last_exit)
}

const ANSWERED: Option<ExitReason> = Some(ExitReason::Answered);

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_tool_becomes_an_event_and_the_turn_goes_on() {
    let script = vec![call("Now.", &[("send", r#"{"goes":"panic"}"#)]), say("Done.")];
    let world = World::new(policy(), script, Vec::new());
    assert_eq!(faults(&world, |_| {}).await, (vec!["run_tool".to_owned()], ANSWERED));
    let ground = world.ground();
    let told = format!("{:?}", ground.requests.last().unwrap());
    assert!(told.contains("unknown") && !told.contains("restarted"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_provider_becomes_an_event_and_the_call_is_made_again() {
    let world = World::new(policy(), vec![say("Done.")], Vec::new());
    world.ground().troubles.insert(0, [Trouble::Panic].into());
    assert_eq!(faults(&world, |_| {}).await, (vec!["call_model".to_owned()], ANSWERED));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_always_panics_ends_the_turn() {
    let world = World::new(policy(), vec![say("Done.")], Vec::new());
    world.ground().troubles.insert(0, vec![Trouble::Panic; 100].into());
    let (during, exit) = faults(&world, |_| {}).await;
    assert_eq!((during.len(), exit), (8, Some(ExitReason::RepeatedFaults)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_judge_becomes_an_event_and_the_call_does_not_run() {
    let script = vec![call("Now.", &[("send", r#"{"judge":"panic"}"#)]), say("Done.")];
    let world = World::new(policy(), script, Vec::new());
    assert_eq!(faults(&world, |_| {}).await, (vec!["prepare_call".to_owned()], ANSWERED));
    assert!(world.ground().effects.is_empty());
}

struct PanickingEngine;

impl ContextEngine for PanickingEngine {
    fn compress(&self, _: &SessionState) -> Result<Compression, String> {
        panic!("the engine panics")
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_context_engine_becomes_an_event_and_the_turn_goes_on() {
    let compression = CompressionPolicy { messages_max: 2, ..policy().compression };
    let script = vec![call("Now.", &[("look", "{}")]), say("Done.")];
    let world = World::new(Policy { compression, ..policy() }, script, Vec::new());
    let (during, exit) = faults(&world, |ports| ports.engine = Arc::new(PanickingEngine)).await;
    assert!(!during.is_empty() && during.iter().all(|name| name == "compress"), "{during:?}");
    assert_eq!(exit, ANSWERED);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_prompt_source_ends_the_turn_and_not_the_session() {
    struct Panicking;
    impl herm::runtime::PromptSource for Panicking {
        fn build(&self, _: &SessionState, _: &[ToolFacts]) -> String {
            panic!("the prompt panics")
        }
    }
    let world = World::new(policy(), vec![say("Done.")], Vec::new());
    let (during, exit) = faults(&world, |ports| ports.prompt = Arc::new(Panicking)).await;
    assert!(during.iter().all(|name| name == "build_prompt"), "{during:?}");
    assert_eq!((during.len(), exit), (8, Some(ExitReason::RepeatedFaults)));
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_panics_is_tried_again_later_and_the_repeat_is_marked() {
    let world = World::new(policy(), vec![say("Done.")], Vec::new());
    world.ground().send_troubles = [Some(SendTrouble::PanicAfter), None].into();
    assert_eq!(faults(&world, |_| {}).await, (vec!["deliver".to_owned()], ANSWERED));
    let marks: Vec<_> = world.ground().seen.iter().map(|seen| seen.marked).collect();
    assert_eq!(marks, [false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_always_panics_is_given_up() {
    let world = World::new(policy(), vec![say("Done."), say("Still here.")], Vec::new());
    world.ground().send_troubles = vec![Some(SendTrouble::PanicBefore); 2].into();
    let (log, sessions) = sessions(&world, |_| {});
    let handle = sessions.open(opened(), policy()).await.unwrap();
    ask(&handle, "go").await;
    tokio::time::timeout(Duration::from_secs(86_400), handle.idle()).await.unwrap().unwrap();
    ask(&handle, "and now").await;
    tokio::time::timeout(Duration::from_secs(86_400), handle.idle()).await.unwrap().unwrap();
    let attempts = names(&log, handle.id()).iter().filter(|name| **name == "DeliveryAttempted").count();
    // Nobody knows whether the first arrived, so that it is sent once more and no third time.
    assert_eq!(attempts, 3);
    assert_eq!(world.ground().seen.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_cannot_even_say_what_it_takes_ends_the_turn() {
    struct Panicking;
    impl Outlet for Panicking {
        fn way(&self, _: &herm_schema::events::ChatRef) -> Way {
            panic!("the way panics")
        }
        fn send<'a>(
            &'a self,
            _: &'a Parcel,
        ) -> BoxFuture<'a, Result<Option<String>, herm::platforms::SendFailure>> {
            Box::pin(async { Ok(None) })
        }
    }
    let world = World::new(policy(), vec![say("Done.")], Vec::new());
    let (during, _) = faults(&world, |ports| ports.outlet = Arc::new(Panicking)).await;
    assert_eq!(during, vec!["plan_delivery"; 8]);
}

/// Panics once in the actor itself, after an event.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_actor_itself_is_recorded_and_it_begins_again() {
    struct Once(Mutex<bool>);
    impl Watch for Once {
        fn event(&self, recorded: &herm_schema::Recorded, _: &SessionState) {
            let mut done = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let now = matches!(recorded.event, Event::ToolCallStarted(_)) && !*done;
            *done |= now;
            drop(done);
            assert!(!now, "the watch panics");
        }
    }
    let script = vec![call("Now.", &[("save", r#"{"path":"a"}"#)]), say("Done.")];
    let world = World::new(policy(), script, Vec::new());
    let (during, exit) = faults(&world, |ports| ports.watch = Arc::new(Once(Mutex::new(false)))).await;
    assert_eq!((during, exit), (vec!["advance".to_owned()], ANSWERED));
    assert_eq!(world.ground().effects.values().copied().collect::<Vec<_>>(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_full_mailbox_slows_the_sender_and_loses_nothing() {
    const SENT: usize = 500;
    let world = World::new(policy(), Vec::new(), Vec::new());
    let (log, sessions) = sessions(&world, |_| {});
    let handle = sessions.open(opened(), policy()).await.unwrap();
    let mut senders = tokio::task::JoinSet::new();
    for n in 0..SENT {
        let handle = handle.clone();
        senders.spawn(async move { handle.receive(message(&format!("m{n}"), "hello")).await.unwrap() });
    }
    while let Some(sent) = senders.join_next().await {
        sent.unwrap();
    }
    handle.idle().await.unwrap();
    let names = names(&log, handle.id());
    assert_eq!(names.iter().filter(|name| **name == "MessageReceived").count(), SENT);
    assert_eq!(names.iter().filter(|name| **name == "DeliveryConfirmed").count(), SENT);
}

/// A log that takes so many appends, and then nothing any more.
struct Failing {
    inner: Arc<MemoryLog>,
    left: AtomicI64,
}

impl Log for Failing {
    fn submit(&self, append: Append, done: Acknowledge) {
        match self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            true => self.inner.submit(append, done),
            false => done(Err(log::Error::Poisoned { operation: "sync", reason: "no disk".into() })),
        }
    }
    fn when_durable(&self, position: Position, done: Durable) {
        match self.left.load(Ordering::Relaxed) >= 0 {
            true => self.inner.when_durable(position, done),
            false => done(Err(log::Error::Poisoned { operation: "sync", reason: "no disk".into() })),
        }
    }
    fn read_stream(&self, stream: StreamId, from: StreamPos) -> Records<'_> {
        self.inner.read_stream(stream, from)
    }
    fn read_all(&self, from: Position) -> Records<'_> {
        self.inner.read_all(from)
    }
    fn head(&self, stream: StreamId) -> Result<Option<Head>, log::Error> {
        self.inner.head(stream)
    }
    fn tail(&self) -> Tail {
        self.inner.tail()
    }
    fn wait(&self, past: Position, timeout: Duration) -> Position {
        self.inner.wait(past, timeout)
    }
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobRef, log::Error> {
        self.inner.put_blob(bytes)
    }
    fn blob(&self, blob: BlobRef) -> Result<Vec<u8>, log::Error> {
        self.inner.blob(blob)
    }
}

#[derive(Default)]
struct Broken(Mutex<Vec<String>>);

impl Watch for Broken {
    fn broken(&self, _: SessionId, reason: &str) {
        self.0.lock().unwrap().push(reason.to_owned());
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_that_fails_ends_the_actor_and_nothing_acknowledged_is_lost() {
    for taken in 2..14 {
        let inputs = vec![(0, says("m0", "Send it.")), (5_000, says("m1", "And more."))];
        let script = vec![call("Now.", &[("send", "{}")]), say("Sent."), say("More.")];
        let world = World::new(policy(), script, inputs);
        let inner = Arc::new(MemoryLog::new());
        let broken = Arc::new(Broken::default());
        let failing = Arc::new(Failing { inner: inner.clone(), left: AtomicI64::new(taken) });
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting(START, 1));
        let mut ports = world.ports(failing, clock);
        ports.watch = broken.clone();
        let sessions = Sessions::new(Arc::new(ports));
        let handle = sessions.open(opened(), policy()).await.unwrap();
        let mut acknowledged = Vec::new();
        for id in ["m0", "m1"] {
            match handle.receive(message(id, &format!("This is {id}."))).await {
                Ok(_) => acknowledged.push(id),
                Err(Error::Log(_) | Error::Gone { .. }) => {}
                Err(error) => panic!("{taken}: {error}"),
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        let _ = handle.idle().await;
        let reasons = broken.0.lock().unwrap().clone();
        assert_eq!(reasons.len(), 1, "{taken}: {reasons:?}");
        let ended = handle.send(Command::Advance, None).await;
        assert!(matches!(ended, Err(Error::Gone { .. })), "{taken}: {ended:?}");
        // Another process on the same log goes on, and has every message that was acknowledged.
        let state = world.live(&inner, START.plus(60_000_000), 2).await;
        crate::checks::check(&world, &inner, &state).unwrap();
        let twice = world.ground().received_twice.clone();
        assert!(acknowledged.iter().all(|id| twice.contains(*id)), "{taken}: {acknowledged:?} {twice:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn taking_up_a_session_twice_gives_the_same_actor() {
    let world = World::new(policy(), vec![say("Here.")], Vec::new());
    let (log, first) = sessions(&world, |_| {});
    let id = first.open(opened(), policy()).await.unwrap().id();
    first.release(id);
    let again = Sessions::new(Arc::new(world.ports(log, Arc::new(TokioClock::starting(START, 9)))));
    let (one, other) = tokio::join!(again.resume(id, None), again.resume(id, None));
    let (one, other) = (one.unwrap(), other.unwrap());
    ask(&one, "a").await;
    ask(&other, "b").await;
    one.idle().await.unwrap();
    assert_eq!(other.state().await.unwrap().turns, 2);
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_good_is_remembered_once_for_the_profile() {
    let script = vec![call("Now.", &[("send", r#"{"judge":"ask"}"#)]), say("Done.")];
    let world = World::new(policy(), script, Vec::new());
    let world = World { decision: Decision::Allowed { scope: GrantScope::Always }, ..world };
    let (log, sessions) = sessions(&world, |ports| {
        ports.judge = Arc::new(|_: &str, _: &serde_json::Value, _: &Path, _: Scene| Verdict::Ask {
            reason: "It is asked.".into(),
            rule: "test",
            pattern: "send".into(),
            target: None,
        });
    });
    let handle = sessions.open(opened(), policy()).await.unwrap();
    ask(&handle, "go").await;
    handle.idle().await.unwrap();
    let granted = log.events().iter().filter(|r| matches!(r.event, Event::ApprovalGranted(_))).count();
    assert_eq!((granted, world.ground().effects.len()), (1, 1));
}

/// A session that is let go of goes on until nothing is owed, and has one writer all the time.
#[tokio::test(start_paused = true)]
async fn a_session_that_was_released_is_taken_up_again_when_its_actor_has_ended() {
    let world = World::new(policy(), vec![say("Here."), say("Still here.")], Vec::new());
    let broken = Arc::new(Broken::default());
    let watch = broken.clone();
    let (log, sessions) = sessions(&world, move |ports| ports.watch = watch);
    let handle = sessions.open(opened(), policy()).await.unwrap();
    let id = handle.id();
    ask(&handle, "one").await;
    sessions.release(id);
    drop(handle);
    let again = sessions.resume(id, None).await.unwrap();
    ask(&again, "two").await;
    again.idle().await.unwrap();
    assert_eq!(names(&log, id).iter().filter(|name| **name == "DeliveryConfirmed").count(), 2);
    assert!(broken.0.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_released_but_is_still_held_stays_the_same() {
    let world = World::new(policy(), vec![say("Here."), say("Still here.")], Vec::new());
    let (log, sessions) = sessions(&world, |_| {});
    let handle = sessions.open(opened(), policy()).await.unwrap();
    sessions.release(handle.id());
    let again = sessions.resume(handle.id(), None).await.unwrap();
    ask(&again, "one").await;
    ask(&handle, "two").await;
    handle.idle().await.unwrap();
    assert_eq!(names(&log, handle.id()).iter().filter(|name| **name == "TurnEnded").count(), 2);
}
