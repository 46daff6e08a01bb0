//! Asks a command or the system's keyring for a secret, within a time limit.

use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::process::Command;

use crate::config::Secret;

/// How long a command may take; a password manager may ask a person for a fingerprint.
pub const FETCH_TIME_MAX: Duration = Duration::from_secs(30);
/// For how long it is not asked anew whether there is another secret.
const RENEWED_FOR: Duration = Duration::from_secs(60);
/// Secrets of one source that are taken out of texts: the one now, and the one before it.
const KNOWN_MAX: usize = 2;
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

/// A command line that prints a secret. It is run once, since it may ask a person; the secret is kept in
/// memory until an endpoint refuses it. What is printed may be a token that does not live as long as herm.
#[derive(Debug)]
pub struct Fetch {
    /// For messages.
    what: String,
    program: String,
    arguments: Vec<String>,
    limit: Duration,
    held: tokio::sync::Mutex<Held>,
    /// The newest last.
    known: Mutex<Vec<Secret>>,
}

#[derive(Debug, Default)]
struct Held {
    secret: Option<Secret>,
    /// When it was last asked for another one, and whether there was one.
    renewed: Option<(Instant, bool)>,
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
        Self {
            what,
            program,
            arguments,
            limit: FETCH_TIME_MAX,
            held: Default::default(),
            known: Mutex::default(),
        }
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
        let mut held = self.held.lock().await;
        match &held.secret {
            Some(secret) => Ok(secret.clone()),
            None => Ok(held.secret.insert(self.learnt().await?).clone()),
        }
    }

    /// The secret was refused: whether there is another one now. It is asked at most once a minute; within
    /// that, whoever was refused as well hears the same.
    pub async fn renew(&self) -> bool {
        let mut held = self.held.lock().await;
        if let Some((at, was_new)) = held.renewed
            && at.elapsed() < RENEWED_FOR
        {
            return was_new;
        }
        // One that cannot be had does not make the old one worse.
        let new = self.learnt().await.ok().filter(|new| held.secret.as_ref() != Some(new));
        held.renewed = Some((Instant::now(), new.is_some()));
        if let Some(new) = new {
            held.secret = Some(new);
        }
        held.renewed.is_some_and(|(_, is_new)| is_new)
    }

    /// What is known by now, for those who take secrets out of texts.
    pub fn known(&self) -> Vec<Secret> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn learnt(&self) -> Result<Secret, FetchFailure> {
        let secret = self.run().await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.last() != Some(&secret) {
            known.push(secret.clone());
            let more = known.len().saturating_sub(KNOWN_MAX);
            known.drain(..more);
        }
        Ok(secret)
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
