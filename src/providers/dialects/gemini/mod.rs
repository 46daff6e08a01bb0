//! PURE: Google's Gemini API, of AI Studio (v1beta) and of Vertex.
//!
//! Source: the Gemini API reference, "Generating content" (`models.generateContent`,
//! `models.streamGenerateContent?alt=sse`), "Caching" (`Content`, `Part`, `Schema`, `Tool`), the
//! guides "Function calling", "Thinking" and "Thought signatures", and Vertex's reference of the
//! same methods. [`request`] writes, [`reader`] reads, [`schema`] reduces the schemas of tools,
//! [`thinking`] is what each generation of models takes, [`extras`] is what is kept of an answer.

mod extras;
mod models;
mod reader;
mod request;
mod schema;
mod thinking;

use serde_json::Value;

use super::{AnswerReader, Dialect, ListedModel, WireRequest};
use crate::providers::LoadedRequest;

/// Name of this dialect.
pub const NAME: &str = "gemini";

/// The dialect; Vertex speaks it at another base URL.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        NAME
    }

    fn base_path(&self) -> &'static str {
        "/v1beta"
    }

    fn encode(&self, request: &LoadedRequest) -> WireRequest {
        let streams = request.choice.stream;
        let method = if streams { "streamGenerateContent?alt=sse" } else { "generateContent" };
        let accept = if streams { "text/event-stream" } else { "application/json" };
        WireRequest {
            path: format!("{}:{method}", resource(&request.choice.model)),
            headers: vec![("accept", accept.to_owned())],
            body: request::body(request),
        }
    }

    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader> {
        Box::new(reader::Reader::new(family(request), super::acceptable::Names::of(&request.tools)))
    }

    fn models_path(&self) -> Option<&'static str> {
        Some("models?pageSize=1000")
    }

    fn read_models(&self, list: &Value) -> Option<Vec<ListedModel>> {
        models::read(list)
    }
}

/// The path of a model: `models/NAME`, unless its name is a path already, such as a tuned model's.
fn resource(model: &str) -> String {
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '@' | '/');
    let model: String = model.chars().filter(|char| allowed(*char)).collect();
    if model.contains('/') { model } else { format!("models/{model}") }
}

/// Signatures go back to the provider and model that made them: another route, project or model
/// refuses them as corrupted.
fn family(request: &LoadedRequest) -> String {
    format!("{NAME}:{}:{}", request.choice.provider, request.choice.model)
}

#[cfg(test)]
mod tests;
