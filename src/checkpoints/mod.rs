//! Checkpoints: what a directory held before a turn first changed it, and the way back.
//!
//! Snapshots lie in a private git store below herm's home, one for all directories, so that equal
//! files are kept once; nothing is written into the directory itself, and a repository in it is never
//! touched. That one was taken and that one was restored are events of the session; the store is only
//! the bytes. Start reading at [`Checkpoints::take`]; which files are kept is in [`files`], and how
//! git is called in [`store`].

mod files;
mod store;

use std::path::{Path, PathBuf};
use std::time::Duration;

use herm_schema::Micros;

pub use files::Limits;
use store::Store;

/// Snapshots of the directories of this home.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    store: Store,
    limits: Limits,
    /// Directories that are never kept: a snapshot of a whole home helps nobody.
    never: Vec<PathBuf>,
}

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The commit in the store, in hexadecimal.
    pub id: String,
    pub directory: PathBuf,
    pub taken_at: Micros,
    pub files: u32,
    pub bytes: u64,
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`git` is not installed, and checkpoints need it")]
    NoGit,
    #[error("`{}` is too broad for a checkpoint", directory.display())]
    TooBroad { directory: PathBuf },
    #[error("`{}` holds more than {limit} files, which is too many for a checkpoint", directory.display())]
    TooManyFiles { directory: PathBuf, limit: usize },
    #[error("`{}` holds more than {limit} bytes, which is too much for a checkpoint", directory.display())]
    TooLarge { directory: PathBuf, limit: u64 },
    #[error("git {operation} failed: {message}")]
    Git { operation: &'static str, message: String },
    #[error("there is no checkpoint `{id}` of `{}`", directory.display())]
    Unknown { id: String, directory: PathBuf },
    #[error("cannot read `{}`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
}

impl Checkpoints {
    /// Kept below `folder`; none is taken of `person`'s home itself or of anything above it.
    pub fn new(folder: PathBuf, limits: Limits, person: Option<&Path>) -> Self {
        let above = person.into_iter().flat_map(Path::ancestors).map(Path::to_owned);
        let never = above.chain([folder.clone(), PathBuf::from("/")]).collect();
        Self { store: Store::at(folder), limits, never }
    }

    /// Keeps what `directory` holds now. The same as the newest one is not kept twice.
    ///
    /// # Errors
    /// When it is too large, or git is not there or fails.
    pub fn take(&self, directory: &Path, now: Micros) -> Result<Checkpoint, Error> {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        if self.never.contains(&directory) {
            return Err(Error::TooBroad { directory });
        }
        self.store.prepare()?;
        let found = files::below(&directory, &self.limits)?;
        let id = self.store.keep(&directory, &found.paths, now)?;
        self.store.forget_old(&directory, self.limits.snapshots_max)?;
        Ok(Checkpoint { id, directory, taken_at: now, files: found.count(), bytes: found.bytes })
    }

    /// Puts `directory` back to what `id` holds, after keeping what is there now; that, and how many
    /// files are different.
    ///
    /// # Errors
    /// When there is no such checkpoint, or git fails; a failure in the middle leaves the snapshot of
    /// before.
    pub fn restore(&self, directory: &Path, id: &str, now: Micros) -> Result<(Checkpoint, u32), Error> {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let known = self.list(&directory)?;
        let wanted = known.iter().find(|known| known.id.starts_with(id) && !id.is_empty());
        let wanted =
            wanted.ok_or_else(|| Error::Unknown { id: id.to_owned(), directory: directory.clone() })?;
        let before = self.take(&directory, now)?;
        let changed = self.store.put_back(&directory, &wanted.id, &before.id)?;
        Ok((before, changed))
    }

    /// The snapshots of a directory, the newest first.
    ///
    /// # Errors
    /// When git is not there or fails.
    pub fn list(&self, directory: &Path) -> Result<Vec<Checkpoint>, Error> {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        self.store.list(&directory)
    }

    /// What has changed since, as `git diff --stat` says it.
    ///
    /// # Errors
    /// When there is no such checkpoint, or git fails.
    pub fn changes(&self, directory: &Path, id: &str, now: Micros) -> Result<String, Error> {
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let known = self.list(&directory)?;
        let wanted = known.iter().find(|known| known.id.starts_with(id) && !id.is_empty());
        let wanted =
            wanted.ok_or_else(|| Error::Unknown { id: id.to_owned(), directory: directory.clone() })?;
        let current = self.take(&directory, now)?;
        self.store.stat(&wanted.id, &current.id)
    }

    /// Every directory that has snapshots, how many, and the bytes of the whole store.
    ///
    /// # Errors
    /// When git is not there or fails.
    pub fn status(&self) -> Result<(Vec<(PathBuf, usize)>, u64), Error> {
        self.store.status()
    }

    /// Removes what is older than `kept`, at most once a day; how many, or `None` if it was not due.
    ///
    /// # Errors
    /// When git is not there or fails.
    pub fn tidy(&self, kept: Duration, now: Micros) -> Result<Option<usize>, Error> {
        if !self.store.tidying_is_due(now) {
            return Ok(None);
        }
        let kept_us = i64::try_from(kept.as_micros()).unwrap_or(i64::MAX);
        self.prune(Micros(now.0.saturating_sub(kept_us))).map(Some)
    }

    /// Removes snapshots that were taken before `oldest`, and what only they held; how many.
    ///
    /// # Errors
    /// When git is not there or fails.
    pub fn prune(&self, oldest: Micros) -> Result<usize, Error> {
        self.store.prune(oldest)
    }
}

#[cfg(test)]
mod tests;
