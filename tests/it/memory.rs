//! What the model remembers, cut after every event and taken up again: nothing is kept twice, nothing is
//! lost, whether or not the file was written before the end.

use std::path::Path;
use std::sync::Arc;

use herm::memory::{MemoryConfig, MemoryProvider, Notes, Setting, whose};
use herm::providers::BoxFuture;
use herm::runtime::{Ports, Sessions, SystemClock, TokioClock};
use herm::tools::{Memory, Services, Tool};
use herm_replay::log::{Log, MemoryLog};
use herm_replay::memory::Limits;
use herm_replay::reducer::SessionState;
use herm_schema::events::*;
use herm_schema::{Event, Micros, Recorded, SessionId, StreamId, StreamKind};

use crate::world::*;

const SPACE: MemorySpace = MemorySpace::Profile;

fn profile() -> StreamId {
    StreamId::named(StreamKind::Profile, "default")
}

struct Remembering {
    log: Arc<MemoryLog>,
    notes: Arc<Notes>,
}

impl Services for Remembering {
    fn log(&self) -> &dyn Log {
        &*self.log
    }

    fn search_sessions(&self, _: SessionId, _: &serde_json::Value) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn memory(&self, _: SessionId) -> Option<(Arc<dyn MemoryProvider>, MemorySpace)> {
        Some((self.notes.clone(), whose::together()(&opened())))
    }

    fn ask<'a>(&'a self, _: SessionId, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

fn notes(home: &Path, log: &Arc<MemoryLog>) -> Arc<Notes> {
    Arc::new(Notes::new(Setting {
        log: log.clone(),
        profile: profile(),
        home,
        config: MemoryConfig {
            notes: true,
            users: true,
            approval: false,
            limits: Limits { memory_chars: 2_200, user_chars: 1_375 },
            apart: true,
        },
        redact: Arc::new(str::to_owned),
        clock: Arc::new(SystemClock),
    }))
}

fn world() -> World {
    let script = vec![
        call("Noted.", &[("memory", r#"{"target":"memory","action":"add","content":"one"}"#)]),
        call(
            "And that.",
            &[
                ("memory", r#"{"target":"memory","action":"replace","old_text":"one","content":"ONE"}"#),
                ("memory", r#"{"target":"memory","action":"remove","old_text":"nothing"}"#),
            ],
        ),
        say("I shall remember."),
    ];
    World::new(policy(), script, vec![(0, says("m0", "Remember one."))])
}

/// One life of herm; its end.
async fn live(world: &World, log: &Arc<MemoryLog>, home: &Path) -> SessionState {
    let clock = Arc::new(TokioClock::starting(START, 1));
    let services = Remembering { log: log.clone(), notes: notes(home, log) };
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Memory)];
    let ports =
        Ports { tools: tools.into(), services: Arc::new(services), ..world.ports(log.clone(), clock) };
    let sessions = Sessions::new(Arc::new(ports));
    let handle = match session_of(log) {
        None => sessions.open(opened(), world.policy.clone()).await.unwrap(),
        Some(id) => sessions.resume(id, Some(world.policy.clone())).await.unwrap(),
    };
    // Known already where it was acknowledged before.
    drop(handle.receive(message("m0", "Remember one.")).await);
    handle.idle().await.unwrap();
    handle.state().await.unwrap()
}

fn prefix(whole: &MemoryLog, count: usize) -> Arc<MemoryLog> {
    let log = MemoryLog::from_events(whole.events()[..count].to_vec());
    for recorded in log.events() {
        let named = match recorded.event {
            Event::SystemPromptBuilt(event) => event.prompt,
            Event::ToolsOffered(event) => event.definitions,
            _ => continue,
        };
        log.put_blob(&whole.blob(named).unwrap()).unwrap();
    }
    Arc::new(log)
}

/// What was changed; where the calls stand in the session moves with a restart.
fn written(events: &[Recorded]) -> Vec<&Vec<MemoryChange>> {
    let written = events.iter().filter_map(|recorded| match &recorded.event {
        Event::MemoryWritten(written) => Some(&written.changes),
        _ => None,
    });
    written.collect()
}

#[test]
fn a_crash_between_any_two_events_neither_loses_nor_doubles_what_is_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Arc::new(MemoryLog::new());
    let state = on_a_stopped_clock(live(&world(), &whole, folder.path()));
    assert_eq!(state.last_exit, Some(ExitReason::Answered));
    let events = whole.events();
    let kinds: Vec<&str> = events.iter().map(|recorded| recorded.event.name()).collect();
    assert!(kinds.contains(&"MemoryRefused"), "{kinds:?}");
    let changes = written(&events);
    assert_eq!(changes.len(), 2);
    for at in events.iter().filter(|recorded| recorded.envelope.stream == profile()) {
        assert!(at.envelope.turn.is_some() && at.envelope.cause.is_some(), "{at:?}");
    }
    for count in 0..=events.len() {
        for projected in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let log = prefix(&whole, count);
            if projected {
                // All files are as the events say; otherwise none has been written yet.
                notes(home.path(), &log).block(&SPACE);
            }
            let world = world();
            let state = on_a_stopped_clock(live(&world, &log, home.path()));
            let after = log.events();
            let point = format!("N = {count}, projected: {projected}");
            assert_eq!(state.last_exit, Some(ExitReason::Answered), "{point}");
            assert_eq!(written(&after), changes, "{point}");
            let kept = notes(home.path(), &log).entries(&SPACE, MemoryTarget::Memory).unwrap();
            assert_eq!(kept, ["ONE"], "{point}");
            let file = std::fs::read_to_string(home.path().join("memories/MEMORY.md")).unwrap();
            assert_eq!(file, "ONE\n", "{point}");
            let profile: Vec<Micros> = after
                .iter()
                .filter(|recorded| recorded.envelope.stream == profile())
                .map(|recorded| recorded.envelope.recorded_at)
                .collect();
            assert_eq!(profile.len(), 3, "{point}");
        }
    }
}
