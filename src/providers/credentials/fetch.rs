//! Asks a command or the system's keyring for a secret, within a time limit.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::config::Secret;

/// How long a command may take; a password manager may ask a person for a fingerprint.
pub const FETCH_TIME_MAX: Duration = Duration::from_secs(30);
/// Largest secret, in bytes.
const SECRET_BYTES_MAX: usize = 16 << 10;

/// Why there is no secret. Never what was printed: it may be half of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchFailure {
    #[error("{what} cannot be run: {reason}")]
    Start { what: String, reason: String },
    #[error("{what} did not end within {} s", limit.as_secs())]
    TooLate { what: String, limit: Duration },
    #[error("{what} ended with {status}")]
    Status { what: String, status: String },
    #[error("{what} printed {found}")]
    Useless { what: String, found: &'static str },
}

/// A command line that prints a secret. It is run once; the secret is kept in memory.
#[derive(Debug)]
pub struct Fetch {
    /// For messages.
    what: String,
    program: String,
    arguments: Vec<String>,
    limit: Duration,
    fetched: OnceCell<Secret>,
}

impl Fetch {
    /// A command line as a shell takes it.
    pub fn command(line: &str) -> Self {
        let arguments = vec!["-c".to_owned(), line.to_owned()];
        Self::new(format!("the command `{line}`"), "/bin/sh", arguments)
    }

    /// The system's own tool for its keyring: `security` on macOS, libsecret's `secret-tool` elsewhere.
    pub fn keyring(service: &str, user: &str) -> Self {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let what = format!("the keyring entry `{service}/{user}`");
        if cfg!(target_os = "macos") {
            let arguments = words(&["find-generic-password", "-s", service, "-a", user, "-w"]);
            return Self::new(what, "security", arguments);
        }
        Self::new(what, "secret-tool", words(&["lookup", "service", service, "username", user]))
    }

    fn new(what: String, program: &str, arguments: Vec<String>) -> Self {
        let program = program.to_owned();
        Self { what, program, arguments, limit: FETCH_TIME_MAX, fetched: OnceCell::new() }
    }

    /// With another limit.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The secret; callers at the same time share one run.
    ///
    /// # Errors
    /// [`FetchFailure`]; the next call tries again.
    pub async fn secret(&self) -> Result<Secret, FetchFailure> {
        self.fetched.get_or_try_init(|| self.run()).await.cloned()
    }

    /// What is known by now, for those who take secrets out of texts.
    pub fn known(&self) -> Option<Secret> {
        self.fetched.get().cloned()
    }

    async fn run(&self) -> Result<Secret, FetchFailure> {
        let what = || self.what.clone();
        let mut command = Command::new(&self.program);
        // What it says for people goes nowhere: it may quote the secret.
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.kill_on_drop(true).spawn();
        let child = child.map_err(|error| FetchFailure::Start { what: what(), reason: error.to_string() })?;
        let output = tokio::time::timeout(self.limit, child.wait_with_output()).await;
        let output = output
            .map_err(|_| FetchFailure::TooLate { what: what(), limit: self.limit })?
            .map_err(|error| FetchFailure::Start { what: what(), reason: error.to_string() })?;
        if !output.status.success() {
            return Err(FetchFailure::Status { what: what(), status: output.status.to_string() });
        }
        let useless = |found| FetchFailure::Useless { what: what(), found };
        if output.stdout.len() > SECRET_BYTES_MAX {
            return Err(useless("far too much for a secret"));
        }
        let text = String::from_utf8(output.stdout).map_err(|_| useless("what is not text"))?;
        match text.trim() {
            "" => Err(useless("nothing")),
            text if text.contains(char::is_control) => Err(useless("more than one line")),
            text => Ok(Secret::new(text)),
        }
    }
}
