//! PURE: Anthropic's Messages API, as Anthropic, Vertex AI and everyone who copied it speak it.
//!
//! Source: the Claude platform's API reference, "Create a Message" (`anthropic-version: 2023-06-01`),
//! and its guides "Streaming messages", "Thinking", "Preserved thinking", "Prompt caching", "Vision",
//! "Handling stop reasons", as of November 2026; for Vertex AI "Claude on Google Cloud".
//! [`request`] writes, [`reader`] reads; how a model is told to think is in [`super::claude`].
//!
//! Two requests of which one goes on from the other share every byte up to the new message, except
//! that cache breakpoints move with the end, that what a person says right after tool results joins
//! their message, and that a budget of thinking is left out while the vendor would refuse it.

mod reader;
mod request;
mod wire;

use serde::Deserialize;
use serde_json::Value;

use super::acceptable::Shape;
use super::claude::{self, ThinkingForm};
use super::{AnswerReader, Dialect, ListedModel, WireRequest};
use crate::providers::LoadedRequest;

pub use super::claude::BINDING_BETA;

/// Name of this dialect.
pub const NAME: &str = "anthropic_messages";

/// The version of the API that this was written for.
pub const VERSION: &str = "2023-06-01";
const VERTEX_VERSION: &str = "vertex-2023-10-16";
/// Names of tools, and ids of calls.
const TOOL_NAMES: Shape = Shape { chars_max: 128, also: "_-" };
const CALL_IDS: Shape = Shape { chars_max: 64, also: "_-" };

/// Who serves the models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Host {
    #[default]
    Anthropic,
    /// Vertex AI: the model stands in the path, the version in the body. The base URL ends in
    /// `/publishers/anthropic`.
    Vertex,
}

/// Where servers differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Opt-ins that are sent as `anthropic-beta`.
    pub betas: Vec<String>,
    pub host: Host,
    pub thinking: ThinkingForm,
}

/// The dialect, with one server's quirks.
#[derive(Clone, Debug, Default)]
pub struct AnthropicMessages {
    pub quirks: Quirks,
}

impl AnthropicMessages {
    fn betas(&self, request: &LoadedRequest) -> Option<String> {
        let betas = claude::betas(&self.quirks.betas, request);
        (!betas.is_empty()).then(|| betas.join(","))
    }
}

impl Dialect for AnthropicMessages {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&self, request: &LoadedRequest) -> WireRequest {
        let stream = request.choice.stream;
        let accept = if stream { "text/event-stream" } else { "application/json" };
        let mut headers = vec![("accept", accept.to_owned())];
        let path = match self.quirks.host {
            Host::Anthropic => {
                headers.push(("anthropic-version", VERSION.to_owned()));
                "messages".to_owned()
            }
            Host::Vertex => {
                let verb = if stream { "streamRawPredict" } else { "rawPredict" };
                format!("models/{}:{verb}", request.choice.model)
            }
        };
        headers.extend(self.betas(request).map(|betas| ("anthropic-beta", betas)));
        WireRequest { path, headers, body: request::body(request, &self.quirks) }
    }

    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader> {
        Box::new(reader::Reader::new(family(request), TOOL_NAMES.renamed(request)))
    }

    fn models_path(&self) -> Option<&'static str> {
        match self.quirks.host {
            Host::Anthropic => Some("models?limit=1000"),
            Host::Vertex => None,
        }
    }

    /// `{"data":[{"id":"claude-opus-4-6","max_input_tokens":200000,"max_tokens":64000,
    /// "capabilities":{"image_input":{"supported":true}}}]}`; servers that copy the API often give
    /// OpenAI's list instead, and both are read.
    fn read_models(&self, list: &Value) -> Option<Vec<ListedModel>> {
        let mut models = super::models::of_openai(list)?;
        let listed = list.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for model in &mut models {
            let named = |listed: &&Value| listed.get("id").and_then(Value::as_str) == Some(&model.name);
            let Some(listed) = listed.iter().find(named) else { continue };
            let tokens = |name: &str| u32::try_from(listed.get(name)?.as_u64()?).ok();
            model.context_window_tokens = tokens("max_input_tokens").or(model.context_window_tokens);
            model.output_tokens_max = tokens("max_tokens").or(model.output_tokens_max);
            let images = listed.pointer("/capabilities/image_input/supported").and_then(Value::as_bool);
            model.images = images.or(model.images);
        }
        Some(models)
    }
}

/// Signed thinking is sent back only to the model that made it. Newer models read that of a few
/// others, but which is not documented for all, and an older one refuses the request. The host is no
/// part of it: signatures hold on all of them.
fn family(request: &LoadedRequest) -> String {
    format!("anthropic:{}", request.choice.model)
}

#[cfg(test)]
mod case_tests;
#[cfg(test)]
mod tests;
