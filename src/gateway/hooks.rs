//! Hooks of the gateway: programs of the person's own that hear what happens. PURE of the log: they hear,
//! and their failure changes nothing.
//!
//! Each is a folder below `hooks` in herm's home with a `HOOK.yaml` and an executable, which reads one JSON
//! object `{"event", "data"}` on its standard input. Events: `gateway:startup`, `gateway:shutdown`,
//! `session:start`, `session:end`, `session:reset`, `agent:start`, `agent:step`, `agent:end`,
//! `command:NAME`; a `*` in a hook's list stands for anything.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, mpsc};

/// Events that wait for hooks, at most; more are not told.
const WAITING_MAX: usize = 512;
/// Hooks that run at a time, at most.
const RUNNING_MAX: usize = 4;
/// Longest that a hook may take where its file says nothing, in seconds.
const TIMEOUT_S: u64 = 30;

/// What is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// Such as `agent:end`.
    pub event: String,
    pub data: serde_json::Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: Option<String>,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    events: Vec<String>,
    /// Executable, relative to the folder; `handler` and then `handler.*` if it is not given.
    command: Option<String>,
    timeout: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    name: String,
    folder: PathBuf,
    program: PathBuf,
    events: Vec<String>,
    timeout: Duration,
}

/// The hooks of a home.
pub struct Hooks {
    known: Vec<Known>,
    told: Option<mpsc::Sender<Hook>>,
}

impl Hooks {
    /// Those of `folder`; what is wrong with others is said in `problems`. Must be called in a runtime.
    pub fn of(folder: &Path, problems: &mut Vec<String>) -> Arc<Self> {
        let mut known = Vec::new();
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        for folder in folders {
            match read(&folder) {
                Ok(hook) => known.push(hook),
                Err(why) => problems.push(format!("hook `{}`: {why}", folder.display())),
            }
        }
        if known.is_empty() {
            return Arc::new(Self { known, told: None });
        }
        let (told, heard) = mpsc::channel(WAITING_MAX);
        tokio::spawn(run_all(known.clone(), heard));
        Arc::new(Self { known, told: Some(told) })
    }

    /// Tells those that listen; never waits.
    pub fn call(&self, hook: &Hook) {
        let Some(told) = &self.told else { return };
        if self.known.iter().any(|known| listens(known, &hook.event)) && told.try_send(hook.clone()).is_err()
        {
            tracing::warn!(hook.event, "hooks are too slow: they are not told");
        }
    }
}

fn read(folder: &Path) -> Result<Known, String> {
    let path = folder.join("HOOK.yaml");
    let text =
        std::fs::read_to_string(&path).map_err(|error| format!("`HOOK.yaml` cannot be read: {error}"))?;
    let described: Described =
        serde_yaml_ng::from_str(&text).map_err(|error| format!("`HOOK.yaml` cannot be read: {error}"))?;
    let program = match described.command {
        Some(command) => folder.join(command),
        None => handler(folder).ok_or("no `command` is given, and there is no executable `handler`")?,
    };
    if !executable(&program) {
        return Err(format!("`{}` is not executable: chmod +x it", program.display()));
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Known {
        name: described.name.unwrap_or(name),
        folder: folder.to_owned(),
        program,
        events: described.events,
        timeout: Duration::from_secs(described.timeout.unwrap_or(TIMEOUT_S).max(1)),
    })
}

fn handler(folder: &Path) -> Option<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == "handler") && executable(path))
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn listens(known: &Known, event: &str) -> bool {
    known.events.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => event.starts_with(prefix),
        None => pattern == event,
    })
}

async fn run_all(known: Vec<Known>, mut heard: mpsc::Receiver<Hook>) {
    let places = Arc::new(Semaphore::new(RUNNING_MAX));
    while let Some(hook) = heard.recv().await {
        for one in known.iter().filter(|known| listens(known, &hook.event)) {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let (one, hook) = (one.clone(), hook.clone());
            tokio::spawn(async move {
                if let Err(why) = run(&one, &hook).await {
                    tracing::warn!(hook = one.name, event = hook.event, why, "a hook failed");
                }
                drop(place);
            });
        }
    }
}

async fn run(known: &Known, hook: &Hook) -> Result<(), String> {
    let told = serde_json::json!({ "event": hook.event, "data": hook.data }).to_string();
    let mut child = tokio::process::Command::new(&known.program)
        .current_dir(&known.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read is none of our business.
        drop(stdin.write_all(told.as_bytes()).await);
    }
    match tokio::time::timeout(known.timeout, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("it ended with {status}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it took longer than {} s and was ended", known.timeout.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, yaml: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("HOOK.yaml"), yaml).unwrap();
        std::fs::write(folder.join("handler.sh"), script).unwrap();
        let path = folder.join("handler.sh");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[tokio::test]
    async fn a_hook_hears_what_it_listens_to_and_a_broken_one_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\ncat > heard.tmp && mv heard.tmp heard.json\n";
        write(&scratch.path().join("good"), "events: ['command:*']\n", script);
        write(&scratch.path().join("bad"), "evnts: []\n", script);
        let mut problems = Vec::new();
        let hooks = Hooks::of(scratch.path(), &mut problems);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("bad"), "{problems:?}");
        hooks.call(&Hook { event: "agent:end".to_owned(), data: serde_json::json!({}) });
        hooks.call(&Hook { event: "command:new".to_owned(), data: serde_json::json!({ "a": 1 }) });
        let heard = scratch.path().join("good/heard.json");
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while !heard.exists() {
            assert!(std::time::Instant::now() < deadline, "the hook never ran");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let said: serde_json::Value = serde_json::from_slice(&std::fs::read(heard).unwrap()).unwrap();
        assert_eq!(said, serde_json::json!({ "event": "command:new", "data": { "a": 1 } }));
    }
}
