//! PURE: OpenAI's Chat Completions, as it and everyone who copied it speak it.
//!
//! Source: the OpenAI API reference, "Create chat completion" and "The chat completion chunk
//! object", and what DeepSeek, OpenRouter, vLLM, llama.cpp and Ollama document as their additions
//! to it. [`request`] writes, [`reader`] reads; [`calls`] puts tool calls together from deltas,
//! [`cache`] places breakpoints, [`azure`] knows Azure's addresses.

pub mod azure;
mod cache;
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
    #[serde(alias = "max-tokens")]
    MaxTokens,
    #[serde(alias = "max-completion-tokens")]
    MaxCompletionTokens,
}

/// In which field a server takes how much the model is to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffortField {
    /// In none.
    #[default]
    None,
    /// `"reasoning_effort":"high"`, as OpenAI has it.
    #[serde(alias = "reasoning-effort")]
    ReasoningEffort,
    /// `"reasoning":{"effort":"high"}`, as OpenRouter has it.
    Reasoning,
}

/// Which ids of calls a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// Up to 40 letters, digits, `_` and `-`.
    #[default]
    Usual,
    /// Nine letters and digits, as Mistral demands.
    #[serde(alias = "nine-alphanumeric")]
    NineAlphanumeric,
}

/// Where servers differ. In a file, the fields may be written with `_` or with `-`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    #[serde(alias = "output-limit")]
    pub output_limit: OutputLimitField,
    /// Takes `stream_options`; the others refuse a field they do not know.
    #[serde(alias = "stream-options")]
    pub stream_options: bool,
    /// Wants the reasoning of an answer with tool calls sent back beside it.
    #[serde(alias = "echo-reasoning")]
    pub echo_reasoning: bool,
    pub effort: EffortField,
    /// Takes Anthropic's `cache_control` for Anthropic's models, as OpenRouter does.
    #[serde(alias = "cache-control")]
    pub cache_control: bool,
    /// The system prompt of OpenAI's own reasoning models has the role `developer`.
    #[serde(alias = "developer-role")]
    pub developer_role: bool,
    #[serde(alias = "call-ids")]
    pub call_ids: CallIds,
    /// Azure's form with a deployment in the path, which is the model's name; the version that goes
    /// into the query. `None` for all others, Azure's `/openai/v1` among them.
    #[serde(alias = "api-version")]
    pub api_version: Option<String>,
}

impl Quirks {
    /// What most servers do.
    pub const USUAL: Self = Self {
        output_limit: OutputLimitField::MaxTokens,
        stream_options: true,
        echo_reasoning: false,
        effort: EffortField::None,
        cache_control: false,
        developer_role: false,
        call_ids: CallIds::Usual,
        api_version: None,
    };
}

impl Default for Quirks {
    fn default() -> Self {
        Self::USUAL
    }
}

/// The dialect, with one server's quirks.
#[derive(Clone, Debug, Default)]
pub struct ChatCompletions {
    pub quirks: Quirks,
}

impl Dialect for ChatCompletions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encode(&self, request: &LoadedRequest) -> WireRequest {
        let accept = if request.choice.stream { "text/event-stream" } else { "application/json" };
        let path = match &self.quirks.api_version {
            Some(version) => azure::deployment_path(&request.choice.model, version),
            None => "chat/completions".to_owned(),
        };
        WireRequest {
            path,
            headers: vec![("accept", accept.to_owned())],
            body: request::body(request, &self.quirks),
        }
    }

    fn base_path(&self) -> &'static str {
        if self.quirks.api_version.is_some() { azure::DEPLOYMENTS_BASE_PATH } else { "/v1" }
    }

    /// Azure's deployments are not listed where they are called.
    fn models_path(&self) -> Option<&'static str> {
        self.quirks.api_version.is_none().then_some("models")
    }

    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader> {
        let names = super::acceptable::Names::of(&request.tools);
        Box::new(reader::Reader::new(family(request), names, self.quirks.echo_reasoning))
    }
}

/// Extras are sent back only to the provider and model that made them.
fn family(request: &LoadedRequest) -> String {
    format!("{NAME}:{}:{}", request.choice.provider, request.choice.model)
}

#[cfg(test)]
mod tests;
