//! Where command lines run.
//!
//! An environment runs one command line and says how it ended. What the command prints and how it
//! ends is written below a *spool*, a folder on this machine that outlives herm: after a restart
//! [`Environment::recover`] finds the outcome there, or proves that nothing was begun, or says
//! that nobody can tell. Directory and exported variables are kept from one command line of a
//! session to the next, in the file system of the environment itself. Whether a command line may
//! run is not asked here; see [`crate::approval`].
//!
//! Every backend is the same machinery with another program in it: a [`supervisor`] on this machine
//! runs a shell, or what carries the command line to a shell elsewhere (`ssh`, the client of a
//! container engine), and [`follow`] waits for it, stops it, and finds it again. Start reading at
//! [`local`]; the files of a spool are in [`spool`], what the shells do around a command line in
//! [`shell`]. [`table`] chooses: one environment a session, never one a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::providers::BoxFuture;

mod ansi;
pub mod container;
mod error;
pub mod files;
mod follow;
mod identity;
mod local;
mod output;
mod report;
pub mod sandbox;
mod shell;
mod singularity;
mod spool;
pub mod ssh;
mod supervisor;
pub mod table;
mod variables;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use files::{FileAccess, FileError, FileStat};
pub use local::Local;
pub use output::{Excerpt, Window, excerpt};
pub use report::Sandboxed;
pub use shell::quoted;
pub use singularity::{Singularity, SingularitySettings};
pub use table::{Backend, Environments};
pub use variables::VariablePolicy;

/// Longest command line in bytes: what the kernel takes as one argument, with some room.
pub const COMMAND_BYTES_MAX: usize = 120_000;
/// How often a running command line is heard of, at most, where nothing else is asked.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(10);

/// One command line to be run.
#[derive(Clone, Debug)]
pub struct Execution {
    pub command_line: String,
    /// Where the first command line of a session begins. Absolute, or below the home there.
    pub cwd: PathBuf,
    /// Where this one alone runs, absolute or from where the session stands. It must exist.
    pub workdir: Option<String>,
    /// Set in addition to, and instead of, what the command inherits; for this one alone.
    pub variables: Vec<(String, String)>,
    /// Folder of this execution alone. It must not exist, or be left over from one that was
    /// found never to have begun.
    pub spool: PathBuf,
    /// After this, everything that the command started is ended.
    pub timeout: Duration,
    /// Whose directory and variables are taken up and kept; a file name. `None` keeps nothing.
    pub session: Option<String>,
    /// Whether what this one leaves is kept for the session. What goes on beside its other command lines
    /// only takes up: it would end with what the session was when it began.
    pub keeps: bool,
    pub heartbeat: Option<Heartbeat>,
}

impl Execution {
    /// The session whose directory and variables are those that this one leaves.
    fn kept(&self) -> Option<&str> {
        self.session.as_deref().filter(|_| self.keeps)
    }

    /// One of nobody's session, without a word from it until it ends.
    pub fn new(command_line: impl Into<String>, cwd: &Path, spool: &Path, timeout: Duration) -> Self {
        Self {
            command_line: command_line.into(),
            cwd: cwd.to_owned(),
            workdir: None,
            variables: Vec::new(),
            spool: spool.to_owned(),
            timeout,
            session: None,
            keeps: true,
            heartbeat: None,
        }
    }
}

/// Says from time to time that a command line still runs.
#[derive(Clone)]
pub struct Heartbeat {
    /// Time between two calls at least.
    pub every: Duration,
    /// Is given the time since the beginning. Must not block.
    pub beat: Arc<dyn Fn(Duration) + Send + Sync>,
}

impl Heartbeat {
    pub fn new(beat: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        Self { every: HEARTBEAT_EVERY, beat: Arc::new(beat) }
    }
}

impl std::fmt::Debug for Heartbeat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Heartbeat").field("every", &self.every).finish_non_exhaustive()
    }
}

/// What became of a command line that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub ending: Ending,
    /// Everything that it printed, standard output and standard error in the order of writing.
    pub output: PathBuf,
    pub output_bytes: u64,
    /// Where the session stands now, in the environment's file system; `None` where it is not kept.
    pub cwd: Option<PathBuf>,
    /// What is to be known besides: a directory that is gone, a connection that broke.
    pub notices: Vec<String>,
    pub sandboxed: Sandboxed,
}

/// How a command line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself; a signal counts as 128 and its number.
    Exited { code: i32 },
    /// It was stopped after its time.
    TimedOut,
    /// It was stopped because someone asked for it.
    Interrupted,
    /// The process that watched over it was killed from outside, or the connection to it broke; its
    /// exit status is not known.
    Lost,
}

impl Ending {
    /// The exit status, or what shells use for one: 124 for a time-out, 130 for an interrupt, -1
    /// for none.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited { code } => code,
            Self::TimedOut => 124,
            Self::Interrupted => 130,
            Self::Lost => -1,
        }
    }
}

/// What a spool says after a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    Finished(Outcome),
    /// Proven: the command did not begin, and will not begin later. It may be executed now.
    NeverBegan,
    /// It may have run, in part or whole.
    Unknown,
}

/// A place where command lines run.
pub trait Environment: Send + Sync {
    /// What it is called in the configuration.
    fn name(&self) -> &'static str;

    /// Runs a command line to its end. Cancelling stops it; dropping the future does not.
    ///
    /// # Errors
    /// Only where the command line was not begun.
    fn execute<'a>(
        &'a self,
        execution: &'a Execution,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Outcome, Error>>;

    /// Finds out what became of an execution whose future is gone, by its spool; waits while it
    /// still runs, within its timeout. Cancelling stops it.
    fn recover<'a>(&'a self, spool: &'a Path, cancel: &'a CancellationToken) -> BoxFuture<'a, Recovery>;

    /// Where a session stands, in the environment's own file system; `None` before its first command.
    fn cwd(&self, session: &str) -> Option<PathBuf>;

    /// Whether paths mean the same files here as to herm itself.
    fn is_this_machine(&self) -> bool {
        false
    }

    /// A folder that all command lines of a session see and can write to, as the shell there names it.
    fn shared_folder(&self) -> &'static str {
        "/tmp"
    }

    /// Ends what is kept running for the sessions of this environment, and brings back what is to
    /// come back. It can be used again afterwards.
    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    /// The bytes of a file from `range.start` up to `range.end` or its end.
    ///
    /// # Errors
    /// [`FileError`] says whether the file or the environment is at fault.
    fn read<'a>(
        &'a self,
        access: &'a FileAccess,
        path: &'a Path,
        range: std::ops::Range<u64>,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        Box::pin(files::read(self, access, path, range))
    }

    /// Puts a file in the place of whatever file is there, or leaves that one as it is. `mode` is for
    /// a new file; an old one keeps its own. A symbolic link stays one.
    ///
    /// # Errors
    /// As [`Environment::read`].
    fn write_atomic<'a>(
        &'a self,
        access: &'a FileAccess,
        path: &'a Path,
        bytes: &'a [u8],
        mode: u32,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        Box::pin(files::write_atomic(self, access, path, bytes, mode))
    }

    /// What there is at a path, following links; `None` if nothing.
    ///
    /// # Errors
    /// As [`Environment::read`].
    fn stat<'a>(
        &'a self,
        access: &'a FileAccess,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<Option<FileStat>, FileError>> {
        Box::pin(files::stat(self, access, path))
    }

    /// Names in a directory, sorted.
    ///
    /// # Errors
    /// As [`Environment::read`].
    fn list<'a>(
        &'a self,
        access: &'a FileAccess,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>> {
        Box::pin(files::list(self, access, path))
    }
}
