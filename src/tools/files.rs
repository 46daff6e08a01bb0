//! Where the files of a session are: on this machine, or in its environment, where its command lines see
//! them too. What is there is fetched whole, worked on here by the same code, and put in its place
//! again; a file that somebody else has changed in the meantime is not overwritten.
//!
//! For work that blocks: it waits for the environment on its own thread.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::intent::Change;
use super::{ToolContext, paths};
use crate::environments::files::{FileKind, READ_BYTES_MAX};
use crate::environments::{Environment, Execution, FileAccess, FileError, quoted};
use crate::providers::BoxFuture;

/// Rights of a file that did not exist.
const NEW_FILE_MODE: u32 = 0o644;
/// Size of a file that is searched, in bytes: what is larger is hardly text.
const SEARCHED_FILE_BYTES_MAX: u64 = 1 << 20;
/// Files that are packed by one process.
const FILES_AT_ONCE: u32 = 200;
/// How long the fetching of such a place may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(120);

/// Where the files of a session are.
#[derive(Clone, Default)]
pub enum Files {
    /// On this machine.
    #[default]
    Here,
    There(There),
}

/// An environment with a file system of its own.
#[derive(Clone)]
pub struct There {
    environment: Arc<dyn Environment>,
    access: FileAccess,
    session: String,
    opened_in: PathBuf,
    runtime: Handle,
}

impl There {
    /// The environment of a session that was opened in a directory of this machine.
    pub fn new(
        environment: Arc<dyn Environment>,
        access: FileAccess,
        session: String,
        opened_in: PathBuf,
    ) -> Self {
        Self { environment, access, session, opened_in, runtime: Handle::current() }
    }

    /// Where the session stands over there; before its first command line it begins by asking.
    fn stands(&self) -> Result<PathBuf, String> {
        if let Some(stands) = self.environment.cwd(&self.session) {
            return Ok(stands);
        }
        let said = self.run_as("pwd", Some(self.session.clone()))?;
        Ok(self.environment.cwd(&self.session).unwrap_or_else(|| PathBuf::from(said.trim())))
    }

    fn wait<T>(&self, work: BoxFuture<'_, Result<T, FileError>>) -> Result<T, FileError> {
        self.runtime.block_on(work)
    }

    /// The path that an argument names over there.
    pub fn path(&self, argument: &str) -> Result<PathBuf, String> {
        if argument == "~" || argument.starts_with("~/") {
            return Err(format!("`~` is not known in `{}`; name the whole path", self.environment.name()));
        }
        let stands = if argument.starts_with('/') { PathBuf::from("/") } else { self.stands()? };
        let path = paths::resolve(argument, &stands).map_err(|error| error.to_string())?;
        Ok(paths::lexical(&path))
    }

    /// As [`There::path`], for a file that is to be changed.
    pub fn writable(&self, argument: &str) -> Result<PathBuf, String> {
        let path = self.path(argument)?;
        match paths::sensitive(&path) {
            Some(why) => Err(format!("`{}` is not written by a file tool: {why}", path.display())),
            None => Ok(path),
        }
    }

    /// What is at a path; `None` if nothing is.
    ///
    /// # Errors
    /// For the model: it is no file, too large, or out of reach.
    pub fn before(&self, path: &Path) -> Result<Option<Vec<u8>>, String> {
        let named = path.display();
        let stat = self.wait(self.environment.stat(&self.access, path)).map_err(|error| error.to_string())?;
        let Some(stat) = stat else { return Ok(None) };
        match stat.kind {
            FileKind::File if stat.bytes <= READ_BYTES_MAX => {}
            FileKind::File => {
                return Err(format!(
                    "`{named}` has {} bytes; at most {READ_BYTES_MAX} are fetched",
                    stat.bytes
                ));
            }
            FileKind::Directory => {
                return Err(format!("`{named}` is a directory; list it with search_files, target `files`"));
            }
            FileKind::Other => return Err(format!("`{named}` is no ordinary file: it is not opened")),
        }
        let bytes = self.wait(self.environment.read(&self.access, path, 0..READ_BYTES_MAX));
        bytes.map(Some).map_err(|error| error.to_string())
    }

    /// A copy of a file, to be read here.
    ///
    /// # Errors
    /// As [`There::before`]; `None` if there is none.
    pub fn copy(&self, path: &Path) -> Result<Option<(File, u64)>, String> {
        let Some(bytes) = self.before(path)? else { return Ok(None) };
        let kept = || {
            let mut file = tempfile::tempfile_in(&self.access.scratch)?;
            file.write_all(&bytes)?;
            file.seek(SeekFrom::Start(0))?;
            Ok(file)
        };
        kept().map(|file| Some((file, bytes.len() as u64))).map_err(|error: std::io::Error| error.to_string())
    }

    /// Makes the changes, all or none as far as the environment can be reached.
    ///
    /// # Errors
    /// For the model; what was changed is changed back.
    pub(crate) fn carry_out(&self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            if self.before(&change.path)? != change.before {
                let named = change.path.display();
                return Err(format!("`{named}` was changed by somebody else in the meantime"));
            }
        }
        for (index, change) in changes.iter().enumerate() {
            if let Err(error) = self.put(&change.path, change.after.as_deref()) {
                for change in changes.iter().take(index + 1).rev() {
                    drop(self.put(&change.path, change.before.as_deref()));
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn put(&self, path: &Path, content: Option<&[u8]>) -> Result<(), String> {
        let name = quoted(&path.to_string_lossy());
        let Some(content) = content else {
            return self.run(&format!("rm -f -- {name}")).map(drop);
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        self.run(&format!("mkdir -p -- {}", quoted(&folder.to_string_lossy())))?;
        let put = self.environment.write_atomic(&self.access, path, content, NEW_FILE_MODE);
        self.wait(put).map_err(|error| error.to_string())
    }

    /// Names beside a missing file that look like it.
    pub fn similar(&self, path: &Path) -> Vec<String> {
        let Some(folder) = path.parent() else { return Vec::new() };
        let names = self.wait(self.environment.list(&self.access, folder)).unwrap_or_default();
        super::open::similar_among(path, names)
    }

    /// Fetches what a search looks through; the copy of `path`, in a folder that goes with the last of it.
    ///
    /// # Errors
    /// For the model.
    pub fn fetched(&self, path: &Path) -> Result<(tempfile::TempDir, PathBuf), String> {
        let folder = tempfile::tempdir_in(&self.access.scratch).map_err(|error| error.to_string())?;
        let name = quoted(&path.to_string_lossy());
        let kib = SEARCHED_FILE_BYTES_MAX >> 10;
        let line = format!(
            "[ -e {name} ] || {{ echo 'it does not exist'; exit 1; }}\n\
             t=$(mktemp) || exit 1\n\
             if [ -d {name} ]; then cd {name} || exit 1\n\
             find . -type d \\( -name node_modules -o -name target \\) -prune -o -type f -size -{kib}k -print0 | \
             xargs -0 -r -n {FILES_AT_ONCE} tar -cf - 2>/dev/null | head -c {READ_BYTES_MAX} > \"$t\"\n\
             else cd \"$(dirname {name})\" && tar -cf \"$t\" \"./$(basename {name})\" || exit 1; fi\n\
             echo \"$t\""
        );
        let said = self.run(&line)?;
        let archive = PathBuf::from(said.trim());
        let bytes = self.wait(self.environment.read(&self.access, &archive, 0..READ_BYTES_MAX));
        drop(self.run(&format!("rm -f -- {}", quoted(&archive.to_string_lossy()))));
        let bytes = bytes.map_err(|error| error.to_string())?;
        // One archive after the other; what the limit cut off at the end is simply not there.
        let mut archive = tar::Archive::new(bytes.as_slice());
        archive.set_ignore_zeros(true);
        drop(archive.unpack(folder.path()));
        let copy = match self.wait(self.environment.stat(&self.access, path)) {
            Ok(Some(stat)) if stat.kind == FileKind::Directory => folder.path().to_owned(),
            _ => path.file_name().map_or_else(|| folder.path().to_owned(), |name| folder.path().join(name)),
        };
        Ok((folder, copy))
    }

    fn run(&self, line: &str) -> Result<String, String> {
        self.run_as(line, None)
    }

    fn run_as(&self, line: &str, session: Option<String>) -> Result<String, String> {
        let spool = self.access.scratch.join(format!("run-{}", crate::environments::files::unique()));
        let cwd = if session.is_some() { self.opened_in.as_path() } else { Path::new("/") };
        let execution = Execution { session, ..Execution::new(line, cwd, &spool, FETCH_TIME_MAX) };
        let outcome = self.runtime.block_on(self.environment.execute(&execution, &self.access.cancel));
        let outcome = outcome.map_err(|error| error.to_string())?;
        let said = std::fs::read_to_string(&outcome.output).unwrap_or_default();
        drop(std::fs::remove_dir_all(&spool));
        match outcome.ending.exit_code() {
            0 => Ok(said),
            code => Err(format!("exit status {code}: {}", said.trim())),
        }
    }
}

impl ToolContext {
    /// The path that a tool may change, and what it holds.
    ///
    /// # Errors
    /// For the model.
    pub(crate) fn to_change(&self, argument: &str) -> Result<(PathBuf, Option<Vec<u8>>), String> {
        let target = self.target(argument)?;
        let before = match &self.files {
            Files::Here => super::write_file::before(&target, &self.home)?,
            Files::There(there) => there.before(&target)?,
        };
        Ok((target, before))
    }

    /// The path that a tool may change.
    ///
    /// # Errors
    /// For the model.
    pub(crate) fn target(&self, argument: &str) -> Result<PathBuf, String> {
        match &self.files {
            Files::Here => {
                let path = paths::resolve(argument, &self.cwd).map_err(|error| error.to_string())?;
                paths::writable(&path, &self.home).map_err(|error| error.to_string())
            }
            Files::There(there) => there.writable(argument),
        }
    }

    /// Makes the changes of a call, all or none.
    ///
    /// # Errors
    /// Why not; then everything is as it was.
    pub(crate) fn carry_out(&self, changes: &[Change], result: &str) -> Result<(), String> {
        match &self.files {
            Files::Here => {
                super::intent::carry_out(changes, &self.spool, result).map_err(|error| error.to_string())
            }
            Files::There(there) => {
                super::intent::mark_elsewhere(&self.spool).map_err(|error| error.to_string())?;
                there.carry_out(changes)
            }
        }
    }

    /// Names beside a missing file that look like it.
    pub(crate) fn similar(&self, path: &Path) -> Vec<String> {
        match &self.files {
            Files::Here => super::open::similar_files(path),
            Files::There(there) => there.similar(path),
        }
    }
}
