//! `process`: what `terminal` left running in the background. A process belongs to its session; no
//! other can see it. What is written to one is judged like a command line: it may be a shell.

mod patterns;
mod registry;
mod wrap;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::typed::Typed;
use super::{ToolContext, ToolResult, outcome};
use crate::providers::BoxFuture;

pub use registry::{Entry, News, Processes, Start, What};

/// Seconds that `wait` waits where the call does not say, and at most.
const WAIT_DEFAULT_S: u64 = 60;
const WAIT_MAX_S: u64 = 600;
/// Lines of a log that are shown where the call does not say.
const LINES_DEFAULT: usize = 200;

/// The tool.
pub struct Process {
    processes: Arc<Processes>,
}

impl Process {
    pub const NAME: &'static str = "process";

    pub fn new(processes: Arc<Processes>) -> Self {
        Self { processes }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    List,
    Poll,
    Log,
    Wait,
    Kill,
    Write,
    Submit,
    Close,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Args {
    action: Action,
    /// such as proc_1a2b3c4d
    session_id: Option<String>,
    /// for write, and submit (which adds a line end)
    data: Option<String>,
    /// seconds, for wait
    timeout: Option<u64>,
    /// first line, for log
    offset: Option<usize>,
    /// lines, for log
    limit: Option<usize>,
}

/// What a call writes to a process: judged as a command line.
pub fn written(arguments: &Value) -> Option<String> {
    let action = arguments.get("action").and_then(Value::as_str)?;
    let data = arguments.get("data").and_then(Value::as_str).unwrap_or_default();
    matches!(action, "write" | "submit").then(|| data.to_owned())
}

impl Typed for Process {
    type Args = Args;

    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: Self::NAME.into(),
            effect: EffectClass::Once,
            concurrency: Concurrency::Parallel,
            refunds_iteration: false,
            judged: true,
        }
    }

    fn description(&self) -> &str {
        "Background processes of terminal: list; poll (new output), log, wait, kill one; write, submit or close its \
         standard input."
    }

    fn call<'a>(&'a self, args: Args, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.act(args, context).await {
                Ok(shown) => outcome::succeeded(&shown),
                Err(why) => outcome::failed(why),
            }
        })
    }
}

impl Process {
    async fn act(&self, args: Args, context: &ToolContext) -> Result<Value, String> {
        if args.action == Action::List {
            let all: Vec<Value> =
                self.processes.list(context.session).iter().map(|entry| Value::Object(told(entry))).collect();
            return Ok(json!({ "processes": all }));
        }
        let name = args.session_id.as_deref().ok_or("`session_id` is missing; list says which there are")?;
        let entry = self
            .processes
            .of(context.session, name)
            .ok_or_else(|| format!("this session has no process `{name}`; list says which there are"))?;
        match args.action {
            Action::List | Action::Poll => {}
            Action::Log => return log(&entry, args.offset, args.limit, context),
            Action::Wait => {
                let seconds = args.timeout.unwrap_or(WAIT_DEFAULT_S).clamp(1, WAIT_MAX_S);
                entry.attended.store(true, Ordering::SeqCst);
                tokio::select! {
                    () = entry.gone() => {}
                    () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
                    () = context.cancel.cancelled() => {}
                }
                entry.attended.store(entry.ended().is_some(), Ordering::SeqCst);
            }
            Action::Kill => {
                entry.attended.store(true, Ordering::SeqCst);
                entry.kill();
                entry.gone().await;
            }
            Action::Write => self.write(&entry, args.data.as_deref(), "", context).await?,
            Action::Submit => self.write(&entry, args.data.as_deref(), "\n", context).await?,
            Action::Close => {
                still_runs(&entry)?;
                self.processes.input(&entry, None, &context.spool).await?;
            }
        }
        Ok(Value::Object(polled(&entry, context)))
    }

    async fn write(
        &self,
        entry: &Entry,
        data: Option<&str>,
        end: &str,
        context: &ToolContext,
    ) -> Result<(), String> {
        let data = data.ok_or("`data` is missing")?;
        if data.contains('\0') {
            return Err("`data` holds a NUL character, which cannot be written".to_owned());
        }
        still_runs(entry)?;
        self.processes.input(entry, Some(&format!("{data}{end}")), &context.spool).await
    }
}

fn still_runs(entry: &Entry) -> Result<(), String> {
    match entry.ended() {
        Some(_) => Err(format!("`{}` has ended", entry.begun.name)),
        None => Ok(()),
    }
}

/// `{"session_id", "command", "status", "exit_code"?, "seconds"}`
pub fn told(entry: &Entry) -> Map<String, Value> {
    let (begun, ended) = (&entry.begun, entry.ended());
    let until = ended.as_ref().map_or_else(registry::now_s, |ended| ended.ended_s);
    let mut told = Map::new();
    told.insert("session_id".into(), json!(begun.name));
    told.insert("command".into(), json!(begun.command));
    told.insert("status".into(), json!(if ended.is_some() { "exited" } else { "running" }));
    if let Some(ended) = ended {
        told.insert("exit_code".into(), json!(ended.exit_code));
    }
    told.insert("seconds".into(), json!(until.saturating_sub(begun.started_s)));
    told
}

/// With what it has printed since the last time, the newest of it where that is much.
fn polled(entry: &Entry, context: &ToolContext) -> Map<String, Value> {
    let mut told = told(entry);
    if entry.ended().is_some() {
        entry.attended.store(true, Ordering::SeqCst);
    }
    let mut read_to = entry.read_to.lock().unwrap_or_else(PoisonError::into_inner);
    let (text, end, left_out) = since(&entry.output(), *read_to, context.limits.bytes_max as u64);
    *read_to = end;
    told.insert("output".into(), json!(text));
    if left_out > 0 {
        told.insert("left_out_bytes".into(), json!(left_out));
        told.insert("hint".into(), json!("action log reads all of it"));
    }
    told
}

/// The text from `start` on, its end, and the bytes between that are not shown.
fn since(output: &Path, start: u64, bytes_max: u64) -> (String, u64, u64) {
    let Ok(mut file) = File::open(output) else {
        return (String::new(), start, 0);
    };
    let end = file.metadata().map_or(start, |metadata| metadata.len());
    let from = start.max(end.saturating_sub(bytes_max));
    let mut bytes = Vec::new();
    let read =
        file.seek(SeekFrom::Start(from)).and_then(|_| file.take(end - from.min(end)).read_to_end(&mut bytes));
    let text = if read.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() };
    (text, end, from.saturating_sub(start))
}

fn log(
    entry: &Entry,
    offset: Option<usize>,
    limit: Option<usize>,
    context: &ToolContext,
) -> Result<Value, String> {
    let file = File::open(entry.output()).map_err(|error| format!("its output cannot be read: {error}"))?;
    let (first, limit) =
        (offset.unwrap_or(1).max(1), limit.unwrap_or(LINES_DEFAULT).min(context.limits.lines_max));
    let (mut shown, mut number, mut cut) = (String::new(), 0usize, false);
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(|error| error.to_string())? > 0 {
        number += 1;
        if number >= first && number - first < limit && !cut {
            match shown.len() + line.len() > context.limits.bytes_max {
                true => cut = true,
                false => shown.push_str(&String::from_utf8_lossy(&line)),
            }
        }
        line.clear();
    }
    let mut told = told(entry);
    told.insert("output".into(), json!(shown));
    told.insert("total_lines".into(), json!(number));
    if cut {
        told.insert("hint".into(), json!("too long to be shown whole; ask for fewer lines"));
    }
    Ok(Value::Object(told))
}
