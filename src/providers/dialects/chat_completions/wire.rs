//! PURE: the parts of the wire format that are written, and what of an answer is sent back as it came.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    pub messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
pub(super) struct StreamOptions {
    pub include_usage: bool,
}

#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub r#type: &'static str,
    pub function: Function<'a>,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub parameters: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        /// Never null: some servers' templates cannot take it; an empty text they all take.
        content: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall<'a>>,
        /// What the same server gave with the answer and wants back.
        #[serde(flatten)]
        extras: Map<String, Value>,
    },
    Tool {
        name: &'a str,
        content: &'a str,
        tool_call_id: &'a str,
    },
}

#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub id: &'a str,
    pub r#type: &'static str,
    pub function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
}

#[derive(Serialize)]
pub(super) struct CalledFunction<'a> {
    pub name: &'a str,
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
