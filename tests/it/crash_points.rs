//! Every scenario, cut after every event and taken up again.
//!
//! The world then is as the events say; where they leave a doubt (a call that was begun, a chunk
//! that was being sent) both truths are tried, and for several doubts at once the mixed ones too.

use std::collections::BTreeMap;
use std::sync::Arc;

use herm_replay::log::{Log, MemoryLog};
use herm_replay::reducer::{SessionState, notices};
use herm_schema::events::*;
use herm_schema::{CallRef, Event, Recorded, SessionId, StreamPos};

use crate::checks::{check, outline};
use crate::scenarios::{Run, Same, Scenario, all, undisturbed};
use crate::world::*;

/// What is true of the world where the log leaves it open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Truth {
    /// Calls at even places have taken effect, chunks at even places were sent.
    even: bool,
    odd: bool,
}

impl Truth {
    const ALL: [Self; 4] = [
        Self { even: false, odd: false },
        Self { even: true, odd: true },
        Self { even: true, odd: false },
        Self { even: false, odd: true },
    ];

    fn of(self, place: u16) -> bool {
        if place.is_multiple_of(2) { self.even } else { self.odd }
    }
}

/// The first `count` events as a log of their own, with the blobs they name.
fn prefix(whole: &MemoryLog, count: usize) -> Arc<MemoryLog> {
    let events = whole.events();
    let log = MemoryLog::from_events(events[..count].to_vec());
    let copy = |blob| assert_eq!(log.put_blob(&whole.blob(blob).unwrap()).unwrap(), blob);
    for recorded in log.events() {
        match recorded.event {
            Event::SystemPromptBuilt(event) => copy(event.prompt),
            Event::ToolsOffered(event) => copy(event.definitions),
            Event::ToolCallFinished(ToolCallFinished { shown: herm_schema::Text::Stored(blob), .. }) => {
                copy(blob)
            }
            _ => {}
        }
    }
    Arc::new(log)
}

struct Doubts {
    calls: BTreeMap<CallRef, EffectClass>,
    chunks: BTreeMap<(StreamPos, u16), (String, bool)>,
}

/// Makes the world what it is after `events`; what they leave open.
fn set_ground(world: &World, events: &[Recorded], truth: Truth) -> Doubts {
    let mut doubts = Doubts { calls: BTreeMap::new(), chunks: BTreeMap::new() };
    let mut texts = BTreeMap::new();
    let mut step = 0;
    let mut ground = world.ground();
    for recorded in events {
        let id = SessionId::of_stream(recorded.envelope.stream).unwrap();
        let key = |delivery: StreamPos, chunk: u16| format!("{id}-{delivery}-{chunk}");
        match &recorded.event {
            Event::ToolCallStarted(event) => drop(doubts.calls.insert(event.call, event.effect)),
            Event::ToolCallFinished(event) => {
                doubts.calls.remove(&event.call);
                ground.effects.insert(event.call, 1);
            }
            Event::ModelCallSucceeded(_) => step += 1,
            Event::ModelCallFailed(_) => {
                ground.troubles.get_mut(&step).and_then(std::collections::VecDeque::pop_front);
            }
            Event::DeliveryPlanned(event) => {
                let chunks = event.chunks.iter().enumerate();
                let delivery = recorded.envelope.stream_pos;
                texts.extend(chunks.map(|(chunk, text)| ((delivery, chunk as u16), text.clone())));
            }
            Event::DeliveryAttempted(event) => {
                let chunk = (event.delivery, event.chunk);
                doubts.chunks.insert(chunk, (texts[&chunk].text().to_owned(), event.possible_repeat));
            }
            Event::DeliveryConfirmed(event) => {
                ground.send_troubles.pop_front();
                let chunk = (event.delivery, event.chunk);
                let (text, marked) = doubts.chunks.remove(&chunk).unwrap();
                ground.seen.push(Seen { key: key(chunk.0, chunk.1), text, marked });
            }
            Event::DeliveryFailed(event) => {
                ground.send_troubles.pop_front();
                doubts.chunks.remove(&(event.delivery, event.chunk));
            }
            Event::InterruptRequested(_) => {
                let next =
                    ground.inbox.iter_mut().find(|post| post.input == Input::Interrupt && !post.acknowledged);
                next.unwrap().acknowledged = true;
            }
            _ => {}
        }
        for ((delivery, chunk), (text, marked)) in &doubts.chunks {
            // Only the newest event can leave a chunk open: one is sent at a time.
            let last = std::ptr::eq(recorded, events.last().unwrap());
            if last && truth.of(*chunk) {
                ground.seen.push(Seen { key: key(*delivery, *chunk), text: text.clone(), marked: *marked });
            }
        }
    }
    for (call, _) in doubts.calls.iter().filter(|(call, _)| truth.of(call.index)) {
        ground.effects.insert(*call, 1);
    }
    doubts
}

/// Whether nothing that people say is still to come: whatever follows then follows from the log.
fn all_said(world: &World, events: &[Recorded]) -> bool {
    let said = events.iter().filter(|recorded| {
        matches!(
            recorded.event,
            Event::MessageReceived(_)
                | Event::SteerReceived(_)
                | Event::RedirectReceived(_)
                | Event::InterruptRequested(_)
        )
    });
    said.count() == world.ground().inbox.len()
}

/// Invariant 6: the same session as if nothing had happened, up to what was in doubt.
fn same_but_for_doubts(resumed: &SessionState, whole: &SessionState) -> Result<(), String> {
    let (resumed, whole) = (outline(resumed), outline(whole));
    let unknown = format!("{:?}", notices::IN_DOUBT);
    let head = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let same = |a: &String, b: &String| {
        a == b || (a.starts_with("result ") && a.contains(unknown.as_str()) && head(a) == head(b))
    };
    let lines = resumed.len().max(whole.len());
    match (0..lines)
        .find(|line| !matches!((resumed.get(*line), whole.get(*line)), (Some(a), Some(b)) if same(a, b)))
    {
        None => Ok(()),
        Some(line) => {
            Err(format!("resumed:     {:?}\nundisturbed: {:?}", resumed.get(line), whole.get(line)))
        }
    }
}

/// What the world must look like after calls that were in doubt.
fn doubts_are_settled(world: &World, doubts: &Doubts, truth: Truth, interrupted: bool) -> Result<(), String> {
    let ground = world.ground();
    for (call, effect) in &doubts.calls {
        let effects = ground.effects.get(call).copied().unwrap_or_default();
        let before = u32::from(truth.of(call.index));
        let right = match effect {
            EffectClass::Once => effects == before,
            EffectClass::Checkable => effects == 1 || (interrupted && effects == before),
            EffectClass::Repeatable => effects > 0 || interrupted,
        };
        if !right {
            return Err(format!("call {call} ({effect:?}) took effect {effects} times, {before} before"));
        }
    }
    Ok(())
}

fn try_point(scenario: &Scenario, whole: &Run, count: usize, truth: Truth) -> Result<bool, String> {
    let log = prefix(&whole.log, count);
    let events = log.events();
    let world = (scenario.world)();
    let doubts = set_ground(&world, &events, truth);
    let comparable = match scenario.same {
        Same::Always => true,
        Same::OnceAllIsSaid => all_said(&world, &events),
        Same::Never => false,
    };
    let known: Vec<String> = events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::MessageReceived(event) => Some(event.message_id.clone()),
            Event::SteerReceived(event) => Some(event.message_id.clone()),
            Event::RedirectReceived(event) => Some(event.message_id.clone()),
            _ => None,
        })
        .collect();
    let base = events.last().map_or(START, |last| last.envelope.recorded_at.plus(1_000_000));
    let state = on_a_stopped_clock(world.live(&log, base, 2));
    check(&world, &log, &state)?;
    let interrupted =
        log.events().iter().any(|recorded| matches!(recorded.event, Event::InterruptRequested(_)));
    doubts_are_settled(&world, &doubts, truth, interrupted)?;
    let twice = world.ground().received_twice.clone();
    if twice != known.iter().cloned().collect() {
        return Err(format!("received before: {known:?}, recognised: {twice:?}"));
    }
    if comparable {
        same_but_for_doubts(&state, &whole.state)?;
    }
    Ok(!doubts.calls.is_empty() || !doubts.chunks.is_empty())
}

#[test]
fn every_scenario_goes_on_from_every_event_as_if_nothing_had_happened() {
    let mut failures = Vec::new();
    let mut points = 0;
    for scenario in all() {
        let whole = undisturbed(&scenario);
        for count in 0..=whole.log.events().len() {
            for truth in Truth::ALL {
                let point = || try_point(&scenario, &whole, count, truth);
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(point));
                points += 1;
                match result.unwrap_or_else(|_| Err("it panicked, see above".to_owned())) {
                    Ok(true) => {}
                    Ok(false) => break, // Nothing is in doubt: one truth is enough.
                    Err(why) => {
                        failures.push(format!("scenario `{}`, N = {count}, {truth:?}: {why}", scenario.name));
                        break;
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {points} points fail:\n{}", failures.len(), failures.join("\n\n"));
}
