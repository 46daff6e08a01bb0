//! Where things are: the home directory and what it holds. Names only; nothing is read here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Error;

/// Name of the home directory below the user's own.
const DIRECTORY: &str = ".herm";
/// Folder of the homes of all profiles but the first.
const PROFILES: &str = "profiles";
/// The profile whose home is herm's home itself.
pub const FIRST_PROFILE: &str = "default";

/// herm's home: `$HERM_HOME`, else `~/.herm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The home of this process. `herm_home` is `$HERM_HOME`, `user_home` is `$HOME`; empty is unset.
    ///
    /// # Errors
    /// [`Error::NoHome`] if neither is set, [`Error::RelativeHome`] for a path that depends on the
    /// directory one happens to stand in.
    pub fn locate(herm_home: Option<&OsStr>, user_home: Option<&OsStr>) -> Result<Self, Error> {
        let set = |value: Option<&OsStr>| value.filter(|text| !text.is_empty()).map(PathBuf::from);
        let root = match (set(herm_home), set(user_home)) {
            (Some(root), _) => root,
            (None, Some(user)) => user.join(DIRECTORY),
            (None, None) => return Err(Error::NoHome),
        };
        if root.is_relative() {
            return Err(Error::RelativeHome { path: root });
        }
        Ok(Self { root })
    }

    /// The home at a known place.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home of a profile of this home; the first, [`FIRST_PROFILE`], is this home itself.
    pub fn profile(&self, name: &str) -> Self {
        match name {
            FIRST_PROFILE => self.clone(),
            name => Self::at(self.root.join(PROFILES).join(name)),
        }
    }

    /// Whose home it is.
    pub fn profile_name(&self) -> &str {
        let within = self.root.parent().and_then(Path::file_name).is_some_and(|name| name == PROFILES);
        let name = self.root.file_name().and_then(OsStr::to_str);
        name.filter(|_| within).unwrap_or(FIRST_PROFILE)
    }

    /// Where the running gateway of this home is spoken to.
    pub fn gateway_socket(&self) -> PathBuf {
        self.root.join("gateway.sock")
    }

    /// Settings.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.yaml")
    }

    /// Secrets, as `NAME=VALUE` lines.
    pub fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    /// The agent's identity, in prose.
    pub fn soul_file(&self) -> PathBuf {
        self.root.join("SOUL.md")
    }

    /// The log: the only truth.
    pub fn log_dir(&self) -> PathBuf {
        self.root.join("log")
    }

    /// The index and the projections; may be deleted.
    pub fn index_dir(&self) -> PathBuf {
        self.root.join("index")
    }

    /// Output of tool processes until their outcome is recorded.
    pub fn spool_dir(&self) -> PathBuf {
        self.root.join("spool")
    }

    /// What the adapter of a platform keeps for itself, such as the keys of encrypted rooms.
    pub fn platform_dir(&self, platform: &str) -> PathBuf {
        self.root.join("platforms").join(platform)
    }

    /// What was typed at the prompt of `herm chat`.
    pub fn history_file(&self) -> PathBuf {
        self.root.join("history")
    }

    /// Diagnostics, as far as they are kept in files.
    pub fn diagnostics_dir(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Makes the home if it is not there, closed to other users.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be made.
    pub fn create(&self) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.root)
            .map_err(|source| Error::Io { operation: "make", path: self.root.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(herm: Option<&str>, user: Option<&str>) -> Result<Home, Error> {
        Home::locate(herm.map(OsStr::new), user.map(OsStr::new))
    }

    #[test]
    fn herm_home_wins_and_empty_counts_as_unset() {
        assert_eq!(locate(Some("/srv/herm"), Some("/home/ada")).unwrap().root(), Path::new("/srv/herm"));
        assert_eq!(locate(Some(""), Some("/home/ada")).unwrap().root(), Path::new("/home/ada/.herm"));
        assert!(matches!(locate(None, None), Err(Error::NoHome)));
        assert!(matches!(locate(Some("herm"), None), Err(Error::RelativeHome { .. })));
    }

    #[test]
    fn a_new_home_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = tempfile::tempdir().unwrap();
        let home = Home::at(scratch.path().join("a/b"));
        home.create().unwrap();
        home.create().unwrap();
        let mode = std::fs::metadata(home.root()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
