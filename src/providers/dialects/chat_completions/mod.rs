//! PURE: OpenAI's Chat Completions, as it and everyone who copied it speak it.
//!
//! Source: the OpenAI API reference, "Create chat completion" and "The chat completion chunk
//! object", and what DeepSeek, OpenRouter, vLLM, llama.cpp and Ollama document as their additions
//! to it. [`request`] writes, [`reader`] reads; [`calls`] puts tool calls together from deltas.

mod calls;
mod reader;
mod request;
mod wire;

use serde::Deserialize;

use super::{AnswerReader, Dialect, WireRequest};
use crate::providers::LoadedRequest;

/// Name of this dialect.
pub const NAME: &str = "chat_completions";

/// In which field a server takes the limit of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// Where servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    pub output_limit: OutputLimitField,
    /// Takes `stream_options`; the others refuse a field they do not know.
    pub stream_options: bool,
    /// Wants the reasoning of an answer with tool calls sent back beside it.
    pub echo_reasoning: bool,
}

impl Quirks {
    /// What most servers do.
    pub const USUAL: Self =
        Self { output_limit: OutputLimitField::MaxTokens, stream_options: true, echo_reasoning: false };
}

impl Default for Quirks {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The dialect, with one server's quirks.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatCompletions {
    pub quirks: Quirks,
}

impl Dialect for ChatCompletions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&self, request: &LoadedRequest) -> WireRequest {
        let accept = if request.choice.stream { "text/event-stream" } else { "application/json" };
        WireRequest {
            path: "chat/completions".to_owned(),
            headers: vec![("accept", accept.to_owned())],
            body: request::body(request, &self.quirks),
        }
    }

    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader> {
        Box::new(reader::Reader::new(family(request), self.quirks.echo_reasoning))
    }
}

/// Extras are sent back only to the provider and model that made them.
fn family(request: &LoadedRequest) -> String {
    format!("{NAME}:{}:{}", request.choice.provider, request.choice.model)
}

#[cfg(test)]
mod tests;
