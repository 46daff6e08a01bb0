//! The request that the model sees, in neutral form: no vendor's shape, no text that is large.
//!
//! Large texts and images are blob references, so that building a request reads nothing. Its
//! digest is what `ModelCallStarted` records.

use herm_schema::events::ProviderExtras;
use herm_schema::{BlobRef, Digest, JsonText, Text};
use serde::{Deserialize, Serialize};

/// What is asked of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub model: String,
    /// The system prompt, UTF-8.
    pub system: Option<BlobRef>,
    /// JSON array of `{name, description, parameters}`; `None` offers no tools.
    pub tools: Option<BlobRef>,
    pub messages: Vec<Message>,
    pub output_tokens_max: u32,
    pub options: RequestOptions,
}

/// How a request departs from the usual one. The default is the usual one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOptions {
    /// The tools are shown, for the sake of the prefix, but none may be called.
    pub no_tool_calls: bool,
    /// `pattern` and `format` are left out of the tools' schemas.
    pub plain_schemas: bool,
    /// The opt-in to a longer context window is left out.
    pub no_long_context: bool,
    /// Images are made smaller until no side is longer, in pixels; `None` is the vendor's own limit.
    pub image_side_px_max: Option<u32>,
}

/// One message of a well-formed conversation: roles alternate, every tool call is followed by
/// exactly one result, in order, before anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    User {
        parts: Vec<Part>,
    },
    Assistant {
        text: String,
        calls: Vec<Call>,
        extras: Option<ProviderExtras>,
    },
    Tool {
        /// Unique in the request, the same as its call's.
        id: String,
        name: String,
        parts: Vec<Part>,
    },
}

/// A piece of what is said to a model. Its texts are encoded as [`Text`] is, so that digests from
/// before there were images stay right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Part {
    Inline(String),
    Stored(BlobRef),
    Image {
        content: BlobRef,
        /// Such as `image/png`.
        media_type: String,
    },
}

impl From<Text> for Part {
    fn from(text: Text) -> Self {
        match text {
            Text::Inline(text) => Self::Inline(text),
            Text::Stored(blob) => Self::Stored(blob),
        }
    }
}

impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::Inline(text.to_owned())
    }
}

/// A tool call as it is sent back to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Unique in the request.
    pub id: String,
    pub name: String,
    /// A JSON object, canonical.
    pub arguments: JsonText,
}

impl Request {
    /// Digest over everything in it; the same on every machine.
    pub fn digest(&self) -> Digest {
        let plain = (&self.model, &self.system, &self.tools, &self.messages, self.output_tokens_max);
        let configuration = bincode::config::standard();
        let mut bytes = bincode::serde::encode_to_vec(plain, configuration).unwrap_or_default();
        if self.options != RequestOptions::default() {
            bytes.extend(bincode::serde::encode_to_vec(self.options, configuration).unwrap_or_default());
        }
        Digest::of(&bytes)
    }
}
