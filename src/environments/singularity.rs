//! A container image through the command of Apptainer or Singularity, as clusters have it: no daemon,
//! no privileges. Every command line is a container of its own; what a session writes is in the
//! `workspace` and the `home` of its sandbox folder. The processes are herm's own descendants, so
//! ending them needs no way in.
//!
//! Source: the user guides of Apptainer 1.3 and SingularityCE 4.1, `exec`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::follow::{self, Carrier, check};
use super::shell::Told;
use super::supervisor::Launch;
use super::{Environment, Error, Execution, Outcome, Recovery, VariablePolicy};
use crate::providers::BoxFuture;

const QUIET: Duration = Duration::from_millis(60);
const CARRIER: Carrier<'static> = Carrier {
    environment: Singularity::NAME,
    carried: true,
    reach: None,
    quiet: QUIET,
    retry_hint: "tell the user that `herm doctor` says what is missing",
};
/// Programs, in the order in which they are looked for.
const PROGRAMS: &[&str] = &["apptainer", "singularity"];
const WORKSPACE: &str = "/workspace";
const HOME: &str = "/home/herm";
/// Every command line has a `/tmp` of its own.
const SHARED: &str = "/home/herm/.herm";

/// What is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingularitySettings {
    /// The command; `None` is the first that is installed.
    pub program: Option<PathBuf>,
    /// A file (`.sif`), a folder, or `docker://…`.
    pub image: String,
    pub network: bool,
    /// `HOST:CONTAINER[:ro]`.
    pub volumes: Vec<String>,
}

/// One session's containers.
pub struct Singularity {
    settings: SingularitySettings,
    policy: VariablePolicy,
    sandbox: PathBuf,
    stands: Mutex<Option<PathBuf>>,
}

impl Singularity {
    pub const NAME: &'static str = "singularity";

    pub fn new(settings: SingularitySettings, policy: VariablePolicy, sandbox: PathBuf) -> Self {
        Self { settings, policy, sandbox, stands: Mutex::default() }
    }

    /// The program that is installed.
    ///
    /// # Errors
    /// Where none is.
    pub fn program(settings: &SingularitySettings) -> Result<PathBuf, Error> {
        if let Some(program) = &settings.program {
            return Ok(program.clone());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let mut candidates = PROGRAMS.iter().flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
        candidates.find(|file| file.is_file()).ok_or_else(|| Error::Misconfigured {
            reason: "neither `apptainer` nor `singularity` is installed".into(),
            hint: "install Apptainer, or choose another `terminal.backend`".into(),
        })
    }

    /// The words that run `told` in a container.
    fn words(&self, program: &Path, told: &Told<'_>) -> Vec<OsString> {
        let text = |path: PathBuf, at: &str| format!("{}:{at}", path.display());
        let mut words: Vec<String> = ["exec", "--containall", "--cleanenv", "--no-privs", "--writable-tmpfs"]
            .map(str::to_owned)
            .to_vec();
        words.extend(["--home".into(), text(self.sandbox.join("home"), HOME)]);
        words.extend(["--bind".into(), text(self.sandbox.join("workspace"), WORKSPACE)]);
        words.extend(self.settings.volumes.iter().flat_map(|volume| ["--bind".into(), volume.clone()]));
        words.extend(["--pwd".into(), WORKSPACE.into()]);
        if !self.settings.network {
            words.extend(["--net".into(), "--network".into(), "none".into()]);
        }
        for (name, value) in told.variables {
            words.extend(["--env".into(), format!("{name}={value}")]);
        }
        words.push(self.settings.image.clone());
        words.extend(told.carried());
        [program.as_os_str().to_owned()].into_iter().chain(words.into_iter().map(OsString::from)).collect()
    }

    async fn run(&self, execution: &Execution, cancel: &CancellationToken) -> Result<Outcome, Error> {
        check(execution)?;
        let program = Self::program(&self.settings)?;
        for name in ["workspace", "home"] {
            let folder = self.sandbox.join(name);
            let made = std::fs::create_dir_all(&folder);
            made.map_err(|source| Error::PrepareSpool { spool: folder, source })?;
        }
        let state = execution.session.as_ref().map(|session| format!("{HOME}/.herm-shell/{session}"));
        let told = Told {
            command_line: &execution.command_line,
            state: state.as_deref().unwrap_or_default(),
            keeps: execution.keeps,
            start: WORKSPACE,
            workdir: execution.workdir.as_deref(),
            variables: &execution.variables,
        };
        let launch = Launch { program: self.words(&program, &told), variables: vec![] };
        let outcome = follow::run(execution, &launch, None, &self.policy, CARRIER, cancel).await?;
        if let (Some(cwd), Some(_)) = (&outcome.cwd, execution.kept()) {
            *self.stands.lock().unwrap_or_else(PoisonError::into_inner) = Some(cwd.clone());
        }
        Ok(outcome)
    }
}

impl Environment for Singularity {
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
        Box::pin(follow::recover(spool, CARRIER, cancel))
    }

    fn shared_folder(&self) -> &'static str {
        SHARED
    }

    fn cwd(&self, _: &str) -> Option<PathBuf> {
        self.stands.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_hold_everything_in_and_end_with_the_shell() {
        let settings = SingularitySettings {
            program: None,
            image: "docker://debian:stable-slim".into(),
            network: false,
            volumes: vec!["/data:/data:ro".into()],
        };
        let singularity = Singularity::new(settings, VariablePolicy::default(), "/h/sandboxes/s/1".into());
        let variables = [("A".to_owned(), "1 2".to_owned())];
        let told = Told {
            command_line: "echo $A",
            state: "",
            keeps: true,
            start: WORKSPACE,
            workdir: None,
            variables: &variables,
        };
        let words = singularity.words(Path::new("/usr/bin/apptainer"), &told);
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        let has = |pair: [&str; 2]| words.windows(2).any(|two| two == pair);
        assert_eq!(words[..2], ["/usr/bin/apptainer", "exec"]);
        assert!(words.contains(&"--containall") && words.contains(&"--cleanenv"));
        assert!(
            has(["--bind", "/h/sandboxes/s/1/workspace:/workspace"]) && has(["--bind", "/data:/data:ro"])
        );
        assert!(has(["--home", "/h/sandboxes/s/1/home:/home/herm"]) && has(["--network", "none"]));
        assert!(has(["--env", "A=1 2"]) && has(["docker://debian:stable-slim", "/bin/sh"]));
        assert!(words.contains(&"echo $A"));
    }
}
