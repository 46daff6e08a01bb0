//! A container of its own for every session, in any engine that speaks Docker's API over a local
//! socket: Docker, Podman.
//!
//! The container has a read-only root, no capabilities, no way to new privileges, bounds on processes,
//! memory and processor time, and no network unless it is configured. What a session writes lies
//! below its sandbox folder on this machine: `workspace`, where command lines begin, and `home`. It
//! is made with the first command line, used for all of the session, and removed with
//! [`Environment::close`]. What a herm that was killed left behind is removed by the next one of the
//! same home (see [`reap`]), except while a command still runs in it: that is found again.
//!
//! The command is carried by `herm container-exec` (see [`client`]), which outlives herm as every
//! program below a supervisor does. [`spec`] says what is asked of the engine, [`engine`] asks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::follow::{self, Carrier, Reach, check, signal_line, was_there};
use super::shell::Told;
use super::supervisor::Launch;
use super::{Environment, Error, Execution, Outcome, Recovery, VariablePolicy};
use crate::providers::BoxFuture;

pub mod client;
mod engine;
mod reap;
mod spec;

pub use engine::{Engine, EngineError, sockets};
pub use spec::{ContainerSettings, User};

use spec::Spec;

/// See [`Carrier::quiet`]; frames come over a socket of this machine.
const QUIET: Duration = Duration::from_millis(150);
const RETRY_HINT: &str = "try again later, and tell the user that `herm doctor` says what is missing";
/// Where a session stands at first, in the container.
const WORKSPACE: &str = "/workspace";
/// Where a session's directory and variables are kept, in the container.
const STATE: &str = "/home/herm/.herm-shell";

/// What the containers of one herm share: the engine, and the look for what is left over.
pub struct Host {
    settings: ContainerSettings,
    /// herm's home, which tells its containers from those of others.
    home: PathBuf,
    /// herm itself.
    herm: PathBuf,
    engine: OnceCell<Engine>,
    reaped: OnceCell<()>,
}

impl Host {
    pub fn new(settings: ContainerSettings, home: PathBuf, herm: PathBuf) -> Self {
        Self { settings, home, herm, engine: OnceCell::new(), reaped: OnceCell::new() }
    }

    /// The engine, once what dead herms left has been removed.
    ///
    /// # Errors
    /// Where there is none.
    pub async fn engine(&self) -> Result<&Engine, Error> {
        let find = || async { Engine::find(&self.settings.engine).await };
        let engine = self.engine.get_or_try_init(find).await.map_err(|error| unreachable(&error))?;
        let reap = || async {
            match reap::orphans(engine, &self.home).await {
                Ok(0) => {}
                Ok(removed) => tracing::info!(removed, "containers of an earlier herm removed"),
                Err(error) => tracing::warn!(%error, "cannot look for containers of an earlier herm"),
            }
        };
        self.reaped.get_or_init(reap).await;
        Ok(engine)
    }
}

/// The container of one session.
pub struct Container {
    host: Arc<Host>,
    session: String,
    /// Folder of this session on this machine.
    sandbox: PathBuf,
    /// Directory that the session was opened in, on this machine.
    cwd: PathBuf,
    stands: Mutex<Option<PathBuf>>,
    /// Of two first command lines at once only one makes the container.
    making: tokio::sync::Mutex<()>,
}

impl Container {
    pub const NAME: &'static str = "container";

    pub fn new(host: Arc<Host>, session: &str, sandbox: PathBuf, cwd: &Path) -> Self {
        Self {
            host,
            session: session.into(),
            sandbox,
            cwd: cwd.into(),
            stands: Mutex::default(),
            making: Default::default(),
        }
    }

    fn spec(&self, engine: &Engine) -> Spec<'_> {
        Spec {
            settings: &self.host.settings,
            home: &self.host.home,
            session: &self.session,
            sandbox: &self.sandbox,
            cwd: &self.cwd,
            rootless: engine.rootless,
        }
    }

    /// The running container of this session: the one there is, or a new one.
    async fn ensure(&self) -> Result<(&Engine, String), Error> {
        let engine = self.host.engine().await?;
        let _making = self.making.lock().await;
        let spec = self.spec(engine);
        let name = spec.name();
        let found = engine.inspect(&name).await.map_err(|error| unreachable(&error))?;
        if let Some(found) = found {
            if found.running && (found.spec == spec.digest() || engine.is_busy(&found).await) {
                return Ok((engine, found.id));
            }
            engine.remove(&found.id).await.map_err(|error| unreachable(&error))?;
        }
        spec.make_folders().map_err(|source| Error::PrepareSpool { spool: self.sandbox.clone(), source })?;
        let made = engine.create(&name, &spec.body(), &self.host.settings.image).await;
        let id = made.map_err(|error| configured(&error))?;
        engine.start(&id).await.map_err(|error| configured(&error))?;
        Ok((engine, id))
    }

    fn carrier<'a>(reach: Option<&'a dyn Reach>) -> Carrier<'a> {
        Carrier { environment: Self::NAME, carried: true, reach, quiet: QUIET, retry_hint: RETRY_HINT }
    }

    async fn run(&self, execution: &Execution, cancel: &CancellationToken) -> Result<Outcome, Error> {
        check(execution)?;
        let (engine, id) = self.ensure().await?;
        let state = execution.session.as_ref().map(|session| format!("{STATE}/{session}"));
        let told = Told {
            command_line: &execution.command_line,
            state: state.as_deref().unwrap_or_default(),
            keeps: execution.keeps,
            start: WORKSPACE,
            workdir: execution.workdir.as_deref(),
            variables: &execution.variables,
        };
        let variables = self.spec(engine).variables(&execution.variables);
        let asked = client::Asked {
            socket: engine.socket.clone(),
            container: id.clone(),
            command: told.carried(),
            variables,
        };
        let input = serde_json::to_vec(&asked).map_err(|error| Error::Misconfigured {
            reason: format!("the command cannot be handed over: {error}"),
            hint: "move herm's home to a path that is UTF-8".into(),
        })?;
        let program = vec![self.host.herm.clone().into_os_string(), "container-exec".into()];
        let launch = Launch { program, variables: vec![] };
        let reach = Inside { engine, id: &id };
        let policy = VariablePolicy::default();
        let carrier = Self::carrier(Some(&reach));
        let outcome = follow::run(execution, &launch, Some(input), &policy, carrier, cancel).await?;
        if let (Some(cwd), Some(_)) = (&outcome.cwd, execution.kept()) {
            *self.stands.lock().unwrap_or_else(PoisonError::into_inner) = Some(cwd.clone());
        }
        Ok(outcome)
    }

    async fn find_out(&self, spool: &Path, cancel: &CancellationToken) -> Recovery {
        let Ok(engine) = self.host.engine().await else {
            return follow::recover(spool, Self::carrier(None), cancel).await;
        };
        let id = self.spec(engine).name();
        let reach = Inside { engine, id: &id };
        follow::recover(spool, Self::carrier(Some(&reach)), cancel).await
    }

    async fn end(&self) -> Result<(), Error> {
        let Some(engine) = self.host.engine.get() else { return Ok(()) };
        let name = self.spec(engine).name();
        engine.remove(&name).await.map_err(|error| unreachable(&error))
    }
}

/// The processes of a container.
struct Inside<'a> {
    engine: &'a Engine,
    id: &'a str,
}

impl Reach for Inside<'_> {
    fn signal<'a>(&'a self, group: i32, signal: Option<&'static str>) -> BoxFuture<'a, Option<bool>> {
        Box::pin(async move {
            let words = ["/bin/sh", "-c", &signal_line(group, signal)].map(str::to_owned);
            let status = self.engine.run(self.id, &words).await.ok().flatten();
            match was_there(status) {
                // It is so full of processes that nothing can be started in it any more, or worse. It
                // goes as a whole; what the session wrote is not in it.
                None if signal == Some("KILL") => self.engine.remove(self.id).await.ok().map(|()| true),
                found => found,
            }
        })
    }
}

impl Environment for Container {
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
        Box::pin(self.find_out(spool, cancel))
    }

    fn cwd(&self, _: &str) -> Option<PathBuf> {
        self.stands.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn close<'a>(&'a self) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.end())
    }
}

fn unreachable(error: &EngineError) -> Error {
    Error::Unreachable {
        environment: Container::NAME,
        reason: error.to_string(),
        retry_hint: RETRY_HINT.into(),
    }
}

/// What the engine refuses to make is for a person to change; that it does not answer is not.
fn configured(error: &EngineError) -> Error {
    match error {
        EngineError::Refused { .. } => Error::Misconfigured {
            reason: error.to_string(),
            hint: "look at `terminal.container` with `herm config show`, and at `herm doctor`".into(),
        },
        _ => unreachable(error),
    }
}
