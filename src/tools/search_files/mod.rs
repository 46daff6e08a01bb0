//! `search_files`: lines that match, or files whose names do, with ripgrep's own libraries.
//!
//! What git ignores, hidden files, `.git` and binaries are left out, unless the path that is asked
//! for is hidden itself. Files go by in the order of their paths, one at a time, so that the same
//! tree always gives the same result. It is cut by [`Limits`] and ends when the call is cancelled.

mod content;
mod names;
mod walk;

use std::time::Duration;

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Files, There, ToolContext, ToolResult, Typed, outcome};
use crate::providers::BoxFuture;

/// Results of a call where no number is asked for.
const RESULTS_DEFAULT: i64 = 50;
/// Results of a call, at most.
const RESULTS_MAX: i64 = 1_000;
/// Lines shown before and after a match, at most.
const CONTEXT_LINES_MAX: i64 = 20;

/// The tool.
pub struct SearchFiles;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Target {
    #[default]
    Content,
    Files,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    FilesOnly,
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// regex; for target `files` a glob
    pattern: String,
    #[serde(default)]
    target: Target,
    path: Option<String>,
    /// only files like `*.rs`
    file_glob: Option<String>,
    /// default 50
    limit: Option<i64>,
    offset: Option<i64>,
    #[serde(default)]
    output_mode: OutputMode,
    /// lines around a match
    context: Option<i64>,
}

/// How long a search goes on.
const TIME_MAX: Duration = Duration::from_secs(60);

/// Which of the results are shown.
#[derive(Clone, Copy, Debug)]
struct Limits {
    skip: u64,
    take: u64,
    context: usize,
    /// Bytes of the shown text.
    bytes_max: usize,
}

impl Limits {
    fn of(arguments: &Arguments, context: &ToolContext) -> Self {
        let limit = arguments.limit.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX);
        Self {
            skip: arguments.offset.unwrap_or(0).max(0).unsigned_abs(),
            take: limit.unsigned_abs(),
            context: arguments.context.unwrap_or(0).clamp(0, CONTEXT_LINES_MAX).unsigned_abs() as usize,
            bytes_max: context.limits.bytes_max,
        }
    }

    /// Whether the `number`-th result, from 0, is shown.
    fn covers(self, number: u64) -> bool {
        number >= self.skip && number - self.skip < self.take
    }
}

/// Why a search did not come to its end.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("interrupted")]
    Cancelled,
    #[error("{0}")]
    Wrong(String),
}

impl Typed for SearchFiles {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: "search_files".into(),
            effect: EffectClass::Repeatable,
            concurrency: Concurrency::Paths { arguments: vec!["path".into()], writes: false },
            refunds_iteration: false,
            judged: false,
        }
    }

    fn description(&self) -> &'static str {
        "Search file contents by regex, or with target `files` find files by name (glob). Respects .gitignore."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || match &context.files {
            Files::Here => search(&args, &context),
            Files::There(there) => search_there(args, &context, there),
        }))
    }
}

/// Searches a copy of what is over there; paths are shown from where the search begins.
fn search_there(arguments: Arguments, context: &ToolContext, there: &There) -> ToolResult {
    let fetched = there.path(arguments.path.as_deref().unwrap_or(".")).and_then(|path| there.fetched(&path));
    let (folder, copy) = match fetched {
        Ok(fetched) => fetched,
        Err(why) => return outcome::failed(why),
    };
    let arguments = Arguments { path: Some(copy.display().to_string()), ..arguments };
    let (cwd, files) = (folder.path().to_owned(), Files::Here);
    search(&arguments, &ToolContext { cwd, files, ..context.clone() })
}

fn search(arguments: &Arguments, context: &ToolContext) -> ToolResult {
    let found = match arguments.target {
        Target::Content => content::search(arguments, context),
        Target::Files => names::search(arguments, context),
    };
    match found {
        Ok(shown) => outcome::succeeded(&shown),
        Err(Stop::Cancelled) => outcome::interrupted(),
        Err(Stop::Wrong(error)) => outcome::failed(error),
    }
}

#[cfg(test)]
mod tests;
