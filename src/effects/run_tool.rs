//! A tool call: run, or after a restart found out about; its result redacted and kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_replay::log::{Error, Log};
use herm_replay::reducer::command::ToolOutcome;
use herm_replay::reducer::state::CallStatus;
use herm_replay::reducer::{Command, SessionState, notices};
use herm_schema::events::{Attachment, EffectClass, ToolStatus};
use herm_schema::{CallRef, StreamPos, Text};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Outcome, Run, Task, checkpoint, services, spool};
use crate::environments::FileAccess;
use crate::hooks::{self, Caller};
use crate::tools::{Files, Picture, Recovered, There, Tool, ToolContext, ToolResult};

/// Results above this size are blobs, in bytes.
const INLINE_BYTES_MAX: usize = 32 << 10;
/// How long a tool that is told to stop may take to do so, before the turn goes on without it.
const STOP_GRACE: Duration = Duration::from_secs(30);

pub fn run(intent: StreamPos, call: CallRef, state: &SessionState, run: Run) -> Task {
    let found = state.call(call).and_then(|call| match &call.status {
        CallStatus::Started { arguments, effect, .. } => {
            Some((call.asked.name.clone(), arguments.0.clone(), *effect))
        }
        _ => None,
    });
    let cwd = state.opened.as_ref().map(|opened| PathBuf::from(&opened.cwd)).unwrap_or_default();
    let taken = checkpoint::taken(state);
    Box::pin(async move {
        let Some((name, arguments, effect)) = found else {
            return Outcome::Cancelled;
        };
        let context = context(&run, call, cwd);
        let Some(tool) = run.ports.tools.iter().find(|tool| tool.facts().name == name) else {
            return Outcome::Command(Command::ToolInDoubt { intent });
        };
        let arguments: Value = serde_json::from_str(&arguments).unwrap_or_default();
        if !run.inherited {
            let (facts, cwd) = (tool.facts(), context.cwd.as_path());
            let about = checkpoint::About { call, facts: &facts, arguments: &arguments, cwd, taken: &taken };
            checkpoint::before(&run, about).await;
        }
        let begun = Instant::now();
        let found = tokio::select! {
            biased;
            found = outcome(&**tool, &arguments, effect, &context, run.inherited) => found,
            () = overdue(&run) => Found::Result(stopped(notices::OUTCOME_UNKNOWN.to_owned())),
        };
        let (result, recovered) = match found {
            Found::Result(result) => (result, false),
            Found::Recovered(result) => (result, true),
            Found::Unknown => {
                // What it printed is nobody's result, but it stays: without secrets.
                if let Err(error) = clean(&run, &context.spool) {
                    tracing::warn!(%error, "cannot take secrets out of an output");
                }
                return Outcome::Command(Command::ToolInDoubt { intent });
            }
        };
        if !run.ports.hooks.after.is_empty() {
            let about = hooks::About {
                session: run.session.to_string(),
                tool: &name,
                arguments: &arguments,
                cwd: &context.cwd,
                caller: Caller::Model,
            };
            run.ports.hooks.after(&about, told(&run, &result, recovered));
        }
        let elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        for fact in &result.facts {
            // One that is known already, after a restart, is refused, which is right.
            drop(run.recorder.record(Command::Record(fact.clone())).await);
        }
        match keep(&run, &context.spool, result, recovered, elapsed_us) {
            Ok(outcome) => Outcome::Command(Command::ToolFinished { intent, outcome }),
            Err(error) => Outcome::Fault(error.to_string()),
        }
    })
}

/// What hooks hear of a result.
pub(super) fn told(run: &Run, result: &ToolResult, recovered: bool) -> Value {
    let status = match result.status {
        ToolStatus::Succeeded => "succeeded",
        ToolStatus::Failed => "failed",
        ToolStatus::Interrupted => "interrupted",
    };
    json!({"status": status, "shown": (run.ports.redact)(&result.shown), "recovered": recovered})
}

/// Ends when a tool has been told to stop and has not.
async fn overdue(run: &Run) {
    run.cancel.cancelled().await;
    tokio::time::sleep(STOP_GRACE).await;
}

fn stopped(shown: String) -> ToolResult {
    ToolResult::text(ToolStatus::Interrupted, shown)
}

enum Found {
    Result(ToolResult),
    Recovered(ToolResult),
    Unknown,
}

/// The table of effect classes: what may be done about a call that was begun before a restart.
async fn outcome(
    tool: &dyn Tool,
    arguments: &Value,
    effect: EffectClass,
    context: &ToolContext,
    inherited: bool,
) -> Found {
    if inherited && effect != EffectClass::Repeatable {
        match tool.recover(arguments, context).await {
            Recovered::Finished(result) => return Found::Recovered(result),
            Recovered::Unknown => return Found::Unknown,
            Recovered::NotDone => {}
        }
    }
    if inherited && context.cancel.is_cancelled() {
        // Interrupted, then restarted: what did not take effect is not begun now.
        return Found::Result(stopped(notices::skipped("Not run: the user interrupted.")));
    }
    Found::Result(tool.run(arguments, context).await)
}

fn context(run: &Run, call: CallRef, opened_in: PathBuf) -> ToolContext {
    let spool = spool::of_call(&run.ports.home, run.session, call);
    let services = services::of(run);
    let stands = services.stands(run.session, &opened_in);
    let files = match services.elsewhere(run.session, &opened_in) {
        None => Files::Here,
        Some(environment) => {
            let access = FileAccess { scratch: run.ports.home.join("spool"), cancel: run.cancel.clone() };
            let session = run.session.to_string();
            Files::There(There::new(environment, access, session, opened_in.clone()))
        }
    };
    let stands = stands.filter(|stands| matches!(files, Files::Here) && stands.is_dir());
    ToolContext {
        session: run.session,
        call,
        cwd: stands.unwrap_or_else(|| opened_in.clone()),
        files,
        opened_in,
        spool,
        home: run.ports.home.clone(),
        cancel: run.cancel.clone(),
        services,
        limits: run.ports.limits,
    }
}

/// Takes secrets out of a result and puts what is large into the blob store. The spool stays, for
/// a restart before the outcome is recorded, and because the model may have been told its path.
fn keep(
    run: &Run,
    spool: &Path,
    result: ToolResult,
    recovered: bool,
    elapsed_us: u64,
) -> Result<ToolOutcome, Error> {
    let log: &dyn Log = &*run.ports.log;
    let text = (run.ports.redact)(&result.shown);
    let shown = match text.len() > INLINE_BYTES_MAX {
        true => Text::Stored(log.put_blob(text.as_bytes())?),
        false => Text::Inline(text),
    };
    clean(run, spool)?;
    let full = result.full.as_deref().map(|path| log.put_blob_file(path)).transpose()?;
    let status: ToolStatus = result.status;
    let images = result.images.into_iter().map(|image| kept(log, image)).collect::<Result<_, _>>()?;
    Ok(ToolOutcome { status, shown, images, full, recovered, elapsed_us })
}

fn kept(log: &dyn Log, image: Picture) -> Result<Attachment, Error> {
    let Picture { media_type, bytes, name } = image;
    Ok(Attachment { content: log.put_blob(&bytes)?, media_type, name })
}

/// Puts the output in the spool in the place of itself without secrets, line by line, so that its
/// size does not matter.
fn clean(run: &Run, spool: &Path) -> Result<(), Error> {
    use std::io::{BufRead, BufReader, BufWriter, Write};
    let (output, redacted) = (spool.join("output"), spool.join("redacted"));
    if !output.exists() {
        return Ok(());
    }
    let copy = || -> std::io::Result<()> {
        let mut reader = BufReader::new(std::fs::File::open(&output)?);
        let mut writer = BufWriter::new(std::fs::File::create(&redacted)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            // Bounded: a line without an end is cut where it would fill the memory.
            let read = std::io::Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if read == 0 {
                writer.flush()?;
                return std::fs::rename(&redacted, &output);
            }
            // Most lines hold no secret, and not every output is text: those stay as they are.
            let text = String::from_utf8_lossy(&line);
            let clean = (run.ports.redact)(&text);
            let same = clean == text;
            writer.write_all(if same { &line } else { clean.as_bytes() })?;
        }
    };
    copy().map_err(|error| Error::Io { operation: "copy", path: output.clone(), reason: error.to_string() })
}

/// Longest piece of output that is looked through for secrets at once, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;
