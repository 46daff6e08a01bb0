//! The private git store: plumbing commands only, with herm's own index, and no configuration but its own.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use herm_schema::Micros;

use super::files::{joined, split};
use super::{Checkpoint, Error};

/// How often old snapshots are looked for, in microseconds.
const DAY_US: i64 = 86_400_000_000;

/// A bare repository and an index for each directory.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn repository(&self) -> PathBuf {
        self.folder.join("store")
    }

    /// Makes the repository if it is not there yet.
    pub fn prepare(&self) -> Result<(), Error> {
        let repository = self.repository();
        if repository.join("HEAD").exists() {
            return Ok(());
        }
        let read = |source| Error::Read { path: self.folder.clone(), source };
        std::fs::create_dir_all(&self.folder).map_err(read)?;
        let folder = repository.display().to_string();
        self.git("init", &["init", "--quiet", "--bare", &folder], None, &[]).map(drop)
    }

    /// Keeps these files of a directory; the name of the snapshot.
    pub fn keep(&self, directory: &Path, paths: &[PathBuf], now: Micros) -> Result<String, Error> {
        let known = self.git("ls-files", &["ls-files", "-z"], Some(directory), &[])?;
        let kept: HashSet<&PathBuf> = paths.iter().collect();
        let gone: Vec<PathBuf> = split(&known).into_iter().filter(|path| !kept.contains(path)).collect();
        self.git(
            "update-index",
            &["update-index", "--add", "--remove", "-z", "--stdin"],
            Some(directory),
            &joined(paths),
        )?;
        let remove = ["update-index", "--force-remove", "-z", "--stdin"];
        if !gone.is_empty() {
            self.git("update-index", &remove, Some(directory), &joined(&gone))?;
        }
        let tree = text(&self.git("write-tree", &["write-tree"], Some(directory), &[])?);
        if let Some(newest) = self.list(directory)?.first()
            && self.tree_of(&newest.id)? == tree
        {
            return Ok(newest.id.clone());
        }
        let message = format!("{}\n{}\n{}", directory.display(), now.0, paths.len());
        let commit = text(&self.git("commit-tree", &["commit-tree", &tree], None, message.as_bytes())?);
        let name = format!("{}/{:020}", refs(directory), now.0);
        self.git("update-ref", &["update-ref", &name, &commit], None, &[])?;
        Ok(commit)
    }

    fn tree_of(&self, commit: &str) -> Result<String, Error> {
        Ok(text(&self.git("rev-parse", &["rev-parse", &format!("{commit}^{{tree}}")], None, &[])?))
    }

    /// The newest first.
    pub fn list(&self, directory: &Path) -> Result<Vec<Checkpoint>, Error> {
        if !self.repository().join("HEAD").exists() {
            return Ok(Vec::new());
        }
        let format = "--format=%(refname) %(objectname) %(contents:lines=3)%00";
        let listed = self.git("for-each-ref", &["for-each-ref", format, &refs(directory)], None, &[])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let mut found: Vec<Checkpoint> = listed.split('\0').filter_map(|row| read(row, directory)).collect();
        found.reverse();
        Ok(found)
    }

    /// Keeps only so many snapshots of a directory, the newest.
    pub fn forget_old(&self, directory: &Path, kept: usize) -> Result<(), Error> {
        for old in self.list(directory)?.iter().skip(kept) {
            let name = format!("{}/{:020}", refs(directory), old.taken_at.0);
            self.git("update-ref", &["update-ref", "-d", &name], None, &[])?;
        }
        Ok(())
    }

    /// Makes the directory hold what `wanted` holds; `now` is the snapshot of what it holds. How many
    /// files are different.
    pub fn put_back(&self, directory: &Path, wanted: &str, now: &str) -> Result<u32, Error> {
        let differ = |filter: &str| {
            let filter = format!("--diff-filter={filter}");
            self.git(
                "diff-tree",
                &["diff-tree", "-r", "-z", "--name-only", "--no-renames", &filter, now, wanted],
                None,
                &[],
            )
        };
        let (gone, changed) = (split(&differ("D")?), split(&differ("AMT")?));
        self.git("read-tree", &["read-tree", wanted], Some(directory), &[])?;
        if !changed.is_empty() {
            let checkout = ["checkout-index", "-f", "-z", "--stdin"];
            self.git("checkout-index", &checkout, Some(directory), &joined(&changed))?;
        }
        for path in &gone {
            drop(std::fs::remove_file(directory.join(path)));
        }
        Ok(u32::try_from(gone.len() + changed.len()).unwrap_or(u32::MAX))
    }

    pub fn stat(&self, from: &str, to: &str) -> Result<String, Error> {
        let stat = self.git("diff", &["diff", "--stat", "--no-renames", from, to], None, &[])?;
        Ok(String::from_utf8_lossy(&stat).into_owned())
    }

    pub fn status(&self) -> Result<(Vec<(PathBuf, usize)>, u64), Error> {
        if !self.repository().join("HEAD").exists() {
            return Ok((Vec::new(), 0));
        }
        let format = "--format=%(contents:lines=1)";
        let listed = self.git("for-each-ref", &["for-each-ref", format, "refs/herm"], None, &[])?;
        let mut counts = std::collections::BTreeMap::new();
        for line in String::from_utf8_lossy(&listed).lines().filter(|line| !line.is_empty()) {
            *counts.entry(PathBuf::from(line)).or_insert(0usize) += 1;
        }
        Ok((counts.into_iter().collect(), size(&self.folder)))
    }

    /// Whether a day has passed; if so, the next one begins.
    pub fn tidying_is_due(&self, now: Micros) -> bool {
        if !self.repository().join("HEAD").exists() {
            return false;
        }
        let mark = self.folder.join("tidied");
        let last = std::fs::read_to_string(&mark).ok().and_then(|text| text.trim().parse::<i64>().ok());
        let due = last.is_none_or(|last| now.0.saturating_sub(last) >= DAY_US);
        due && std::fs::write(mark, now.0.to_string()).is_ok()
    }

    pub fn prune(&self, oldest: Micros) -> Result<usize, Error> {
        if !self.repository().join("HEAD").exists() {
            return Ok(0);
        }
        let listed =
            self.git("for-each-ref", &["for-each-ref", "--format=%(refname)", "refs/herm"], None, &[])?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let taken_at = |name: &str| name.rsplit('/').next().and_then(|time| time.parse::<i64>().ok());
        let old: Vec<&str> =
            listed.lines().filter(|name| taken_at(name).is_none_or(|at| at < oldest.0)).collect();
        for name in &old {
            self.git("update-ref", &["update-ref", "-d", name], None, &[])?;
        }
        self.git("gc", &["gc", "--quiet", "--prune=now"], None, &[])?;
        Ok(old.len())
    }

    /// One git command; `work` names the directory whose files and index it works on.
    fn git(
        &self,
        operation: &'static str,
        arguments: &[&str],
        work: Option<&Path>,
        input: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let failed = |message: String| Error::Git { operation, message };
        let mut command = Command::new("git");
        command
            .args(["-c", "core.autocrlf=false", "-c", "core.quotepath=false", "-c", "gc.auto=0"])
            .args([
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.protectNTFS=false",
            ])
            .args(arguments)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("GIT_DIR", self.repository())
            .envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("HOME", "/nonexistent"),
            ])
            .envs([("GIT_AUTHOR_NAME", "herm"), ("GIT_AUTHOR_EMAIL", "herm@localhost")])
            .envs([("GIT_COMMITTER_NAME", "herm"), ("GIT_COMMITTER_EMAIL", "herm@localhost")])
            .current_dir(work.unwrap_or(&self.folder))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(directory) = work {
            let index = self.folder.join(format!("index-{}", hash(directory)));
            command.env("GIT_WORK_TREE", directory).env("GIT_INDEX_FILE", index);
        }
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoGit,
            _ => failed(error.to_string()),
        })?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // Its own thread: git may print before it has read everything.
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
            child.wait_with_output()
        });
        let output = output.map_err(|error| failed(error.to_string()))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        }
    }
}

/// `refs/herm/<directory>/<time> <commit> <directory>\n<time>\n<files>`
fn read(row: &str, directory: &Path) -> Option<Checkpoint> {
    let row = row.trim_start_matches('\n');
    let (name, rest) = row.split_once(' ')?;
    let (id, message) = rest.split_once(' ')?;
    let taken_at = Micros(name.rsplit('/').next()?.parse().ok()?);
    // git sets the lines after the first in.
    let files = message.trim_end().rsplit('\n').next()?.trim().parse().unwrap_or(0);
    Some(Checkpoint { id: id.to_owned(), directory: directory.to_owned(), taken_at, files, bytes: 0 })
}

fn refs(directory: &Path) -> String {
    format!("refs/herm/{}", hash(directory))
}

/// Names a directory in the store, in 16 hexadecimal digits.
fn hash(directory: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let hash = blake3::hash(directory.as_os_str().as_bytes()).to_hex();
    hash.chars().take(16).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size(&entry.path()),
            _ => entry.metadata().map_or(0, |metadata| metadata.len()),
        })
        .sum()
}
