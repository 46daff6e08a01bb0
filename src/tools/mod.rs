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
pub mod execute_code;
mod files;
mod intent;
mod mask;
pub mod media;
mod memory;
mod open;
mod outcome;
mod patch;
pub mod paths;
pub mod process;
mod read_file;
pub mod registry;
pub mod sanitize;
mod search_files;
mod session_search;
pub mod skills;
pub mod table;
pub mod terminal;
mod text;
mod todo;
pub mod toolsets;
pub(crate) mod typed;
pub mod vendors;
pub mod web;
mod write_file;

#[cfg(test)]
mod testing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use herm_replay::log::Log;
use herm_replay::reducer::command::Fact;
use herm_schema::events::{AuxiliaryTask, MemorySpace, ToolFacts, ToolStatus};
use herm_schema::{CallRef, SessionId};
use tokio_util::sync::CancellationToken;

use crate::environments::Environment;
use crate::memory::MemoryProvider;
use crate::providers::{BoxFuture, Image};
use crate::skills::Workshop;

pub use clarify::Clarify;
pub use files::{Files, There};
pub use memory::Memory;
pub(crate) use outcome::failed;
pub use patch::Patch;
pub use read_file::ReadFile;
pub use registry::{Offer, Tools};
pub use search_files::SearchFiles;
pub use session_search::SessionSearch;
pub use table::{definitions, facts, table};
pub use todo::Todo;
pub use typed::Typed;
pub use write_file::WriteFile;

/// What a tool call is run with.
#[derive(Clone)]
pub struct ToolContext {
    pub session: SessionId,
    pub call: CallRef,
    /// Where the session stands on this machine, absolute: where its last command line ended.
    pub cwd: PathBuf,
    /// Where its files are.
    pub files: Files,
    /// Where the session was opened, absolute; names its environment.
    pub opened_in: PathBuf,
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

    /// What remembers across sessions, and whose memory a session has; `None` where nothing does.
    fn memory(&self, session: SessionId) -> Option<(Arc<dyn MemoryProvider>, MemorySpace)> {
        let _ = session;
        None
    }

    /// Whether a session is one of the profile's owners, who may teach all of its sessions.
    fn owned(&self, session: SessionId) -> bool {
        let _ = session;
        true
    }

    /// The skills of the profile; `None` where there are none.
    fn skills(&self) -> Option<Arc<Workshop>> {
        None
    }

    /// A text without its secrets, as the model is shown it.
    fn redacted(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Asks the person of this session; `None` if nobody answers.
    fn ask<'a>(
        &'a self,
        session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>>;

    /// A call still runs, for so long already; heard of every few seconds.
    fn still_runs(&self, session: SessionId, call: CallRef, elapsed: Duration) {
        let _ = (session, call, elapsed);
    }

    /// The environment of a session, where its files are not those of this machine.
    fn elsewhere(&self, session: SessionId, opened_in: &Path) -> Option<Arc<dyn Environment>> {
        let _ = (session, opened_in);
        None
    }

    /// Where the command lines of a session stand now, in the file system of its environment; `None`
    /// before the first. Approval judges a command line by it.
    fn stands(&self, session: SessionId, opened_in: &Path) -> Option<PathBuf> {
        let _ = (session, opened_in);
        None
    }

    /// Runs a tool for a program that the model wrote, by the same rules as for the model itself: what it
    /// would be given. `nth` counts the calls of the program, and `spool` is this one's alone.
    fn call_tool<'a>(
        &'a self,
        context: &'a ToolContext,
        asked: ProgramCall<'a>,
    ) -> BoxFuture<'a, ToolResult> {
        let _ = (context, asked);
        Box::pin(async { outcome::failed("no tool can be called here") })
    }

    /// Asks a model besides the conversation; recorded in the session as every such call is.
    ///
    /// # Errors
    /// For the model that called the tool: nobody can answer, or nobody did.
    fn ask_model<'a>(
        &'a self,
        session: SessionId,
        question: ModelQuestion,
    ) -> BoxFuture<'a, Result<String, String>> {
        let _ = (session, question);
        Box::pin(async { Err("no model can be asked here".to_owned()) })
    }
}

/// A call that a program makes.
#[derive(Clone, Copy, Debug)]
pub struct ProgramCall<'a> {
    /// From 1.
    pub nth: u32,
    pub name: &'a str,
    /// A JSON object.
    pub arguments: &'a str,
}

/// A question to a model besides the conversation.
#[derive(Clone, Debug)]
pub struct ModelQuestion {
    pub task: AuxiliaryTask,
    pub system: String,
    pub text: String,
    pub images: Vec<Image>,
    pub output_tokens_max: u32,
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
    /// Pictures, shown beside the text to models that take images; `shown` says what is on them for
    /// those that do not.
    pub images: Vec<Picture>,
    /// A file below `spool` that holds the whole output, where `shown` is an excerpt.
    pub full: Option<PathBuf>,
    /// What else was done in the world that the session has to know of.
    pub facts: Vec<Fact>,
}

impl ToolResult {
    /// Without pictures, and whole.
    pub fn text(status: ToolStatus, shown: impl Into<String>) -> Self {
        Self { status, shown: shown.into(), images: Vec::new(), full: None, facts: Vec::new() }
    }
}

/// A picture that a tool shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Such as `image/png`, by what the bytes are.
    pub media_type: String,
    pub bytes: Vec<u8>,
    /// For people, and for models that cannot see it.
    pub name: String,
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
    fn description(&self) -> &str;

    /// JSON Schema of the arguments object.
    fn parameters(&self) -> serde_json::Value;

    /// Whether it can work here and now; if not, what is missing and how to have it. May look at the
    /// disk; what it says is believed for half a minute.
    ///
    /// # Errors
    /// A sentence for a person.
    fn available(&self) -> Result<(), String> {
        Ok(())
    }

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
