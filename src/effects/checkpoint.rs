//! Before the first change of a turn in a directory, what it holds is kept.
//!
//! A checkpoint is a courtesy: where none can be taken, the call runs all the same, and the log of
//! diagnostics says why.

use std::path::{Path, PathBuf};

use herm_replay::reducer::command::Fact;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::CallRef;
use herm_schema::events::{CheckpointTaken, Concurrency, ToolFacts};
use serde_json::Value;

use super::Run;
use crate::tools::paths::{lexical, resolve};

/// Programs that change files by being run; a redirection does as well.
const CHANGERS: &[&str] = &[
    "rm", "mv", "cp", "ln", "install", "rsync", "dd", "tee", "truncate", "shred", "sed", "perl", "awk",
    "patch", "git", "unzip", "tar", "make", "cargo", "npm", "npx", "yarn", "pnpm", "pip", "uv", "go",
    "python", "python3", "node", "ruby", "bash", "sh", "find", "xargs", "mkdir", "rmdir", "touch", "chmod",
];

/// The call that is about to run.
pub struct About<'a> {
    pub call: CallRef,
    pub facts: &'a ToolFacts,
    pub arguments: &'a Value,
    pub cwd: &'a Path,
    /// Directories of which one was taken in this turn.
    pub taken: &'a [String],
}

/// Those of the running turn.
pub fn taken(state: &SessionState) -> Vec<String> {
    state.turn.as_ref().map(|turn| turn.checkpoints.clone()).unwrap_or_default()
}

/// Keeps what the call may change.
pub async fn before(run: &Run, about: About<'_>) {
    let Some(checkpoints) = run.ports.checkpoints.clone() else {
        return;
    };
    for directory in directories(&about) {
        let name = directory.display().to_string();
        if about.taken.contains(&name) {
            continue;
        }
        let (checkpoints, now) = (checkpoints.clone(), run.ports.clock.now());
        let taken = tokio::task::spawn_blocking(move || checkpoints.take(&directory, now)).await;
        match taken {
            Ok(Ok(taken)) => {
                let event = CheckpointTaken {
                    call: about.call,
                    directory: name,
                    checkpoint: taken.id,
                    files: taken.files,
                    bytes: taken.bytes,
                };
                drop(run.recorder.record(Command::Record(Fact::CheckpointTaken(event))).await);
            }
            Ok(Err(error)) => tracing::info!(directory = name, %error, "no checkpoint was taken"),
            Err(error) => tracing::warn!(directory = name, %error, "a checkpoint failed"),
        }
    }
}

/// The directories that a call may change: the session's own for what lies in it.
fn directories(about: &About<'_>) -> Vec<PathBuf> {
    let own = |path: PathBuf| match path.starts_with(about.cwd) {
        true => about.cwd.to_owned(),
        false => path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned).unwrap_or(path),
    };
    let text = |name: &str| about.arguments.get(name).and_then(Value::as_str);
    let found = match (&about.facts.concurrency, about.facts.name.as_str()) {
        (Concurrency::Paths { arguments, writes: true }, _) => {
            let paths = arguments.iter().filter_map(|name| text(name));
            let found: Vec<PathBuf> = paths.map(|path| own(absolute(path, about.cwd))).collect();
            if found.is_empty() { vec![about.cwd.to_owned()] } else { found }
        }
        (_, "terminal") if text("command").is_some_and(may_change) => {
            vec![text("workdir").map_or_else(|| about.cwd.to_owned(), |workdir| absolute(workdir, about.cwd))]
        }
        (_, "execute_code") => vec![about.cwd.to_owned()],
        _ => Vec::new(),
    };
    found.into_iter().filter(|directory| directory.is_dir()).collect()
}

fn absolute(path: &str, cwd: &Path) -> PathBuf {
    resolve(path, cwd).map_or_else(|_| cwd.to_owned(), |path| lexical(&path))
}

/// Whether a command line may change files, by its words: one too many costs a snapshot.
fn may_change(command: &str) -> bool {
    let ends =
        |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '`' | '"' | '\'' | '/');
    command.contains('>') || command.split(ends).any(|word| CHANGERS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use herm_schema::StreamPos;
    use herm_schema::events::EffectClass;
    use serde_json::json;

    fn found(name: &str, concurrency: Concurrency, arguments: Value, cwd: &Path) -> Vec<PathBuf> {
        let facts = ToolFacts {
            name: name.into(),
            effect: EffectClass::Once,
            concurrency,
            refunds_iteration: false,
            judged: true,
        };
        let call = CallRef { message: StreamPos(1), index: 0 };
        directories(&About { call, facts: &facts, arguments: &arguments, cwd, taken: &[] })
    }

    #[test]
    fn what_lies_in_the_session_is_kept_with_it_and_what_lies_elsewhere_where_it_lies() {
        let root = tempfile::tempdir().unwrap();
        let (cwd, other) = (root.path().join("work"), root.path().join("other"));
        std::fs::create_dir_all(cwd.join("deep")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        let writes = || Concurrency::Paths { arguments: vec!["path".into()], writes: true };
        let paths = |path: &Path| found("write_file", writes(), json!({"path": path}), &cwd);
        assert_eq!(paths(Path::new("deep/new/file")), [cwd.as_path()]);
        assert_eq!(paths(&other.join("new/er/file")), [other.as_path()]);
        assert_eq!(found("patch", writes(), json!({"patch": "*** Begin Patch"}), &cwd), [cwd.as_path()]);
        let reads = Concurrency::Paths { arguments: vec!["path".into()], writes: false };
        assert!(found("read_file", reads, json!({"path": "a"}), &cwd).is_empty());
    }

    #[test]
    fn a_command_line_that_changes_nothing_is_not_kept_for() {
        let root = tempfile::tempdir().unwrap();
        let run =
            |command: &str| found("terminal", Concurrency::Serial, json!({"command": command}), root.path());
        for quiet in ["ls -la", "cat a | grep b", "cargo_log"] {
            assert!(run(quiet).is_empty(), "{quiet}");
        }
        for loud in ["rm a", "ls; /bin/rm a", "echo x > a", "sudo sed -i s/a/b/ f", "(git checkout .)"] {
            assert_eq!(run(loud), [root.path()], "{loud}");
        }
    }
}
