//! Files that come with a message: which there are (PURE), and fetching them.

use super::api::{Api, CALL_MAX, Failed, Unfetched};
use super::inbound::{Came, Wanted};
use super::wire::{File, GetFile, Message, StoredFile};
use crate::platforms::{Content, Inbound, Media, What};

/// How often a file is tried to be fetched.
const TRIES: usize = 2;

/// The files of a message.
pub(super) fn wanted(message: &Message) -> Vec<Wanted> {
    let mut files = Vec::new();
    // The same picture in several sizes.
    if let Some(photo) = message.photo.iter().max_by_key(|size| size.width.saturating_mul(size.height)) {
        let (name, media_type) = ("photo.jpg".to_owned(), "image/jpeg".to_owned());
        files.push(Wanted { file_id: photo.file_id.clone(), name, media_type, bytes: photo.file_size });
    }
    // An animation is there as a document a second time.
    let document = message.document.as_ref().filter(|_| message.animation.is_none());
    for (file, name, media_type) in [
        (document, "document", "application/octet-stream"),
        (message.voice.as_ref(), "voice.ogg", "audio/ogg"),
        (message.audio.as_ref(), "audio.mp3", "audio/mpeg"),
        (message.video.as_ref(), "video.mp4", "video/mp4"),
        (message.video_note.as_ref(), "video.mp4", "video/mp4"),
        (message.animation.as_ref(), "animation.mp4", "video/mp4"),
    ] {
        files.extend(file.map(|file| named(file, name, media_type)));
    }
    if let Some(sticker) = &message.sticker {
        let (name, media_type) = match (sticker.is_animated, sticker.is_video) {
            (true, _) => ("sticker.tgs", "application/x-tgsticker"),
            (_, true) => ("sticker.webm", "video/webm"),
            _ => ("sticker.webp", "image/webp"),
        };
        let (name, media_type) = (name.to_owned(), media_type.to_owned());
        files.push(Wanted { file_id: sticker.file_id.clone(), name, media_type, bytes: sticker.file_size });
    }
    files
}

fn named(file: &File, name: &str, media_type: &str) -> Wanted {
    Wanted {
        file_id: file.file_id.clone(),
        name: file.file_name.clone().unwrap_or_else(|| name.to_owned()),
        media_type: file.mime_type.clone().unwrap_or_else(|| media_type.to_owned()),
        bytes: file.file_size,
    }
}

/// What came, with its files, each of at most `bytes_max`.
pub(super) async fn filled(api: &Api, came: Came, bytes_max: u64) -> Inbound {
    let Came { mut inbound, files, .. } = came;
    if let What::Message(message) = &mut inbound.what {
        for file in files {
            let content = content(api, &file, bytes_max).await;
            message.media.push(Media { name: file.name, media_type: file.media_type, content });
        }
    }
    inbound
}

async fn content(api: &Api, file: &Wanted, bytes_max: u64) -> Content {
    if let Some(bytes) = file.bytes.filter(|bytes| *bytes > bytes_max) {
        return over(bytes, bytes_max);
    }
    let mut why = String::new();
    for _ in 0..TRIES {
        match fetched(api, file, bytes_max).await {
            Ok(bytes) => return Content::Bytes(bytes),
            Err(Unfetched::TooLarge) => {
                return Content::Left(format!("over the limit of {}", size(bytes_max)));
            }
            Err(Unfetched::Failed(Failed::Refused { description, .. })) => {
                return Content::Left(format!("Telegram does not give it: {description}"));
            }
            Err(Unfetched::Failed(Failed::Unreachable(error) | Failed::Unanswered(error))) => why = error,
        }
    }
    Content::Left(format!("it could not be fetched: {why}"))
}

async fn fetched(api: &Api, file: &Wanted, bytes_max: u64) -> Result<Vec<u8>, Unfetched> {
    let request = GetFile { file_id: &file.file_id };
    let stored: StoredFile = api.call("getFile", &request, CALL_MAX).await.map_err(Unfetched::Failed)?;
    if stored.file_size.is_some_and(|bytes| bytes > bytes_max) {
        return Err(Unfetched::TooLarge);
    }
    match stored.file_path {
        Some(path) => api.fetch(&path, bytes_max).await,
        None => Err(Unfetched::Failed(Failed::Unanswered("its place is not told".to_owned()))),
    }
}

fn over(bytes: u64, bytes_max: u64) -> Content {
    Content::Left(format!("{}, over the limit of {}", size(bytes), size(bytes_max)))
}

/// A size as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
