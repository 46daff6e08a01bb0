//! Tools: the trait that every tool implements, and the table of them.
//!
//! A tool is given checked arguments and a context, and returns facts. It cannot append events and
//! cannot see other adapters. What it may touch, and what may be done about it after a crash, is
//! said in its [`ToolFacts`].
//!
//! Start reading at [`table`]; what the model wrote becomes arguments in [`arguments`]; a file a tool.

pub mod arguments;
mod charset;
mod clarify;
mod intent;
mod open;
mod outcome;
mod patch;
pub mod paths;
mod read_file;
pub mod sanitize;
mod search_files;
mod session_search;
pub mod table;
pub mod terminal;
mod text;
mod todo;
mod write_file;

#[cfg(test)]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use herm_replay::log::Log;
use herm_schema::events::{ToolFacts, ToolStatus};
use herm_schema::{CallRef, SessionId};
use tokio_util::sync::CancellationToken;

use crate::providers::BoxFuture;

pub use clarify::Clarify;
pub use patch::Patch;
pub use read_file::ReadFile;
pub use search_files::SearchFiles;
pub use session_search::SessionSearch;
pub use table::{definitions, facts, table};
pub use todo::Todo;
pub use write_file::WriteFile;

/// What a tool call is run with.
#[derive(Clone)]
pub struct ToolContext {
    pub session: SessionId,
    pub call: CallRef,
    /// Working directory of the session, absolute.
    pub cwd: PathBuf,
    /// Folder of this call alone, kept until its outcome is recorded; survives this process.
    /// It does not exist yet.
    pub spool: PathBuf,
    /// herm's home directory; tools do not write there, except below `spool`.
    pub home: PathBuf,
    /// Cancelled on interrupt: end what runs, and return what there is as `Interrupted`.
    pub cancel: CancellationToken,
    pub services: Arc<dyn Services>,
    pub limits: OutputLimits,
}

/// What a tool may ask of the rest of herm.
pub trait Services: Send + Sync {
    /// The log, to be read.
    fn log(&self) -> &dyn Log;

    /// Answers a `session_search` call; arguments and result as JSON objects.
    fn search_sessions(&self, session: SessionId, arguments: &serde_json::Value) -> serde_json::Value;

    /// Asks the person of this session; `None` if nobody answers.
    fn ask<'a>(
        &'a self,
        session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>>;

    /// Where the command lines of a session stand now, in the file system of its environment; `None`
    /// before the first. Approval judges a command line by it.
    fn stands(&self, session: SessionId, opened_in: &Path) -> Option<PathBuf> {
        let _ = (session, opened_in);
        None
    }
}

/// How much of a result the model is shown.
#[derive(Clone, Copy, Debug)]
pub struct OutputLimits {
    pub bytes_max: usize,
    pub lines_max: usize,
    pub line_bytes_max: usize,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { bytes_max: 50_000, lines_max: 2_000, line_bytes_max: 2_000 }
    }
}

/// What a tool call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    pub status: ToolStatus,
    /// What the model is shown: one JSON object as text.
    pub shown: String,
    /// A file below `spool` that holds the whole output, where `shown` is an excerpt.
    pub full: Option<PathBuf>,
}

/// What is found out about a call that was begun before a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// It took effect, or ended; this is its result.
    Finished(ToolResult),
    /// It did not take effect; it may run now.
    NotDone,
    /// Nobody can tell.
    Unknown,
}

/// One tool.
pub trait Tool: Send + Sync {
    fn facts(&self) -> ToolFacts;

    /// One or two terse sentences for the model.
    fn description(&self) -> &'static str;

    /// JSON Schema of the arguments object.
    fn parameters(&self) -> serde_json::Value;

    /// Runs it. `arguments` is an object that fits [`Tool::parameters`].
    fn run<'a>(
        &'a self,
        arguments: &'a serde_json::Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolResult>;

    /// Finds out what became of a call that was begun before a restart. May wait for a process
    /// that is still running. Not asked of repeatable tools.
    fn recover<'a>(
        &'a self,
        arguments: &'a serde_json::Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Recovered> {
        let _ = (arguments, context);
        Box::pin(async { Recovered::Unknown })
    }
}
