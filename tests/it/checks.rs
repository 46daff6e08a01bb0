//! The invariants of section 9 of the architecture page, over a log and the world it met.

use std::collections::{BTreeMap, BTreeSet};

use herm::providers::LoadedMessage;
use herm_replay::log::{Log, MemoryLog};
use herm_replay::reducer::request::{Message, Part, Request};
use herm_replay::reducer::state::Body;
use herm_replay::reducer::{SessionState, evolve, transcript};
use herm_schema::events::*;
use herm_schema::{CallRef, Event, Recorded, SessionId, StreamPos};

use crate::world::{Input, World, session_of};

type Checked = Result<(), String>;

/// Every invariant, at the end of everything. `live` is the state of the actor that was last.
pub fn check(world: &World, log: &MemoryLog, live: &SessionState) -> Checked {
    let id = session_of(log).ok_or("there is no session")?;
    let events = stream(log, id);
    folding_is_deterministic(&events, live)?;
    nothing_is_left(live)?;
    messages_are_answered_once(world, log, &events, live)?;
    nothing_is_said_twice(log, &events)?;
    intents_have_outcomes(&events)?;
    turns_end(&events)?;
    tools_end_and_do_not_repeat(world, &events)?;
    deliveries_meet_their_fate(world, id, &events)?;
    requests_are_what_the_log_says(world, log, &events)?;
    prefixes_hold(&events)
}

pub fn stream(log: &MemoryLog, id: SessionId) -> Vec<Recorded> {
    log.read_stream(id.stream(), StreamPos(0)).map(Result::unwrap).collect()
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// Invariant 7.
fn folding_is_deterministic(events: &[Recorded], live: &SessionState) -> Checked {
    let mut state = SessionState::default();
    events.iter().for_each(|recorded| evolve(&mut state, recorded));
    ensure(state.digest() == live.digest(), || "the fold of the log is not the state of the actor".into())
}

fn nothing_is_left(state: &SessionState) -> Checked {
    ensure(!state.has_open_work(), || format!("work is left: {state:#?}"))
}

fn message_id(event: &Event) -> Option<(&str, &str)> {
    match event {
        Event::MessageReceived(event) => Some((&event.message_id, &event.text)),
        Event::SteerReceived(event) => Some((&event.message_id, &event.text)),
        Event::RedirectReceived(event) => Some((&event.message_id, &event.text)),
        _ => None,
    }
}

/// Invariant 1: what was acknowledged is there once, and has its turn or is part of one.
fn messages_are_answered_once(
    world: &World,
    log: &MemoryLog,
    events: &[Recorded],
    live: &SessionState,
) -> Checked {
    for post in &world.ground().inbox {
        let Input::Say { id, .. } = &post.input else { continue };
        ensure(post.acknowledged, || format!("message `{id}` was never acknowledged"))?;
        let times = events.iter().filter(|r| message_id(&r.event).is_some_and(|(had, _)| had == id)).count();
        ensure(times == 1, || format!("message `{id}` is {times} times in the log"))?;
    }
    let sent: Vec<_> =
        requests(events).into_iter().flat_map(|(_, _, request)| loaded(log, request)).collect();
    for recorded in events {
        let at = recorded.envelope.stream_pos;
        let Some((id, text)) = message_id(&recorded.event) else { continue };
        let turns = events.iter().filter(|other| match &other.event {
            Event::TurnStarted(started) => started.inbound.contains(&at),
            _ => false,
        });
        let turns = turns.count();
        let waited = matches!(recorded.event, Event::MessageReceived(_));
        ensure(turns == 1 || (turns == 0 && !waited), || format!("message `{id}` has {turns} turns"))?;
        let in_view = || format!("{:?}", live.view).contains(text);
        let seen = sent.iter().any(|message| plain(message).contains(text));
        ensure(turns == 1 || seen || in_view(), || format!("message `{id}` was never seen by the model"))?;
    }
    Ok(())
}

fn plain(message: &LoadedMessage) -> &str {
    match message {
        LoadedMessage::User { text, .. }
        | LoadedMessage::Assistant { text, .. }
        | LoadedMessage::Tool { text, .. } => text,
    }
}

/// What a person said once is in no request twice: beside a result, or as a message.
fn nothing_is_said_twice(log: &MemoryLog, events: &[Recorded]) -> Checked {
    let said: Vec<_> = events.iter().filter_map(|recorded| message_id(&recorded.event)).collect();
    for (_, started, request) in requests(events) {
        let heard: String = loaded(log, request)
            .iter()
            .filter(|message| !matches!(message, LoadedMessage::Assistant { .. }))
            .map(|message| format!("{}\n", plain(message)))
            .collect();
        for (id, text) in &said {
            let times = heard.matches(text).count();
            ensure(times <= 1, || format!("call {} holds message `{id}` {times} times", started.call))?;
        }
    }
    Ok(())
}

/// Every model call, compression and approval that was begun has one outcome.
fn intents_have_outcomes(events: &[Recorded]) -> Checked {
    let mut open: Vec<&str> = Vec::new();
    for recorded in events {
        let name = recorded.event.name();
        let ends = match &recorded.event {
            Event::ModelCallStarted(_) | Event::CompressionStarted(_) => {
                ensure(open.is_empty(), || format!("{name} while {open:?} is open"))?;
                open.push(name);
                None
            }
            Event::ModelCallSucceeded(_) | Event::ModelCallFailed(_) | Event::ModelCallAborted(_) => {
                Some("ModelCallStarted")
            }
            Event::CompressionFinished(_) | Event::CompressionFailed(_) => Some("CompressionStarted"),
            _ => None,
        };
        if let Some(begun) = ends {
            ensure(open.pop() == Some(begun), || format!("{name} without an intent"))?;
        }
    }
    ensure(open.is_empty(), || format!("{open:?} has no outcome"))
}

/// Every turn ends once, and says one last word unless the person cut it off.
fn turns_end(events: &[Recorded]) -> Checked {
    let mut turns: BTreeMap<_, (u32, u32, Option<ExitReason>)> = BTreeMap::new();
    for recorded in events {
        let Some(turn) = recorded.envelope.turn else { continue };
        let entry = turns.entry(turn).or_default();
        match &recorded.event {
            Event::TurnStarted(_) => entry.0 += 1,
            Event::DeliveryPlanned(_) => entry.1 += 1,
            Event::TurnEnded(_) if entry.2.is_some() => return Err(format!("turn {turn} ends twice")),
            Event::TurnEnded(ended) => entry.2 = Some(ended.reason),
            _ => {}
        }
    }
    for (turn, (begun, words, reason)) in turns {
        let reason = reason.ok_or(format!("turn {turn} never ends"))?;
        let silent = matches!(reason, ExitReason::InterruptedByUser | ExitReason::InterruptedDuringModelCall);
        ensure(begun == 1, || format!("turn {turn} begins {begun} times"))?;
        ensure(words == 1 || (words == 0 && silent), || {
            format!("turn {turn} ({reason:?}) has {words} last words")
        })?;
    }
    Ok(())
}

/// Invariant 2, and that every call that was asked for has exactly one outcome.
fn tools_end_and_do_not_repeat(world: &World, events: &[Recorded]) -> Checked {
    let mut calls: BTreeMap<CallRef, (Option<EffectClass>, u32, u32)> = BTreeMap::new();
    for recorded in events {
        match &recorded.event {
            Event::ToolCallStarted(event) => {
                let entry = calls.entry(event.call).or_default();
                (entry.0, entry.1) = (Some(event.effect), entry.1 + 1);
            }
            Event::ToolCallFinished(event) => calls.entry(event.call).or_default().2 += 1,
            // It may be allowed yet, and has not ended.
            Event::ToolCallSkipped(event) if event.reason == SkipReason::Parked => {}
            Event::ToolCallSkipped(event) => calls.entry(event.call).or_default().2 += 1,
            Event::ToolCallInDoubt(event) => calls.entry(event.call).or_default().2 += 1,
            Event::ModelCallSucceeded(event) if event.finish != Finish::Stop => {
                let message = recorded.envelope.stream_pos;
                for index in 0..event.message.calls.len() {
                    calls.entry(CallRef { message, index: index as u16 }).or_default();
                }
            }
            _ => {}
        }
    }
    let ground = world.ground();
    for (call, (effect, begun, ended)) in calls {
        // Asked for in a closing summary, which runs none, or parked.
        let unbegun = begun == 0 && ended == 0;
        ensure(unbegun || (begun <= 1 && ended == 1), || {
            format!("call {call} begins {begun} times and ends {ended} times")
        })?;
        let effects = ground.effects.get(&call).copied().unwrap_or_default();
        let repeats = effects > 1 && effect != Some(EffectClass::Repeatable);
        ensure(!repeats, || format!("call {call} ({effect:?}) took effect {effects} times"))?;
    }
    Ok(())
}

/// Invariant 3.
fn deliveries_meet_their_fate(world: &World, id: SessionId, events: &[Recorded]) -> Checked {
    let mut fate: BTreeMap<(StreamPos, u16), u32> = BTreeMap::new();
    let mut failed: BTreeSet<StreamPos> = BTreeSet::new();
    let mut confirmed: BTreeSet<(StreamPos, u16)> = BTreeSet::new();
    for recorded in events {
        match &recorded.event {
            Event::DeliveryPlanned(planned) => {
                for chunk in 0..planned.chunks.len() {
                    fate.insert((recorded.envelope.stream_pos, chunk as u16), 0);
                }
            }
            Event::DeliveryConfirmed(event) => {
                *fate.entry((event.delivery, event.chunk)).or_default() += 1;
                confirmed.insert((event.delivery, event.chunk));
            }
            Event::DeliveryFailed(event) if event.retry_at.is_none() => {
                failed.insert(event.delivery);
            }
            _ => {}
        }
    }
    let ground = world.ground();
    let mut order: Vec<(StreamPos, u16, usize)> = Vec::new();
    for ((delivery, chunk), confirmations) in fate {
        let name = format!("chunk {chunk} of delivery {delivery}");
        ensure(confirmations == 1 || (confirmations == 0 && failed.contains(&delivery)), || {
            format!("{name} is confirmed {confirmations} times")
        })?;
        let key = format!("{id}-{delivery}-{chunk}");
        let seen: Vec<_> = ground.seen.iter().filter(|seen| seen.key == key).collect();
        let was_confirmed = confirmed.contains(&(delivery, chunk));
        ensure(!was_confirmed || !seen.is_empty(), || format!("{name} is confirmed but was never seen"))?;
        let once = world.keyed || world.policy.delivery == DeliveryPolicy::AtMostOnce;
        ensure(!once || seen.len() <= 1, || format!("{name} was seen {} times", seen.len()))?;
        order.extend(ground.seen.iter().position(|seen| seen.key == key).map(|at| (delivery, chunk, at)));
        ensure(seen.iter().skip(1).all(|seen| seen.marked), || format!("{name} is repeated unmarked"))?;
    }
    ensure(order.is_sorted_by_key(|(_, _, at)| *at), || format!("seen out of order: {:?}", ground.seen))
}

/// What was sent at each model call: the state before its event, as the reducer saw it.
pub fn requests(events: &[Recorded]) -> Vec<(usize, ModelCallStarted, Request)> {
    let mut state = SessionState::default();
    let mut requests = Vec::new();
    for (index, recorded) in events.iter().enumerate() {
        if let Event::ModelCallStarted(started) = &recorded.event {
            requests.push((
                index,
                started.clone(),
                transcript::request(&state, started.purpose, started.route),
            ));
        }
        evolve(&mut state, recorded);
    }
    requests
}

/// A request with its texts, as a provider is given it.
pub fn loaded(log: &MemoryLog, request: Request) -> Vec<LoadedMessage> {
    let join = |parts: Vec<Part>| -> String {
        let text = |part| match part {
            Part::Inline(text) => text,
            Part::Stored(blob) => String::from_utf8(log.blob(blob).unwrap()).unwrap(),
            Part::Image { .. } => panic!("no scenario has images"),
        };
        parts.into_iter().map(text).collect()
    };
    let load = |message| match message {
        Message::User { parts } => LoadedMessage::user(join(parts)),
        Message::Assistant { text, calls, extras } => LoadedMessage::Assistant { text, calls, extras },
        Message::Tool { id, name, parts } => LoadedMessage::tool(id, name, join(parts)),
    };
    request.messages.into_iter().map(load).collect()
}

/// Invariant 4: what the model got is what the log says, and well formed.
fn requests_are_what_the_log_says(world: &World, log: &MemoryLog, events: &[Recorded]) -> Checked {
    let mut rebuilt = Vec::new();
    for (_, started, request) in requests(events) {
        let call = started.call;
        ensure(started.request_digest == request.digest(), || format!("call {call} is not its digest"))?;
        rebuilt.push(loaded(log, request));
    }
    let ground = world.ground();
    if let Some(complaint) = ground.complaints.first() {
        return Err(format!("the model complains: {complaint}"));
    }
    for request in &ground.requests {
        ensure(rebuilt.contains(request), || format!("a request is not in the log: {request:#?}"))?;
    }
    Ok(())
}

fn breaks_prefix(event: &Event) -> bool {
    matches!(
        event,
        Event::CompressionFinished(_)
            | Event::ToolResultsPruned(_)
            | Event::SystemPromptBuilt(_)
            | Event::ToolsOffered(_)
            | Event::SessionConfigured(_)
            | Event::ModelCallFailed(ModelCallFailed {
                action: FailureAction::Strip { .. } | FailureAction::FallBack { .. },
                ..
            })
    )
}

/// Invariant 5.
fn prefixes_hold(events: &[Recorded]) -> Checked {
    let mut last: Option<(usize, Request)> = None;
    for (index, started, request) in requests(events) {
        if started.purpose != ModelPurpose::Turn {
            continue;
        }
        if let Some((from, before)) = &last {
            let said = events[*from..index].iter().any(|recorded| breaks_prefix(&recorded.event));
            let kept = request.messages.starts_with(&before.messages)
                && (&request.system, &request.tools) == (&before.system, &before.tools);
            ensure(said || kept, || format!("call {} does not begin with the one before", started.call))?;
        }
        last = Some((index, request));
    }
    Ok(())
}

/// What is left of a session that a person or a model could tell: without positions and times.
pub fn outline(state: &SessionState) -> Vec<String> {
    let mut lines: Vec<String> = state
        .view
        .iter()
        .map(|entry| match &entry.body {
            Body::Result { call, shown, notes, .. } => format!("result {}: {shown:?} {notes:?}", call.index),
            body => format!("{body:?}"),
        })
        .collect();
    lines.push(format!("turns {}, model calls {}", state.turns, state.model_calls));
    lines.push(format!("exit {:?}, ended {:?}", state.last_exit, state.ended));
    lines.push(format!("grants {:?}, compressions {}", state.grants, state.context.compressions));
    lines.push(format!("prompt {:?}, due {:?}, offer {:?}", state.prompt, state.prompt_due, state.offer));
    lines.push(format!("policy {:?}", state.policy));
    lines
}
