//! Files of an environment, read and written through its shell, so that they are the files that
//! command lines see. Bytes travel as base64 and arrive exactly. On this machine itself there is a
//! shorter way, see [`here`].
//!
//! Needs `base64`, `stat`, `find`, `readlink` as coreutils and busybox have them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio_util::sync::CancellationToken;

use super::shell::quoted;
use super::{Ending, Environment, Error, Execution};

pub mod here;

/// How long one piece of work on a file may take.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Bytes that one command line carries; as base64 they fit it with room.
const PIECE_BYTES: usize = 60_000;
/// Most that is read at once, in bytes.
pub const READ_BYTES_MAX: u64 = 64 << 20;
/// Exit statuses of the scripts below.
const MISSING: i32 = 41;
const DIRECTORY: i32 = 42;
const DENIED: i32 = 43;

/// What work on files needs besides the environment.
#[derive(Clone, Debug)]
pub struct FileAccess {
    /// Folder on this machine for spools that are gone when the work is done.
    pub scratch: PathBuf,
    pub cancel: CancellationToken,
}

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    pub kind: FileKind,
    pub bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// Seconds since the epoch.
    pub modified_s: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    /// A device, a socket, a pipe.
    Other,
}

/// Why a file could not be worked on.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("`{}` does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is a directory", path.display())]
    IsDirectory { path: PathBuf },
    #[error("`{}` may not be opened", path.display())]
    Denied { path: PathBuf },
    #[error("`{}` is not an absolute path", path.display())]
    Relative { path: PathBuf },
    #[error("`{}`: {reason}", path.display())]
    Failed { path: PathBuf, reason: String },
    #[error(transparent)]
    Environment(#[from] Error),
}

/// A leading `~` of what is not on this machine is left to the shell there.
pub fn from_home(path: &str) -> PathBuf {
    let rest = match path.strip_prefix('~') {
        Some("") => "",
        Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/'),
        _ => return PathBuf::from(path),
    };
    std::env::home_dir().map_or_else(|| PathBuf::from(path), |home| home.join(Path::new(rest)))
}

/// See [`Environment::read`].
pub async fn read<E: Environment + ?Sized>(
    environment: &E,
    access: &FileAccess,
    path: &Path,
    range: Range<u64>,
) -> Result<Vec<u8>, FileError> {
    let bytes = range.end.saturating_sub(range.start).min(READ_BYTES_MAX);
    let script = format!(
        "[ -e \"$f\" ] || exit {MISSING}; [ ! -d \"$f\" ] || exit {DIRECTORY}; [ -r \"$f\" ] || exit {DENIED}\n\
         tail -c +{} < \"$f\" | head -c {bytes} | base64",
        range.start.saturating_add(1)
    );
    let output = run(environment, access, path, &script).await?;
    let text: Vec<u8> = output.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(text).map_err(|error| failed(path, format!("not base64: {error}")))
}

/// See [`Environment::write_atomic`].
pub async fn write_atomic<E: Environment + ?Sized>(
    environment: &E,
    access: &FileAccess,
    path: &Path,
    bytes: &[u8],
    mode: u32,
) -> Result<(), FileError> {
    let nascent = format!("n=\"$(dirname \"$f\")/.herm-{}\"\n", unique());
    let real = "[ ! -d \"$f\" ] || exit 42; [ ! -L \"$f\" ] || f=$(readlink -f \"$f\") || exit 41\n";
    let before = format!("{real}[ -d \"$(dirname \"$f\")\" ] || exit {MISSING}\n{nascent}");
    let mut pieces = bytes.chunks(PIECE_BYTES).peekable();
    let mut first = true;
    loop {
        let piece = BASE64.encode(pieces.next().unwrap_or_default());
        let last = pieces.peek().is_none();
        let open = if first { "(umask 077; : > \"$n\") 2>/dev/null || exit 43\n" } else { "" };
        let close = if last { put_in_place(mode) } else { String::new() };
        let script = format!(
            "{before}{open}printf %s {piece} | base64 -d >> \"$n\" || {{ rm -f \"$n\"; exit 1; }}\n{close}"
        );
        run(environment, access, path, &script).await?;
        if last {
            return Ok(());
        }
        first = false;
    }
}

/// An old file keeps its mode, and its owner where that may be given.
fn put_in_place(mode: u32) -> String {
    format!(
        "m={mode:o}\nif [ -e \"$f\" ]; then m=$(stat -c %a \"$f\"); chown \"$(stat -c %u:%g \"$f\")\" \"$n\" \
         2>/dev/null; fi\nchmod \"$m\" \"$n\" && mv -f \"$n\" \"$f\" || {{ rm -f \"$n\"; exit 1; }}\n"
    )
}

/// See [`Environment::stat`].
pub async fn stat<E: Environment + ?Sized>(
    environment: &E,
    access: &FileAccess,
    path: &Path,
) -> Result<Option<FileStat>, FileError> {
    let script = format!("[ -e \"$f\" ] || exit {MISSING}; stat -L -c '%f %s %Y' \"$f\"");
    let output = match run(environment, access, path, &script).await {
        Err(FileError::Missing { .. }) => return Ok(None),
        output => output?,
    };
    let text = String::from_utf8_lossy(&output).into_owned();
    parse_stat(&text).map(Some).ok_or_else(|| failed(path, format!("`stat` said `{}`", text.trim())))
}

/// `81a4 12 1700000000`: mode in hexadecimal, bytes, seconds.
fn parse_stat(text: &str) -> Option<FileStat> {
    let mut fields = text.split_whitespace();
    let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
    let kind = match mode & 0o170_000 {
        0o100_000 => FileKind::File,
        0o040_000 => FileKind::Directory,
        _ => FileKind::Other,
    };
    let bytes = fields.next()?.parse().ok()?;
    Some(FileStat { kind, bytes, mode: mode & 0o7777, modified_s: fields.next()?.parse().ok()? })
}

/// See [`Environment::list`].
pub async fn list<E: Environment + ?Sized>(
    environment: &E,
    access: &FileAccess,
    path: &Path,
) -> Result<Vec<String>, FileError> {
    let script = format!(
        "[ -e \"$f\" ] || exit {MISSING}; cd -- \"$f\" 2>/dev/null || exit {DENIED}\n\
         find . -mindepth 1 -maxdepth 1 -print0"
    );
    let output = run(environment, access, path, &script).await?;
    let names = output.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_prefix("./").map(str::to_owned)).collect();
    names.sort_unstable();
    Ok(names)
}

/// Runs a script over the path `$f` and gives what it printed.
async fn run<E: Environment + ?Sized>(
    environment: &E,
    access: &FileAccess,
    path: &Path,
    script: &str,
) -> Result<Vec<u8>, FileError> {
    if !path.is_absolute() {
        return Err(FileError::Relative { path: path.to_owned() });
    }
    let spool = access.scratch.join(format!("files-{}", unique()));
    let line = format!("f={}\n{script}", quoted(&path.to_string_lossy()));
    let execution = Execution::new(line, Path::new("/"), &spool, TIME_MAX);
    let outcome = environment.execute(&execution, &access.cancel).await;
    let output = outcome.as_ref().ok().map(|outcome| std::fs::read(&outcome.output));
    // What stays of it is nobody's result.
    let _ = std::fs::remove_dir_all(&spool);
    let output = output.transpose().map_err(|error| failed(path, error.to_string()))?.unwrap_or_default();
    let path = path.to_owned();
    match outcome?.ending {
        Ending::Exited { code: 0 } => Ok(output),
        Ending::Exited { code: MISSING } => Err(FileError::Missing { path }),
        Ending::Exited { code: DIRECTORY } => Err(FileError::IsDirectory { path }),
        Ending::Exited { code: DENIED } => Err(FileError::Denied { path }),
        ending => {
            let said = String::from_utf8_lossy(&output).chars().take(400).collect::<String>();
            let reason = format!("exit status {}: {}", ending.exit_code(), said.trim());
            Err(FileError::Failed { path, reason })
        }
    }
}

fn failed(path: &Path, reason: String) -> FileError {
    FileError::Failed { path: path.to_owned(), reason }
}

/// A name that no other piece of work of this machine has.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}-{count}", std::process::id(), now.as_micros())
}
