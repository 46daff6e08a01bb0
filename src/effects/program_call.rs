//! A tool call of a program that the model wrote: the same look, the same rules, the same record as for
//! a call of the model's own. Only a question to a person is not asked from inside a program, whose time
//! runs: it is told to leave that call to the model.

use herm_replay::reducer::command::{Fact, Prepared};
use herm_replay::reducer::state::CallStatus;
use herm_replay::reducer::{Command, canonical};
use herm_schema::events::{ProgramCallFinished, ProgramCallStarted, ToolCall};
use herm_schema::{JsonText, Text};
use serde_json::Value;
use tokio::time::Instant;

use super::{Run, checkpoint, prepare_call};
use crate::hooks::{self, Caller};
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
    let nth = asked.nth;
    let asked = ToolCall {
        id: String::new(),
        name: asked.name.to_owned(),
        arguments: JsonText(asked.arguments.to_owned()),
    };
    let sight = prepare_call::Sight::of(context.call, asked, false, &state, nth);
    let looked = prepare_call::look(&sight, run).await.map_err(|error| error.to_string())?;
    match unjudged(looked) {
        Prepared::Run { arguments } => {
            let value: Value = serde_json::from_str(&arguments.0).map_err(|error| error.to_string())?;
            Ok((canonical::to_string(&value), value))
        }
        Prepared::Ask(question) | Prepared::Refuse(question) => Err(format!(
            "this needs the user's yes ({}); a program cannot ask for it: make this call yourself",
            question.reason
        )),
        Prepared::Block { shown, .. } => Err(shown),
        Prepared::Veto { why } => Err(format!("a hook forbids it: {why}")),
        Prepared::Invalid { shown } => Err(herm_replay::reducer::notices::why_skipped(&shown)),
        Prepared::Judged { .. } => Err("it could not be judged".to_owned()),
    }
}

/// What a judge's verdict came to; the verdict itself is a model's call of its own in the log.
fn unjudged(prepared: Prepared) -> Prepared {
    match prepared {
        Prepared::Judged { then, .. } => *then,
        other => other,
    }
}
