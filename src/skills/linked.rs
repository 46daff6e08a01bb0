//! The files beside a `SKILL.md`.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{FILE, LINKED_BYTES_MAX, Skill, names};

/// Files of a skill that are listed, at most.
pub const FILES_MAX: usize = 200;
/// Folders below a skill that are looked into.
const DEPTH_MAX: usize = 5;

/// Every file of a skill but `SKILL.md`, by its path below it, sorted. Links are not followed.
pub fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    walk(folder, "", 0, &mut found);
    found.retain(|path| path != FILE);
    found.sort();
    found
}

fn walk(folder: &Path, below: &str, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        match entry.file_type() {
            _ if name.starts_with('.') || found.len() >= FILES_MAX => {}
            Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => walk(&entry.path(), &path, depth + 1, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// Where a file of a skill really lies: below the skill, also where links are on the way.
///
/// # Errors
/// It leads out, or is not there.
pub fn place(skill: &Skill, path: &str) -> Result<(String, PathBuf), String> {
    let inside =
        names::inside(path).ok_or_else(|| format!("`{path}` is no path below the skill `{}`", skill.name))?;
    let missing = |_| {
        let files = files(&skill.folder);
        let nearest = crate::tools::toolsets::nearest(&inside, files.iter().map(String::as_str));
        let advice = crate::tools::toolsets::suggestion(nearest.as_deref());
        format!("the skill `{}` has no file `{inside}`{advice}", skill.name)
    };
    let real = skill.folder.join(&inside).canonicalize().map_err(missing)?;
    let root = skill.folder.canonicalize().map_err(|error| error.to_string())?;
    match real.starts_with(&root) {
        true => Ok((inside, real)),
        false => Err(format!("`{path}` leads out of the skill `{}`", skill.name)),
    }
}

/// The bytes of a file of a skill.
///
/// # Errors
/// It cannot be read, or is too large.
pub fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(LINKED_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > LINKED_BYTES_MAX {
        true => Err(format!("it has more than {LINKED_BYTES_MAX} bytes")),
        false => Ok(bytes),
    }
}
