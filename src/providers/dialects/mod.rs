//! PURE: wire formats. A neutral request becomes bytes, bytes become neutral answers.
//!
//! Nothing here opens a connection, reads a clock or knows a key. A new wire format is a folder
//! here and a row in [`build`]'s table; start reading at [`chat_completions`].

use herm_schema::events::{AssistantMessage, Finish, ModelFailure, Usage};

use super::{Delta, LoadedRequest};

pub mod acceptable;
pub mod anthropic_messages;
pub mod bedrock_converse;
mod blocks;
pub mod chat_completions;
mod claude;
mod framing;
pub mod gemini;
mod models;
mod openai;
mod ordered;
mod repair;
pub mod responses;
mod scrub;
mod table;

pub use repair::well_formed;
pub use scrub::{Scrubbed, Scrubber};
pub use table::{build, canonical, names, read};

/// A request as it goes over the wire, its address relative to the endpoint's base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRequest {
    /// Such as `chat/completions`, with its query if it has one; no leading slash.
    pub path: String,
    /// Besides authentication and content type.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// What a vendor's own list says of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedModel {
    pub name: String,
    pub context_window_tokens: Option<u32>,
    pub output_tokens_max: Option<u32>,
    pub images: Option<bool>,
}

/// One wire format.
pub trait Dialect: Send + Sync {
    /// The name that [`herm_schema::events::ModelChoice::dialect`] bears.
    fn name(&self) -> &'static str;

    /// What is sent. The same request always gives the same bytes, and a request that only goes on
    /// from another begins with all of its bytes up to the new message.
    fn encode(&self, request: &LoadedRequest) -> WireRequest;

    /// A reader for the answer to `request`, whether it is streamed or not.
    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader>;

    /// The path of a base URL that was given without one, such as `/v1`; empty for none.
    fn base_path(&self) -> &'static str {
        "/v1"
    }

    /// Path of the list of models, relative to the base URL; `None` where the vendor has none.
    fn models_path(&self) -> Option<&'static str> {
        Some("models")
    }

    /// The list of models in the shape that this wire format gives it; `None` if it is no such list.
    fn read_models(&self, list: &serde_json::Value) -> Option<Vec<ListedModel>> {
        models::of_openai(list)
    }
}

/// What a piece of an answer brought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What can be shown.
    pub deltas: Vec<Delta>,
    /// Something of the answer came in: text, reasoning or a part of a tool call. Comments,
    /// keep-alives and empty chunks are not content.
    pub content: bool,
}

/// A whole answer, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadAnswer {
    pub message: AssistantMessage,
    pub finish: Finish,
    pub usage: Option<Usage>,
    pub response_id: Option<String>,
}

/// Reads one answer, piece by piece.
pub trait AnswerReader: Send {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// The server reported a failure in the stream, or sent what is no answer.
    fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ModelFailure>;

    /// Everything needed is there, although more (such as usage) may follow.
    fn is_complete(&self) -> bool;

    /// The end mark has been read; nothing follows.
    fn is_over(&self) -> bool;

    /// The answer, at the end of the bytes; with what was held back until now.
    ///
    /// # Errors
    /// The bytes ended before the answer did, or were no answer.
    fn finish(self: Box<Self>) -> Result<(ReadAnswer, Progress), ModelFailure>;
}
