//! The bytes of an image that a model names: a file, an address, or the image itself in a `data:` URL.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::providers::Image;
use crate::tools::web::Guard;
use crate::tools::web::fetch::Fetcher;
use crate::tools::{Files, ToolContext, open, paths};

/// Bytes of an image, at most.
const IMAGE_BYTES_MAX: usize = 32 << 20;

/// Reads the image.
///
/// # Errors
/// Why there is none, for the model.
pub(super) async fn image(named: &str, guard: &Guard, context: &ToolContext) -> Result<Image, String> {
    let named = named.trim();
    let bytes = if let Some(data) = named.strip_prefix("data:") {
        let encoded = data.split_once(";base64,").map(|(_, encoded)| encoded);
        let encoded = encoded.ok_or("a `data:` address must hold base64")?;
        STANDARD
            .decode(encoded.trim())
            .map_err(|error| format!("the `data:` address holds no base64: {error}"))?
    } else if named.contains("://") && !named.starts_with("file://") {
        let fetched =
            Fetcher::new(guard).get(named, IMAGE_BYTES_MAX).await.map_err(|error| error.to_string())?;
        if fetched.cut {
            return Err(format!("the image is larger than {IMAGE_BYTES_MAX} bytes"));
        }
        fetched.bytes
    } else {
        let path = named.strip_prefix("file://").unwrap_or(named).to_owned();
        let context = context.clone();
        let read = move || match &context.files {
            Files::Here => file(&path, &context),
            Files::There(there) => {
                let path = there.path(&path)?;
                there.before(&path)?.ok_or_else(|| format!("`{}` does not exist", path.display()))
            }
        };
        tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())??
    };
    let media_type = media_type(&bytes).ok_or_else(|| {
        format!("`{}` is no PNG, JPEG, GIF or WebP image", named.chars().take(200).collect::<String>())
    })?;
    Ok(Image { media_type: media_type.to_owned(), bytes: bytes.into() })
}

fn file(path: &str, context: &ToolContext) -> Result<Vec<u8>, String> {
    let path = paths::resolve(path, &context.cwd).map_err(|error| error.to_string())?;
    // What herm itself made for this session may be looked at.
    let own = context.home.join("media").join(context.session.to_string());
    let real = path.canonicalize().unwrap_or_else(|_| path.clone());
    let file = if own.canonicalize().is_ok_and(|own| real.starts_with(own)) {
        std::fs::File::open(&real).map_err(|error| format!("cannot open `{}`: {error}", path.display()))?
    } else {
        open::open(&path, &context.home).map_err(|refusal| refusal.to_string())?.0
    };
    let mut bytes = Vec::new();
    let read = file.take(IMAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    match bytes.len() > IMAGE_BYTES_MAX {
        true => Err(format!("`{}` is larger than {IMAGE_BYTES_MAX} bytes", path.display())),
        false => Ok(bytes),
    }
}

/// What the first bytes say; what a server or a name says is not asked.
pub(super) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
