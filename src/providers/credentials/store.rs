//! `auth.json`: read whole, changed under a lock, replaced whole, closed to other users.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::config;

/// Owner only.
const MODE: u32 = 0o600;
/// Shape of the file.
const VERSION: u32 = 1;

/// What can go wrong with the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {operation} `{path}`")]
    Io { operation: &'static str, path: PathBuf, source: io::Error },
    #[error("`{path}` is damaged: line {line}, column {column}")]
    Damaged { path: PathBuf, line: usize, column: usize },
    #[error("`{path}` is of version {found}, and this herm knows {VERSION}")]
    Newer { path: PathBuf, found: u32 },
    #[error("cannot write the credentials")]
    Write { source: config::Error },
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    entries: Vec<Entry>,
}

/// The credentials of a home.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// That of this home. Nothing is read yet.
    pub fn of(home: &Path) -> Self {
        Self { path: home.join("auth.json") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every entry, in the order in which they were added; none where there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is none of herm's. What stands in it is not repeated.
    pub fn read(&self) -> Result<Vec<Entry>, Error> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(self.io("read", source)),
        };
        let damaged = |error: serde_json::Error| Error::Damaged {
            path: self.path.clone(),
            line: error.line(),
            column: error.column(),
        };
        let content: Content = serde_json::from_str(&text).map_err(damaged)?;
        match content.version {
            VERSION => Ok(content.entries),
            found => Err(Error::Newer { path: self.path.clone(), found }),
        }
    }

    /// Changes the entries while nobody else does, in this process or another.
    ///
    /// # Errors
    /// As [`Store::read`], or it cannot be written; the file is as it was then.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Entry>) -> T) -> Result<T, Error> {
        let lock = self.lock("lock")?;
        lock.lock().map_err(|source| self.io("lock", source))?;
        let mut entries = self.read()?;
        let before = entries.clone();
        let told = change(&mut entries);
        if entries != before {
            self.write(entries)?;
        }
        Ok(told)
    }

    /// The file that is locked for `purpose`. It is never removed: that would make two locks of one.
    pub(super) fn lock(&self, purpose: &str) -> Result<File, Error> {
        let path = self.path.with_extension(purpose);
        let open = OpenOptions::new().write(true).create(true).truncate(false).mode(MODE).open(&path);
        open.map_err(|source| Error::Io { operation: "open", path, source })
    }

    fn write(&self, entries: Vec<Entry>) -> Result<(), Error> {
        // Somebody may have opened it to others; what is about to be written is not for them.
        if self.path.exists() {
            let closed = std::fs::set_permissions(&self.path, Permissions::from_mode(MODE));
            closed.map_err(|source| self.io("close to others", source))?;
        }
        let content = Content { version: VERSION, entries };
        let text = serde_json::to_string_pretty(&content).map_err(|error| self.io("write", error.into()))?;
        config::write_atomically(&self.path, &(text + "\n")).map_err(|source| Error::Write { source })
    }

    fn io(&self, operation: &'static str, source: io::Error) -> Error {
        Error::Io { operation, path: self.path.clone(), source }
    }
}
