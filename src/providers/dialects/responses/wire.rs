//! PURE: the parts of the wire format that are written.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// The body. The items come last, so that a conversation that goes on shares every byte with itself
/// up to the new item.
#[derive(Serialize)]
pub(super) struct Body<'a> {
    pub model: &'a str,
    pub store: bool,
    pub stream: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    pub prompt_cache_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<Cow<'a, str>>,
    pub input: Vec<Item<'a>>,
}

#[derive(Serialize)]
pub(super) struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'static str>,
}

/// Flat, unlike in Chat Completions; `strict` is on where it is not said.
#[derive(Serialize)]
pub(super) struct Tool<'a> {
    pub r#type: &'static str,
    pub name: Cow<'a, str>,
    pub description: Cow<'a, str>,
    pub parameters: Cow<'a, Value>,
    pub strict: bool,
}

/// An item of the input. None has an id: nothing is stored that it could name.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    Reasoning {
        summary: Value,
        encrypted_content: String,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        /// JSON as a string.
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Content<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content<'a> {
    InputText { text: Cow<'a, str> },
    InputImage { detail: &'static str, image_url: String },
    OutputText { text: Cow<'a, str> },
}
