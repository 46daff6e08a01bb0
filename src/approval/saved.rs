//! Command lines that are too large to be checked, kept as scripts: the one refusal that writes to
//! the disk, so that the model can go on in one step instead of rephrasing. Nothing is run here.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::judgement::{Judgement, Step, Verdict};

/// Below herm's home.
const FOLDER: &str = "cache/blocked-scripts";
/// Age at which a saved script is removed.
const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A command line could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{}`", path.display())]
pub struct Error {
    operation: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

/// Keeps a command line whose size was refused, and says in the judgement how to go on. Anything
/// else is left as it is.
pub fn keep(judgement: &mut Judgement, command: &str, agent_home: &Path) {
    let (Step::Limits, Verdict::Block { shown, .. }) = (judgement.step, &mut judgement.verdict) else {
        return;
    };
    match save(command, shown, agent_home, SystemTime::now()) {
        Ok(path) => {
            shown.push_str(&format!(
                " It was not run. The text was saved unchanged as `{0}`; read it, then run it with \
                 `bash {0}`. Do not send it again in another wording.",
                path.display()
            ));
        }
        Err(error) => {
            tracing::warn!(%error, "a refused command line was not kept");
            shown.push_str(
                " It was not run. Write it to a file with `write_file`, in pieces if need be, and run that with `bash`.",
            );
        }
    }
}

/// Writes the script, and removes those that are too old.
///
/// # Errors
/// The folder or the file cannot be made.
pub fn save(command: &str, why: &str, agent_home: &Path, now: SystemTime) -> Result<PathBuf, Error> {
    let folder = agent_home.join(FOLDER);
    let failed = |operation, path: &Path| {
        let path = path.to_owned();
        move |source| Error { operation, path, source }
    };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(failed("make", &folder))?;
    remove_old(&folder, now);
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let hash: String = blake3::hash(command.as_bytes()).to_hex().chars().take(8).collect();
    let path = folder.join(format!("blocked-{seconds}-{hash}.sh"));
    let text = format!(
        "#!/usr/bin/env bash\n# Not run: {}\n# Look it over, then run it with: bash {}\n\n{command}\n",
        why.replace('\n', " "),
        path.display()
    );
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(&path)
        .map_err(failed("make", &path))?;
    file.write_all(text.as_bytes()).map_err(failed("write", &path))?;
    Ok(path)
}

/// What cannot be removed stays: it is only a cache.
fn remove_old(folder: &Path, now: SystemTime) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with("blocked-") && name.ends_with(".sh"));
        let age = entry.metadata().and_then(|facts| facts.modified()).ok();
        let is_old = age.and_then(|at| now.duration_since(at).ok()).is_some_and(|age| age > AGE_MAX);
        if ours
            && is_old
            && let Err(error) = std::fs::remove_file(entry.path())
        {
            tracing::debug!(%error, "an old script was not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_refused_command_line_is_kept_as_a_closed_script_and_the_old_ones_go() {
        let home = tempfile::tempdir().unwrap();
        let command = "echo 'a'\necho b";
        let path = save(command, "it is long", home.path(), SystemTime::now()).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let (seconds, hash) =
            name.strip_prefix("blocked-").unwrap().strip_suffix(".sh").unwrap().split_once('-').unwrap();
        assert!(seconds.parse::<u64>().is_ok() && hash.len() == 8, "{name}");
        assert_eq!(path.parent().unwrap(), home.path().join("cache/blocked-scripts"));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with(&format!("\n{command}\n")) && text.contains("# Not run: it is long"));

        let other = path.with_file_name("notes.txt");
        std::fs::write(&other, "").unwrap();
        let later = SystemTime::now() + Duration::from_secs(8 * 24 * 60 * 60);
        let newer = save("echo c", "", home.path(), later).unwrap();
        assert!(!path.exists() && newer.exists() && other.exists());
    }
}
