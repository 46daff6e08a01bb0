//! Every projection can be deleted, damaged, cut off in the middle, and says the same again.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod views_support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herm_replay::log::{Log, MemoryLog};
use herm_replay::projections::outbox::Standing;
use herm_replay::projections::runner::{Followed, Runner};
use herm_replay::projections::sessions::Activity;
use herm_replay::projections::{Checkpoint, Error, Projection, Views};
use herm_replay::reducer::{SessionState, evolve};
use herm_schema::events::AuxiliaryOutcome;
use herm_schema::{Event, Micros, Position, Recorded, SessionId, StreamPos};
use views_support::{START, Scripted, generate, generated, plain};

/// Everything that the small projections say, as text.
fn said(views: &Views) -> String {
    let mut ids: Vec<SessionId> = views.sessions().unwrap().iter().map(|row| row.id).collect();
    ids.sort();
    let states: Vec<_> = ids.iter().map(|id| views.load_state(*id).unwrap().digest()).collect();
    let snapshots: Vec<_> = ids.iter().map(|id| views.snapshot(*id).unwrap()).collect();
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{states:?}\n{snapshots:?}",
        views.sessions().unwrap(),
        views.open_work().unwrap(),
        views.outbox().unwrap(),
        views.usage_since(Micros(0)).unwrap(),
        views.tools_since(Micros(0)).unwrap(),
    )
}

fn fold(log: &dyn Log, id: SessionId) -> SessionState {
    let mut state = SessionState::default();
    log.read_stream(id.stream(), StreamPos(1)).for_each(|recorded| evolve(&mut state, &recorded.unwrap()));
    state
}

fn found(views: &Views, query: &str) -> serde_json::Value {
    // By age: how well a message fits is only weighed by the index, not when the log is scanned.
    let arguments = serde_json::json!({ "query": query, "sort": "newest" }).to_string();
    serde_json::from_str(&views.session_search(&arguments, None)).unwrap()
}

#[test]
fn what_is_built_in_steps_equals_what_is_built_at_once() {
    for seed in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        let whole = generated(seed, 5, 30);
        let expected = said(&Views::read_only(whole.clone(), None));
        // The same log, seen as it grows: views are closed and opened again in between.
        let events = whole.events();
        for part in 1..=4 {
            let mut cut = events.len() * part / 4;
            while events[cut - 1].envelope.batch_left != 0 {
                cut += 1;
            }
            let log: Arc<dyn Log> = Arc::new(MemoryLog::from_events(events[..cut].to_vec()));
            let views = Views::open(log.clone(), folder.path());
            let grown = said(&views);
            assert_eq!(grown, said(&Views::read_only(log, None)), "seed {seed}, part {part}");
            if part == 4 {
                assert_eq!(grown, expected, "seed {seed}");
            }
        }
    }
}

#[test]
fn each_can_be_deleted_and_comes_back_equal() {
    let folder = tempfile::tempdir().unwrap();
    let log = generated(7, 6, 40);
    let views = Views::open(log.clone(), folder.path());
    let before = said(&views);
    let search_before = found(&views, "记忆断裂 notes");
    for name in views.all().map(|projection| projection.name()) {
        views.rebuild(Some(name)).unwrap();
        assert_eq!(said(&views), before, "{name} rebuilt");
        assert_eq!(found(&views, "记忆断裂 notes"), search_before, "{name} rebuilt");
    }
    views.rebuild(None).unwrap();
    assert_eq!(said(&views), before);
    let unknown = views.rebuild(Some("nonsense")).unwrap_err();
    assert!(matches!(unknown, Error::Unknown { .. }), "{unknown}");
    drop(views);
    for gone in ["projections", "search"] {
        fs::remove_dir_all(folder.path().join(gone)).unwrap();
        let views = Views::open(log.clone(), folder.path());
        assert_eq!(said(&views), before, "{gone} deleted");
        assert_eq!(found(&views, "记忆断裂 notes"), search_before, "{gone} deleted");
    }
}

fn damage(folder: &Path) -> usize {
    let mut damaged = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damaged += damage(&path);
        } else if path.metadata().unwrap().len() > 8 {
            let mut bytes = fs::read(&path).unwrap();
            bytes.iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55);
            fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    damaged
}

#[test]
fn a_damaged_store_is_moved_aside_and_built_again() {
    let folder = tempfile::tempdir().unwrap();
    let log = generated(11, 6, 40);
    let expected = said(&Views::read_only(log.clone(), None));
    let views = Views::open(log.clone(), folder.path());
    assert_eq!(said(&views), expected);
    views.rebuild(Some("search")).unwrap();
    let search = found(&views, "snake_case");
    drop(views);
    assert!(damage(folder.path()) > 3);
    let views = Views::open(log, folder.path());
    assert_eq!(said(&views), expected);
    assert_eq!(found(&views, "snake_case"), search);
    assert!(folder.path().join("projections.damaged").exists());
    assert!(views.status().iter().all(|status| status.error.is_none()), "{:?}", views.status());
}

#[test]
fn views_of_another_log_are_built_anew() {
    let folder = tempfile::tempdir().unwrap();
    let first = Views::open(generated(1, 4, 20), folder.path());
    said(&first);
    first.rebuild(Some("search")).unwrap();
    drop(first);
    let other = generated(2, 4, 20);
    let views = Views::open(other.clone(), folder.path());
    assert_eq!(said(&views), said(&Views::read_only(other.clone(), None)));
    let plain = Views::read_only(other, None);
    assert_eq!(found(&views, "deploy"), found(&plain, "deploy"));
}

#[test]
fn nothing_is_opened_or_written_before_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let log = Arc::new(MemoryLog::new());
    let views = Views::open(log.clone(), &index);
    assert!(!index.exists());
    assert!(views.sessions().unwrap().is_empty());
    assert!(!index.exists(), "an empty log needs no store");
    plain(&*log, 1, "hello", "hi");
    assert!(!index.exists());
    assert_eq!(views.sessions().unwrap().len(), 1);
    assert!(!index.join("search").exists());
}

#[test]
fn a_second_process_reads_without_the_owners_stores() {
    let folder = tempfile::tempdir().unwrap();
    let log = generated(3, 4, 20);
    let owner = Views::open(log.clone(), folder.path());
    let expected = said(&owner);
    owner.rebuild(Some("search")).unwrap();
    // Another handle on the same folder: sled's lock is held by the first.
    let other = Views::open(log.clone(), folder.path());
    assert_eq!(said(&other), expected);
    let reader = Views::read_only(log, Some(folder.path()));
    assert_eq!(found(&reader, "log"), found(&owner, "log"));
    assert_eq!(said(&owner), expected);
}

#[test]
fn snapshots_that_lie_are_not_believed() {
    let log = generated(5, 3, 60);
    let views = Views::read_only(log.clone(), None);
    for row in views.sessions().unwrap() {
        let snapshot = views.snapshot(row.id).unwrap();
        let state = views.load_state(row.id).unwrap();
        assert_eq!(state, fold(&*log, row.id));
        if row.last >= StreamPos(64) {
            let taken = snapshot.as_ref().unwrap().stream_pos;
            assert!(row.last.0 - taken.0 < 64, "{taken} of {}", row.last);
        }
        for (what, lie) in [("digest", 0_u8), ("chain", 1), ("version", 2)] {
            let Some(mut snapshot) = snapshot.clone() else { continue };
            match lie {
                0 => snapshot.digest.0[3] ^= 1,
                1 => snapshot.chain.0[3] ^= 1,
                _ => snapshot.version += 1,
            }
            let last = StreamPos(u64::MAX);
            let loaded =
                herm_replay::projections::sessions::state_at(&*log, row.id.stream(), Some(snapshot), last)
                    .unwrap();
            assert_eq!(loaded, state, "{what}");
        }
    }
}

#[test]
fn what_was_appended_is_seen_by_the_next_reading() {
    let log = Arc::new(MemoryLog::new());
    let views = Views::read_only(log.clone(), None);
    let mut scripted = Scripted::open(&*log, 0, START);
    scripted.trouble = false;
    assert_eq!(views.session(scripted.id).unwrap().unwrap().activity, Activity::Idle);
    scripted.receive("  first\nmessage ");
    let row = views.session(scripted.id).unwrap().unwrap();
    assert_eq!((row.title.as_str(), row.messages), ("first message", 1));
    assert_eq!(views.open_work().unwrap()[0].1.queued.len(), 1);
    scripted.run(1);
    assert_eq!(views.session(scripted.id).unwrap().unwrap().activity, Activity::Running);
    while !scripted.run(1) {
        assert!(!views.open_work().unwrap().is_empty());
    }
    let row = views.session(scripted.id).unwrap().unwrap();
    assert_eq!((row.activity, row.exit.is_some()), (Activity::Idle, true));
    assert!(views.open_work().unwrap().is_empty());
    let outbox = views.outbox_to(&scripted.state.opened.as_ref().unwrap().chat).unwrap();
    assert_eq!(outbox.len(), 1);
    assert!(!outbox[0].is_open());
    assert!(outbox[0].chunks.iter().all(|chunk| matches!(chunk.standing, Standing::Confirmed { .. })));
}

#[test]
fn open_work_is_what_the_states_say() {
    for seed in 20..26 {
        let log = generated(seed, 5, 30);
        let views = Views::read_only(log.clone(), None);
        let open = views.open_work().unwrap();
        for row in views.sessions().unwrap() {
            let state = fold(&*log, row.id);
            let work =
                open.iter().find(|(id, _)| *id == row.id).map(|(_, work)| work.clone()).unwrap_or_default();
            assert_eq!(
                work.turn.as_ref().map(|turn| turn.id),
                state.turn.as_ref().map(|turn| turn.id),
                "seed {seed}"
            );
            let delivered: Vec<_> = state.deliveries.keys().copied().collect();
            assert_eq!(
                work.deliveries.iter().map(|open| open.delivery).collect::<Vec<_>>(),
                delivered,
                "seed {seed}"
            );
            let ours = views.outbox().unwrap();
            let open_in_outbox: Vec<_> = ours
                .iter()
                .filter(|d| d.stream == row.id.stream() && d.is_open())
                .map(|d| d.delivery)
                .collect();
            assert_eq!(open_in_outbox.len(), delivered.len(), "seed {seed}");
        }
    }
}

#[test]
fn usage_adds_up_to_what_was_reported() {
    let log = generated(9, 5, 40);
    let views = Views::read_only(log.clone(), None);
    let (mut input, mut output, mut calls, mut tools) = (0, 0, 0, 0);
    for recorded in log.events() {
        match recorded.event {
            Event::ModelCallSucceeded(answer) => {
                calls += 1;
                input += answer.usage.map_or(0, |usage| usage.input);
                output += answer.usage.map_or(0, |usage| usage.output);
            }
            Event::ModelCallFailed(_) | Event::ModelCallAborted(_) => calls += 1,
            Event::AuxiliaryCallFinished(finished) => {
                calls += 1;
                if let AuxiliaryOutcome::Answered { usage, .. } = finished.outcome {
                    input += usage.map_or(0, |usage| usage.input);
                    output += usage.map_or(0, |usage| usage.output);
                }
            }
            Event::ToolCallFinished(_) => tools += 1,
            _ => {}
        }
    }
    let usage = views.usage_since(Micros(0)).unwrap();
    assert!(usage.len() > 2, "several days, models and platforms");
    assert_eq!(usage.iter().map(|(_, usage)| usage.input_tokens).sum::<u64>(), input);
    assert_eq!(usage.iter().map(|(_, usage)| usage.output_tokens).sum::<u64>(), output);
    assert_eq!(usage.iter().map(|(_, usage)| usage.model_calls).sum::<u64>(), calls);
    let counted: u64 = views.tools_since(Micros(0)).unwrap().iter().map(|(_, _, tool)| tool.calls).sum();
    assert_eq!(counted, tools);
    let last_day = usage.iter().map(|(key, _)| key.day).max().unwrap();
    let since = Micros(last_day * 86_400_000_000 + 5);
    assert!(views.usage_since(since).unwrap().iter().all(|(key, _)| key.day == last_day));
}

/// A projection that counts events, and fails when told to.
struct Counting {
    at: Option<Checkpoint>,
    building: bool,
    events: Arc<Mutex<u64>>,
    broken: Arc<AtomicBool>,
    panics: bool,
}

impl Projection for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn schema(&self) -> u32 {
        1
    }

    fn checkpoint(&mut self) -> Result<Option<Checkpoint>, Error> {
        Ok(self.at)
    }

    fn apply(&mut self, batch: &[Recorded], _: &dyn Log) -> Result<(), Error> {
        assert!(!(self.broken.load(SeqCst) && self.panics), "told to panic");
        if self.broken.load(SeqCst) {
            return Err(Error::NoSession { session: "told to fail".to_owned() });
        }
        *self.events.lock().unwrap() += batch.len() as u64;
        self.at = batch.last().map(Checkpoint::at).filter(|_| !self.building).or(self.at);
        if self.building {
            self.at = batch.last().map(Checkpoint::at);
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        (self.building, self.at) = (true, None);
        *self.events.lock().unwrap() = 0;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.building = false;
        Ok(())
    }

    fn discard(&mut self) -> Result<(), Error> {
        self.at = None;
        Ok(())
    }
}

#[test]
fn one_that_fails_stands_still_and_says_so_until_it_is_rebuilt() {
    for panics in [false, true] {
        let log = Arc::new(MemoryLog::new());
        plain(&*log, 1, "hello", "hi");
        let (events, broken) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
        let counting =
            Counting { at: None, building: false, events: events.clone(), broken: broken.clone(), panics };
        let runner = Runner::new(log.clone() as Arc<dyn Log>, counting);
        runner.catch_up().unwrap();
        let stood_at = log.tail().last;
        assert_eq!((runner.status().lag, *events.lock().unwrap()), (0, stood_at.0));
        broken.store(true, SeqCst);
        plain(&*log, 2, "more", "text");
        runner.catch_up().unwrap_err();
        broken.store(false, SeqCst);
        let parked = runner.catch_up().unwrap_err();
        assert!(matches!(parked, Error::Parked { position, .. } if position == stood_at.0), "{parked}");
        let status = runner.status();
        assert_eq!((status.checkpoint, status.lag), (stood_at, log.tail().last.0 - stood_at.0));
        assert!(status.error.unwrap().contains(if panics { "told to panic" } else { "told to fail" }));
        runner.rebuild().unwrap();
        assert_eq!((runner.status().lag, runner.status().error), (0, None));
        assert_eq!(*events.lock().unwrap(), log.tail().last.0);
    }
}

#[test]
fn a_follower_keeps_up_with_a_growing_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(MemoryLog::new());
    let views = Arc::new(Views::open(log.clone(), folder.path()));
    let follower = views.follow().unwrap();
    generate(&*log, 4, 4, 30);
    let tail = log.tail().last;
    let behind = |views: &Views| views.status().iter().any(|status| status.lag > 0 || status.error.is_some());
    for _ in 0..200 {
        if !behind(&views) {
            break;
        }
        // Nothing is appended any more, so this only waits for the follower's next round.
        log.wait(tail, Duration::from_millis(50));
    }
    assert!(!behind(&views), "{:?}", views.status());
    drop(follower);
    assert!(tail > Position(100));
    assert_eq!(said(&views), said(&Views::read_only(log, None)));
}
