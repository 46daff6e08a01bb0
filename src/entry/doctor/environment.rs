//! Whether command lines can run where they are configured to, and what holds them in.

use std::path::Path;

use super::{Failure, Finding};
use crate::config::{Home, Loaded};
use crate::environments::container::Engine;
use crate::environments::sandbox::{SandboxMode, SandboxSettings, Support, support, workspace};
use crate::environments::ssh::{Connection, SshSettings};
use crate::environments::table::{EnvironmentSettings, not_built};
use crate::environments::{Backend, Singularity};

/// How a sandbox is switched off by those who want that.
const SANDBOX_OFF: &str = "herm config set terminal.sandbox.mode off";
/// How to come back to this machine.
const LOCAL: &str = "herm config set terminal.backend local";

/// Looks at the chosen environment.
pub fn commands(home: &Home, loaded: &Result<Loaded, Failure>) -> Finding {
    let Ok(loaded) = loaded else {
        return Finding::problem("cannot be found out before the configuration is valid", None);
    };
    let settings = &loaded.config.terminal.environments;
    match settings.backend {
        Backend::Local => local(&settings.sandbox, loaded),
        Backend::Container => awaited(container(settings)),
        Backend::Ssh => awaited(ssh(&settings.ssh, home)),
        Backend::Singularity => match Singularity::program(&settings.singularity) {
            Ok(program) => {
                Finding::ok(format!("run in `{}` by `{}`", settings.singularity.image, program.display()))
            }
            Err(error) => Finding::problem(error.to_string(), Some(LOCAL.into())),
        },
        later => Finding::problem(not_built(later).to_string(), Some(LOCAL.into())),
    }
}

fn local(settings: &SandboxSettings, loaded: &Loaded) -> Finding {
    let here = "run on this machine";
    match (settings.mode, support()) {
        (SandboxMode::Off, _) => Finding::note(
            format!("{here} with all rights of yours: the sandbox is off"),
            Some("herm config set terminal.sandbox.mode auto".into()),
        ),
        (SandboxMode::Auto, Support::No { why }) => Finding::note(
            format!("{here} with all rights of yours: the sandbox is not available, {why}"),
            Some("herm config set terminal.backend container".into()),
        ),
        (SandboxMode::Require, Support::No { why }) => Finding::problem(
            format!("nothing will run: the sandbox is required and not available, {why}"),
            Some(SANDBOX_OFF.into()),
        ),
        (_, Support::Yes { abi }) => held_in(settings, abi, loaded),
    }
}

fn held_in(settings: &SandboxSettings, abi: i32, loaded: &Loaded) -> Finding {
    let network = if settings.network { "with the network" } else { "without the network" };
    let what = format!("run on this machine, held in by Landlock {abi} and seccomp, {network}");
    let started_in = std::env::current_dir().unwrap_or_default();
    let cwd = loaded.config.working_directory(&started_in);
    let person = std::env::home_dir();
    let holds_home = |folder: &Path| person.as_ref().is_some_and(|person| person.starts_with(folder));
    match workspace(&cwd, person.as_deref()).iter().find(|folder| holds_home(folder)) {
        Some(folder) => Finding::note(
            format!("{what}; but the workspace is `{}`, and all of it can be written", folder.display()),
            Some("cd to a project before starting herm".into()),
        ),
        None => Finding::ok(what),
    }
}

async fn container(settings: &EnvironmentSettings) -> Finding {
    let settings = &settings.container;
    match Engine::find(&settings.engine).await {
        Err(error) => Finding::problem(error.to_string(), Some(LOCAL.into())),
        Ok(engine) => {
            let place = format!("{} at `{}`", engine.version, engine.socket.display());
            match engine.has_image(&settings.image).await {
                Ok(true) => Finding::ok(format!("run in containers of `{}` by {place}", settings.image)),
                Ok(false) => Finding::note(
                    format!("run in containers by {place}; `{}` will be fetched first", settings.image),
                    Some(format!("docker pull '{0}'   # or: podman pull '{0}'", settings.image)),
                ),
                Err(error) => Finding::problem(error.to_string(), Some(LOCAL.into())),
            }
        }
    }
}

async fn ssh(settings: &SshSettings, home: &Home) -> Finding {
    if settings.host.is_empty() {
        let fix = Some("herm config set terminal.ssh.host NAME".into());
        return Finding::problem("`terminal.backend` is `ssh`, and no host is configured", fix);
    }
    let connection = Connection::new(settings, &home.root().join("sandboxes/ssh"));
    match connection.ensure().await {
        Ok(()) => Finding::ok(format!("run on `{}`, which answers", settings.host)),
        Err(error) => Finding::problem(error.to_string(), Some(format!("ssh '{}' true", settings.host))),
    }
}

fn awaited(find: impl Future<Output = Finding>) -> Finding {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(find),
        Err(error) => Finding::problem(format!("no thread for the network: {error}"), None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use crate::entry::Start;

    fn found(lines: &str) -> Finding {
        let scratch = tempfile::tempdir().unwrap();
        let start = Start { home: Home::at(scratch.path()) };
        std::fs::write(start.home.config_file(), lines).unwrap();
        commands(&start.home, &start.load(&[]).map_err(Failure::from))
    }

    #[test]
    fn every_choice_is_looked_at_and_says_what_to_do() {
        for (lines, says) in [
            ("terminal: {backend: modal}", "not built yet"),
            ("terminal: {backend: ssh}", "no host is configured"),
            ("terminal: {backend: ssh, ssh: {host: 127.0.0.1, port: 1}}", "cannot be reached"),
            ("terminal: {backend: container, container: {engine: /none.sock}}", "/none.sock"),
        ] {
            let finding = found(lines);
            assert_eq!(finding.level, Level::Problem, "{lines}");
            assert!(finding.what.contains(says) && finding.fix.is_some(), "{finding:?}");
        }
    }

    #[test]
    fn a_sandbox_that_is_off_is_said_plainly() {
        let finding = found("terminal: {sandbox: {mode: off}}");
        assert_eq!(finding.level, Level::Note);
        assert!(finding.what.contains("the sandbox is off"), "{finding:?}");
    }
}
