//! What "the workspace" is: the directory that a session works in, and the repository around it.

use std::path::{Path, PathBuf};

/// How far up a repository is looked for, in directories.
const DEPTH_MAX: usize = 32;

/// The folders that work in `cwd` writes to: itself, or the repository that it is in, whose `.git` a
/// commit writes; for a linked work tree that is elsewhere. A repository that holds the whole home,
/// as people keep one for their settings, does not make the home writable.
pub fn workspace(cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let inside = |folder: &Path| home.is_none_or(|home| !home.starts_with(folder));
    let above = cwd.ancestors().take(DEPTH_MAX).filter(|folder| inside(folder));
    let Some(root) = above.into_iter().find(|folder| folder.join(".git").exists()) else {
        return vec![cwd.to_owned()];
    };
    let git = root.join(".git");
    let elsewhere = (!git.is_dir()).then(|| linked(&git)).flatten();
    [root.to_owned()].into_iter().chain(elsewhere).collect()
}

/// The repository of a linked work tree or a submodule: `.git` is a file that says `gitdir: PATH`, and
/// a file there says what all work trees share.
fn linked(git: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(git).ok()?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    let folder = git.parent()?.join(named);
    let shared = std::fs::read_to_string(folder.join("commondir")).ok();
    let whole = shared.map_or_else(|| folder.clone(), |shared| folder.join(shared.trim()));
    std::fs::canonicalize(whole).ok().filter(|found| is_repository(found))
}

/// A command that is held in can write such a file; it must not make anything else writable by it.
fn is_repository(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_around_it_is_the_workspace_unless_it_is_the_home() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join("project/src/deep")).unwrap();
        std::fs::create_dir_all(home.join("plain")).unwrap();
        std::fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(workspace(&home.join("plain"), Some(&home)), [home.join("plain")]);
        std::fs::create_dir(home.join("project/.git")).unwrap();
        assert_eq!(workspace(&home.join("project/src/deep"), Some(&home)), [home.join("project")]);
        assert_eq!(workspace(&home, Some(&home)), std::slice::from_ref(&home));
    }

    #[test]
    fn a_linked_work_tree_takes_its_repository_along() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("main/.git/worktrees/w")).unwrap();
        std::fs::create_dir(root.join("tree")).unwrap();
        std::fs::write(root.join("main/.git/worktrees/w/commondir"), "../..\n").unwrap();
        let named = format!("gitdir: {}\n", root.join("main/.git/worktrees/w").display());
        std::fs::write(root.join("tree/.git"), named).unwrap();
        // As long as it is no repository, the file could have been made up.
        assert_eq!(workspace(&root.join("tree"), None), [root.join("tree")]);
        std::fs::write(root.join("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::create_dir(root.join("main/.git/objects")).unwrap();
        std::fs::create_dir(root.join("main/.git/refs")).unwrap();
        assert_eq!(workspace(&root.join("tree"), None), [root.join("tree"), root.join("main/.git")]);
    }
}
