//! The machine that herm runs on.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::follow::{self, Carrier, check};
use super::sandbox::Sandbox;
use super::shell::Told;
use super::supervisor::{Launch, shell};
use super::{Environment, Error, Execution, FileAccess, FileError, FileStat, Outcome, Recovery};
use super::{VariablePolicy, files};
use crate::providers::BoxFuture;

/// See [`Carrier::quiet`]; a pipe on one machine is fast.
const QUIET: Duration = Duration::from_millis(60);
const CARRIER: Carrier<'static> =
    Carrier { environment: Local::NAME, carried: false, reach: None, quiet: QUIET, retry_hint: "" };

/// Runs command lines on this machine, as the user that herm runs as.
#[derive(Clone, Debug, Default)]
pub struct Local {
    policy: VariablePolicy,
    /// Where the state of sessions is kept, a folder each.
    states: Option<PathBuf>,
    sandbox: Option<Sandbox>,
}

impl Local {
    pub const NAME: &'static str = "local";

    pub fn new(policy: VariablePolicy) -> Self {
        Self { policy, states: None, sandbox: None }
    }

    /// Keeps the state of sessions below `states`.
    #[must_use]
    pub fn keeping(self, states: PathBuf) -> Self {
        Self { states: Some(states), ..self }
    }

    /// Holds command lines in.
    #[must_use]
    pub fn within(self, sandbox: Sandbox) -> Self {
        Self { sandbox: Some(sandbox), ..self }
    }

    fn state(&self, session: &str) -> Option<PathBuf> {
        self.states.as_ref().map(|states| states.join(session))
    }

    /// What is to be run, where everything that can be known before is in order.
    fn launch(&self, execution: &Execution) -> Result<Launch, Error> {
        check(execution)?;
        let cwd = &execution.cwd;
        if !cwd.is_absolute() {
            return Err(Error::CwdRelative { cwd: cwd.clone() });
        }
        let session = execution.session.as_deref();
        let stood = session.and_then(|session| self.cwd(session)).unwrap_or_else(|| cwd.clone());
        let workdir = execution.workdir.as_deref().map(|wanted| stood.join(files::from_home(wanted)));
        if let Some(workdir) = workdir.as_ref().filter(|workdir| !workdir.is_dir()) {
            return Err(Error::CwdMissing { cwd: workdir.clone() });
        }
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let state = session.and_then(|session| self.state(session));
        let (state_text, workdir) = (state.as_deref().map(text), workdir.as_deref().map(text));
        let told = Told {
            command_line: &execution.command_line,
            state: state_text.as_deref().unwrap_or_default(),
            keeps: execution.keeps,
            start: &text(cwd),
            workdir: workdir.as_deref(),
            variables: &execution.variables,
        };
        let mut program = told.here(shell());
        if let Some(sandbox) = &self.sandbox {
            let mut within: Vec<OsString> = sandbox.program(cwd, state.as_deref())?;
            within.append(&mut program);
            program = within;
        }
        Ok(Launch { program, variables: execution.variables.clone() })
    }

    async fn run(&self, execution: &Execution, cancel: &CancellationToken) -> Result<Outcome, Error> {
        let launch = self.launch(execution)?;
        if let Some(state) = execution.session.as_deref().and_then(|session| self.state(session)) {
            // A shell that is held in may not make it.
            tokio::fs::create_dir_all(&state)
                .await
                .map_err(|source| Error::PrepareSpool { spool: state, source })?;
        }
        let mut outcome = follow::run(execution, &launch, None, &self.policy, CARRIER, cancel).await?;
        outcome.cwd = execution.session.as_deref().and_then(|session| self.cwd(session));
        Ok(outcome)
    }
}

impl Environment for Local {
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

    fn cwd(&self, session: &str) -> Option<PathBuf> {
        let text = std::fs::read_to_string(self.state(session)?.join("cwd")).ok()?;
        let cwd = PathBuf::from(text);
        cwd.is_absolute().then_some(cwd)
    }

    fn is_this_machine(&self) -> bool {
        true
    }

    fn read<'a>(
        &'a self,
        _: &'a FileAccess,
        path: &'a Path,
        range: std::ops::Range<u64>,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        Box::pin(async move { files::here::read(path, range) })
    }

    fn write_atomic<'a>(
        &'a self,
        _: &'a FileAccess,
        path: &'a Path,
        bytes: &'a [u8],
        mode: u32,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        Box::pin(async move { files::here::write_atomic(path, bytes, mode) })
    }

    fn stat<'a>(
        &'a self,
        _: &'a FileAccess,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<Option<FileStat>, FileError>> {
        Box::pin(async move { files::here::stat(path) })
    }

    fn list<'a>(
        &'a self,
        _: &'a FileAccess,
        path: &'a Path,
    ) -> BoxFuture<'a, Result<Vec<String>, FileError>> {
        Box::pin(async move { files::here::list(path) })
    }
}
