//! Changes to files that can be told apart after a crash: not begun, half done, done.
//!
//! Before the first file is touched, [`Intent::record`] writes into the call's spool what each
//! file is now and what it shall be (as hashes), the new bytes themselves, and the result to be
//! reported. The order is: intent on the disk, then the files. So after a restart no intent means
//! that nothing was touched, and an intent says of every file on which side of the change it is.
//! A change of several files that was cut in the middle is carried to its end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use herm_schema::events::ToolStatus;
use serde::{Deserialize, Serialize};

use super::{Recovered, ToolResult};

const INTENT_FILE: &str = "intent.json";
const ELSEWHERE_FILE: &str = "elsewhere";
/// Rights of a file that did not exist, before the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// One file that shall be different.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The real path: no link at its end.
    pub path: PathBuf,
    /// What it holds; `None` if it does not exist.
    pub before: Option<Vec<u8>>,
    /// What it shall hold; `None` to remove it.
    pub after: Option<Vec<u8>>,
    /// Where its rights come from, if not from itself.
    pub mode_of: Option<PathBuf>,
}

/// What is recorded before anything is touched.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    files: Vec<Planned>,
    /// The result, once all of it is done.
    result: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Planned {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    mode: Option<u32>,
    /// Folders that were not there.
    new_folders: Vec<PathBuf>,
}

/// Records the intent and makes the changes; all of them, or as far as the disk allows none.
///
/// # Errors
/// Those of the disk; what was changed is changed back.
pub(crate) fn carry_out(changes: &[Change], spool: &Path, result: &str) -> io::Result<()> {
    let intent = Intent::record(changes, spool, result)?;
    if let Some(other) = intent.files.iter().find(|planned| !planned.is_as_it_was()) {
        drop(fs::remove_file(spool.join(INTENT_FILE)));
        let path = other.path.display();
        return Err(io::Error::other(format!("`{path}` was changed by somebody else in the meantime")));
    }
    for (index, (change, planned)) in changes.iter().zip(&intent.files).enumerate() {
        if let Err(error) = planned.apply(change.after.as_deref(), spool) {
            for (change, planned) in changes.iter().zip(&intent.files).take(index + 1).rev() {
                drop(planned.apply(change.before.as_deref(), spool));
                planned.remove_new_folders();
            }
            drop(fs::remove_file(spool.join(INTENT_FILE)));
            return Err(error);
        }
    }
    Ok(())
}

/// Notes that the changes of a call are made in another file system: after a restart nobody can tell by
/// looking here what became of them.
pub(crate) fn mark_elsewhere(spool: &Path) -> io::Result<()> {
    make_folder(spool)?;
    write_synced(&spool.join(ELSEWHERE_FILE), b"", None)
}

/// Finds out what became of the changes recorded in `spool`.
pub(crate) fn recover(spool: &Path) -> Recovered {
    if spool.join(ELSEWHERE_FILE).exists() {
        return Recovered::Unknown;
    }
    let read = match fs::read(spool.join(INTENT_FILE)) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Recovered::NotDone,
        Err(_) => return Recovered::Unknown,
    };
    let Ok(intent) = serde_json::from_slice::<Intent>(&read) else {
        return Recovered::Unknown;
    };
    let mut sides = Vec::new();
    for planned in &intent.files {
        drop(fs::remove_file(temporary(&planned.path, spool)));
        match planned.side() {
            Some(side) => sides.push(side),
            None => return Recovered::Unknown,
        }
    }
    if sides.iter().all(|side| *side != Side::After) && sides.contains(&Side::Before) {
        return Recovered::NotDone;
    }
    let half = intent.files.iter().enumerate().zip(&sides).filter(|(_, side)| **side == Side::Before);
    for ((index, planned), _) in half {
        let after = match &planned.after {
            Some(_) => fs::read(staged(spool, index)).map(Some),
            None => Ok(None),
        };
        if after.and_then(|after| planned.apply(after.as_deref(), spool)).is_err() {
            return Recovered::Unknown;
        }
    }
    Recovered::Finished(ToolResult::text(ToolStatus::Succeeded, intent.result))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
    /// The change changes nothing.
    Both,
}

impl Intent {
    fn record(changes: &[Change], spool: &Path, result: &str) -> io::Result<Self> {
        make_folder(spool)?;
        let mut files = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            if let (Some(after), true) = (&change.after, changes.len() > 1) {
                write_synced(&staged(spool, index), after, None)?;
            }
            files.push(Planned::new(change));
        }
        let intent = Self { files, result: result.to_owned() };
        let written = spool.join("intent.part");
        write_synced(&written, &serde_json::to_vec(&intent)?, None)?;
        fs::rename(&written, spool.join(INTENT_FILE))?;
        sync_folder(spool)?;
        Ok(intent)
    }
}

impl Planned {
    fn new(change: &Change) -> Self {
        let mode_of = change.mode_of.as_ref().unwrap_or(&change.path);
        Self {
            path: change.path.clone(),
            before: change.before.as_deref().map(hash),
            after: change.after.as_deref().map(hash),
            mode: fs::metadata(mode_of).ok().map(|metadata| metadata.permissions().mode() & 0o7777),
            new_folders: change.path.parent().map(missing_folders).unwrap_or_default(),
        }
    }

    fn apply(&self, content: Option<&[u8]>, spool: &Path) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        match content {
            Some(content) => {
                make_folder(folder)?;
                replace(&self.path, content, self.mode, &temporary(&self.path, spool))?;
            }
            None => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        sync_folder(folder)
    }

    fn remove_new_folders(&self) {
        self.new_folders.iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }

    fn is_as_it_was(&self) -> bool {
        matches!(self.side(), Some(Side::Before | Side::Both))
    }

    /// On which side of its change the file is; `None` if somebody else changed it.
    fn side(&self) -> Option<Side> {
        let now = match File::open(&self.path) {
            Ok(file) => Some(hash_of(file).ok()?),
            Err(error) if is_absence(&error) => None,
            Err(_) => return None,
        };
        match (now == self.before, now == self.after) {
            (true, true) => Some(Side::Both),
            (true, false) => Some(Side::Before),
            (false, true) => Some(Side::After),
            (false, false) => None,
        }
    }
}

/// Puts `content` in the place of `path` in one step; readers see the old or the new, never a part.
fn replace(path: &Path, content: &[u8], mode: Option<u32>, temporary: &Path) -> io::Result<()> {
    let owner = fs::metadata(path).ok().map(|metadata| (metadata.uid(), metadata.gid()));
    drop(fs::remove_file(temporary));
    let written = write_synced(temporary, content, mode)
        .and_then(|()| {
            // Only root may give a file away; for everybody else it stays theirs.
            if let Some((uid, gid)) = owner {
                drop(std::os::unix::fs::chown(temporary, Some(uid), Some(gid)));
            }
            mode.map_or(Ok(()), |mode| fs::set_permissions(temporary, fs::Permissions::from_mode(mode)))
        })
        .and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        drop(fs::remove_file(temporary));
    }
    written
}

fn write_synced(path: &Path, content: &[u8], mode: Option<u32>) -> io::Result<()> {
    let mode = mode.unwrap_or(NEW_FILE_MODE);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Makes a folder and those above it; their names are on the disk when it returns.
fn make_folder(folder: &Path) -> io::Result<()> {
    let missing = missing_folders(folder);
    fs::create_dir_all(folder)?;
    missing.iter().filter_map(|made| made.parent()).try_for_each(sync_folder)
}

/// The folder and those above it that are not there, the lowest first.
fn missing_folders(folder: &Path) -> Vec<PathBuf> {
    folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The name under which the new content stands beside the file, the same in every run of the call,
/// so that a run after a crash finds and removes what the one before left.
fn temporary(path: &Path, spool: &Path) -> PathBuf {
    let name: String = hash(spool.as_os_str().as_encoded_bytes()).chars().take(16).collect();
    path.with_file_name(format!(".herm-{name}.tmp"))
}

fn staged(spool: &Path, index: usize) -> PathBuf {
    spool.join(format!("after-{index}"))
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn hash_of(mut file: impl Read) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut file, &mut hasher)?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: PathBuf, before: Option<&str>, after: Option<&str>) -> Change {
        let bytes = |text: &str| text.as_bytes().to_vec();
        Change { path, before: before.map(bytes), after: after.map(bytes), mode_of: None }
    }

    struct Place {
        _dir: tempfile::TempDir,
        root: PathBuf,
        spool: PathBuf,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let spool = root.join("spool/1.0");
        Place { root, spool, _dir: dir }
    }

    #[test]
    fn nothing_recorded_is_nothing_done() {
        let place = place();
        assert_eq!(recover(&place.spool), Recovered::NotDone);
    }

    #[test]
    fn done_not_done_and_meddled_with_are_told_apart() {
        let place = place();
        let path = place.root.join("a");
        fs::write(&path, "old").unwrap();
        carry_out(&[change(path.clone(), Some("old"), Some("new"))], &place.spool, "{}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(matches!(recover(&place.spool), Recovered::Finished(result) if result.shown == "{}"));
        fs::write(&path, "old").unwrap();
        assert_eq!(recover(&place.spool), Recovered::NotDone);
        fs::write(&path, "somebody else's").unwrap();
        assert_eq!(recover(&place.spool), Recovered::Unknown);
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's");
    }

    #[test]
    fn half_a_change_is_carried_to_its_end() {
        let place = place();
        let (a, b, c) = (place.root.join("a"), place.root.join("b"), place.root.join("new/c"));
        fs::write(&a, "a1").unwrap();
        fs::write(&b, "b1").unwrap();
        let changes = [
            change(a.clone(), Some("a1"), Some("a2")),
            change(b.clone(), Some("b1"), None),
            change(c.clone(), None, Some("c2")),
        ];
        Intent::record(&changes, &place.spool, "{\"r\":1}").unwrap();
        assert_eq!(recover(&place.spool), Recovered::NotDone);
        fs::write(&a, "a2").unwrap();
        assert!(matches!(recover(&place.spool), Recovered::Finished(_)));
        assert!(!b.exists());
        assert_eq!(fs::read_to_string(&c).unwrap(), "c2");
    }

    #[test]
    fn a_change_that_fails_is_taken_back() {
        let place = place();
        let (a, wrong) = (place.root.join("a"), place.root.join("a/below-a-file"));
        fs::write(&a, "a1").unwrap();
        let changes = [
            change(place.root.join("deep/er/x"), None, Some("x")),
            change(a.clone(), Some("a1"), Some("a2")),
            change(wrong, None, Some("x")),
        ];
        let error = carry_out(&changes, &place.spool, "{}").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{error}");
        assert_eq!(fs::read_to_string(&a).unwrap(), "a1");
        assert!(!place.root.join("deep").exists());
        assert_eq!(recover(&place.spool), Recovered::NotDone);
    }

    #[test]
    fn what_somebody_else_wrote_is_not_overwritten() {
        let place = place();
        let path = place.root.join("a");
        fs::write(&path, "theirs").unwrap();
        let error =
            carry_out(&[change(path.clone(), Some("old"), Some("new"))], &place.spool, "{}").unwrap_err();
        assert!(error.to_string().contains("changed by somebody else"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(recover(&place.spool), Recovered::NotDone);
    }

    #[test]
    fn what_a_crash_left_beside_the_file_goes() {
        let place = place();
        let path = place.root.join("a");
        fs::write(&path, "old").unwrap();
        Intent::record(&[change(path.clone(), Some("old"), Some("new"))], &place.spool, "{}").unwrap();
        let left = temporary(&path, &place.spool);
        fs::write(&left, "ne").unwrap();
        assert_eq!(recover(&place.spool), Recovered::NotDone);
        assert!(!left.exists());
    }

    #[test]
    fn rights_are_kept() {
        let place = place();
        let path = place.root.join("run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        carry_out(&[change(path.clone(), Some("old"), Some("new"))], &place.spool, "{}").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
    }
}
