//! PURE: Amazon Bedrock's Converse and ConverseStream.
//!
//! Source: the Amazon Bedrock API reference (runtime, 2023-09-30), "Converse", "ConverseStream" and
//! their data types, the user guide's "Prompt caching" and "Thinking" for Claude, and the event-stream
//! encoding `application/vnd.amazon.eventstream` of the Smithy specification, as of November 2026.
//! [`request`] writes, [`reader`] reads, [`frames`] takes the framing off.
//!
//! Two requests of which one goes on from the other share every byte up to the new message, except
//! that cache points move with the end and that what a person says right after tool results joins
//! their message.

mod frames;
mod reader;
mod request;
mod wire;

use serde::Deserialize;

use super::acceptable::Shape;
use super::claude::{Claude, ThinkingForm};
use super::{AnswerReader, Dialect, WireRequest};
use crate::providers::LoadedRequest;

/// Name of this dialect.
pub const NAME: &str = "bedrock_converse";

/// Names of tools, and ids of calls.
const TOOL_NAMES: Shape = Shape { chars_max: 64, also: "_-" };
const CALL_IDS: Shape = Shape { chars_max: 64, also: "_-" };

/// Whether cache points are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CachePoints {
    /// As the model's name tells; models that know none refuse them.
    #[default]
    ByModel,
    Always,
    Never,
}

/// Where models differ whose name does not tell, such as application inference profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Opt-ins of Claude models.
    pub betas: Vec<String>,
    pub cache_points: CachePoints,
    pub thinking: ThinkingForm,
}

/// The dialect, with one account's quirks.
#[derive(Clone, Debug, Default)]
pub struct BedrockConverse {
    pub quirks: Quirks,
}

impl Dialect for BedrockConverse {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&self, request: &LoadedRequest) -> WireRequest {
        let (verb, accept) = match request.choice.stream {
            true => ("converse-stream", "application/vnd.amazon.eventstream"),
            false => ("converse", "application/json"),
        };
        WireRequest {
            path: format!("model/{}/{verb}", url_encoded(&request.choice.model)),
            headers: vec![("accept", accept.to_owned())],
            body: request::body(request, &self.quirks),
        }
    }

    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader> {
        Box::new(reader::Reader::new(family(request), TOOL_NAMES.renamed(request)))
    }

    fn base_path(&self) -> &'static str {
        ""
    }

    /// The list is at another host, and signed for another service.
    fn models_path(&self) -> Option<&'static str> {
        None
    }
}

/// A model's id or ARN as one segment of a path.
fn url_encoded(model: &str) -> String {
    let encoded = model.bytes().map(|byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    });
    encoded.collect()
}

/// Signed reasoning goes back to the model that made it. Its shape is this dialect's, so it is not
/// shared with the one that Anthropic itself speaks.
fn family(request: &LoadedRequest) -> String {
    format!("bedrock:{}", request.choice.model)
}

/// What a model is known by.
fn claude(request: &LoadedRequest) -> Option<Claude> {
    Claude::of(&request.choice.model)
}

#[cfg(test)]
mod tests;
