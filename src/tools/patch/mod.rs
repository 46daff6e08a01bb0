//! `patch`: changes parts of files, by text and its replacement or by a `*** Begin Patch` envelope.
//!
//! Everything is worked out and checked first ([`plan`]); only then is the first file touched, and
//! what a crash leaves half done is told apart and finished by [`super::intent`]. Encoding, byte
//! order mark and line ends stay the file's own.

mod diff;
mod envelope;
mod hunks;
mod matching;
mod plan;
mod replace;

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::plan::Plan;
use self::replace::Replacement;
use super::{Recovered, ToolContext, ToolResult, Typed, mask, outcome, text, write_file};
use crate::providers::BoxFuture;

/// The tool.
pub struct Patch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    mode: Mode,
    path: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    /// `*** Add File: P`, `*** Update File: P` with `@@ CONTEXT` and ` `/`-`/`+` lines, `*** Move to: P`, `*** Delete File: P`, `*** End Patch`
    patch: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Replace,
    Patch,
}

impl Typed for Patch {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: "patch".into(),
            effect: EffectClass::Checkable,
            // The paths of an envelope are no arguments, so that nobody can compare them.
            concurrency: Concurrency::Serial,
            refunds_iteration: false,
            judged: false,
        }
    }

    fn description(&self) -> &'static str {
        "Change parts of files. Mode `replace`: path, old_string (must occur once, or set replace_all), \
         new_string. Mode `patch`: a `*** Begin Patch` envelope (V4A) over several files, all or none."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || change(&args, &context).unwrap_or_else(outcome::failed)))
    }

    fn found_out<'a>(&'a self, _arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(write_file::recover(context.spool.clone()))
    }
}

fn change(arguments: &Arguments, context: &ToolContext) -> Result<ToolResult, String> {
    let mut plan = Plan::new(context);
    match arguments.mode {
        Mode::Replace => {
            let needed = |value: &Option<String>, name| {
                value.clone().ok_or_else(|| format!("mode `replace` needs `{name}`"))
            };
            let (path, old) =
                (needed(&arguments.path, "path")?, needed(&arguments.old_string, "old_string")?);
            let new = needed(&arguments.new_string, "new_string")?;
            plan.replace(&path, &Replacement { old: &old, new: &new, all: arguments.replace_all })?;
        }
        Mode::Patch => {
            let patch = arguments.patch.as_deref().ok_or("mode `patch` needs `patch`")?;
            envelope::parse(patch)?.into_iter().try_for_each(|operation| plan.take(operation))?;
        }
    }
    let (changes, shown) = plan.finished()?;
    for change in &changes {
        let after = change.after.as_deref().unwrap_or_default();
        mask::kept_out(&change.path, change.before.as_deref(), after, context)?;
    }
    if context.cancel.is_cancelled() {
        return Ok(outcome::interrupted());
    }
    context
        .carry_out(&changes, &shown.to_string())
        .map_err(|source| format!("the change could not be written and was taken back: {source}"))?;
    Ok(outcome::succeeded(&shown))
}

#[cfg(test)]
mod tests;
