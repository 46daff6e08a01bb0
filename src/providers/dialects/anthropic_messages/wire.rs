//! PURE: the parts of the wire format that are written.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The body. The messages come last, so that a conversation that goes on shares every byte with
/// itself up to the new message.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anthropic_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<&'a str>,
    pub max_tokens: u32,
    pub stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<Content<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub description: &'a str,
    pub input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
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
    pub content: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    /// As the vendor gave it. It bears no breakpoint: the vendor refuses one on thinking.
    Own(Value),
    Block(Block<'a>),
}

#[derive(Serialize)]
pub(super) struct Block<'a> {
    #[serde(flatten)]
    pub kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Kind<'a> {
    Text { text: Cow<'a, str> },
    Image { source: Source<'a> },
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: Value },
    ToolResult { tool_use_id: Cow<'a, str>, content: Vec<Content<'a>> },
}

#[derive(Serialize)]
pub(super) struct Source<'a> {
    pub r#type: &'static str,
    pub media_type: &'a str,
    pub data: String,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    pub r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<&'static str>,
}

impl<'a> From<Kind<'a>> for Content<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self::Block(Block { kind, cache_control: None })
    }
}
