//! Whole lives drawn from a seed: scripts, delays, failures, panics, duplicates, interrupts, crashes.
//!
//! The clock is virtual, everything else is the real runtime. A seed that fails is printed; run it
//! alone with `HERM_SIM_SEED=N cargo test --test it simulation`, more of them with `HERM_SIM_SEEDS`.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Once};
use std::time::Duration;

use herm_replay::log::MemoryLog;
use herm_replay::reducer::SessionState;
use herm_schema::events::*;
use herm_schema::{Micros, Recorded};

use crate::checks::check;
use crate::world::*;

/// Seeds of an ordinary run.
const SEEDS: u64 = 500;
/// Every so-many-th seed is run twice and compared.
const TWICE_EVERY: u64 = 10;

/// Splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len() as u64) as usize]
    }
}

fn settings(dice: &mut Dice) -> Policy {
    let base = policy();
    let window = *dice.pick(&[6_000, 12_000, 128_000]);
    let model = ModelChoice { context_window_tokens: window, ..base.model };
    let limits = Limits {
        iterations_max: 2 + dice.roll(20) as u32,
        run_budget_us: dice.one_in(4).then(|| 20_000_000 + dice.roll(100_000_000)),
        ..base.limits
    };
    let compression = CompressionPolicy {
        prune_above_tokens: if dice.one_in(3) { 2_000 } else { 0 },
        prune_reclaim_min_tokens: 200,
        ..base.compression
    };
    let busy = *dice.pick(&[BusyPolicy::Queue, BusyPolicy::Steer, BusyPolicy::Interrupt]);
    let delivery = *dice.pick(&[DeliveryPolicy::AtLeastOnce, DeliveryPolicy::AtMostOnce]);
    let approvals = *dice.pick(&[ApprovalMode::Manual, ApprovalMode::Off]);
    Policy { model, limits, compression, busy, delivery, approvals, ..base }
}

fn arguments(dice: &mut Dice) -> String {
    if dice.one_in(15) {
        return (*dice.pick(&["", "[]", r#"{"n": "#, r#"{"n":"many"}"#, "null"])).to_owned();
    }
    let goes = if dice.one_in(4) { *dice.pick(&["fail", "panic"]) } else { "well" };
    let judge = *dice.pick(&["ask", "ask", "ask", "block", "panic"]);
    serde_json::json!({
        "n": dice.roll(6),
        "path": *dice.pick(&["a", "b", "a/c"]),
        "size": if dice.one_in(3) { dice.roll(6_000) } else { 0 },
        "takes_ms": dice.roll(10_000),
        "goes": goes,
        "judge": if dice.one_in(4) { judge } else { "allow" },
    })
    .to_string()
}

fn reply(dice: &mut Dice) -> Reply {
    let calls = if dice.one_in(3) { 0 } else { 1 + dice.roll(4) };
    let names = ["look", "look", "save", "post", "send", "nothing"];
    let ids = ["a", "b", "c", "", "exec_0"];
    let calls = (0..calls)
        .map(|_| ((*dice.pick(&ids)).to_owned(), (*dice.pick(&names)).to_owned(), arguments(dice)))
        .collect();
    let text = "word ".repeat(1 + dice.roll(40) as usize);
    Reply { calls, takes_ms: dice.roll(20_000), usage: !dice.one_in(4), ..say(&text) }
}

fn trouble(dice: &mut Dice) -> Trouble {
    use FailureClass as C;
    let classes =
        [C::RateLimit, C::ServerError, C::Timeout, C::ContextOverflow, C::AuthPermanent, C::Unknown];
    match dice.roll(10) {
        0 => Trouble::Empty,
        1 => Trouble::Cut,
        2 => Trouble::Filtered,
        3 => Trouble::Panic,
        4 => Trouble::Late(dice.roll(120_000)),
        _ => Trouble::Fail(*dice.pick(&classes)),
    }
}

fn inputs(dice: &mut Dice) -> Vec<(u64, Input)> {
    let mut inputs = Vec::new();
    for n in 0..=dice.roll(6) {
        let (at, id) = (dice.roll(90_000), format!("m{n}"));
        let said = says(&id, &format!("This is message {n} of them."));
        if dice.one_in(4) {
            inputs.push((at + dice.roll(60_000), said.clone()));
        }
        inputs.push((at, said));
    }
    for _ in 0..dice.roll(3) {
        inputs.push((dice.roll(120_000), Input::Interrupt));
    }
    inputs.sort_by_key(|(at, _)| *at);
    inputs
}

fn world(dice: &mut Dice) -> World {
    let policy = settings(dice);
    let script: Vec<Reply> = (0..3 + dice.roll(10)).map(|_| reply(dice)).collect();
    let decisions = [
        Decision::Allowed { scope: GrantScope::Once },
        Decision::Allowed { scope: GrantScope::Session },
        Decision::Allowed { scope: GrantScope::Always },
        Decision::Denied,
        Decision::Expired,
    ];
    let steps = script.len();
    let world = World {
        keyed: dice.one_in(2),
        message_chars_max: dice.one_in(2).then(|| 20 + dice.roll(100) as usize),
        decision: *dice.pick(&decisions),
        ..World::new(policy, script, inputs(dice))
    };
    for step in (0..steps).filter(|_| dice.one_in(4)).collect::<Vec<_>>() {
        let troubles = (0..=dice.roll(3)).map(|_| trouble(dice)).collect();
        world.ground().troubles.insert(step, troubles);
    }
    let sends = [
        SendTrouble::Unreachable,
        SendTrouble::Unreachable,
        SendTrouble::LostReceipt,
        SendTrouble::Gone,
        SendTrouble::PanicBefore,
        SendTrouble::PanicAfter,
    ];
    world.ground().send_troubles = (0..8).map(|_| dice.one_in(4).then(|| *dice.pick(&sends))).collect();
    world
}

/// What a seed came to.
struct Story {
    world: World,
    log: Arc<MemoryLog>,
    state: SessionState,
    crashes: u32,
}

/// Lives that end in the middle of something, and one that goes on until nothing is owed.
fn tell(seed: u64) -> Story {
    let mut dice = Dice(seed);
    let world = world(&mut dice);
    let log = Arc::new(MemoryLog::new());
    let mut now = START;
    let crashes = dice.roll(4) as u32;
    for life in 0..crashes {
        let until = Duration::from_millis(dice.roll(40_000));
        let lived = on_a_stopped_clock(async {
            tokio::time::timeout(until, world.live(&log, now, seed ^ u64::from(life))).await
        });
        let micros = u64::try_from(until.as_micros()).unwrap_or_default();
        now = now.plus(micros).plus(dice.roll(10_000_000));
        if let Ok(state) = lived {
            return Story { world, log, state, crashes: life };
        }
    }
    let state = on_a_stopped_clock(world.live(&log, now, seed ^ u64::from(crashes)));
    Story { world, log, state, crashes }
}

fn try_seed(seed: u64) -> Result<(), String> {
    let story = tell(seed);
    check(&story.world, &story.log, &story.state)?;
    let took = took(&story.log.events());
    if took > Duration::from_secs(4 * 3_600) {
        return Err(format!("it took {took:?}"));
    }
    if seed.is_multiple_of(TWICE_EVERY) && tell(seed).log.events() != story.log.events() {
        return Err("the same seed gives another log".to_owned());
    }
    Ok(())
}

fn took(events: &[Recorded]) -> Duration {
    let end = events.last().map_or(START, |last| last.envelope.recorded_at);
    Duration::from_micros(end.since(Micros(START.0)))
}

/// Panics that a script asks for are not news.
fn keep_scripted_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let scripted =
                info.payload().downcast_ref::<&str>().is_some_and(|text| text.ends_with(" panics"));
            if !scripted {
                usual(info);
            }
        }));
    });
}

fn seeds() -> std::ops::Range<u64> {
    let read = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match read("HERM_SIM_SEED") {
        Some(one) => one..one + 1,
        None => 0..read("HERM_SIM_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn every_seed_ends_well() {
    keep_scripted_panics_quiet();
    let mut failures = Vec::new();
    let all = seeds();
    for seed in all.clone() {
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| try_seed(seed)));
        if let Err(why) = result.unwrap_or_else(|_| Err("it panicked, see above".to_owned())) {
            failures.push(format!(
                "seed {seed}: {why}\nrun it alone: HERM_SIM_SEED={seed} cargo test --test it simulation"
            ));
        }
    }
    let first: Vec<_> = failures.iter().take(5).cloned().collect();
    assert!(failures.is_empty(), "{} of {} seeds fail:\n{}", failures.len(), all.count(), first.join("\n\n"));
}

/// A simulation that never meets what it is for proves nothing.
#[test]
fn the_seeds_cover_crashes_doubts_repeats_and_faults() {
    keep_scripted_panics_quiet();
    let mut names = std::collections::BTreeSet::new();
    let (mut crashes, mut repeats) = (0, 0);
    for seed in 0..100 {
        let story = tell(seed);
        crashes += story.crashes;
        repeats += story.world.ground().seen.iter().filter(|seen| seen.marked).count();
        names.extend(story.log.events().iter().map(|recorded| recorded.event.name()));
    }
    let expected = [
        "TurnResumed",
        "TurnFaulted",
        "ToolCallInDoubt",
        "ToolCallSkipped",
        "ModelCallFailed",
        "ModelCallAborted",
        "InterruptRequested",
        "SteerReceived",
        "RedirectReceived",
        "ApprovalRequested",
        "ApprovalGranted",
        "CommandBlocked",
        "CompressionFinished",
        "DeliveryFailed",
    ];
    for name in expected {
        assert!(names.contains(name), "no {name} in any of them");
    }
    assert!(crashes > 20 && repeats > 0, "{crashes} crashes, {repeats} repeats");
}
