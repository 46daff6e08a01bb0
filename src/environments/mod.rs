//! Where command lines run.
//!
//! An environment runs one command line in one directory and says how it ended. What the command
//! prints and how it ends is written below a *spool*, a folder that outlives herm: after a restart
//! [`Environment::recover`] finds the outcome there, or proves that nothing was begun, or says
//! that nobody can tell. Whether a command line may run is not asked here; see [`crate::approval`].
//!
//! Start reading at [`local`]; the files of a spool and who writes them are in [`spool`].

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::providers::BoxFuture;

mod ansi;
mod identity;
mod local;
mod output;
mod spool;
mod supervisor;
mod variables;

#[cfg(test)]
mod tests;

pub use local::Local;
pub use output::{Excerpt, Window, excerpt};
pub use variables::VariablePolicy;

/// Longest command line in bytes: what the kernel takes as one argument, with some room.
pub const COMMAND_BYTES_MAX: usize = 120_000;

/// One command line to be run.
#[derive(Clone, Debug)]
pub struct Execution {
    pub command_line: String,
    /// Absolute.
    pub cwd: PathBuf,
    /// Set in addition to, and instead of, what the command inherits.
    pub variables: Vec<(String, String)>,
    /// Folder of this execution alone. It must not exist, or be left over from one that was
    /// found never to have begun.
    pub spool: PathBuf,
    /// After this, everything that the command started is ended.
    pub timeout: Duration,
}

/// What became of a command line that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub ending: Ending,
    /// Everything that it printed, standard output and standard error in the order of writing.
    pub output: PathBuf,
    pub output_bytes: u64,
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
    /// The process that watched over it was killed from outside; its exit status is not known.
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

/// Why a command line was not begun. None of these leaves anything running.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("working directory `{}` does not exist", cwd.display())]
    CwdMissing { cwd: PathBuf },
    #[error("working directory `{}` is not an absolute path", cwd.display())]
    CwdRelative { cwd: PathBuf },
    #[error("command line of {found} bytes is longer than the limit of {limit} bytes; put it into a file")]
    CommandTooLong { found: usize, limit: usize },
    #[error("command line contains a NUL character, which no shell can be given")]
    NulInCommand,
    #[error("spool `{}` belongs to another execution", spool.display())]
    SpoolInUse { spool: PathBuf },
    #[error("cannot prepare spool `{}`", spool.display())]
    PrepareSpool { spool: PathBuf, source: std::io::Error },
    #[error("cannot start shell `{shell}`")]
    StartShell { shell: String, source: std::io::Error },
    #[error("the supervisor ended before it began the command line; see `{}`", spool.display())]
    SupervisorFailed { spool: PathBuf },
}

/// A place where command lines run.
pub trait Environment: Send + Sync {
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
    fn recover<'a>(
        &'a self,
        spool: &'a std::path::Path,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Recovery>;
}
