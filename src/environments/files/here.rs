//! Files of this machine, without a shell between.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use super::{FileError, FileKind, FileStat, READ_BYTES_MAX, unique};

/// See [`super::super::Environment::read`].
pub fn read(path: &Path, range: Range<u64>) -> Result<Vec<u8>, FileError> {
    absolute(path)?;
    if path.is_dir() {
        return Err(FileError::IsDirectory { path: path.to_owned() });
    }
    let bytes_max = range.end.saturating_sub(range.start).min(READ_BYTES_MAX);
    let read = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(range.start))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error| told(path, &error))
}

/// See [`super::super::Environment::write_atomic`].
pub fn write_atomic(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FileError> {
    absolute(path)?;
    if path.is_dir() {
        return Err(FileError::IsDirectory { path: path.to_owned() });
    }
    let real = match path.is_symlink() {
        true => fs::canonicalize(path).map_err(|error| told(path, &error))?,
        false => path.to_owned(),
    };
    let nascent = real.with_file_name(format!(".herm-{}", unique()));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&nascent)?;
        file.write_all(bytes)?;
        let mode = match fs::metadata(&real) {
            Ok(old) => {
                // Only root may; then the owner stays.
                let _ = chown(&nascent, Some(old.uid()), Some(old.gid()));
                old.mode() & 0o7777
            }
            Err(_) => mode,
        };
        file.set_permissions(Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&nascent, &real)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&nascent);
        told(path, &error)
    })
}

/// See [`super::super::Environment::stat`].
pub fn stat(path: &Path) -> Result<Option<FileStat>, FileError> {
    absolute(path)?;
    let meta = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta.map_err(|error| told(path, &error))?,
    };
    let kind = match () {
        () if meta.is_file() => FileKind::File,
        () if meta.is_dir() => FileKind::Directory,
        () => FileKind::Other,
    };
    Ok(Some(FileStat { kind, bytes: meta.len(), mode: meta.mode() & 0o7777, modified_s: meta.mtime() }))
}

/// See [`super::super::Environment::list`].
pub fn list(path: &Path) -> Result<Vec<String>, FileError> {
    absolute(path)?;
    let entries = fs::read_dir(path).map_err(|error| told(path, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(|error| told(path, &error))?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

fn absolute(path: &Path) -> Result<(), FileError> {
    path.is_absolute().then_some(()).ok_or_else(|| FileError::Relative { path: path.to_owned() })
}

fn told(path: &Path, error: &io::Error) -> FileError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => FileError::Missing { path },
        io::ErrorKind::PermissionDenied => FileError::Denied { path },
        _ => FileError::Failed { path, reason: error.to_string() },
    }
}
