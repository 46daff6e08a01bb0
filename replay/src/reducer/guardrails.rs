//! Loop guardrails: a model that goes in circles is warned, then stopped.

use herm_schema::events::GuardrailPolicy;

use super::state::CallTrace;

/// What the newest call adds up to with those before it in the turn.
struct Counts {
    /// The same call failing with the same arguments, since it last succeeded.
    exact_failures: u32,
    /// The same tool failing, since it last succeeded.
    tool_failures: u32,
    /// The same repeatable call with the same result.
    no_progress: u32,
}

fn count(history: &[CallTrace]) -> Option<Counts> {
    let newest = history.last()?;
    let same_call = |trace: &&CallTrace| trace.name == newest.name && trace.arguments == newest.arguments;
    let failing =
        |calls: &mut dyn Iterator<Item = &CallTrace>| calls.take_while(|trace| trace.failed).count() as u32;
    let exact_failures = failing(&mut history.iter().rev().filter(same_call));
    let tool_failures = failing(&mut history.iter().rev().filter(|trace| trace.name == newest.name));
    let same_result =
        history.iter().rev().filter(same_call).take_while(|trace| trace.result == newest.result);
    let no_progress = if newest.repeatable && !newest.failed { same_result.count() as u32 } else { 0 };
    Some(Counts { exact_failures, tool_failures, no_progress })
}

/// Whether `count` has reached `limit`; zero switches a limit off.
fn reached(count: u32, limit: u32) -> bool {
    limit > 0 && count >= limit
}

/// What the model is told beside the newest result.
pub fn warning(policy: &GuardrailPolicy, history: &[CallTrace]) -> Option<String> {
    let counts = count(history).filter(|_| policy.warnings)?;
    let newest = history.last()?;
    let name = &newest.name;
    let text = if reached(counts.exact_failures, policy.exact_failure_warn) {
        format!("This exact {name} call has failed {} times. Change something.", counts.exact_failures)
    } else if reached(counts.tool_failures, policy.same_tool_failure_warn) {
        format!("{name} has failed {} times in a row. Try another way.", counts.tool_failures)
    } else if reached(counts.no_progress, policy.no_progress_warn) {
        format!(
            "This exact {name} call has returned the same {} times. Use what you have.",
            counts.no_progress
        )
    } else {
        return None;
    };
    Some(format!("\n\n[{text}]"))
}

/// Whether the turn is to be stopped.
pub fn stops(policy: &GuardrailPolicy, history: &[CallTrace]) -> bool {
    policy.hard_stop
        && count(history).is_some_and(|counts| {
            reached(counts.exact_failures, policy.exact_failure_stop)
                || reached(counts.tool_failures, policy.same_tool_failure_stop)
                || reached(counts.no_progress, policy.no_progress_stop)
        })
}
