//! PURE: the parts of the wire format that are written.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The body. The messages come last, so that a conversation that goes on shares every byte with
/// itself up to the new message.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    pub inference_config: InferenceConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_model_request_fields: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<ToolConfig<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Part<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InferenceConfig {
    pub max_tokens: u32,
}

#[derive(Serialize)]
pub(super) struct ToolConfig<'a> {
    pub tools: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Tool<'a> {
    ToolSpec(ToolSpec<'a>),
    CachePoint(CachePoint),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolSpec<'a> {
    pub name: Cow<'a, str>,
    pub description: Cow<'a, str>,
    pub input_schema: InputSchema<'a>,
}

#[derive(Serialize)]
pub(super) struct InputSchema<'a> {
    pub json: Cow<'a, Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
pub(super) struct Message<'a> {
    pub role: Role,
    pub content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Part<'a> {
    Text(Cow<'a, str>),
    Image(ImageBlock),
    ToolUse(ToolUse<'a>),
    ToolResult(ToolResult<'a>),
    /// As the vendor gave it.
    ReasoningContent(Value),
    CachePoint(CachePoint),
}

#[derive(Serialize)]
pub(super) struct ImageBlock {
    pub format: &'static str,
    pub source: ImageSource,
}

#[derive(Serialize)]
pub(super) struct ImageSource {
    /// Base64.
    pub bytes: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolUse<'a> {
    pub tool_use_id: Cow<'a, str>,
    pub name: Cow<'a, str>,
    pub input: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolResult<'a> {
    pub tool_use_id: Cow<'a, str>,
    pub content: Vec<Part<'a>>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct CachePoint {
    pub r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<&'static str>,
}
