//! Files that come with a message: kept as blobs, and where the tools of the profile find them.

use std::path::{Path, PathBuf};

use herm_replay::log;
use herm_schema::events::Attachment;

use super::profile::Profile;
use crate::inbound::given::Kept;
use crate::platforms::{Content, Media};

/// Folder below the profile's home.
const FOLDER: &str = "cache/media";
/// Longest name of a file, in characters.
const NAME_CHARS_MAX: usize = 80;

/// Keeps the files of a message; what the model is shown of each.
///
/// # Errors
/// Those of the log.
pub fn keep(profile: &Profile, media: &[Media]) -> Result<(Vec<Attachment>, Vec<Kept>), log::Error> {
    let mut attachments = Vec::new();
    let mut kept = Vec::new();
    for file in media {
        let Content::Bytes(bytes) = &file.content else {
            kept.push(Kept::Not("it was not fetched".to_owned()));
            continue;
        };
        let content = profile.engine.log.put_blob(bytes)?;
        let folder = profile.loaded.home.root().join(FOLDER);
        let digest = content.hash.to_string();
        let short: String = digest.chars().take(12).collect();
        let path = folder.join(format!("{short}-{}", plain(&file.name)));
        let written = write(&folder, &path, bytes);
        kept.push(match written {
            Ok(()) => Kept::At(path.display().to_string()),
            Err(_) => Kept::Attached,
        });
        attachments.push(Attachment {
            content,
            media_type: file.media_type.clone(),
            name: file.name.clone(),
        });
    }
    Ok((attachments, kept))
}

fn write(folder: &Path, path: &PathBuf, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    if path.exists() {
        return Ok(());
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A name that is only a name: no way out of its folder, nothing that a shell reads.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let plain: String = last.chars().take(NAME_CHARS_MAX).map(safe).collect();
    let plain = plain.trim_start_matches('.');
    if plain.is_empty() { "file".to_owned() } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_name_leads_nowhere_else() {
        assert_eq!(plain("../../etc/passwd"), "passwd");
        assert_eq!(plain("..\\..\\x y;rm -rf.png"), "x_y_rm_-rf.png");
        assert_eq!(plain(".bashrc"), "bashrc");
        assert_eq!(plain("…"), "_");
        assert_eq!(plain("/"), "file");
    }
}
