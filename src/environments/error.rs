//! Why a command line was not begun, told apart by whose fault it is.

use std::io;
use std::path::PathBuf;

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
    PrepareSpool { spool: PathBuf, source: io::Error },
    #[error("cannot start `{program}`")]
    StartShell { program: String, source: io::Error },
    #[error("the supervisor ended before it began the command line; see `{}`", spool.display())]
    SupervisorFailed { spool: PathBuf },
    /// The place where commands run is out of reach, whatever the command is.
    #[error(
        "nothing was run: the {environment} environment cannot be reached: {reason}. This is not the \
         command's fault and cannot be repaired by commands; {retry_hint}"
    )]
    Unreachable { environment: &'static str, reason: String, retry_hint: String },
    /// What is configured cannot be had. A person has to change it.
    #[error("nothing was run: {reason}. Only the user can change this: {hint}")]
    Misconfigured { reason: String, hint: String },
}

impl Error {
    /// Whether another try may help without anybody doing anything.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}
