//! A copy of a log: sealed segments, blobs and the manifest; no index, which is rebuilt.

use std::fs::{self, File};
use std::path::Path;

use herm_schema::Position;

use super::Error;
use super::segments::manifest::Manifest;
use super::segments::shared::Shared;

/// Copies the sealed segments of a log and its blobs to `to`, which must not exist.
pub(crate) fn copy(shared: &Shared, to: &Path) -> Result<Position, Error> {
    let from = &shared.files;
    let manifest = shared.state().manifest.clone();
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| Error::io("back up to", &path, &error)
    };
    fs::create_dir(to).map_err(fail(to))?;
    for sealed in &manifest.sealed {
        let path = from.path(sealed.first);
        copy_file(&path, &to.join(path.file_name().unwrap_or_default())).map_err(fail(&path))?;
    }
    copy_tree(&from.folder.join("blobs"), &to.join("blobs")).map_err(fail(to))?;
    let copied = Manifest { sealed: manifest.sealed.clone(), lost: manifest.lost };
    copied.write(&super::disk::RealDisk, to)?;
    Ok(manifest.sealed.last().map_or(Position(0), |sealed| sealed.last))
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to)?;
    File::open(to)?.sync_all()
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if target.extension().is_none_or(|extension| extension != "tmp") {
            copy_file(&entry.path(), &target)?;
        }
    }
    File::open(to)?.sync_all()
}
