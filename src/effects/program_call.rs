//! A tool call of a program that the model wrote: the same look, the same rules, the same record as for
//! a call of the model's own. A question to a person is asked while the program's time runs.

use herm_replay::reducer::command::{Fact, Prepared, Question};
use herm_replay::reducer::state::{Asked, CallStatus};
use herm_replay::reducer::{Command, canonical};
use herm_schema::events::{CommandBlocked, Decision, ProgramCallFinished, ProgramCallStarted, ToolCall};
use herm_schema::{JsonText, Text};
use serde_json::Value;
use tokio::time::Instant;

use super::{Answer, Run, checkpoint, prepare_call};
use crate::hooks::{self, Caller};
use crate::runtime::ApprovalQuestion;
use crate::tools::{ProgramCall, ToolContext, ToolResult, failed};

/// What a program may call: what the model could do with its own calls, and nothing that talks to people.
const ALLOWED: &[&str] = &[
    "patch",
    "read_file",
    "search_files",
    "session_search",
    "terminal",
    "web_extract",
    "web_search",
    "write_file",
];
/// Results above this size are blobs, in bytes.
const INLINE_BYTES_MAX: usize = 32 << 10;

pub async fn run(run: &Run, context: &ToolContext, asked: ProgramCall<'_>) -> ToolResult {
    if !ALLOWED.contains(&asked.name) {
        return failed(format!("a program cannot call `{}`; it can call {}", asked.name, ALLOWED.join(", ")));
    }
    let (arguments, value) = match prepared(run, context, asked).await {
        Ok(prepared) => prepared,
        Err(why) => return failed(why),
    };
    let Some(tool) = run.ports.tools.iter().find(|tool| tool.facts().name == asked.name) else {
        return failed(format!("there is no tool `{}` here", asked.name));
    };
    let (call, nth, name) = (context.call, asked.nth, asked.name.to_owned());
    let arguments = JsonText((run.ports.redact)(&arguments));
    let started = ProgramCallStarted { call, nth, name, arguments };
    if let Err(error) = run.recorder.record(Command::Record(Fact::ProgramCallStarted(started))).await {
        return failed(error);
    }
    let (facts, taken) = (tool.facts(), Vec::new());
    let cwd = context.cwd.as_path();
    checkpoint::before(run, checkpoint::About { call, facts: &facts, arguments: &value, cwd, taken: &taken })
        .await;
    let inner = ToolContext { spool: context.spool.join(format!("call-{nth}")), ..context.clone() };
    let begun = Instant::now();
    let mut result = tool.run(&value, &inner).await;
    result.shown = (run.ports.redact)(&result.shown);
    if !run.ports.hooks.after.is_empty() {
        let session = run.session.to_string();
        let about =
            hooks::About { session, tool: asked.name, arguments: &value, cwd, caller: Caller::Program };
        run.ports.hooks.after(&about, super::run_tool::told(run, &result, false));
    }
    if let Err(error) = finished(run, context, nth, &result, begun).await {
        return failed(error);
    }
    result
}

async fn finished(
    run: &Run,
    context: &ToolContext,
    nth: u32,
    result: &ToolResult,
    begun: Instant,
) -> Result<(), String> {
    let shown = match result.shown.len() > INLINE_BYTES_MAX {
        true => {
            Text::Stored(run.ports.log.put_blob(result.shown.as_bytes()).map_err(|error| error.to_string())?)
        }
        false => Text::Inline(result.shown.clone()),
    };
    let elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
    let finished = ProgramCallFinished { call: context.call, nth, status: result.status, shown, elapsed_us };
    for fact in result.facts.iter().cloned().chain([Fact::ProgramCallFinished(finished)]) {
        run.recorder.record(Command::Record(fact)).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The arguments as they may run; why they may not otherwise.
async fn prepared(
    run: &Run,
    context: &ToolContext,
    asked: ProgramCall<'_>,
) -> Result<(String, Value), String> {
    let state = (run.ports.load)(run.session).map_err(|error| error.to_string())?;
    let of_program =
        matches!(state.call(context.call).map(|call| &call.status), Some(CallStatus::Started { .. }));
    if !of_program {
        return Err("the program has been stopped".to_owned());
    }
    let (nth, name) = (asked.nth, asked.name);
    let asked = ToolCall {
        id: String::new(),
        name: asked.name.to_owned(),
        arguments: JsonText(asked.arguments.to_owned()),
    };
    let sight = |approved| prepare_call::Sight::of(context.call, asked.clone(), approved, &state, nth);
    let look = async |approved| {
        prepare_call::look(&sight(approved), run).await.map(unjudged).map_err(|error| error.to_string())
    };
    let looked = match look(false).await? {
        Prepared::Ask(question) => {
            allowed(run, context, name, question).await?;
            look(true).await?
        }
        looked => looked,
    };
    match looked {
        Prepared::Run { arguments } => {
            let value: Value = serde_json::from_str(&arguments.0).map_err(|error| error.to_string())?;
            Ok((canonical::to_string(&value), value))
        }
        Prepared::Ask(question) | Prepared::Refuse(question) => {
            Err(format!("this needs the user's yes ({}), and nobody is there to ask", question.reason))
        }
        Prepared::Block { rule, subject, shown } => {
            let blocked = CommandBlocked { call: context.call, rule, subject };
            let recorded = run.recorder.record(Command::Record(Fact::CommandBlocked(blocked))).await;
            Err(recorded.map_or_else(|error| error.to_string(), |_| shown))
        }
        Prepared::Veto { why } => Err(format!("a hook forbids it: {why}")),
        Prepared::Invalid { shown } => Err(herm_replay::reducer::notices::why_skipped(&shown)),
        Prepared::Judged { .. } => Err("it could not be judged".to_owned()),
    }
}

/// Asks a person, while the time of the program runs; it goes on without a yes that does not come.
async fn allowed(run: &Run, context: &ToolContext, tool: &str, question: Question) -> Result<(), String> {
    let failed = |error: crate::runtime::Error| error.to_string();
    let Question { subject, reason, pattern, target, .. } = question.clone();
    let asked = Command::AskAside { call: context.call, question };
    let recorded = run.recorder.record(asked).await.map_err(failed)?;
    let request =
        recorded.first().map(|recorded| recorded.envelope.stream_pos).ok_or("nothing was recorded")?;
    let asked = Asked { tool: tool.to_owned(), subject, reason, pattern, target };
    let question = ApprovalQuestion::of(run.session, request, asked);
    let answer = tokio::select! {
        biased;
        () = run.cancel.cancelled() => return Err("the program has been stopped".to_owned()),
        answer = run.ports.people.approve(&question) => answer,
    };
    let Answer { decision, by, answerer } = answer;
    if let Decision::Allowed { scope } = decision
        && let Some(granted) = question.granted(scope)
    {
        run.ports.grants.grant(granted, run.ports.clock.now()).await.map_err(|error| error.to_string())?;
    }
    run.recorder
        .record(Command::ApprovalAnswered { request, decision, by, answerer })
        .await
        .map_err(failed)?;
    match decision {
        Decision::Allowed { .. } => Ok(()),
        Decision::Denied => Err("the user refused this call".to_owned()),
        Decision::Expired => Err("nobody has answered whether this may run".to_owned()),
    }
}

/// What a judge's verdict came to; the verdict itself is a model's call of its own in the log.
fn unjudged(prepared: Prepared) -> Prepared {
    match prepared {
        Prepared::Judged { then, .. } => *then,
        other => other,
    }
}
