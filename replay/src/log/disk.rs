//! What the log needs of a disk, and the real one.
//!
//! The trait is small so that a simulated disk can keep every promise of a real one, and break it
//! on purpose (`faulty`). A rule for callers: what must survive power loss is synced, and a file
//! that was created or renamed is there only after its folder was synced.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file of a [`Disk`]; offsets are the caller's business.
pub trait DiskFile: Send + Sync {
    /// Reads at most `into.len()` bytes; fewer may come, none only at the end.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`; on an error any part of them may be there.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Waits until the bytes and the length are on the disk.
    fn sync(&self) -> io::Result<()>;
    fn truncate(&self, length: u64) -> io::Result<()>;
    fn length(&self) -> io::Result<u64>;
}

/// A file system, as far as the log uses one.
pub trait Disk: Send + Sync {
    /// Opens a file that exists.
    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>>;
    /// Makes a new, empty file; what stood there is gone.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Names of what is in a folder, sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    fn exists(&self, path: &Path) -> bool;
    /// Bytes that can still be written near `path`.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
    /// Makes a file whose `bytes` are taken from the free space at once.
    fn reserve(&self, path: &Path, bytes: u64) -> io::Result<()>;
}

/// The whole content of a file.
pub fn read_all(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path, false)?;
    let mut bytes = vec![0; usize::try_from(file.length()?).unwrap_or(usize::MAX)];
    let read = read_full(file.as_ref(), 0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Reads until `into` is full or the file ends; how much was read.
pub fn read_full(file: &dyn DiskFile, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset.saturating_add(done as u64), rest)? {
            0 => break,
            read => done += read,
        }
    }
    Ok(done)
}

/// Puts `bytes` at `path` so that after a crash either the old or the new content is there, whole.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("tmp");
    let file = disk.create(&beside)?;
    file.write_at(0, bytes)?;
    file.sync()?;
    drop(file);
    disk.rename(&beside, path)?;
    disk.sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl DiskFile for File {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().read(true).write(write).open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        Ok(Box::new(options.read(true).write(true).create(true).truncate(true).open(path)?))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(path)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn reserve(&self, path: &Path, bytes: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)?;
        Ok(())
    }
}
