//! Conversations, undisturbed. `crash_points` cuts each of them after every event.

use std::collections::BTreeSet;
use std::sync::Arc;

use herm_replay::log::MemoryLog;
use herm_replay::reducer::SessionState;
use herm_schema::events::*;

use crate::checks::check;
use crate::world::*;

/// When a resumed run ends up as the undisturbed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    Always,
    /// What an input does depends on when it comes: from the last one on.
    OnceAllIsSaid,
    /// The time that a crash costs counts.
    Never,
}

pub struct Scenario {
    pub name: &'static str,
    /// Makes a fresh world.
    pub world: fn() -> World,
    pub same: Same,
    /// Events without which the scenario would not be what its name says.
    pub shows: &'static [&'static str],
}

pub fn all() -> Vec<Scenario> {
    let scenario = |name, world, same, shows| Scenario { name, world, same, shows };
    vec![
        scenario("plain", plain as fn() -> World, Same::Always, &["DeliveryConfirmed", "TurnEnded"] as &[_]),
        scenario("read-only tools", reads, Same::Always, &["ToolCallFinished"]),
        scenario("a once tool", once, Same::Always, &["ToolCallStarted", "ToolCallFinished"]),
        scenario("a mixed batch", batch, Same::Always, &["ToolCallSkipped", "ToolCallFinished"]),
        scenario(
            "interrupts",
            interrupts,
            Same::OnceAllIsSaid,
            &["InterruptRequested", "ModelCallAborted", "ToolCallSkipped"],
        ),
        scenario("steers", steers, Same::OnceAllIsSaid, &["SteerReceived"]),
        scenario(
            "redirects",
            redirects,
            Same::OnceAllIsSaid,
            &["RedirectReceived", "SteerReceived", "ModelCallAborted"],
        ),
        scenario("compression", compression, Same::Always, &["CompressionStarted", "CompressionFinished"]),
        scenario("pruning", pruning, Same::Always, &["ToolResultsPruned"]),
        scenario(
            "approvals",
            approvals,
            Same::Always,
            &["ApprovalRequested", "ApprovalDecided", "CommandBlocked"],
        ),
        scenario("refusals", refusals, Same::Always, &["ApprovalDecided", "ToolCallSkipped"]),
        scenario("model failures", failures, Same::Always, &["ModelCallFailed"]),
        scenario("iteration limit", iteration_limit, Same::Always, &["TurnEnded"]),
        scenario("time limit", time_limit, Same::Never, &["BudgetWarned"]),
        scenario("chunks with keys", chunks_with_keys, Same::Always, &["DeliveryPlanned"]),
        scenario("chunks without keys", chunks, Same::Always, &["DeliveryPlanned"]),
        scenario("chunks at most once", chunks_at_most_once, Same::Always, &["DeliveryPlanned"]),
        scenario("sending again", sending_again, Same::Always, &["DeliveryFailed"]),
    ]
}

fn plain() -> World {
    let inputs = vec![(0, says("m0", "Hello.")), (60_000, says("m1", "And again."))];
    World::new(policy(), vec![say("Good day."), say("Good day again.")], inputs)
}

fn reads() -> World {
    let script = vec![
        call("I look at two.", &[("look", r#"{"n":1}"#), ("look", r#"{"n":2,"takes_ms":4000}"#)]),
        call("And one more.", &[("look", r#"{"n":3}"#)]),
        say("I have seen it all."),
    ];
    World::new(policy(), script, vec![(0, says("m0", "Look.")), (3_000, says("m1", "Thanks."))])
}

fn once() -> World {
    let script = vec![call("I send it.", &[("send", r#"{"n":1}"#)]), say("It is sent.")];
    World::new(policy(), script, vec![(0, says("m0", "Send it."))])
}

fn batch() -> World {
    let calls = [
        ("look", r#"{"n":1}"#),
        ("save", r#"{"path":"a","takes_ms":3000}"#),
        ("post", r#"{"n":2}"#),
        ("save", r#"{"path":"b"}"#),
        ("save", r#"{"path":"a","n":2}"#),
        ("post", r#"{"n":3}"#),
        ("send", r#"{"n":4}"#),
        ("look", r#"{"n":1}"#),
        ("nothing", "{}"),
        ("look", r#"{"n":"#),
        ("look", r#"{"n":"many"}"#),
        ("look", r#"{"n":5,"goes":"fail"}"#),
    ];
    let script = vec![call("All of it.", &calls), say("Done.")];
    World::new(policy(), script, vec![(0, says("m0", "Do everything."))])
}

fn interrupts() -> World {
    let script = vec![
        call("Two.", &[("send", r#"{"n":1,"takes_ms":60000}"#), ("send", r#"{"n":2}"#)]),
        Reply { takes_ms: 60_000, ..say("A long answer.") },
        say("A short one."),
    ];
    let inputs = vec![
        (0, says("m0", "Send two.")),
        (10_000, Input::Interrupt),
        (20_000, says("m1", "Tell me more.")),
        (55_000, Input::Interrupt),
        (60_000, says("m2", "Shorter.")),
    ];
    World::new(policy(), script, inputs)
}

fn steers() -> World {
    let script = vec![
        call("I look.", &[("look", r#"{"n":1,"takes_ms":10000}"#)]),
        call("I send.", &[("send", r#"{"n":1,"takes_ms":10000}"#)]),
        say("Done."),
        say("You are welcome."),
    ];
    let inputs = vec![
        (0, says("m0", "Look and send.")),
        (5_000, says("m1", "But gently.")),
        (6_000, says("m2", "And quickly.")),
        (26_000, says("m3", "Thanks.")),
    ];
    World::new(Policy { busy: BusyPolicy::Steer, ..policy() }, script, inputs)
}

fn redirects() -> World {
    let script = vec![
        Reply { takes_ms: 20_000, ..say("In Perl it is.") },
        call("In Python.", &[("send", r#"{"n":1,"takes_ms":10000}"#)]),
        say("Done in Python."),
    ];
    let inputs = vec![
        (0, says("m0", "Write a script.")),
        (15_000, says("m1", "No, in Python.")),
        (20_000, says("m2", "With types.")),
    ];
    World::new(Policy { busy: BusyPolicy::Interrupt, ..policy() }, script, inputs)
}

fn small_window(policy: Policy) -> Policy {
    let model = ModelChoice { context_window_tokens: 5_000, output_tokens_max: 1_000, ..policy.model };
    Policy { model, ..policy }
}

fn compression() -> World {
    let look = |n: u32| call("I look.", &[("look", &format!(r#"{{"n":{n},"size":2400}}"#))]);
    let script = (0..6).map(look).chain([say("I have read it."), say("You are welcome.")]).collect();
    let inputs = vec![(0, says("m0", "Read it all.")), (1_000, says("m1", "Thank you."))];
    World::new(small_window(policy()), script, inputs)
}

fn pruning() -> World {
    let look = |n: u32| call("I look.", &[("look", &format!(r#"{{"n":{n},"size":4000}}"#))]);
    let script = (0..6).map(look).chain([say("I have read it.")]).collect();
    let base = policy();
    let compression = CompressionPolicy {
        prune_above_tokens: 3_000,
        prune_reclaim_min_tokens: 500,
        protect_last: 2,
        ..base.compression
    };
    World::new(Policy { compression, ..base }, script, vec![(0, says("m0", "Read it all."))])
}

fn approvals() -> World {
    let ask = |n: u32| format!(r#"{{"n":{n},"judge":"ask"}}"#);
    let script = vec![
        call("May I?", &[("send", &ask(1)), ("post", r#"{"judge":"block"}"#)]),
        call("And again.", &[("send", &ask(2))]),
        say("Done."),
    ];
    let world = World::new(policy(), script, vec![(0, says("m0", "Send it."))]);
    World { decision: Decision::Allowed { scope: GrantScope::Session }, ..world }
}

fn refusals() -> World {
    let script = vec![call("May I?", &[("send", r#"{"judge":"ask"}"#)]), say("Then I will not.")];
    World { decision: Decision::Denied, ..World::new(policy(), script, vec![(0, says("m0", "Send it."))]) }
}

fn failures() -> World {
    let script = vec![call("I look.", &[("look", r#"{"n":1}"#)]), say("Seen."), say("Bye.")];
    let world = World::new(policy(), script, vec![(0, says("m0", "Look.")), (9_000, says("m1", "Bye."))]);
    let troubles = [Trouble::Fail(FailureClass::RateLimit), Trouble::Fail(FailureClass::ServerError)];
    world.ground().troubles.insert(1, troubles.into());
    world
}

fn looking_for_ever(limits: Limits) -> World {
    let look = |n: u32| call("I look.", &[("look", &format!(r#"{{"n":{n}}}"#))]);
    let script = (0..8).map(look).collect();
    World::new(Policy { limits, ..policy() }, script, vec![(0, says("m0", "Look for ever."))])
}

fn iteration_limit() -> World {
    looking_for_ever(Limits { iterations_max: 4, ..policy().limits })
}

fn time_limit() -> World {
    looking_for_ever(Limits { run_budget_us: Some(10_000_000), ..policy().limits })
}

fn chunks() -> World {
    let world =
        World::new(policy(), vec![say("one two three four five six")], vec![(0, says("m0", "Count."))]);
    World { message_chars_max: Some(12), ..world }
}

fn chunks_with_keys() -> World {
    World { keyed: true, ..chunks() }
}

fn chunks_at_most_once() -> World {
    let world = chunks();
    World { policy: Policy { delivery: DeliveryPolicy::AtMostOnce, ..policy() }, ..world }
}

fn sending_again() -> World {
    let world = plain();
    let troubles = [Some(SendTrouble::Unreachable), None, Some(SendTrouble::Unreachable)];
    world.ground().send_troubles = troubles.into();
    world
}

/// A scenario from beginning to end.
pub struct Run {
    pub world: World,
    pub log: Arc<MemoryLog>,
    pub state: SessionState,
}

pub fn undisturbed(scenario: &Scenario) -> Run {
    let (world, log) = ((scenario.world)(), Arc::new(MemoryLog::new()));
    let state = on_a_stopped_clock(world.live(&log, START, 1));
    Run { world, log, state }
}

#[test]
fn scenarios_are_what_their_names_say_and_keep_the_invariants() {
    for scenario in all() {
        let run = undisturbed(&scenario);
        let events = run.log.events();
        let names: BTreeSet<_> = events.iter().map(|recorded| recorded.event.name()).collect();
        let row: Vec<_> = events.iter().map(|recorded| recorded.event.name()).collect();
        for name in scenario.shows {
            assert!(names.contains(name), "{}: no {name} in {row:?}", scenario.name);
        }
        assert!(!names.contains("TurnFaulted"), "{}", scenario.name);
        if let Err(why) = check(&run.world, &run.log, &run.state) {
            panic!("{}: {why}", scenario.name);
        }
    }
}

#[test]
fn the_same_scenario_twice_is_the_same_log_byte_for_byte() {
    for scenario in all() {
        assert_eq!(
            undisturbed(&scenario).log.events(),
            undisturbed(&scenario).log.events(),
            "{}",
            scenario.name
        );
    }
}
