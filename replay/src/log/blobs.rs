//! Blobs: bytes kept once, in a file named by their hash, `blobs/ab/<hash>`.
//!
//! A blob is on the disk before `put` returns, and so before any event can name it. It is written
//! under its own name at once: its hash tells whether it is whole, so a crash leaves at most a
//! damaged file that no event names and that the next `put` of the same bytes replaces.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use herm_schema::{BlobRef, Digest};

use super::disk::{Disk, read_all};
use super::{BLOB_BYTES_MAX, Error};

pub(crate) struct Blobs {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// Two threads that keep the same bytes would write the same file.
    writing: Mutex<Synced>,
}

/// Names that this process has seen to be on the disk. What another left unsynced when it was
/// killed is not among them.
#[derive(Default)]
struct Synced {
    folder: bool,
    shelves: BTreeSet<PathBuf>,
}

impl Blobs {
    pub(crate) fn new(disk: Arc<dyn Disk>, log: &Path) -> Self {
        Self { disk, folder: log.join("blobs"), writing: Mutex::default() }
    }

    fn shelf(&self, hash: Digest) -> PathBuf {
        self.folder.join(hash.to_string().chars().take(2).collect::<String>())
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Result<BlobRef, Error> {
        let found = bytes.len() as u64;
        if found > BLOB_BYTES_MAX {
            return Err(Error::TooLarge { what: "bytes of a blob", found, limit: BLOB_BYTES_MAX });
        }
        let blob = BlobRef::of(bytes);
        let mut synced = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever stands there and is not these bytes, such as a damaged blob, is replaced.
        let there = self.get(blob).is_ok();
        self.keep(blob, bytes, there, &mut synced).map_err(|(path, error)| match error.kind() {
            io::ErrorKind::StorageFull => Error::Full {
                free_bytes: self.disk.free_bytes(&self.folder).unwrap_or(0),
                needed_bytes: bytes.len() as u64,
                path,
            },
            _ => Error::io("write", &path, &error),
        })?;
        Ok(blob)
    }

    /// Bytes first, names last: a journal that has the file has its folders with it, so that all but
    /// the first wait for the disk are short. A blob that is there is synced as well, because
    /// whoever wrote it may have been killed before it was on the disk.
    fn keep(
        &self,
        blob: BlobRef,
        bytes: &[u8],
        there: bool,
        synced: &mut Synced,
    ) -> Result<(), (PathBuf, io::Error)> {
        let shelf = self.shelf(blob.hash);
        let path = shelf.join(blob.hash.to_string());
        let file = || {
            if there {
                return self.disk.open(&path, false)?.sync();
            }
            self.disk.create_folder(&shelf)?;
            let file = self.disk.create(&path)?;
            file.write_at(0, bytes)?;
            file.sync()
        };
        file().map_err(|error| (path.clone(), error))?;
        let sync = |folder: &Path| self.disk.sync_folder(folder).map_err(|error| (folder.to_owned(), error));
        sync(&shelf)?;
        if !synced.shelves.contains(&shelf) {
            sync(&self.folder)?;
            synced.shelves.insert(shelf);
        }
        if !synced.folder {
            sync(self.folder.parent().unwrap_or(&self.folder))?;
            synced.folder = true;
        }
        Ok(())
    }

    pub(crate) fn get(&self, blob: BlobRef) -> Result<Vec<u8>, Error> {
        let path = self.shelf(blob.hash).join(blob.hash.to_string());
        if !self.disk.exists(&path) {
            return Err(Error::BlobMissing { blob });
        }
        let bytes = read_all(self.disk.as_ref(), &path).map_err(|error| Error::io("read", &path, &error))?;
        let found = Digest::of(&bytes);
        if found != blob.hash {
            return Err(Error::BlobDamaged { blob, found });
        }
        Ok(bytes)
    }
}
