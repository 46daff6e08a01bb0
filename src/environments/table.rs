//! The table of environments, and the choice: the configuration says where the command lines of a
//! session run, and every one of them runs there. Never a choice per call: what one command writes
//! the next must find.
//!
//! One more: a file beside this one, a row in [`Backend::ALL`], an arm in [`Environments::make`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::container::{Container, ContainerSettings, Host};
use super::sandbox::{Sandbox, SandboxSettings};
use super::ssh::{Ssh, SshSettings};
use super::{Environment, Error, Local, Singularity, SingularitySettings, VariablePolicy};

/// How long the directory and the variables of a session are kept after its last command line.
const STATE_AGE_MAX: Duration = Duration::from_secs(30 * 86_400);

/// Where command lines run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Local,
    Container,
    Ssh,
    Singularity,
    Modal,
    Daytona,
    Vercel,
}

impl Backend {
    /// Every backend with its name in the configuration.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("local", Self::Local),
        ("container", Self::Container),
        ("ssh", Self::Ssh),
        ("singularity", Self::Singularity),
        ("modal", Self::Modal),
        ("daytona", Self::Daytona),
        ("vercel", Self::Vercel),
    ];

    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, backend)| *backend)
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, backend)| *backend == self).map_or("", |(name, _)| *name)
    }

    /// Whether herm can run anything there yet.
    pub fn is_built(self) -> bool {
        !matches!(self, Self::Modal | Self::Daytona | Self::Vercel)
    }
}

/// What is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentSettings {
    pub backend: Backend,
    pub sandbox: SandboxSettings,
    pub container: ContainerSettings,
    pub ssh: SshSettings,
    pub singularity: SingularitySettings,
}

/// The environments of the sessions of one herm.
pub struct Environments {
    choice: Choice,
    open: Mutex<HashMap<String, Arc<dyn Environment>>>,
}

enum Choice {
    /// The same for everybody.
    One(Arc<dyn Environment>),
    Configured(Box<Configured>),
}

struct Configured {
    settings: EnvironmentSettings,
    policy: VariablePolicy,
    home: PathBuf,
    herm: PathBuf,
    host: Arc<Host>,
    /// What one machine is for every session.
    shared: OnceLock<Arc<dyn Environment>>,
}

impl Environments {
    /// What the configuration says. `home` is herm's home and `herm` its program.
    pub fn new(settings: EnvironmentSettings, policy: VariablePolicy, home: &Path, herm: PathBuf) -> Self {
        let host = Arc::new(Host::new(settings.container.clone(), home.to_owned(), herm.clone()));
        let (home, shared) = (home.to_owned(), OnceLock::new());
        let configured = Configured { settings, policy, home, herm, host, shared };
        Self { choice: Choice::Configured(Box::new(configured)), open: Mutex::default() }
    }

    /// One environment for every session.
    pub fn only(environment: Arc<dyn Environment>) -> Self {
        Self { choice: Choice::One(environment), open: Mutex::default() }
    }

    /// Does in the background what is to be done before the first command line: removes what a herm
    /// that was killed left running, and the state of sessions that nobody has gone on with for long.
    pub fn begin(&self) {
        let Choice::Configured(configured) = &self.choice else { return };
        if configured.settings.backend == Backend::Container {
            let host = Arc::clone(&configured.host);
            tokio::spawn(async move {
                // Whoever runs a command line will hear that there is no engine.
                let _ = host.engine().await;
            });
        }
        let states = configured.sandboxes().join(Local::NAME);
        tokio::task::spawn_blocking(move || forget(&states, STATE_AGE_MAX));
    }

    /// The environment of a session, which was opened in `cwd` on this machine.
    ///
    /// # Errors
    /// The configured one cannot be had.
    pub fn of(&self, session: &str, cwd: &Path) -> Result<Arc<dyn Environment>, Error> {
        let configured = match &self.choice {
            Choice::One(environment) => return Ok(Arc::clone(environment)),
            Choice::Configured(configured) => configured,
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(environment) = open.get(session) {
            return Ok(Arc::clone(environment));
        }
        let made = configured.make(session, cwd)?;
        open.insert(session.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// Where a session stands, if it has run anything: in the file system of its environment.
    pub fn cwd(&self, session: &str, opened_in: &Path) -> Option<PathBuf> {
        self.of(session, opened_in).ok()?.cwd(session)
    }

    /// Ends what is kept running for a session, unless another one uses it too.
    ///
    /// # Errors
    /// Those of its environment; it is let go of all the same.
    pub async fn close(&self, session: &str) -> Result<(), Error> {
        let last = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let found = open.remove(session);
            found.filter(|found| !open.values().any(|other| Arc::ptr_eq(found, other)))
        };
        match last {
            Some(environment) => environment.close().await,
            None => Ok(()),
        }
    }

    /// Ends what is kept running for every session. Failures are noted and hold up nothing.
    pub async fn close_all(&self) {
        let sessions: Vec<String> =
            self.open.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        for session in sessions {
            if let Err(error) = self.close(&session).await {
                tracing::warn!(%error, %session, "cannot end the environment of a session");
            }
        }
    }
}

impl Configured {
    /// The one folder below which everything lies that environments keep on this machine.
    fn sandboxes(&self) -> PathBuf {
        self.home.join("sandboxes")
    }

    /// The first of its kind serves every session.
    fn shared(&self, made: impl Environment + 'static) -> Arc<dyn Environment> {
        Arc::clone(self.shared.get_or_init(|| Arc::new(made)))
    }

    fn local(&self) -> Local {
        let local = Local::new(self.policy.clone()).keeping(self.sandboxes().join(Local::NAME));
        match Sandbox::of(self.settings.sandbox.clone(), self.herm.clone()) {
            Some(sandbox) => local.within(sandbox),
            None => local,
        }
    }

    fn make(&self, session: &str, cwd: &Path) -> Result<Arc<dyn Environment>, Error> {
        let settings = &self.settings;
        let of_session = |name: &str| self.sandboxes().join(name).join(session);
        Ok(match settings.backend {
            Backend::Local => self.shared(self.local()),
            Backend::Container => {
                let sandbox = of_session(Container::NAME);
                Arc::new(Container::new(Arc::clone(&self.host), session, sandbox, cwd))
            }
            Backend::Ssh => {
                let folder = self.sandboxes().join(Ssh::NAME);
                self.shared(Ssh::new(settings.ssh.clone(), self.policy.clone(), &self.home, folder)?)
            }
            Backend::Singularity => {
                let sandbox = of_session(Singularity::NAME);
                let (settings, policy) = (settings.singularity.clone(), self.policy.clone());
                Arc::new(Singularity::new(settings, policy, sandbox))
            }
            later @ (Backend::Modal | Backend::Daytona | Backend::Vercel) => return Err(not_built(later)),
        })
    }
}

/// Removes folders of `states` in which nothing was changed for so long.
fn forget(states: &Path, age_max: Duration) {
    for entry in std::fs::read_dir(states).into_iter().flatten().flatten() {
        let changed = entry.metadata().and_then(|meta| meta.modified());
        if changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > age_max)) {
            // What cannot be removed now goes the next time.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The rows that are there and do nothing yet.
pub fn not_built(backend: Backend) -> Error {
    let built: Vec<String> = Backend::ALL
        .iter()
        .filter(|(_, backend)| backend.is_built())
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    Error::Misconfigured {
        reason: format!("the backend `{}` is not built yet", backend.name()),
        hint: format!("set `terminal.backend` to one of {}", built.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::container::User;
    use super::super::sandbox::SandboxMode;
    use super::*;

    fn table(backend: Backend) -> Environments {
        let settings = EnvironmentSettings {
            backend,
            sandbox: SandboxSettings { mode: SandboxMode::Off, network: true, writable: vec![] },
            container: ContainerSettings {
                engine: "/nowhere.sock".into(),
                image: "x".into(),
                network: false,
                memory_mib: 64,
                cpus: 1.0,
                processes_max: 64,
                tmp_mib: 16,
                user: User::Host,
                volumes: vec![],
                mount_cwd: false,
                forward_env: vec![],
                ulimits: vec![],
            },
            ssh: SshSettings::to("example.invalid"),
            singularity: SingularitySettings {
                program: None,
                image: "x".into(),
                network: false,
                volumes: vec![],
            },
        };
        Environments::new(settings, VariablePolicy::default(), Path::new("/nowhere"), "/bin/herm".into())
    }

    #[test]
    fn a_session_keeps_its_environment_until_it_is_closed() {
        for backend in [Backend::Local, Backend::Container, Backend::Ssh, Backend::Singularity] {
            let table = table(backend);
            let first = table.of("s1", Path::new("/")).unwrap();
            assert_eq!(first.name(), backend.name());
            assert!(Arc::ptr_eq(&first, &table.of("s1", Path::new("/elsewhere")).unwrap()));
            let other = table.of("s2", Path::new("/")).unwrap();
            let is_one_machine = matches!(backend, Backend::Local | Backend::Ssh);
            assert_eq!(Arc::ptr_eq(&first, &other), is_one_machine, "{backend:?}");
        }
    }

    #[test]
    fn the_state_of_old_sessions_is_forgotten_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(86_400);
        for (name, age) in [("old", 31), ("young", 29)] {
            std::fs::create_dir(scratch.path().join(name)).unwrap();
            let folder = std::fs::File::open(scratch.path().join(name)).unwrap();
            folder.set_modified(std::time::SystemTime::now() - day * age).unwrap();
        }
        forget(scratch.path(), STATE_AGE_MAX);
        assert!(!scratch.path().join("old").exists() && scratch.path().join("young").exists());
    }

    #[test]
    fn what_is_not_built_says_so_and_what_is() {
        for backend in [Backend::Modal, Backend::Daytona, Backend::Vercel] {
            let Err(error) = table(backend).of("s", Path::new("/")) else { panic!("{backend:?}") };
            let text = error.to_string();
            assert!(text.contains("not built yet") && text.contains("`container`"), "{text}");
            assert!(!text.contains("`vercel`,"), "{text}");
        }
    }
}
