//! `terminal`: one command line in a shell, to its end.
//!
//! A command line is of class *once*: after a crash its outcome is recovered from the spool, or it
//! is in doubt, but it is never run again by itself. Whether it may run at all is decided before,
//! by [`crate::approval`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::process::Processes;
use super::{Recovered, Tool, ToolContext, ToolResult};
use crate::environments::files::from_home;
use crate::environments::{Environment, Environments, Error, Execution, Heartbeat, Recovery};
use crate::providers::BoxFuture;

mod background;
mod meaning;
mod report;

#[cfg(test)]
mod tests;

/// Time that a command line has where the call does not say.
pub const TIMEOUT_DEFAULT_S: u64 = 180;
/// Longest time that a call may ask for; what takes longer belongs in the background.
pub const TIMEOUT_MAX_S: u64 = 3_600;

/// Arguments of a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The command line, as typed into bash.
    command: String,
    /// Seconds after which it is stopped (default 180, at most 3600).
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u64>,
    /// Directory to run this one in, absolute or relative to where the last one ended (default: there).
    workdir: Option<String>,
    /// Leave it running; `process` polls it, writes to it and ends it.
    background: Option<bool>,
    /// In the background, give it a terminal.
    pty: Option<bool>,
    /// In the background, hear of its end.
    notify_on_complete: Option<bool>,
    /// In the background, hear of lines that match one of these.
    watch_patterns: Option<Vec<String>>,
}

impl Args {
    fn is_for_the_background(&self) -> bool {
        let asked = |flag: Option<bool>| flag.unwrap_or(false);
        asked(self.background)
            || asked(self.pty)
            || asked(self.notify_on_complete)
            || self.watch_patterns.as_ref().is_some_and(|patterns| !patterns.is_empty())
    }
}

/// The tool, over the environments that command lines run in: one for each session.
#[derive(Clone)]
pub struct Terminal {
    environments: Arc<Environments>,
    /// Where the call does not say.
    timeout: Duration,
    /// `None` where nothing is left running.
    processes: Option<Arc<Processes>>,
}

impl Terminal {
    pub const NAME: &'static str = "terminal";

    /// The same environment for every session.
    pub fn new(environment: Arc<dyn Environment>) -> Self {
        Self::over(Arc::new(Environments::only(environment)))
    }

    pub fn over(environments: Arc<Environments>) -> Self {
        Self { environments, timeout: Duration::from_secs(TIMEOUT_DEFAULT_S), processes: None }
    }

    /// Another time where the call does not say.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// With processes that can be left running.
    #[must_use]
    pub fn with_processes(self, processes: Arc<Processes>) -> Self {
        Self { processes: Some(processes), ..self }
    }

    fn timeout(&self, seconds: Option<u64>) -> Duration {
        let asked = seconds.map_or(self.timeout, Duration::from_secs);
        asked.clamp(Duration::from_secs(1), Duration::from_secs(TIMEOUT_MAX_S))
    }

    async fn execute(&self, arguments: &Value, context: &ToolContext) -> ToolResult {
        let args = match Args::deserialize(arguments) {
            Ok(args) => args,
            Err(error) => return report::refused(&format!("invalid arguments: {error}")),
        };
        if args.command.trim().is_empty() {
            return report::refused("invalid arguments: `command` is empty");
        }
        if args.is_for_the_background() {
            return match &self.processes {
                Some(processes) => background::begin(args, processes, context),
                None => report::refused("nothing can be left running here"),
            };
        }
        match self.run_there(args, context).await {
            Ok(result) => result,
            Err(error) => report::refused(&with_causes(&error)),
        }
    }

    async fn run_there(&self, args: Args, context: &ToolContext) -> Result<ToolResult, Error> {
        let session = context.session.to_string();
        let environment = self.environments.of(&session, &context.opened_in)?;
        let timeout = self.timeout(args.timeout);
        let (services, of, call) = (Arc::clone(&context.services), context.session, context.call);
        let execution = Execution {
            workdir: args.workdir,
            session: Some(session),
            heartbeat: Some(Heartbeat::new(move |elapsed| {
                services.still_runs(of, call, elapsed);
            })),
            ..Execution::new(args.command, &context.opened_in, &context.spool, timeout)
        };
        let outcome = environment.execute(&execution, &context.cancel).await?;
        let told = report::Told { command_line: &execution.command_line, timeout };
        Ok(report::finished(outcome, told, context.limits).await)
    }

    async fn find_out(&self, arguments: &Value, context: &ToolContext) -> Recovered {
        let Ok(environment) = self.environments.of(&context.session.to_string(), &context.opened_in) else {
            return Recovered::Unknown;
        };
        match environment.recover(&context.spool, &context.cancel).await {
            Recovery::NeverBegan => Recovered::NotDone,
            Recovery::Unknown => Recovered::Unknown,
            Recovery::Finished(outcome) => {
                let command_line = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
                let seconds = arguments.get("timeout").and_then(Value::as_u64);
                let told = report::Told { command_line, timeout: self.timeout(seconds) };
                Recovered::Finished(report::finished(outcome, told, context.limits).await)
            }
        }
    }
}

/// What approval is asked about: the command line of a call, and the directory it would run in, where
/// the session stands in `session_cwd` (see [`Environments::cwd`]). `None` where the arguments are
/// not those of a call.
pub fn command_line(arguments: &Value, session_cwd: &Path) -> Option<(String, PathBuf)> {
    let args = Args::deserialize(arguments).ok()?;
    let cwd = match args.workdir {
        Some(workdir) => session_cwd.join(from_home(&workdir)),
        None => session_cwd.to_owned(),
    };
    Some((args.command, cwd))
}

impl Tool for Terminal {
    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: Self::NAME.into(),
            effect: EffectClass::Once,
            concurrency: Concurrency::Serial,
            refunds_iteration: false,
            judged: true,
        }
    }

    fn description(&self) -> &'static str {
        "Run a command line in bash and wait for it. Directory and exported variables stay for the next one. \
         Standard input is empty and there is no terminal, so pass what a program would ask for as flags; \
         long output is shown by its beginning and end."
    }

    fn parameters(&self) -> Value {
        super::typed::schema::<Args>()
    }

    fn run<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(self.execute(arguments, context))
    }

    fn recover<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(self.find_out(arguments, context))
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
