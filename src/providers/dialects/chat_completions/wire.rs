//! PURE: the parts of the wire format that are written, and what of an answer is sent back as it came.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cache::CacheControl;

/// The body. The messages come last, so that a conversation that goes on shares every byte with
/// itself up to the new message.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u32>,
    pub stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub include_usage: bool,
}

#[derive(Serialize)]
pub(super) struct Reasoning {
    pub effort: &'static str,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub r#type: &'static str,
    pub function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub name: Cow<'a, str>,
    pub description: Cow<'a, str>,
    pub parameters: Cow<'a, Value>,
}

/// What is said: a plain text wherever there is nothing else, since that is what every server takes.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    pub url: String,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: Content<'a>,
    },
    Developer {
        content: Content<'a>,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Never null: some servers' templates cannot take it; an empty text they all take.
        content: Content<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
        /// What the same server gave with the answer and wants back.
        #[serde(flatten)]
        extras: Map<String, Value>,
    },
    Tool {
        name: Cow<'a, str>,
        content: Content<'a>,
        tool_call_id: Cow<'a, str>,
    },
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub id: Cow<'a, str>,
    pub r#type: &'static str,
    pub function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
}

#[derive(Serialize)]
pub(super) struct CalledFunction<'a> {
    pub name: Cow<'a, str>,
    /// JSON as a string.
    pub arguments: &'a str,
}

/// What a server gave with an answer and wants back; the JSON of this dialect's provider extras.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Extras {
    /// Fields beside the content.
    #[serde(default)]
    pub message: Map<String, Value>,
    /// `extra_content` of each call, in order (Gemini's thought signatures).
    #[serde(default)]
    pub calls: Vec<Option<Value>>,
}
