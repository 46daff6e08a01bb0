//! Environments as they are: a real Podman, a real OpenSSH server, the kernel's own restrictions, and
//! the built program in between. What is not installed is said and left out; `.ci/run` installs it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

use herm::environments::{
    Ending, Environment, Error, Execution, FileAccess, FileError, Heartbeat, Outcome, Recovery, Window,
    excerpt,
};

#[path = "../../src/environments/contract.rs"]
mod contract;

#[path = "../support/mod.rs"]
mod support;

#[path = "../binary/stage.rs"]
#[allow(dead_code, reason = "it is another test's too")]
mod stage;

mod chat;
mod container;
mod podman;
mod rootless;
mod sandbox;
mod singularity;
mod ssh;
mod sshd;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The program under test.
const HERM: &str = env!("CARGO_BIN_EXE_herm");
/// How long what must come is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A folder of one test, by its real path, and a place for spools.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// A folder that is there.
    fn made(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn execution(&self, session: &str, line: &str) -> Execution {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let spool = self.path(&format!("spool/{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let execution = Execution::new(line, &self.path("work"), &spool, Duration::from_secs(60));
        Execution { session: Some(session.into()), ..execution }
    }

    /// Runs a command line, which must begin: how it ended, what it printed.
    async fn run(&self, environment: &dyn Environment, line: &str) -> (Outcome, String) {
        let execution = self.execution("s", line);
        let outcome = environment.execute(&execution, &Default::default()).await.unwrap();
        let text = String::from_utf8_lossy(&std::fs::read(&outcome.output).unwrap()).into_owned();
        (outcome, text)
    }
}

/// Whether a program can be run.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin".into(), "/sbin".into()];
    std::env::split_paths(&path).chain(more).any(|folder: PathBuf| folder.join(program).is_file())
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Looks until it is so.
#[track_caller]
fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The contract, for a backend with the folder that can be written there.
async fn keeps_the_contract(environment: &dyn Environment, scratch: &Scratch, folder: &str) {
    let (spools, start) = (scratch.made("contract"), scratch.made("work"));
    let place = contract::Place { environment, scratch: &spools, start: &start, folder };
    contract::run(&place).await;
}

/// A path as a text.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
