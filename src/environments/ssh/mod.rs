//! Another machine, through the system's own `ssh`: its configuration, agent and known hosts are the
//! user's, and nothing is asked.
//!
//! One connection is made and then shared (see [`connection`]); before a command line herm's own
//! runtime files are brought over, and with [`Environment::close`] what changed over there comes
//! back (see [`sync`]). The user's project is the user's affair, as anywhere else.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::follow::{self, Carrier, Reach, check, signal_line, was_there};
use super::shell::Told;
use super::supervisor::Launch;
use super::{Environment, Error, Execution, Outcome, Recovery, VariablePolicy};
use crate::providers::BoxFuture;

mod connection;
mod manifest;
mod sync;

pub use connection::Connection;
pub use sync::{SyncKind, SyncRoot};

use sync::Sync;

/// See [`Carrier::quiet`]; over a network the last words take longer.
const QUIET: Duration = Duration::from_millis(300);
const RETRY_HINT: &str = "try again in a minute; if it stays so, tell the user to run `herm doctor`";
/// Where herm keeps its things over there.
pub const REMOTE_HOME: &str = "~/.herm";

/// What is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshSettings {
    /// Name, address, or a `Host` of the user's ssh configuration.
    pub host: String,
    pub user: Option<String>,
    pub port: Option<u16>,
    /// File with the private key.
    pub key: Option<PathBuf>,
    /// Where sessions begin; below the home there unless it is absolute.
    pub cwd: String,
    /// More options, as `-o` takes them.
    pub options: Vec<String>,
    /// Whether herm's skills and caches are brought over and back.
    pub sync: bool,
    /// Files below herm's home that are brought over, and never back.
    pub credentials: Vec<String>,
}

impl SshSettings {
    /// A host, and everything else as usual.
    pub fn to(host: &str) -> Self {
        Self {
            host: host.into(),
            user: None,
            port: None,
            key: None,
            cwd: "~".into(),
            options: vec![],
            sync: true,
            credentials: vec![],
        }
    }
}

/// Runs command lines on another machine.
pub struct Ssh {
    settings: SshSettings,
    policy: VariablePolicy,
    connection: Connection,
    sync: Option<Sync>,
    /// By session.
    stands: Mutex<HashMap<String, PathBuf>>,
}

impl Ssh {
    pub const NAME: &'static str = "ssh";

    /// `home` is herm's own; `folder` is below its sandbox root.
    ///
    /// # Errors
    /// No host is configured, or what is to be brought over is not below the home.
    pub fn new(
        settings: SshSettings,
        policy: VariablePolicy,
        home: &Path,
        folder: PathBuf,
    ) -> Result<Self, Error> {
        if settings.host.is_empty() || settings.host.starts_with('-') {
            return Err(Error::Misconfigured {
                reason: format!("`terminal.ssh.host` is `{}`, which is no host", settings.host),
                hint: "herm config set terminal.ssh.host NAME".into(),
            });
        }
        let connection = Connection::new(&settings, &folder);
        let roots = SyncRoot::usual(home, &settings.credentials)?;
        let sync = settings.sync.then(|| Sync::new(roots, folder.join(connection.key())));
        Ok(Self { settings, policy, connection, sync, stands: Mutex::default() })
    }

    fn carrier<'a>(reach: &'a dyn Reach) -> Carrier<'a> {
        Carrier {
            environment: Self::NAME,
            carried: true,
            reach: Some(reach),
            quiet: QUIET,
            retry_hint: RETRY_HINT,
        }
    }

    async fn run(&self, execution: &Execution, cancel: &CancellationToken) -> Result<Outcome, Error> {
        check(execution)?;
        self.connection.ensure().await?;
        if let Some(sync) = &self.sync {
            sync.bring(&self.connection).await?;
        }
        let state = execution.session.as_ref().map(|session| format!("{REMOTE_HOME}/shell/{session}"));
        let told = Told {
            command_line: &execution.command_line,
            state: state.as_deref().unwrap_or_default(),
            keeps: execution.keeps,
            start: &self.settings.cwd,
            workdir: execution.workdir.as_deref(),
            variables: &execution.variables,
        };
        let program = self.connection.words("exec /bin/sh -s");
        let launch = Launch { program, variables: vec![] };
        let input = Some(told.script().into_bytes());
        let carrier = Self::carrier(&self.connection);
        let outcome = follow::run(execution, &launch, input, &self.policy, carrier, cancel).await?;
        if let (Some(cwd), Some(session)) = (&outcome.cwd, execution.kept()) {
            let mut stands = self.stands.lock().unwrap_or_else(PoisonError::into_inner);
            stands.insert(session.to_owned(), cwd.clone());
        }
        Ok(outcome)
    }

    async fn end(&self) -> Result<(), Error> {
        let back = match (&self.sync, self.connection.is_up().await) {
            (Some(sync), true) => sync.back(&self.connection).await,
            _ => Ok(()),
        };
        self.connection.close().await;
        back
    }
}

impl Reach for Connection {
    fn signal<'a>(&'a self, group: i32, signal: Option<&'static str>) -> BoxFuture<'a, Option<bool>> {
        Box::pin(async move { was_there(self.status(&signal_line(group, signal)).await) })
    }
}

impl Environment for Ssh {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn execute<'a>(
        &'a self,
        execution: &'a Execution,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(self.run(execution, cancel))
    }

    fn recover<'a>(&'a self, spool: &'a Path, cancel: &'a CancellationToken) -> BoxFuture<'a, Recovery> {
        Box::pin(follow::recover(spool, Self::carrier(&self.connection), cancel))
    }

    fn cwd(&self, session: &str) -> Option<PathBuf> {
        self.stands.lock().unwrap_or_else(PoisonError::into_inner).get(session).cloned()
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.end())
    }
}

fn unreachable(reason: String) -> Error {
    Error::Unreachable { environment: Ssh::NAME, reason, retry_hint: RETRY_HINT.into() }
}
