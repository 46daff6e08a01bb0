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

use super::{Recovered, Tool, ToolContext, ToolResult};
use crate::environments::{Environment, Execution, Recovery};
use crate::providers::BoxFuture;

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
    /// Directory to run it in, absolute or relative to the session's (default: the session's).
    workdir: Option<String>,
}

/// The tool, over the environment that its command lines run in.
#[derive(Clone)]
pub struct Terminal {
    environment: Arc<dyn Environment>,
    /// Where the call does not say.
    timeout: Duration,
}

impl Terminal {
    pub const NAME: &'static str = "terminal";

    pub fn new(environment: Arc<dyn Environment>) -> Self {
        Self { environment, timeout: Duration::from_secs(TIMEOUT_DEFAULT_S) }
    }

    /// Another time where the call does not say.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
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
        let place = place(args.workdir.as_deref(), &context.cwd);
        let execution = Execution {
            command_line: args.command,
            cwd: place.cwd,
            variables: vec![],
            workdir: None,
            session: None,
            heartbeat: None,
            spool: context.spool.clone(),
            timeout: self.timeout(args.timeout),
        };
        match self.environment.execute(&execution, &context.cancel).await {
            Ok(outcome) => {
                let told = report::Told {
                    command_line: &execution.command_line,
                    timeout: execution.timeout,
                    notice: place.notice,
                };
                report::finished(outcome, told, context.limits).await
            }
            Err(error) => report::refused(&with_causes(&error)),
        }
    }

    async fn find_out(&self, arguments: &Value, context: &ToolContext) -> Recovered {
        match self.environment.recover(&context.spool, &context.cancel).await {
            Recovery::NeverBegan => Recovered::NotDone,
            Recovery::Unknown => Recovered::Unknown,
            Recovery::Finished(outcome) => {
                let command_line = arguments.get("command").and_then(Value::as_str).unwrap_or_default();
                let seconds = arguments.get("timeout").and_then(Value::as_u64);
                let told = report::Told { command_line, timeout: self.timeout(seconds), notice: None };
                Recovered::Finished(report::finished(outcome, told, context.limits).await)
            }
        }
    }
}

/// What approval is asked about: the command line of a call, and the directory it would run in.
/// `None` where the arguments are not those of a call.
pub fn command_line(arguments: &Value, session_cwd: &Path) -> Option<(String, PathBuf)> {
    let args = Args::deserialize(arguments).ok()?;
    let cwd = place(args.workdir.as_deref(), session_cwd).cwd;
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
        "Run a command line in bash and wait for it. Standard input is empty and there is no terminal, so \
         pass what a program would ask for as flags; long output is shown by its beginning and end."
    }

    fn parameters(&self) -> Value {
        let mut schema = schemars::schema_for!(Args).to_value();
        if let Some(object) = schema.as_object_mut() {
            object.remove("$schema");
            object.remove("title");
            object.remove("description");
        }
        schema
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

/// Where a command line runs, and what is to be said about it.
struct Place {
    cwd: PathBuf,
    notice: Option<String>,
}

/// A directory that the call names must exist. That of the session may have been removed, by an
/// earlier command perhaps, and must not fail every later one: what is left of its path serves.
fn place(workdir: Option<&str>, session_cwd: &Path) -> Place {
    if let Some(workdir) = workdir {
        return Place { cwd: session_cwd.join(from_home(workdir)), notice: None };
    }
    if session_cwd.is_dir() {
        return Place { cwd: session_cwd.to_owned(), notice: None };
    }
    match session_cwd.ancestors().find(|folder| folder.is_dir()) {
        Some(left) => Place {
            cwd: left.to_owned(),
            notice: Some(format!(
                "the working directory `{}` is gone; this ran in `{}`",
                session_cwd.display(),
                left.display()
            )),
        },
        None => Place { cwd: session_cwd.to_owned(), notice: None },
    }
}

fn from_home(workdir: &str) -> PathBuf {
    let rest = match workdir.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => return PathBuf::from(workdir),
    };
    std::env::home_dir().map_or_else(|| PathBuf::from(workdir), |home| home.join(Path::new(rest)))
}
