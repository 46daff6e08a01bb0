//! Requests and conversations in the form of OpenAI's chat completions.

use herm_schema::{BlobRef, Text};
use serde_json::{Value, json};

use crate::log::{Error, Log};
use crate::projections::messages::text_of;
use crate::reducer::request::{Call, Message, Part, Request};

/// A request as the body of a chat completion, its texts loaded.
///
/// # Errors
/// When a text is not in the blob store.
pub fn body(log: &dyn Log, request: &Request) -> Result<Value, Error> {
    let mut messages = Vec::new();
    if let Some(system) = request.system {
        messages.push(json!({ "role": "system", "content": blob_text(log, system)? }));
    }
    for message in &request.messages {
        messages.push(self::message(log, message)?);
    }
    let mut body = json!({
        "model": request.model,
        "max_tokens": request.output_tokens_max,
        "messages": messages,
    });
    if let (Some(tools), Some(body)) = (request.tools, body.as_object_mut()) {
        body.insert("tools".to_owned(), functions(&blob_text(log, tools)?));
    }
    Ok(body)
}

fn message(log: &dyn Log, message: &Message) -> Result<Value, Error> {
    Ok(match message {
        Message::User { parts } => json!({ "role": "user", "content": joined(log, parts)? }),
        Message::Assistant { text, calls, .. } => assistant(text, calls.iter().map(call).collect()),
        Message::Tool { id, name, parts } => {
            json!({ "role": "tool", "tool_call_id": id, "name": name, "content": joined(log, parts)? })
        }
    })
}

/// What the model said, with what it called.
pub(crate) fn assistant(text: &str, calls: Vec<Value>) -> Value {
    match calls.is_empty() {
        true => json!({ "role": "assistant", "content": text }),
        false => json!({ "role": "assistant", "content": text, "tool_calls": calls }),
    }
}

fn call(call: &Call) -> Value {
    function_call(&call.id, &call.name, &call.arguments.0)
}

pub(crate) fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
}

/// Definitions `{name, description, parameters}` as functions.
fn functions(definitions: &str) -> Value {
    match serde_json::from_str(definitions) {
        Ok(Value::Array(tools)) => {
            tools.into_iter().map(|tool| json!({ "type": "function", "function": tool })).collect()
        }
        _ => json!([]),
    }
}

/// A text from the blob store; what is not UTF-8 in it is replaced.
///
/// # Errors
/// Those of the blob store.
pub fn blob_text(log: &dyn Log, blob: BlobRef) -> Result<String, Error> {
    text_of(log, &Text::Stored(blob))
}

/// The texts of a message, one behind the other; an image as a note of what it is.
///
/// # Errors
/// When one is not in the blob store.
pub fn joined(log: &dyn Log, parts: &[Part]) -> Result<String, Error> {
    let text = |part: &Part| match part {
        Part::Inline(text) => Ok(text.clone()),
        Part::Stored(blob) => blob_text(log, *blob),
        Part::Image { content, media_type } => Ok(format!("[{media_type}, {} bytes]", content.bytes)),
    };
    parts.iter().map(text).collect()
}
