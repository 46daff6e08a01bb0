//! The request that the model sees, in neutral form: no vendor's shape, no text that is large.
//!
//! Large texts are blob references, so that building a request reads nothing. Its digest is what
//! `ModelCallStarted` records.

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
}

/// One message of a well-formed conversation: roles alternate, every tool call is followed by
/// exactly one result, in order, before anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    User {
        parts: Vec<Text>,
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
        parts: Vec<Text>,
    },
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
        let bytes = bincode::serde::encode_to_vec(self, bincode::config::standard());
        Digest::of(&bytes.unwrap_or_default())
    }
}
