//! The steps that wait for nobody: the next turn, the gate, the next attempt, the end.

use herm_schema::events::*;
use herm_schema::{BlobRef, Event, Micros, StreamPos};

use super::{remedy, spending};
use crate::reducer::command::{Compression, Stamp};
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;
use crate::reducer::{compaction, estimate, evolve, owed, transcript};

/// Share of the wall-clock budget at which the model is reminded.
const REMIND_PERCENT: u64 = 80;

pub fn advance(state: &SessionState, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
    let step = match &state.turn {
        Some(turn) => step(state, turn, stamp),
        None => next_turn(state, stamp),
    };
    match step {
        Ok(events) => Ok(events),
        Err(rejection) => super::delivery::next_attempt(state, stamp).ok_or(rejection),
    }
}

/// The oldest message that waits gets its turn, with what the same person said right after it.
fn next_turn(state: &SessionState, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
    if let Some(reason) = state.ended {
        return Err(Rejection::Ended { reason });
    }
    if state.policy.is_none() {
        return Err(Rejection::NotConfigured);
    }
    let inbound: Vec<StreamPos> = state.next_inbound().iter().map(|queued| queued.at).collect();
    if inbound.is_empty() || state.debounced_until().is_some_and(|until| stamp.now < until) {
        return Err(Rejection::NothingDue);
    }
    Ok(vec![TurnStarted { inbound }.into()])
}

fn step(state: &SessionState, turn: &Turn, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
    match &turn.phase {
        Phase::Gate if owed::prompt_due(state).is_none() => gate(state, turn, stamp),
        Phase::Waiting { not_before, call, attempt, purpose } if stamp.now >= *not_before => {
            call_or_stop(state, turn, (*call, *attempt), *purpose, stamp)
        }
        Phase::Closing { reason, text, .. } if text.is_empty() => Ok(vec![end(turn, *reason, stamp)]),
        Phase::Delivering { reason, delivery } if owed::turn_is_over(state, *delivery) => {
            Ok(vec![end(turn, *reason, stamp)])
        }
        Phase::Gate
        | Phase::Waiting { .. }
        | Phase::Calling(_)
        | Phase::Tools(_)
        | Phase::Compressing { .. }
        | Phase::Closing { .. }
        | Phase::Delivering { .. } => Err(Rejection::NothingDue),
    }
}

fn end(turn: &Turn, reason: ExitReason, stamp: &Stamp) -> Event {
    let totals = TurnTotals { elapsed_us: stamp.now.since(turn.started_at), ..turn.totals };
    TurnEnded { reason, totals }.into()
}

/// Whether another iteration may begin, and what has to come before it.
fn gate(state: &SessionState, turn: &Turn, stamp: &Stamp) -> Result<Vec<Event>, Rejection> {
    let policy = state.policy.as_ref().ok_or(Rejection::NotConfigured)?;
    let limits = &policy.limits;
    let elapsed_us = stamp.now.since(turn.started_at);
    let spent = [
        (turn.totals.iterations >= limits.iterations_max, ExitReason::IterationLimit),
        (turn.budget_used >= limits.iteration_budget, ExitReason::IterationBudgetSpent),
        (limits.run_budget_us.is_some_and(|budget| elapsed_us >= budget), ExitReason::RunBudgetSpent),
    ];
    let purpose = match spent.iter().find(|(spent, _)| *spent) {
        Some((_, reason)) => ModelPurpose::ClosingSummary { reason: *reason },
        None => ModelPurpose::Turn,
    };
    if let Some(event) =
        compress(state, turn, &policy.compression, stamp.now).or_else(|| prune(state, &policy.compression))
    {
        return Ok(vec![event]);
    }
    if let Some(budget_us) = limits.run_budget_us.filter(|_| purpose == ModelPurpose::Turn) {
        let due = elapsed_us.saturating_mul(100) >= budget_us.saturating_mul(REMIND_PERCENT);
        if due && turn.unsent_result && !turn.budget_warned {
            return Ok(vec![BudgetWarned { elapsed_us, budget_us }.into()]);
        }
    }
    if let Some(event) = spending::warning(state, &stamp.outlook) {
        return Ok(vec![event]);
    }
    call_or_stop(state, turn, (state.model_calls.saturating_add(1), 1), purpose, stamp)
}

/// No call begins when what may be spent is spent.
fn call_or_stop(
    state: &SessionState,
    turn: &Turn,
    (call, attempt): (u32, u32),
    purpose: ModelPurpose,
    stamp: &Stamp,
) -> Result<Vec<Event>, Rejection> {
    if let Some(stopped) = spending::stopped(state, &stamp.outlook) {
        return Ok(vec![stopped.into()]);
    }
    let policy = state.policy.as_ref().ok_or(Rejection::NotConfigured)?;
    let failed = if attempt == 1 { &[] } else { turn.failed_keys.as_slice() };
    let (route, credential) = remedy::way(policy, turn, failed, &stamp.outlook);
    let choice = policy.route(route).ok_or(Rejection::NotConfigured)?;
    let first = u32::from(attempt == 1);
    let started = ModelCallStarted {
        call,
        attempt,
        iteration: turn.totals.iterations.saturating_add(first),
        purpose,
        request_digest: transcript::request(state, purpose, route).digest(),
        estimated_tokens: estimate::tokens(state),
        provider: choice.provider.clone(),
        model: choice.model.clone(),
        credential,
        route,
    };
    Ok(vec![started.into()])
}

/// The compression gates: after a batch of tool calls, before any other model call, and when the
/// provider has said that the context does not fit.
fn compress(state: &SessionState, turn: &Turn, policy: &CompressionPolicy, now: Micros) -> Option<Event> {
    let rests = state.context.rests_until.is_some_and(|until| now < until);
    let trigger = if turn.overflowed {
        CompressionTrigger::ProviderOverflow
    } else if rests || !estimate::wants_compression(state, policy) {
        return None;
    } else if matches!(
        state.view.last().map(|entry| &entry.body),
        Some(Body::Result { .. } | Body::Late { .. })
    ) {
        CompressionTrigger::AfterTools
    } else if turn.totals.iterations == 0 {
        CompressionTrigger::Preflight
    } else {
        CompressionTrigger::BeforeModelCall
    };
    let attempt = state.context.attempts.saturating_add(1);
    Some(CompressionStarted { trigger, attempt, before_tokens: estimate::tokens(state) }.into())
}

/// Old tool results are shortened for their cost alone, long before the window is full; rarely,
/// because every time breaks the provider's cache.
fn prune(state: &SessionState, policy: &CompressionPolicy) -> Option<Event> {
    let before_tokens = estimate::tokens(state);
    let due = u64::from(policy.prune_above_tokens).max(state.context.prune_rearm_tokens);
    if policy.prune_above_tokens == 0 || before_tokens <= due {
        return None;
    }
    let pruned = compaction::prunable(&state.view, policy.protect_last as usize);
    let saved: u64 = pruned.iter().map(|(tokens, _)| tokens).sum();
    let pruned: Vec<_> = pruned.into_iter().map(|(_, pruned)| pruned).collect();
    let worth = !pruned.is_empty() && saved >= u64::from(policy.prune_reclaim_min_tokens);
    let after_tokens = before_tokens.saturating_sub(saved);
    worth.then(|| ToolResultsPruned { pruned, before_tokens, after_tokens }.into())
}

pub fn prompt_built(
    state: &SessionState,
    prompt: BlobRef,
    definitions: BlobRef,
    tools: Vec<ToolFacts>,
) -> Result<Vec<Event>, Rejection> {
    let reason = owed::prompt_due(state).ok_or(Rejection::Stale)?;
    let mut events: Vec<Event> = vec![SystemPromptBuilt { prompt, reason }.into()];
    let same = state.offer.as_ref().is_some_and(|o| o.definitions == definitions && o.tools == tools);
    if !same {
        events.push(ToolsOffered { definitions, tools }.into());
    }
    Ok(events)
}

/// A compression counts only if it shrinks the context by the share that the policy asks for.
pub fn compressed(
    state: &SessionState,
    intent: StreamPos,
    result: Result<Compression, String>,
) -> Result<Vec<Event>, Rejection> {
    let phase = state.turn.as_ref().map(|turn| &turn.phase);
    let Some(Phase::Compressing { intent: running, .. }) = phase else {
        return Err(Rejection::Stale);
    };
    if *running != intent {
        return Err(Rejection::Stale);
    }
    let failed = |reason, message: String| Ok(vec![CompressionFailed { reason, message }.into()]);
    let compression = match result {
        Ok(compression) => compression,
        Err(message) if message.is_empty() => {
            return failed(CompressionFailure::NothingToCompress, "everything is protected".to_owned());
        }
        Err(message) => return failed(CompressionFailure::Engine, message),
    };
    let before_tokens = estimate::rough(state);
    let mut finished = CompressionFinished {
        first: compression.first,
        last: compression.last,
        summary: compression.summary,
        pruned: compression.pruned,
        before_tokens,
        after_tokens: 0,
        engine: compression.engine,
    };
    finished.after_tokens = estimate::rough(&evolve::after_compression(state, &finished));
    let shrink = state.policy.as_ref().map_or(0, |policy| u64::from(policy.compression.shrink_min_percent));
    let enough = before_tokens.saturating_mul(100_u64.saturating_sub(shrink)) / 100;
    match finished.after_tokens <= enough {
        true => Ok(vec![finished.into()]),
        false => {
            let message = format!("{before_tokens} tokens became {}", finished.after_tokens);
            failed(CompressionFailure::Ineffective, message)
        }
    }
}
