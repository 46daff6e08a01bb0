//! The files that people read and edit: a projection of the log, below `memories/`.
//!
//! Beside each file lies what was written to it last. So a file that is not what it should be is one of
//! two: the same as what was written last, and then only late (herm died between an event and its file),
//! or another, and then somebody changed it.

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use herm_schema::events::{MemorySpace, MemoryTarget};

use super::entries::{parsed, rendered};

/// Largest file that is read, in bytes; above it, something else than notes was put there.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Characters of an account or a chat that its folder is named after.
const SLUG_CHARS_MAX: usize = 40;

/// The folder of a profile.
pub struct Files {
    root: PathBuf,
}

/// How a file stands to what it should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Same,
    /// Not written yet, or late.
    Behind,
    /// Somebody changed it.
    Edited { base: Vec<String>, entries: Vec<String> },
}

/// The name of a list's file.
pub fn name(target: MemoryTarget) -> &'static str {
    match target {
        MemoryTarget::Memory => "MEMORY.md",
        MemoryTarget::User => "USER.md",
    }
}

impl Files {
    /// Whether somebody changed a file and nobody has taken it in yet.
    pub fn is_edited(&self, space: &MemorySpace, target: MemoryTarget, entries: &[String]) -> bool {
        !matches!(self.look(space, target, entries), Ok(Standing::Same | Standing::Behind))
    }

    /// Below the home of a profile.
    pub fn of(home: &Path) -> Self {
        Self { root: home.join("memories") }
    }

    pub fn path(&self, space: &MemorySpace, target: MemoryTarget) -> PathBuf {
        self.folder(space).join(name(target))
    }

    fn folder(&self, space: &MemorySpace) -> PathBuf {
        match space {
            MemorySpace::Profile => self.root.clone(),
            MemorySpace::Person { platform, id } => self.root.join("people").join(slug(platform, id)),
            MemorySpace::Chat { platform, chat } => self.root.join("chats").join(slug(platform, chat)),
        }
    }

    /// How the file stands that should hold `entries`.
    ///
    /// # Errors
    /// It is there and cannot be read; it must not be taken for empty then.
    pub fn look(
        &self,
        space: &MemorySpace,
        target: MemoryTarget,
        entries: &[String],
    ) -> Result<Standing, String> {
        let path = self.path(space, target);
        let (now, last) = (read(&path)?, read(&last(&path))?);
        let should = rendered(entries);
        Ok(match (now, last) {
            (Some(now), _) if now == should => Standing::Same,
            (None, None) if entries.is_empty() => Standing::Same,
            (None, None) => Standing::Behind,
            (None, Some(last)) if last.is_empty() => Standing::Behind,
            (Some(now), Some(last)) if now == last => Standing::Behind,
            (now, last) => {
                let base = last.map(|text| parsed(&text)).unwrap_or_default();
                Standing::Edited { base, entries: parsed(&now.unwrap_or_default()) }
            }
        })
    }

    /// Makes the file hold `entries`.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn write(
        &self,
        space: &MemorySpace,
        target: MemoryTarget,
        entries: &[String],
    ) -> std::io::Result<()> {
        let path = self.path(space, target);
        let text = rendered(entries);
        // In this order: a file that is newer than what was written last is as it should be.
        replace(&path, text.as_bytes())?;
        replace(&last(&path), text.as_bytes())
    }
}

/// What was written to a file last.
fn last(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.last"))
}

/// A folder's name: readable, and another for every other account, also where case makes no difference.
fn slug(platform: &str, id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let readable: String = id.chars().map(plain).take(SLUG_CHARS_MAX).collect();
    let platform: String = platform.chars().map(plain).take(SLUG_CHARS_MAX).collect();
    let whole = herm_schema::IdempotencyKey::of(&[&platform, id]);
    let digest: String = whole.to_string().chars().take(12).collect();
    format!("{platform}-{readable}-{digest}")
}

/// `None` where there is no file.
fn read(path: &Path) -> Result<Option<String>, String> {
    let refused = |why: String| format!("`{}` cannot be read: {why}", path.display());
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(error.to_string())),
    };
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| refused("it is not UTF-8".to_owned()))
}

/// In one step, and on the disk; what the file may be run by stays.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let mut file = std::fs::File::create(&beside)?;
    file.write_all(bytes)?;
    if let Ok(before) = std::fs::metadata(path) {
        file.set_permissions(before.permissions())?;
    }
    file.sync_all()?;
    std::fs::rename(&beside, path)?;
    std::fs::File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}
