//! What the model remembers and learns, cut after every event and taken up again: nothing is kept twice, nothing is
//! lost, whether or not the file was written before the end.

use std::path::Path;
use std::sync::{Arc, Mutex};

use herm::memory::{MemoryConfig, MemoryProvider, Notes, Setting};
use herm::providers::BoxFuture;
use herm::runtime::{Ports, Sessions, SystemClock, TokioClock};
use herm::skills::{Library, SkillsConfig, Surroundings, Workshop};
use herm::tools::{Memory, Services, Tool, skills};
use herm_replay::log::{Log, MemoryLog};
use herm_replay::memory::Limits;
use herm_replay::reducer::SessionState;
use herm_schema::events::*;
use herm_schema::{Event, Micros, Recorded, SessionId, StreamId, StreamKind};
use serde_json::json;

use crate::world::*;

const SPACE: MemorySpace = MemorySpace::Profile;

fn profile() -> StreamId {
    StreamId::named(StreamKind::Profile, "default")
}

struct Remembering {
    log: Arc<MemoryLog>,
    notes: Arc<Notes>,
    workshop: Arc<Workshop>,
}

impl Services for Remembering {
    fn log(&self) -> &dyn Log {
        &*self.log
    }

    fn search_sessions(&self, _: SessionId, _: &serde_json::Value) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn skills(&self) -> Option<Arc<Workshop>> {
        Some(self.workshop.clone())
    }

    fn memory(&self, _: SessionId) -> Option<(Arc<dyn MemoryProvider>, MemorySpace)> {
        Some((self.notes.clone(), SPACE))
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

fn workshop(home: &Path, log: &Arc<MemoryLog>) -> Arc<Workshop> {
    let surroundings = Surroundings { variable: Arc::new(|_| false), path: String::new() };
    let config = SkillsConfig { external: Vec::new(), template_vars: true, guard: false };
    Arc::new(Workshop {
        library: Library { own: home.join("skills"), config, surroundings },
        log: log.clone(),
        profile: profile(),
        clock: Arc::new(SystemClock),
        redact: Arc::new(str::to_owned),
        busy: Mutex::default(),
    })
}

fn world() -> World {
    let skill =
        json!({"action": "create", "name": "s", "content": "---\nname: s\ndescription: d\n---\nOne.\n"});
    let patch = json!({"action": "patch", "name": "s", "old_string": "One.", "new_string": "One. One."});
    let script = vec![
        call("Noted.", &[("memory", r#"{"target":"memory","action":"add","content":"one"}"#)]),
        call(
            "And that.",
            &[
                ("memory", r#"{"target":"memory","action":"replace","old_text":"one","content":"ONE"}"#),
                ("memory", r#"{"target":"memory","action":"remove","old_text":"nothing"}"#),
            ],
        ),
        call("So it is done.", &[("skill_manage", &skill.to_string()), ("skill_manage", &patch.to_string())]),
        say("I shall remember."),
    ];
    World::new(policy(), script, vec![(0, says("m0", "Remember one."))])
}

/// One life of herm; its end.
async fn live(world: &World, log: &Arc<MemoryLog>, home: &Path) -> SessionState {
    let clock = Arc::new(TokioClock::starting(START, 1));
    let services = Remembering { log: log.clone(), notes: notes(home, log), workshop: workshop(home, log) };
    let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(Memory)];
    tools.extend(skills::tools());
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
            Event::SystemPromptBuilt(event) => vec![event.prompt],
            Event::ToolsOffered(event) => vec![event.definitions],
            Event::SkillWritten(event) => {
                event.files.iter().flat_map(|file| [file.before, file.after]).flatten().collect()
            }
            _ => continue,
        };
        for blob in named {
            log.put_blob(&whole.blob(blob).unwrap()).unwrap();
        }
    }
    Arc::new(log)
}

/// Makes the files of skills what the events say.
fn teach(home: &Path, log: &Arc<MemoryLog>) {
    let workshop = workshop(home, log);
    for recorded in log.events() {
        if let Event::SkillWritten(SkillWritten { author: Author::Model { session, call }, .. }) =
            recorded.event
        {
            workshop.found_out(session, call).unwrap().unwrap();
        }
    }
}

/// The events whose files are written for sure: all but a write of a skill that nothing follows yet.
fn surely_taught(events: &[Recorded]) -> usize {
    let last = events.last().is_some_and(|recorded| matches!(recorded.event, Event::SkillWritten(_)));
    events.len() - usize::from(last)
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
    let taught = |events: &[Recorded]| {
        events.iter().filter(|recorded| matches!(recorded.event, Event::SkillWritten(_))).count()
    };
    assert_eq!(taught(&events), 2);
    for count in 0..=events.len() {
        for projected in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let log = prefix(&whole, count);
            if projected {
                // All files are as the events say; otherwise none has been written yet.
                notes(home.path(), &log).block(&SPACE);
                teach(home.path(), &log);
            } else {
                // A write of a skill that nothing follows has not reached its file.
                teach(home.path(), &prefix(&whole, surely_taught(&events[..count])));
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
            assert_eq!((profile.len(), taught(&after)), (5, 2), "{point}");
            let skill = std::fs::read_to_string(home.path().join("skills/s/SKILL.md")).unwrap();
            assert!(skill.ends_with("---\nOne. One.\n"), "{point}: {skill}");
        }
    }
}
