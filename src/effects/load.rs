//! Texts of a neutral request, fetched from the blob store.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use herm_replay::log::{Error, Log};
use herm_replay::reducer::request::{Message, Part, Request};
use herm_schema::BlobRef;
use herm_schema::events::ModelChoice;

use super::images::fitted;
use crate::providers::{Image, LoadedMessage, LoadedRequest, ToolDefinition};

/// The request as a provider takes it.
///
/// # Errors
/// When a blob is missing or damaged.
pub fn request(log: &dyn Log, request: Request, choice: ModelChoice) -> Result<LoadedRequest, Error> {
    let (system, tools) = (request.system, request.tools);
    let system = system.map(|blob| PROMPTS.get(blob, || read(log, blob))).transpose()?;
    let tools = tools.map(|blob| OFFERS.get(blob, || definitions(&read(log, blob)?))).transpose()?;
    let tools = tools.unwrap_or_default();
    let (output_tokens_max, options) = (request.output_tokens_max, request.options);
    let side_px_max = options.image_side_px_max;
    let messages = request.messages.into_iter().map(|m| message(log, m, side_px_max));
    let messages = messages.collect::<Result<_, _>>()?;
    Ok(LoadedRequest { choice, system, tools, messages, output_tokens_max, options })
}

/// Blobs that are kept read, of each kind, at most: sessions side by side mostly share theirs.
const KEPT_MAX: usize = 8;
/// Largest blob that is kept, in bytes.
const KEPT_BYTES_MAX: u64 = 128 << 10;

static PROMPTS: Kept<String> = Kept::new();
static OFFERS: Kept<Vec<ToolDefinition>> = Kept::new();

/// What was read out of blobs not long ago. A blob never changes under its hash, so this is a
/// cache of a pure function; every model call of a session sends the same prompt and tools.
struct Kept<T>(Mutex<VecDeque<(BlobRef, T)>>);

impl<T: Clone> Kept<T> {
    const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    fn get(&self, blob: BlobRef, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kept)) = lock().iter().find(|(known, _)| *known == blob) {
            return Ok(kept.clone());
        }
        let value = read()?;
        if blob.bytes <= KEPT_BYTES_MAX {
            let mut kept = lock();
            kept.truncate(KEPT_MAX - 1);
            kept.push_front((blob, value.clone()));
        }
        Ok(value)
    }
}

fn definitions(json: &str) -> Result<Vec<ToolDefinition>, Error> {
    serde_json::from_str(json).map_err(|error| Error::Io {
        operation: "read tool definitions from",
        path: "blobs".into(),
        reason: error.to_string(),
    })
}

fn read(log: &dyn Log, blob: BlobRef) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&log.blob(blob)?).into_owned())
}

fn message(log: &dyn Log, message: Message, side_px_max: Option<u32>) -> Result<LoadedMessage, Error> {
    Ok(match message {
        Message::User { parts } => {
            let (text, images) = join(log, parts, side_px_max)?;
            LoadedMessage::User { text, images }
        }
        Message::Assistant { text, calls, extras } => LoadedMessage::Assistant { text, calls, extras },
        Message::Tool { id, name, parts } => {
            let (text, images) = join(log, parts, side_px_max)?;
            LoadedMessage::Tool { id, name, text, images }
        }
    })
}

/// The texts as one, and the images.
fn join(log: &dyn Log, parts: Vec<Part>, side_px_max: Option<u32>) -> Result<(String, Vec<Image>), Error> {
    let (mut text, mut images) = (String::new(), Vec::new());
    for part in parts {
        match part {
            Part::Inline(part) => text.push_str(&part),
            Part::Stored(blob) => text.push_str(&read(log, blob)?),
            Part::Image { content, media_type } => {
                let image = Image { media_type, bytes: log.blob(content)?.into() };
                images.push(fitted(image, side_px_max));
            }
        }
    }
    Ok((text, images))
}
