//! `execute_code`: a Python program that can call herm's tools, so that many calls and what lies between
//! them cost one. It runs where the command lines of its session run, and its calls come back by the same
//! rules as the model's: through a socket of its own on this machine, through files elsewhere. The model
//! sees only what the program prints.

mod calls;
mod exchange;
mod literals;
mod server;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use herm_schema::events::{Concurrency, EffectClass, ToolFacts, ToolStatus};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::typed::Typed;
use super::{Recovered, ToolContext, ToolResult, outcome};
use crate::environments::{Ending, Environment, Environments, Execution, Recovery, Window, excerpt};
use crate::providers::BoxFuture;

pub use literals::command_lines;

use calls::Calls;
use exchange::Exchange;
use server::Server;

/// What a program imports.
const HELPER: &str = include_str!("herm_tools.py");
/// Says what to do where there is no Python.
const PYTHON: &str = "command -v python3 >/dev/null || \
    { echo 'python3 is not installed (install it there, or do without a program: use `terminal`)'; exit 127; }";
/// Longest program, in bytes.
const CODE_BYTES_MAX: usize = 1 << 20;

/// Bounds of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub time_max: Duration,
    /// Tool calls of one program.
    pub calls_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time_max: Duration::from_secs(300), calls_max: 50 }
    }
}

/// The tool.
pub struct ExecuteCode {
    environments: Arc<Environments>,
    limits: Limits,
}

impl ExecuteCode {
    pub const NAME: &'static str = "execute_code";

    pub fn new(environments: Arc<Environments>, limits: Limits) -> Self {
        Self { environments, limits }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Args {
    code: String,
}

impl Typed for ExecuteCode {
    type Args = Args;

    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: Self::NAME.into(),
            effect: EffectClass::Once,
            concurrency: Concurrency::Serial,
            refunds_iteration: true,
            judged: true,
        }
    }

    fn description(&self) -> &str {
        "Run a Python program that can call tools: `from herm_tools import read_file, terminal, web_search, …`, keyword \
         arguments, results as dicts. Use it where many calls or much data lie between you and an answer; you see what \
         it prints."
    }

    fn call<'a>(&'a self, args: Args, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.execute(args, context).await {
                Ok(result) => result,
                Err(_) if context.cancel.is_cancelled() => outcome::interrupted(),
                Err(why) => outcome::failed(why),
            }
        })
    }

    fn found_out<'a>(&'a self, _: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(async move {
            let Ok(environment) = self.environments.of(&context.session.to_string(), &context.opened_in)
            else {
                return Recovered::Unknown;
            };
            if !environment.is_this_machine() {
                // Nobody answers it any more; it would wait until its time is over.
                Exchange::clear(&*environment, context).await;
            }
            match environment.recover(&context.spool, &context.cancel).await {
                Recovery::NeverBegan => Recovered::NotDone,
                Recovery::Unknown => Recovered::Unknown,
                Recovery::Finished(outcome) => {
                    let end = End { ending: outcome.ending, calls: None, elapsed: None };
                    Recovered::Finished(report(&outcome.output, end, context))
                }
            }
        })
    }
}

impl ExecuteCode {
    async fn execute(&self, args: Args, context: &ToolContext) -> Result<ToolResult, String> {
        if args.code.trim().is_empty() {
            return Err("`code` is empty".to_owned());
        }
        if args.code.len() > CODE_BYTES_MAX {
            return Err(format!("the program is longer than the limit of {CODE_BYTES_MAX} bytes"));
        }
        let session = context.session.to_string();
        let environment =
            self.environments.of(&session, &context.opened_in).map_err(|error| error.to_string())?;
        let environment = &*environment;
        let calls = Calls::new(self.limits.calls_max).map_err(|error| error.to_string())?;
        if environment.is_this_machine() {
            let place =
                Place::make(&args.code).map_err(|error| format!("the program cannot be written: {error}"))?;
            let server = Server::listen(&place.socket())
                .map_err(|error| format!("no socket for the program: {error}"))?;
            let serve = std::pin::pin!(server.serve(&calls, context));
            let folder = place.folder();
            return self
                .follow(Program { environment, folder, socket: Some(place.socket()) }, &calls, serve, context)
                .await;
        }
        let time_max = self.limits.time_max;
        let exchange = Exchange::make(environment, context, &args.code, time_max).await?;
        let mut serve = std::pin::pin!(exchange.serve(&calls).fuse());
        let program = Program { environment, folder: exchange.folder().to_owned(), socket: None };
        let result = self.follow(program, &calls, serve.as_mut(), context).await;
        exchange.remove(serve).await;
        result
    }

    async fn follow(
        &self,
        program: Program<'_>,
        calls: &Calls,
        mut serve: Pin<&mut impl Future<Output = String>>,
        context: &ToolContext,
    ) -> Result<ToolResult, String> {
        let session = context.session.to_string();
        let Program { environment, folder, socket } = program;
        let stands = environment.cwd(&session).unwrap_or_else(|| context.opened_in.clone());
        let line = format!(
            "{PYTHON}; export PYTHONPATH=\"$HERM_TOOLS_FOLDER${{PYTHONPATH:+:$PYTHONPATH}}\"\n\
             exec python3 -u \"$HERM_TOOLS_FOLDER/main.py\""
        );
        let text = |path: &Path| path.display().to_string();
        let mut execution = Execution {
            session: Some(session),
            keeps: false,
            ..Execution::new(line, &stands, &context.spool, self.limits.time_max)
        };
        execution.variables = vec![
            ("HERM_TOOLS_FOLDER".into(), text(&folder)),
            ("HERM_TOOLS_KEY".into(), calls.key().to_owned()),
        ];
        execution.variables.extend(socket.map(|socket| ("HERM_TOOLS_SOCKET".into(), text(&socket))));
        let (begun, cancel) = (Instant::now(), context.cancel.child_token());
        let mut execute = std::pin::pin!(environment.execute(&execution, &cancel));
        let outcome = tokio::select! {
            biased;
            outcome = &mut execute => outcome,
            why = &mut serve => {
                // Without its tools it would wait for nothing.
                cancel.cancel();
                drop(execute.await);
                return Err(why);
            }
        };
        let outcome = outcome.map_err(|error| error.to_string())?;
        let end = End { ending: outcome.ending, calls: Some(calls.made()), elapsed: Some(begun.elapsed()) };
        Ok(report(&outcome.output, end, context))
    }
}

/// A program that lies ready.
struct Program<'a> {
    environment: &'a dyn Environment,
    /// Its folder, in the file system of the environment.
    folder: PathBuf,
    /// What its calls go through on this machine; elsewhere they are left in its folder.
    socket: Option<PathBuf>,
}

/// How a program ended.
struct End {
    ending: Ending,
    calls: Option<u32>,
    elapsed: Option<Duration>,
}

fn report(output: &Path, end: End, context: &ToolContext) -> ToolResult {
    let window = Window { bytes_max: context.limits.bytes_max, lines_max: context.limits.lines_max };
    let (text, total, overflow) = match excerpt(output, window) {
        Ok(shown) => (shown.text, shown.bytes_total, shown.overflow),
        Err(error) => (format!("its output cannot be read: {error}"), 0, false),
    };
    let (word, status) = match end.ending {
        Ending::Exited { code: 0 } => ("success", ToolStatus::Succeeded),
        Ending::Exited { .. } => ("error", ToolStatus::Failed),
        Ending::TimedOut => ("timeout", ToolStatus::Failed),
        Ending::Interrupted => ("interrupted", ToolStatus::Interrupted),
        Ending::Lost => ("lost", ToolStatus::Failed),
    };
    let captured = text.len() as u64;
    let shown = json!({
        "status": word,
        "output": text,
        "exit_code": end.ending.exit_code(),
        "tool_calls_made": end.calls,
        "duration_seconds": end.elapsed.map(|elapsed| (elapsed.as_secs_f64() * 10.0).round() / 10.0),
        "stdout_truncated": overflow,
        "stdout_bytes_captured": captured,
        "stdout_bytes_total": total,
        "stdout_bytes_omitted": if overflow { total.saturating_sub(captured) } else { 0 },
    });
    let full = overflow.then(|| output.to_owned());
    ToolResult { full, ..ToolResult::text(status, shown.to_string()) }
}

/// The folder of a program: short, since the name of a socket may not be long, and nobody else's.
struct Place(tempfile::TempDir);

impl Place {
    fn make(code: &str) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("herm-code-").tempdir_in("/tmp")?;
        std::fs::write(folder.path().join("herm_tools.py"), HELPER)?;
        std::fs::write(folder.path().join("main.py"), code)?;
        Ok(Self(folder))
    }

    fn folder(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("tools")
    }
}
