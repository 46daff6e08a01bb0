//! PURE: wire formats. A neutral request becomes bytes, bytes become neutral answers.
//!
//! Nothing here opens a connection, reads a clock or knows a key. A new wire format is a folder
//! here and a row in [`by_name`]; start reading at [`chat_completions`].

use herm_schema::events::{AssistantMessage, Finish, ModelFailure, Usage};

use super::{Delta, LoadedRequest};

pub mod chat_completions;
mod repair;
mod think;

pub use repair::well_formed;
pub use think::{Scrubbed, ThinkScrubber};

/// A request as it goes over the wire, its address relative to the endpoint's base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireRequest {
    /// Such as `chat/completions`; no leading slash.
    pub path: &'static str,
    /// Besides authentication and content type.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// How a key is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// The key alone in a header of this name.
    Named(&'static str),
}

/// One wire format.
pub trait Dialect: Send + Sync {
    /// The name that [`herm_schema::events::ModelChoice::dialect`] bears.
    fn name(&self) -> &'static str;

    fn key_header(&self) -> KeyHeader {
        KeyHeader::Bearer
    }

    /// What is sent. The same request always gives the same bytes, and a request that only goes on
    /// from another begins with all of its bytes up to the new message.
    fn encode(&self, request: &LoadedRequest) -> WireRequest;

    /// A reader for the answer to `request`, whether it is streamed or not.
    fn reader(&self, request: &LoadedRequest) -> Box<dyn AnswerReader>;

    /// Path of the list of models, relative to the base URL.
    fn models_path(&self) -> &'static str {
        "models"
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
