//! Hooks: programs of the person's own that hear of tool calls, before and after.
//!
//! A hook is a command line in the configuration. It reads one JSON object on its standard input. One
//! that runs before a call may forbid it, or change its arguments, which are then checked and judged
//! as if the model had written them; one that runs after hears what came of it. A hook that fails
//! forbids nothing: only what it says does. Calls of herm's own are not told to anybody.

use std::time::Duration;

use serde_json::{Value, json};

mod run;
mod settings;

pub use settings::Error;

/// Longest that a hook may take where its row says nothing.
const TIMEOUT: Duration = Duration::from_secs(10);

/// One hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub command: String,
    /// Names of tools, `*` standing for anything; empty is every tool.
    pub tools: Vec<String>,
    pub timeout: Duration,
}

/// Those of the configuration, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    pub before: Vec<Hook>,
    pub after: Vec<Hook>,
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    Model,
    /// A program that the model wrote, through `execute_code`.
    Program,
    /// herm itself: no hook hears of it.
    Herm,
}

/// A tool call, as hooks are told of it.
#[derive(Clone, Debug)]
pub struct About<'a> {
    pub session: String,
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub cwd: &'a std::path::Path,
    pub caller: Caller,
}

/// What the hooks before a call come to.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// With these arguments.
    Go(Value),
    Forbidden(String),
}

impl Hooks {
    /// Reads the setting `hooks`.
    ///
    /// # Errors
    /// With the path of what is wrong in it.
    pub fn of(setting: &Value) -> Result<Self, Error> {
        settings::read(setting)
    }

    /// Asks those before a call, one after the other; each sees what the one before made of it.
    pub async fn before(&self, about: &About<'_>) -> Word {
        let mut arguments = about.arguments.clone();
        for hook in heard(&self.before, about) {
            let told = told("pre_tool_call", about, &arguments, json!({}));
            match run::ask(hook, &told, about.cwd).await {
                Ok(run::Said::Nothing) => {}
                Ok(run::Said::Forbid(why)) => return Word::Forbidden(why),
                Ok(run::Said::Arguments(changed)) => arguments = changed,
                Err(error) => tracing::warn!(hook = hook.command, %error, "a hook failed"),
            }
        }
        Word::Go(arguments)
    }

    /// Tells those after a call, which nobody waits for.
    pub fn after(&self, about: &About<'_>, outcome: Value) {
        for hook in heard(&self.after, about) {
            let told = told("post_tool_call", about, about.arguments, outcome.clone());
            let (hook, cwd) = (hook.clone(), about.cwd.to_owned());
            tokio::spawn(async move {
                if let Err(error) = run::ask(&hook, &told, &cwd).await {
                    tracing::warn!(hook = hook.command, %error, "a hook failed");
                }
            });
        }
    }
}

fn heard<'a>(hooks: &'a [Hook], about: &About<'_>) -> impl Iterator<Item = &'a Hook> {
    let (own, tool) = (about.caller == Caller::Herm, about.tool.to_owned());
    hooks.iter().filter(move |hook| !own && hook.hears(&tool))
}

impl Hook {
    fn hears(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|pattern| settings::fits(pattern, tool))
    }
}

/// `{"event", "session", "tool", "arguments", "cwd", "caller", …}`
fn told(event: &str, about: &About<'_>, arguments: &Value, more: Value) -> Value {
    let caller = match about.caller {
        Caller::Model | Caller::Herm => "model",
        Caller::Program => "program",
    };
    let mut told = json!({
        "event": event, "session": about.session, "tool": about.tool, "arguments": arguments,
        "cwd": about.cwd, "caller": caller,
    });
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    told
}

#[cfg(test)]
mod tests;
