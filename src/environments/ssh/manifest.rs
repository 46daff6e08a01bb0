//! What lies below the folders that are brought over: every file with the hash of its content, and
//! what two such lists differ in. PURE, but for the walk.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::sync::SyncRoot;

/// Files of one list at most; more are no runtime files of ours.
const FILES_MAX: usize = 50_000;
/// How deep folders are walked.
const DEPTH_MAX: usize = 16;

/// Files by their path over there, with the hash of their content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest(pub BTreeMap<String, String>);

/// What is to be done so that one list becomes another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    pub changed: Vec<String>,
    pub gone: Vec<String>,
}

impl Manifest {
    /// Everything that is below `roots` on this machine now, and where each file lies.
    ///
    /// # Errors
    /// What is there cannot be read, or is too much.
    pub fn of(roots: &[SyncRoot]) -> io::Result<(Self, BTreeMap<String, PathBuf>)> {
        let mut files = BTreeMap::new();
        for root in roots {
            walk(&root.local, &root.remote, 0, &mut files)?;
        }
        let mut manifest = Self::default();
        for (remote, local) in &files {
            manifest.0.insert(remote.clone(), hash(local)?);
        }
        Ok((manifest, files))
    }

    /// What `now` has that this has not.
    pub fn difference(&self, now: &Self) -> Difference {
        let changed = now.0.iter().filter(|(path, hash)| self.0.get(*path) != Some(hash));
        let gone = self.0.keys().filter(|path| !now.0.contains_key(*path));
        Difference { changed: changed.map(|(path, _)| path.clone()).collect(), gone: gone.cloned().collect() }
    }

    /// Tells this list from another.
    pub fn digest(&self) -> String {
        let lines: String = self.0.iter().map(|(path, hash)| format!("{hash} {path}\n")).collect();
        blake3::hash(lines.as_bytes()).to_hex().to_string()
    }
}

/// The hash of a file's content.
pub fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut std::fs::File::open(path)?, &mut hasher)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Links are not followed: what they lead to is not ours to send.
fn walk(at: &Path, remote: &str, depth: usize, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    let meta = match std::fs::symlink_metadata(at) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?,
    };
    if meta.is_file() {
        files.insert(remote.to_owned(), at.to_owned());
        let full = files.len() > FILES_MAX;
        return if full { Err(io::Error::other(format!("more than {FILES_MAX} files"))) } else { Ok(()) };
    }
    if !meta.is_dir() || depth >= DEPTH_MAX {
        return Ok(());
    }
    for entry in std::fs::read_dir(at)? {
        let entry = entry?;
        // A name that is no text, or has a line of its own, cannot be told over there.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.contains('\n') {
            walk(&entry.path(), &format!("{remote}/{name}"), depth + 1, files)?;
        }
    }
    Ok(())
}

/// Whether a path from over there stays below what it is put under.
pub fn is_below(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    !path.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::super::sync::SyncKind;
    use super::*;

    fn manifest(files: &[(&str, &str)]) -> Manifest {
        Manifest(files.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned())).collect())
    }

    #[test]
    fn a_difference_has_what_is_new_what_changed_and_what_is_gone() {
        let before = manifest(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = manifest(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let found = before.difference(&now);
        assert_eq!((found.changed, found.gone), (vec!["b".into(), "d".into()], vec!["c".into()]));
        assert_eq!(now.difference(&now), Difference::default());
        assert_ne!(before.digest(), now.digest());
    }

    #[test]
    fn files_are_known_by_their_content_and_links_are_left_out() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("skills");
        std::fs::create_dir_all(root.join("deep")).unwrap();
        std::fs::write(root.join("deep/a.md"), "one").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let roots = [SyncRoot { local: root.clone(), remote: "skills".into(), kind: SyncKind::Skills }];
        let (first, files) = Manifest::of(&roots).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["skills/deep/a.md"]);
        std::fs::write(root.join("deep/a.md"), "one").unwrap();
        assert_eq!(Manifest::of(&roots).unwrap().0, first);
        std::fs::write(root.join("deep/a.md"), "two").unwrap();
        assert_eq!(first.difference(&Manifest::of(&roots).unwrap().0).changed, ["skills/deep/a.md"]);
    }

    #[test]
    fn a_path_that_leads_out_is_known() {
        for path in ["", "/etc/passwd", "../x", "skills/../../x", "."] {
            assert!(!is_below(path), "{path}");
        }
        assert!(is_below("skills/a b/c.md"));
    }
}
