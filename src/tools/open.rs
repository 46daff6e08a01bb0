//! Opening files that are files: never one that has no end, blocks, or is no file at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use super::paths;

/// Names below `/proc` and `/sys` that block, have no end, or hold secrets.
const KERNEL_NAMES: &[&str] = &[
    "auxv",
    "environ",
    "fd",
    "kcore",
    "kmsg",
    "kpagecount",
    "kpageflags",
    "map_files",
    "mem",
    "pagemap",
    "trace_pipe",
    "trace_pipe_raw",
];

/// Why a file is not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error("`{path}` is a directory; list it with search_files, target `files`")]
    Directory { path: String },
    #[error("`{path}` is {what}, not a file: it is not opened")]
    Special { path: String, what: &'static str },
    #[error("`{path}` holds herm's own secrets: it is not opened")]
    Secret { path: String },
    #[error("`{path}` is what herm remembers: the memory tool knows it")]
    Remembered { path: String },
    #[error(transparent)]
    Path(#[from] paths::Error),
    #[error("cannot open `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

/// Opens an ordinary file for reading; `/dev/null` counts as an empty one.
pub(crate) fn open(path: &Path, herm_home: &Path) -> Result<(File, Metadata), Refusal> {
    guard(path, herm_home)?;
    open_unguarded(path)
}

/// Like [`open`], for a path without links in it that [`guard`] need not look at.
pub(crate) fn open_unguarded(path: &Path) -> Result<(File, Metadata), Refusal> {
    let named = || path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|source| refusal(path, source))?;
    ordinary(path, &metadata)?;
    // Without blocking, and looked at again: the name may lead elsewhere by now.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(|source| Refusal::Io { path: named(), source })?;
    let metadata = file.metadata().map_err(|source| Refusal::Io { path: named(), source })?;
    ordinary(path, &metadata)?;
    Ok((file, metadata))
}

/// Whether a path is one of the kernel's own.
pub(crate) fn is_kernels(path: &Path) -> bool {
    ["/dev", "/proc", "/sys"].iter().any(|folder| path.starts_with(folder))
}

/// Refuses by name what must not even be looked at.
pub(crate) fn guard(path: &Path, herm_home: &Path) -> Result<(), Refusal> {
    let lexical = paths::lexical(path);
    for path in [lexical.as_path(), &paths::real(path)?] {
        let named = || path.display().to_string();
        if path.starts_with("/dev") && path != Path::new("/dev/null") && !path.starts_with("/dev/shm") {
            return Err(Refusal::Special { path: named(), what: "a device" });
        }
        let kernel = path.starts_with("/proc") || path.starts_with("/sys");
        if kernel && path.iter().any(|part| KERNEL_NAMES.iter().any(|name| part == *name)) {
            return Err(Refusal::Special { path: named(), what: "a window into the kernel or a process" });
        }
        if path == herm_home.join(".env") || path == paths::real(herm_home)?.join(".env") {
            return Err(Refusal::Secret { path: named() });
        }
        if is_remembered(path, herm_home) || is_remembered(path, &paths::real(herm_home)?) {
            return Err(Refusal::Remembered { path: named() });
        }
    }
    Ok(())
}

/// Whether a path lies in the memory of any profile. Whoever asks may be one of several people, each with
/// a memory of their own, and what is written there is looked through first.
pub(crate) fn is_remembered(path: &Path, herm_home: &Path) -> bool {
    let above = herm_home.parent().filter(|above| above.ends_with("profiles")).and_then(Path::parent);
    let Ok(below) = path.strip_prefix(above.unwrap_or(herm_home)) else { return false };
    let parts: Vec<_> = below.iter().take(3).map(|part| part.to_string_lossy()).collect();
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    matches!(parts.as_slice(), ["memories", ..] | ["profiles", _, "memories"])
}

pub(crate) fn ordinary(path: &Path, metadata: &Metadata) -> Result<(), Refusal> {
    let named = path.display().to_string();
    let kind = metadata.file_type();
    let what = match kind {
        _ if kind.is_file() || path == Path::new("/dev/null") => return Ok(()),
        _ if kind.is_dir() => return Err(Refusal::Directory { path: named }),
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(Refusal::Special { path: named, what })
}

fn refusal(path: &Path, source: io::Error) -> Refusal {
    let path = path.display().to_string();
    match source.kind() {
        io::ErrorKind::NotFound => Refusal::Missing { path },
        _ => Refusal::Io { path, source },
    }
}

/// Names beside a missing file that look like it, the likeliest first.
pub(crate) fn similar_files(path: &Path) -> Vec<String> {
    const LOOKED_AT_MAX: usize = 5_000;
    let entries = path.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    let names = entries.take(LOOKED_AT_MAX).map(|entry| entry.file_name().to_string_lossy().into_owned());
    similar_among(path, names.collect())
}

/// Those of `names`, which lie beside it, that look like it.
pub(crate) fn similar_among(path: &Path, names: Vec<String>) -> Vec<String> {
    const NAMED_MAX: usize = 5;
    const LIKENESS_MIN: f64 = 0.7;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let wanted = name.to_string_lossy().to_lowercase();
    let mut near: Vec<(f64, String)> = names
        .into_iter()
        .map(|found| {
            let likeness = strsim::jaro_winkler(&wanted, &found.to_lowercase());
            (likeness, folder.join(found).display().to_string())
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .collect();
    near.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    near.into_iter().take(NAMED_MAX).map(|(_, path)| path).collect()
}
