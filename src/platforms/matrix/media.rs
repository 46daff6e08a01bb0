//! Fetching the file that comes with a message.

use super::api::{Api, Failed, Unfetched};
use super::encryption;
use super::inbound::{Came, Wanted};
use crate::platforms::{Content, Inbound, Media, What};

/// How often a file is tried to be fetched.
const TRIES: usize = 2;

/// What came, with its file, of at most `bytes_max`.
pub(super) async fn filled(api: &Api, came: Came, bytes_max: u64) -> Inbound {
    let Came { mut inbound, file } = came;
    if let (What::Message(message), Some(file)) = (&mut inbound.what, file) {
        let content = content(api, &file, bytes_max).await;
        message.media.push(Media { name: file.name, media_type: file.media_type, content });
    }
    inbound
}

async fn content(api: &Api, file: &Wanted, bytes_max: u64) -> Content {
    let (server, id) = match &file.source {
        Ok(source) => source,
        Err(why) => return Content::Left((*why).to_owned()),
    };
    // What its sender says of it may be wrong, so the bytes are counted as well.
    if let Some(bytes) = file.bytes.filter(|bytes| *bytes > bytes_max) {
        return Content::Left(format!("{}, over the limit of {}", size(bytes), size(bytes_max)));
    }
    let mut why = String::new();
    for _ in 0..TRIES {
        match api.fetch((server, id), bytes_max).await {
            Ok(bytes) => {
                return match &file.sealed {
                    None => Content::Bytes(bytes),
                    Some(told) => encryption::open_file(&bytes, told)
                        .map_or_else(|why| Content::Left(why.to_owned()), Content::Bytes),
                };
            }
            Err(Unfetched::TooLarge) => {
                return Content::Left(format!("over the limit of {}", size(bytes_max)));
            }
            Err(Unfetched::Failed(Failed::Refused { error, .. })) => {
                return Content::Left(format!("the homeserver does not give it: {error}"));
            }
            Err(Unfetched::Failed(
                Failed::Unreachable(error) | Failed::Unanswered(error) | Failed::Unsealed { why: error, .. },
            )) => why = error,
        }
    }
    Content::Left(format!("it could not be fetched: {why}"))
}

/// A size as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
