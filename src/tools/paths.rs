//! Paths that the model names: where they lead, and where nothing is written.
//!
//! [`resolve`] makes an argument absolute, [`real`] follows every link (also to what does not
//! exist yet), [`writable`] refuses herm's own home and files that would hand out the machine. The
//! refusal looks at the real path, so that a link into such a place is no way around it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Links followed in one path, at most; the kernel's own number.
const LINKS_MAX: usize = 40;
/// Folders that hold keys, wherever they lie.
const KEY_FOLDERS: &[&str] = &[".ssh", ".gnupg"];
/// Files of a home directory that are run at every login, or hold credentials.
const HOME_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".cshrc",
    ".tcshrc",
    ".config/fish/config.fish",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
];
/// The one folder below a [`SYSTEM_FOLDERS`] entry that is everybody's.
const SHARED_MEMORY: &str = "/dev/shm";
/// Folders of the system.
const SYSTEM_FOLDERS: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/lib",
    "/usr/sbin",
];

/// Why a path is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the path is empty")]
    Empty,
    #[error("the path holds a NUL character")]
    Nul,
    #[error("`~` stands in `{path}`, but the home directory is not known (HOME is not set)")]
    NoHome { path: String },
    #[error("`{path}` runs through more than {LINKS_MAX} links")]
    Links { path: String },
    #[error("`{path}` lies in herm's own home, where tools do not write")]
    HermHome { path: String },
    #[error("`{path}` is not written by a file tool: {why}")]
    Sensitive { path: String, why: &'static str },
}

/// The path that `argument` names, absolute; a leading `~` is the person's home.
///
/// # Errors
/// For an argument that cannot be a path.
pub fn resolve(argument: &str, cwd: &Path) -> Result<PathBuf, Error> {
    if argument.trim().is_empty() {
        return Err(Error::Empty);
    }
    if argument.contains('\0') {
        return Err(Error::Nul);
    }
    let expanded = match argument.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => user_home()
            .ok_or_else(|| Error::NoHome { path: argument.to_owned() })?
            .join(rest.trim_start_matches('/')),
        _ => PathBuf::from(argument),
    };
    Ok(cwd.join(expanded))
}

/// `path` without `.`, `..` and doubled slashes, by its letters alone.
pub fn lexical(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// Where `path` (absolute) leads once every link in it is followed; its end need not exist.
///
/// # Errors
/// [`Error::Links`] for a loop.
pub fn real(path: &Path) -> Result<PathBuf, Error> {
    let mut out = PathBuf::from("/");
    let mut left: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            out.pop();
            continue;
        }
        let next = out.join(&part);
        let Ok(target) = std::fs::read_link(&next) else {
            out = next;
            continue;
        };
        links += 1;
        if links > LINKS_MAX {
            return Err(Error::Links { path: path.display().to_string() });
        }
        if target.is_absolute() {
            out = PathBuf::from("/");
        }
        parts(&target).collect::<Vec<_>>().into_iter().rev().for_each(|part| left.push_front(part));
    }
    Ok(out)
}

/// The real path to be written for `path`.
///
/// # Errors
/// [`Error::HermHome`] or [`Error::Sensitive`] where a file tool does not write.
pub fn writable(path: &Path, herm_home: &Path) -> Result<PathBuf, Error> {
    let target = real(path)?;
    let shown = || target.display().to_string();
    if target.starts_with(real(herm_home)?) {
        return Err(Error::HermHome { path: shown() });
    }
    match sensitive(&target) {
        Some(why) => Err(Error::Sensitive { path: shown(), why }),
        None => Ok(target),
    }
}

/// `path` as it is best shown: relative below `cwd`, otherwise absolute.
pub fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
        Ok(rest) => rest.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

pub(crate) fn sensitive(target: &Path) -> Option<&'static str> {
    let named = |name: &OsStr| KEY_FOLDERS.iter().any(|folder| name == *folder);
    if target.components().any(|part| named(part.as_os_str())) {
        return Some("its folder holds keys");
    }
    let system = SYSTEM_FOLDERS.iter().any(|folder| target.starts_with(folder));
    if system && !target.starts_with(SHARED_MEMORY) {
        return Some("it belongs to the system");
    }
    let homes = homes_above(target);
    let is_home_file = |home: &Path| HOME_FILES.iter().any(|file| target == home.join(file));
    homes.iter().any(|home| is_home_file(home)).then_some("it is run at login, or holds credentials")
}

/// Home directories that `target` may lie in: this person's, root's, and anybody's below `/home`.
fn homes_above(target: &Path) -> Vec<PathBuf> {
    let mut homes = vec![PathBuf::from("/root")];
    homes.extend(user_home().and_then(|home| real(&home).ok()));
    let somebody = target.strip_prefix("/home").ok().and_then(|rest| rest.components().next());
    homes.extend(somebody.map(|name| Path::new("/home").join(name)));
    homes
}

fn user_home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn arguments_become_absolute() {
        let cwd = Path::new("/w/d");
        assert_eq!(resolve("a.txt", cwd).unwrap(), Path::new("/w/d/a.txt"));
        assert_eq!(lexical(&resolve("../x//./a.txt", cwd).unwrap()), Path::new("/w/x/a.txt"));
        assert_eq!(resolve("/etc/hosts", cwd).unwrap(), Path::new("/etc/hosts"));
        assert_eq!(resolve("~x", cwd).unwrap(), Path::new("/w/d/~x"));
        let home = user_home().unwrap();
        assert_eq!(resolve("~/n.md", cwd).unwrap(), home.join("n.md"));
        assert_eq!(resolve(" ", cwd), Err(Error::Empty));
        assert_eq!(resolve("a\0b", cwd), Err(Error::Nul));
    }

    #[test]
    fn links_are_followed_also_to_what_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("real/new.md", root.join("dangling")).unwrap();
        assert_eq!(real(&root.join("link/a/b")).unwrap(), root.join("real/a/b"));
        assert_eq!(real(&root.join("dangling")).unwrap(), root.join("real/new.md"));
        assert_eq!(real(&root.join("link/../x")).unwrap(), root.join("x"));
        symlink("loop", root.join("loop")).unwrap();
        assert!(matches!(real(&root.join("loop")), Err(Error::Links { .. })));
    }

    #[test]
    fn a_link_is_no_way_into_herms_home() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let home = root.join("herm");
        std::fs::create_dir(&home).unwrap();
        symlink(&home, root.join("innocent")).unwrap();
        let refused = writable(&root.join("innocent/config.yaml"), &home).unwrap_err();
        assert!(refused.to_string().contains("herm's own home"), "{refused}");
        assert_eq!(writable(&root.join("herm2/a"), &home).unwrap(), root.join("herm2/a"));
    }

    #[test]
    fn keys_and_login_files_are_refused() {
        let home = Path::new("/nowhere/herm");
        for path in ["/x/.ssh/authorized_keys", "/home/ann/.bashrc", "/root/.aws/credentials", "/etc/passwd"]
        {
            assert!(matches!(writable(Path::new(path), home), Err(Error::Sensitive { .. })), "{path}");
        }
        for path in ["/w/dotfiles/.bashrc", "/w/.sshd/x", "/w/etc/hosts", "/w/.docker/a", "/dev/shm/x"] {
            assert_eq!(writable(Path::new(path), home).unwrap(), Path::new(path));
        }
    }

    #[test]
    fn paths_are_shown_from_the_working_directory() {
        assert_eq!(shown(Path::new("/w/a/b"), Path::new("/w")), "a/b");
        assert_eq!(shown(Path::new("/w"), Path::new("/w")), ".");
        assert_eq!(shown(Path::new("/x/b"), Path::new("/w")), "/x/b");
    }
}
