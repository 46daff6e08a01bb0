//! Which files of a directory a checkpoint keeps: what a person made, not what a build can make again.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::Error;

/// Bounds of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Snapshots of one directory.
    pub snapshots_max: usize,
    /// Larger files are left out, in bytes.
    pub file_bytes_max: u64,
    /// All files together, in bytes; more is no checkpoint.
    pub total_bytes_max: u64,
    /// Files; more is no checkpoint.
    pub files_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { snapshots_max: 20, file_bytes_max: 10 << 20, total_bytes_max: 500 << 20, files_max: 20_000 }
    }
}

/// Folders that can be made again, and those of version control: never kept.
const LEFT_OUT: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".cache",
    "dist",
    "bower_components",
];

/// The files found, relative to the directory.
#[derive(Debug, Default)]
pub struct Found {
    pub paths: Vec<PathBuf>,
    pub bytes: u64,
}

impl Found {
    pub fn count(&self) -> u32 {
        u32::try_from(self.paths.len()).unwrap_or(u32::MAX)
    }
}

/// Files and links below `directory`. Links are kept as links and not followed.
///
/// # Errors
/// When there are too many or too large, or the directory cannot be read.
pub fn below(directory: &Path, limits: &Limits) -> Result<Found, Error> {
    let mut found = Found::default();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let folder = directory.join(&inner);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(source) if inner.as_os_str().is_empty() => return Err(Error::Read { path: folder, source }),
            // A folder that herm may not read is not herm's to keep.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = inner.join(entry.file_name());
            if kind.is_dir() {
                if !LEFT_OUT.iter().any(|name| entry.file_name() == **name) {
                    open.push(path);
                }
                continue;
            }
            let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
            if !(kind.is_file() || kind.is_symlink()) || bytes > limits.file_bytes_max || is_refused(&path) {
                continue;
            }
            found.bytes = found.bytes.saturating_add(bytes);
            found.paths.push(path);
            if found.paths.len() > limits.files_max {
                let limit = limits.files_max;
                return Err(Error::TooManyFiles { directory: directory.to_owned(), limit });
            }
            if found.bytes > limits.total_bytes_max {
                let limit = limits.total_bytes_max;
                return Err(Error::TooLarge { directory: directory.to_owned(), limit });
            }
        }
    }
    Ok(found)
}

/// A name that git itself refuses would fail the whole snapshot.
fn is_refused(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().to_string_lossy().eq_ignore_ascii_case(".git"))
}

/// Paths as git reads and writes them with `-z`.
pub fn joined(paths: &[PathBuf]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut out = Vec::new();
    for path in paths {
        out.extend_from_slice(path.as_os_str().as_bytes());
        out.push(0);
    }
    out
}

/// The inverse of [`joined`].
pub fn split(bytes: &[u8]) -> Vec<PathBuf> {
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| PathBuf::from(OsString::from_vec(part.to_vec()))).collect()
}
