//! Blobs: bytes kept once, in a file named by their hash, `blobs/ab/<hash>`.
//!
//! A blob is on the disk before `put` returns, and so before any event can name it. A crash leaves
//! at most a `.tmp` file, which the next `put` of the same bytes overwrites.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use herm_schema::{BlobRef, Digest};

use super::disk::{Disk, read_all};
use super::{BLOB_BYTES_MAX, Error};

/// Blobs of which it is kept in mind that their names are on the disk, at most.
const KEPT_IN_MIND_MAX: usize = 4_096;

pub(crate) struct Blobs {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    /// Held while one is put: two threads that keep the same bytes would write the same file. Holds those
    /// whose names this process has brought to the disk.
    named: Mutex<HashSet<Digest>>,
}

impl Blobs {
    pub(crate) fn new(disk: Arc<dyn Disk>, log: &std::path::Path) -> Self {
        Self { disk, folder: log.join("blobs"), named: Mutex::default() }
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
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever stands there and is not these bytes, such as a damaged blob, is replaced.
        if self.get(blob).is_err() {
            self.write(blob, bytes)?;
        } else if !named.contains(&blob.hash) {
            // Whoever wrote it may have been killed before its name was on the disk.
            for folder in [self.shelf(blob.hash), self.folder.clone()] {
                self.disk.sync_folder(&folder).map_err(|error| Error::io("sync", &folder, &error))?;
            }
        }
        if named.len() >= KEPT_IN_MIND_MAX {
            named.clear();
        }
        named.insert(blob.hash);
        Ok(blob)
    }

    fn write(&self, blob: BlobRef, bytes: &[u8]) -> Result<(), Error> {
        let shelf = self.shelf(blob.hash);
        let path = shelf.join(blob.hash.to_string());
        let fresh = !self.disk.exists(&shelf);
        let steps = || {
            if fresh {
                self.disk.create_folder(&shelf)?;
                self.disk.sync_folder(&self.folder)?;
                self.disk.sync_folder(self.folder.parent().unwrap_or(&self.folder))?;
            }
            super::disk::replace(self.disk.as_ref(), &path, bytes)
        };
        steps().map_err(|error| match error.kind() {
            std::io::ErrorKind::StorageFull => Error::Full {
                path: path.clone(),
                free_bytes: self.disk.free_bytes(&self.folder).unwrap_or(0),
                needed_bytes: bytes.len() as u64,
            },
            _ => Error::io("write", &path, &error),
        })
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
