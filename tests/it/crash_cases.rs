//! Cases of area `13-crash-resume` that concern the runtime, by their ids.

use std::sync::Arc;
use std::time::Duration;

use herm::providers::LoadedMessage;
use herm_replay::log::MemoryLog;
use herm_replay::reducer::SessionState;
use herm_schema::Event;
use herm_schema::events::*;

use crate::checks::check;
use crate::world::*;

/// A first life that is killed after `killed_ms`, and a second one to the end.
fn killed(world: &World, killed_ms: u64) -> (Arc<MemoryLog>, SessionState) {
    let log = Arc::new(MemoryLog::new());
    let until = Duration::from_millis(killed_ms);
    let first = on_a_stopped_clock(async { tokio::time::timeout(until, world.live(&log, START, 1)).await });
    assert!(first.is_err(), "it ended before it was killed");
    let back = START.plus((killed_ms + 2_000) * 1_000);
    let state = on_a_stopped_clock(world.live(&log, back, 2));
    check(world, &log, &state).unwrap();
    (log, state)
}

fn events<T>(log: &MemoryLog, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
    log.events().iter().filter_map(|recorded| pick(&recorded.event)).collect()
}

fn results(world: &World) -> Vec<String> {
    let ground = world.ground();
    let last = ground.requests.last().unwrap();
    let shown = last.iter().filter_map(|message| match message {
        LoadedMessage::Tool { text, .. } => Some(text.clone()),
        _ => None,
    });
    shown.collect()
}

#[test]
fn crash_tool_o_a_side_effect_is_not_repeated_blindly() {
    let script =
        vec![call("Both.", &[("look", r#"{"n":1}"#), ("send", r#"{"n":2,"takes_ms":10000}"#)]), say("Done.")];
    let world = World::new(policy(), script, vec![(0, says("m0", "Look and send."))]);
    let (log, _) = killed(&world, 9_000);
    let results = results(&world);
    assert!(results[0].contains(r#""done":"look""#), "{results:?}");
    assert!(results[1].contains("outcome is unknown") && results[1].contains("Check before"), "{results:?}");
    let sent = world.ground().effects.values().copied().collect::<Vec<_>>();
    assert_eq!(sent, [1, 1], "each took effect once, before the kill");
    let begun = events(&log, |event| match event {
        Event::ToolCallStarted(event) => Some(event.name.clone()),
        _ => None,
    });
    assert_eq!(begun, ["look", "send"]);
}

#[test]
fn crash_loop_o_a_session_that_restarts_herm_is_resumed_three_times_at_most() {
    let restart = || call("I restart the agent.", &[("send", r#"{"n":1,"takes_ms":10000}"#)]);
    let script = (0..20).map(|_| restart()).collect();
    let world = World::new(policy(), script, vec![(0, says("m0", "Restart yourself."))]);
    let log = Arc::new(MemoryLog::new());
    let mut now = START;
    for life in 0..8 {
        // Each life ends while the command runs.
        let until = Duration::from_millis(6_000);
        let lived =
            on_a_stopped_clock(async { tokio::time::timeout(until, world.live(&log, now, life)).await.ok() });
        now = now.plus(20_000_000);
        let Some(state) = lived else { continue };
        check(&world, &log, &state).unwrap();
        let resumed = events(&log, |event| match event {
            Event::TurnResumed(event) => Some(event.attempt),
            _ => None,
        });
        assert_eq!(resumed, [1, 2, 3, 4], "the fourth only closes it");
        assert_eq!(state.last_exit, Some(ExitReason::ResumesExhausted));
        assert!(world.ground().effects.values().all(|times| *times == 1), "no command ran twice");
        assert!(
            results(&world)
                .iter()
                .all(|shown| shown.contains("herm was restarted") && shown.contains("is back"))
        );
        return;
    }
    panic!("it restarts for ever");
}

/// What has not begun when the last restart is used up does not begin any more.
#[test]
fn crash_loop_o_the_rest_of_a_batch_is_left_out_in_the_end() {
    let arguments: Vec<String> = (0..8).map(|n| format!(r#"{{"n":{n},"takes_ms":10000}}"#)).collect();
    let calls: Vec<_> = arguments.iter().map(|arguments| ("send", arguments.as_str())).collect();
    let world = World::new(policy(), vec![call("All.", &calls)], vec![(0, says("m0", "Restart yourself."))]);
    let log = Arc::new(MemoryLog::new());
    let mut now = START;
    for life in 0..5 {
        let until = Duration::from_millis(9_000);
        let lived =
            on_a_stopped_clock(async { tokio::time::timeout(until, world.live(&log, now, life)).await.ok() });
        now = now.plus(20_000_000);
        assert_eq!(lived.is_some(), life == 4);
        if let Some(state) = lived {
            check(&world, &log, &state).unwrap();
            assert_eq!(state.last_exit, Some(ExitReason::ResumesExhausted));
        }
    }
    assert_eq!(world.ground().effects.len(), 4, "one in each life that ran");
}

/// What the tool's own spool knows is no doubt.
#[test]
fn crash_tool_o_an_outcome_that_a_spool_kept_is_recovered() {
    let script = vec![call("Post.", &[("post", r#"{"n":1,"takes_ms":10000}"#)]), say("Done.")];
    let world = World::new(policy(), script, vec![(0, says("m0", "Post it."))]);
    let (log, _) = killed(&world, 9_000);
    let recovered = events(&log, |event| match event {
        Event::ToolCallFinished(event) => Some((event.status, event.recovered)),
        _ => None,
    });
    assert_eq!(recovered, [(ToolStatus::Succeeded, true)]);
    assert!(results(&world)[0].contains(r#""done":"post""#));
}

#[test]
fn crash_deliver_o_an_answer_that_was_stored_is_sent_once() {
    let world = World::new(policy(), vec![say("Hello.")], vec![(0, says("m0", "Hi."))]);
    // Planned at 2,000 ms; the platform has it at 3,000 and says so at 4,000.
    let (_, _) = killed(&world, 2_100);
    let ground = world.ground();
    assert_eq!(ground.seen.len(), 1, "{:?}", ground.seen);
}

#[test]
fn crash_deliver_o_a_chunk_without_a_receipt_is_repeated_once_and_marked() {
    let world = World::new(policy(), vec![say("Hello.")], vec![(0, says("m0", "Hi."))]);
    let (_, _) = killed(&world, 3_500);
    let marks: Vec<_> = world.ground().seen.iter().map(|seen| seen.marked).collect();
    assert_eq!(marks, [false, true]);
}

#[test]
fn crash_deliver_o_a_key_shows_it_once() {
    let world = World::new(policy(), vec![say("Hello.")], vec![(0, says("m0", "Hi."))]);
    let world = World { keyed: true, ..world };
    let (_, _) = killed(&world, 3_500);
    assert_eq!(world.ground().seen.len(), 1);
}

/// The doubt about an earlier attempt is not forgotten when a later one fails plainly.
#[test]
fn crash_deliver_o_a_possible_repeat_stays_one_after_a_failed_attempt() {
    let world = World::new(policy(), vec![say("Hello.")], vec![(0, says("m0", "Hi."))]);
    world.ground().send_troubles = [None, Some(SendTrouble::Unreachable), None].into();
    let (_, _) = killed(&world, 3_500);
    let marks: Vec<_> = world.ground().seen.iter().map(|seen| seen.marked).collect();
    assert_eq!(marks, [false, true]);
}

#[test]
fn crash_stream_o_half_an_answer_is_not_the_answer() {
    let script = vec![Reply { takes_ms: 20_000, ..say("A long answer.") }, say("I go on.")];
    let inputs = vec![(0, says("m0", "Tell me.")), (60_000, says("m1", "Go on."))];
    let world = World::new(policy(), script, inputs);
    // Half of it is shown at 10,000 ms.
    let (log, state) = killed(&world, 15_000);
    let aborted = events(&log, |event| match event {
        Event::ModelCallAborted(event) => Some((event.reason, event.visible_text.clone())),
        _ => None,
    });
    assert_eq!(aborted, [(AbortReason::Crashed, String::new())], "the attempt stays in the log as cut off");
    let answers = events(&log, |event| match event {
        Event::ModelCallSucceeded(event) => Some(event.message.text.clone()),
        _ => None,
    });
    assert_eq!(answers, ["[s0] A long answer.", "[s1] I go on."]);
    assert_eq!((state.turns, state.view.len()), (2, 4), "no message dangles");
    let ground = world.ground();
    assert_eq!(ground.requests[0], ground.requests[1], "the same request again, byte for byte");
}
