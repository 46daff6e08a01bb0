//! Files that a person shows the model: read, recognised by what they are, and kept as blobs.

use std::path::Path;

use herm_replay::log::Log;
use herm_schema::events::Attachment;

use crate::entry::{Exit, Failure};

/// Largest file, in bytes.
const FILE_BYTES_MAX: u64 = 20 << 20;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    /// By its first bytes, never by its name.
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

/// Reads an image.
///
/// # Errors
/// When it cannot be read, is too large, or is no image that models take.
pub fn read(path: &Path) -> Result<File, Failure> {
    let usage = |message: String| Failure::message(Exit::Usage, message);
    let cannot = |error: std::io::Error| usage(format!("`{}` cannot be read: {error}", path.display()));
    let bytes_found = std::fs::metadata(path).map_err(cannot)?.len();
    if bytes_found > FILE_BYTES_MAX {
        let limit = FILE_BYTES_MAX >> 20;
        return Err(usage(format!(
            "`{}` has {bytes_found} bytes, more than the limit of {limit} MiB",
            path.display()
        )));
    }
    let bytes = std::fs::read(path).map_err(cannot)?;
    let media_type = media_type(&bytes)
        .ok_or_else(|| usage(format!("`{}` is no PNG, JPEG, GIF or WebP image", path.display())))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(File { name, media_type, bytes })
}

/// The kinds of images that every vendor takes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    use image::ImageFormat as F;
    match image::guess_format(bytes).ok()? {
        F::Png => Some("image/png"),
        F::Jpeg => Some("image/jpeg"),
        F::Gif => Some("image/gif"),
        F::WebP => Some("image/webp"),
        _ => None,
    }
}

/// Keeps files in the blob store, so that an event can name them.
///
/// # Errors
/// Those of the log.
pub fn keep(log: &dyn Log, files: &[File]) -> Result<Vec<Attachment>, Failure> {
    let kept = files.iter().map(|file| {
        let content = log.put_blob(&file.bytes)?;
        Ok(Attachment { content, media_type: file.media_type.to_owned(), name: file.name.clone() })
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_bytes_and_anything_else_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str, bytes: &[u8]| {
            let path = scratch.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let png = b"\x89PNG\r\n\x1a\n rest";
        let file = read(&at("photo.jpg", png)).unwrap();
        assert_eq!((file.name.as_str(), file.media_type), ("photo.jpg", "image/png"));
        for (name, bytes) in [("a.png", b"plain text".as_slice()), ("empty.png", b"")] {
            let failure = read(&at(name, bytes)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.error.to_string().contains("is no PNG"), "{}", failure.error);
        }
        assert_eq!(read(&scratch.path().join("none.png")).unwrap_err().exit, Exit::Usage);
    }
}
