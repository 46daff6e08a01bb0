//! Holding a command line of this machine in: it may read what the user may read, and write only
//! where its work is; whether it may use the network is a setting.
//!
//! herm starts itself again as `herm sandbox-exec`, which takes away its own rights with Landlock and
//! seccomp (see [`exec`]) and then becomes the shell: what a process has given up, nothing that it
//! starts gets back. That needs no privilege and no helper that is installed with one. Programs that
//! gain rights by their file (`sudo`, `ping` of old) cannot do so within.
//!
//! What it does not do: hide what can be read, or take away local sockets; a daemon that listens on
//! one and does as it is told (Docker's, say) is a way out. Who needs a wall uses a container.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Error;

pub mod exec;
mod workspace;

pub use exec::{Support, support};
pub use workspace::workspace;

/// Whether command lines are held in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxMode {
    /// Where the kernel can.
    Auto,
    Off,
    /// Nothing runs where the kernel cannot.
    Require,
}

/// What is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    pub network: bool,
    /// Folders that may be written besides the workspace and those for temporary files.
    pub writable: Vec<PathBuf>,
}

/// The sandbox of a local environment.
#[derive(Clone, Debug)]
pub struct Sandbox {
    settings: SandboxSettings,
    /// herm itself.
    herm: PathBuf,
}

/// What a process may do, as `herm sandbox-exec` is given it: one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub writable: Vec<PathBuf>,
    pub network: bool,
    /// Whether nothing runs where the kernel cannot hold it in.
    pub require: bool,
}

impl Sandbox {
    /// `None` where it is switched off.
    pub fn of(settings: SandboxSettings, herm: PathBuf) -> Option<Self> {
        (settings.mode != SandboxMode::Off).then_some(Self { settings, herm })
    }

    /// What a command line of a session that works in `cwd` may do.
    pub fn policy(&self, cwd: &Path, state: Option<&Path>) -> Policy {
        let mut writable = workspace(cwd, std::env::home_dir().as_deref());
        writable.extend([std::env::temp_dir(), "/tmp".into(), "/var/tmp".into(), "/dev/shm".into()]);
        writable.extend(state.map(Path::to_owned));
        writable.extend(self.settings.writable.iter().cloned());
        let mut seen = std::collections::HashSet::new();
        writable.retain(|path| seen.insert(path.clone()));
        let require = self.settings.mode == SandboxMode::Require;
        Policy { writable, network: self.settings.network, require }
    }

    /// What stands before the program that is held in.
    ///
    /// # Errors
    /// The policy cannot be written down: a path in it is not text.
    pub fn program(&self, cwd: &Path, state: Option<&Path>) -> Result<Vec<OsString>, Error> {
        let policy = self.policy(cwd, state);
        let json = serde_json::to_string(&policy).map_err(|error| Error::Misconfigured {
            reason: format!("the sandbox cannot be described: {error}"),
            hint: "move the workspace to a path that is UTF-8, or set `terminal.sandbox.mode: off`".into(),
        })?;
        let words = ["sandbox-exec", "--policy", &json, "--"].map(OsString::from);
        Ok([self.herm.clone().into_os_string()].into_iter().chain(words).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_has_the_workspace_what_is_configured_and_nothing_twice() {
        let settings = SandboxSettings {
            mode: SandboxMode::Require,
            network: false,
            writable: vec!["/home/ada/.cache".into(), "/tmp".into()],
        };
        let sandbox = Sandbox::of(settings.clone(), "/usr/bin/herm".into()).unwrap();
        let policy = sandbox.policy(Path::new("/srv/work"), Some(Path::new("/state/s1")));
        for path in ["/srv/work", "/tmp", "/state/s1", "/home/ada/.cache"] {
            assert_eq!(policy.writable.iter().filter(|found| *found == Path::new(path)).count(), 1, "{path}");
        }
        assert!(policy.require && !policy.network);
        let off = SandboxSettings { mode: SandboxMode::Off, ..settings };
        assert!(Sandbox::of(off, "/usr/bin/herm".into()).is_none());
    }
}
