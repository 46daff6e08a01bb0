//! PURE: OpenAI's Responses API, also spoken by Codex and by xAI.
//!
//! Source: the OpenAI API reference, "Create a model response" and "Streaming events" (v1), the
//! guides "Reasoning models" (encrypted reasoning items) and "Function calling", and xAI's guide to
//! its copy. Nothing is stored there (`store: false`): the whole conversation goes out each time,
//! and reasoning items come and go encrypted. [`request`] writes, [`reader`] reads, [`extras`] is
//! what of an answer is kept for the next request.

mod extras;
mod items;
mod reader;
mod request;
mod wire;

use serde::Deserialize;

use super::{AnswerReader, Dialect, WireRequest};
use crate::providers::LoadedRequest;

/// Name of this dialect.
pub const NAME: &str = "responses";

/// Where servers differ. In a file, the fields may be written with `_` or with `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Takes `max_output_tokens`; Codex refuses it.
    #[serde(alias = "output-limit")]
    pub output_limit: bool,
    /// Takes `reasoning.effort`; some models of xAI refuse it.
    pub effort: bool,
    /// Takes `reasoning.summary`.
    pub summary: bool,
    /// Takes images in the result of a tool.
    #[serde(alias = "result-images")]
    pub result_images: bool,
    /// Refuses a request without `instructions`, as Codex does.
    #[serde(alias = "needs-instructions")]
    pub needs_instructions: bool,
    /// Takes no answer but a streamed one, as Codex does.
    #[serde(alias = "always-streams")]
    pub always_streams: bool,
}

impl Quirks {
    /// What OpenAI documents.
    pub const USUAL: Self = Self {
        output_limit: true,
        effort: true,
        summary: true,
        result_images: true,
        needs_instructions: false,
        always_streams: false,
    };
    /// `https://chatgpt.com/backend-api/codex`.
    pub const CODEX: Self =
        Self { output_limit: false, needs_instructions: true, always_streams: true, ..Self::USUAL };
    /// `https://api.x.ai/v1`.
    pub const XAI: Self = Self { result_images: false, summary: false, ..Self::USUAL };
}

impl Default for Quirks {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The dialect, with one server's quirks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Responses {
    pub quirks: Quirks,
}

impl Dialect for Responses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&self, request: &LoadedRequest) -> WireRequest {
        let streams = request.choice.stream || self.quirks.always_streams;
        let accept = if streams { "text/event-stream" } else { "application/json" };
        WireRequest {
            path: "responses".to_owned(),
            headers: vec![("accept", accept.to_owned())],
            body: request::body(request, &self.quirks),
        }
    }

    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader> {
        Box::new(reader::Reader::new(family(request), super::acceptable::Names::of(&request.tools)))
    }
}

/// Extras go back to the provider and model that made them: what is encrypted is documented to be
/// readable for the same organisation alone, and says nothing of other models.
fn family(request: &LoadedRequest) -> String {
    format!("{NAME}:{}:{}", request.choice.provider, request.choice.model)
}

#[cfg(test)]
mod tests;
