//! The segment files of a folder, opened when they are needed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use herm_schema::codec::{self, RawRecord};
use herm_schema::{CodecError, Position};

use super::overlay::Pointer;
use crate::log::Error;
use crate::log::disk::{Disk, DiskFile, read_full};

/// Files that are kept open, at most.
const OPEN_FILES_MAX: usize = 64;

pub(crate) struct Files {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) folder: PathBuf,
    open: Mutex<BTreeMap<Position, Arc<dyn DiskFile>>>,
}

/// The path of the segment whose first position is `first`.
pub(crate) fn segment_path(folder: &Path, first: Position) -> PathBuf {
    folder.join(format!("{:020}.seg", first.0))
}

impl Files {
    pub(crate) fn new(disk: Arc<dyn Disk>, folder: PathBuf) -> Self {
        Self { disk, folder, open: Mutex::default() }
    }

    pub(crate) fn path(&self, first: Position) -> PathBuf {
        segment_path(&self.folder, first)
    }

    /// First positions of the segments in the folder, in order.
    pub(crate) fn firsts(&self) -> Result<Vec<Position>, Error> {
        let names = self.disk.list(&self.folder);
        let names = names.map_err(|error| Error::io("list", &self.folder, &error))?;
        let number = |name: &String| name.strip_suffix(".seg")?.parse().ok().map(Position);
        Ok(names.iter().filter_map(number).collect())
    }

    /// The file of a segment, for reading.
    pub(crate) fn file(&self, first: Position) -> Result<Arc<dyn DiskFile>, Error> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&first) {
            return Ok(Arc::clone(file));
        }
        let path = self.path(first);
        let file = self.disk.open(&path, false).map_err(|error| Error::io("open", &path, &error))?;
        let file: Arc<dyn DiskFile> = Arc::from(file);
        if open.len() >= OPEN_FILES_MAX {
            open.pop_first();
        }
        open.insert(first, Arc::clone(&file));
        Ok(file)
    }

    pub(crate) fn length(&self, first: Position) -> Result<u64, Error> {
        let file = self.file(first)?;
        file.length().map_err(|error| Error::io("measure", &self.path(first), &error))
    }

    /// Reads the record at `pointer` into `buffer`.
    pub(crate) fn record<'a>(
        &self,
        pointer: Pointer,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Result<RawRecord<'a>, CodecError>, Error> {
        let first = pointer.place.segment;
        let file = self.file(first)?;
        // A pointer may come from a damaged index: the buffer is bounded.
        let bytes = (pointer.bytes as usize).min(codec::HEADER_BYTES + codec::PAYLOAD_BYTES_MAX);
        buffer.resize(bytes, 0);
        let read = read_full(file.as_ref(), pointer.place.offset, buffer)
            .map_err(|error: io::Error| Error::io("read", &self.path(first), &error))?;
        buffer.truncate(read);
        Ok(codec::read_record(buffer))
    }
}
