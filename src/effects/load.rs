//! Texts of a neutral request, fetched from the blob store.

use herm_replay::log::{Error, Log};
use herm_replay::reducer::request::{Message, Request};
use herm_schema::events::ModelChoice;
use herm_schema::{BlobRef, Text};

use crate::providers::{LoadedMessage, LoadedRequest, ToolDefinition};

/// The request as a provider takes it.
///
/// # Errors
/// When a blob is missing or damaged.
pub fn request(log: &dyn Log, request: Request, choice: ModelChoice) -> Result<LoadedRequest, Error> {
    let system = request.system.map(|blob| read(log, blob)).transpose()?;
    let tools = request.tools.map(|blob| read(log, blob)).transpose()?;
    let tools: Vec<ToolDefinition> = tools.map(|json| definitions(&json)).transpose()?.unwrap_or_default();
    let messages = request.messages.into_iter().map(|m| message(log, m)).collect::<Result<_, _>>()?;
    Ok(LoadedRequest { choice, system, tools, messages, output_tokens_max: request.output_tokens_max })
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

fn message(log: &dyn Log, message: Message) -> Result<LoadedMessage, Error> {
    let join = |parts: Vec<Text>| -> Result<String, Error> {
        let mut text = String::new();
        for part in parts {
            match part {
                Text::Inline(part) => text.push_str(&part),
                Text::Stored(blob) => text.push_str(&read(log, blob)?),
            }
        }
        Ok(text)
    };
    Ok(match message {
        Message::User { parts } => LoadedMessage::User { text: join(parts)? },
        Message::Assistant { text, calls, extras } => LoadedMessage::Assistant { text, calls, extras },
        Message::Tool { id, name, parts } => LoadedMessage::Tool { id, name, text: join(parts)? },
    })
}
