//! Models: the trait that every wire protocol implements, and the table of them.
//!
//! A provider is asked for one model call at a time. It streams what it can show through
//! [`CallContext::show`], and returns facts; it never retries, never falls back, never records.

pub mod catalog;
pub mod classify;
pub mod credentials;
pub mod dialects;
mod error;
pub mod http;
pub mod offline;
pub mod probe;
pub mod resolve;
pub mod sse;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::events::{
    AssistantMessage, Finish, ModelChoice, ModelFailure, ProviderExtras, Timings, Usage,
};
use tokio_util::sync::CancellationToken;

pub use error::Error;
pub use resolve::{Resolved, Wanted, reachable, resolve};

/// A future that can be kept in a table.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A request with its texts loaded.
#[derive(Clone, Debug)]
pub struct LoadedRequest {
    pub choice: ModelChoice,
    pub system: Option<String>,
    pub tools: Vec<ToolDefinition>,
    pub messages: Vec<LoadedMessage>,
    pub output_tokens_max: u32,
    pub options: RequestOptions,
}

/// An image as it is sent, within the limits of the vendor.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    pub media_type: String,
    pub bytes: Arc<[u8]>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} bytes", self.media_type, self.bytes.len())
    }
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: serde_json::Value,
}

/// [`herm_replay::reducer::request::Message`] with its texts loaded and joined.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadedMessage {
    User { text: String, images: Vec<Image> },
    Assistant { text: String, calls: Vec<Call>, extras: Option<ProviderExtras> },
    Tool { id: String, name: String, text: String, images: Vec<Image> },
}

impl LoadedMessage {
    /// What a person said, without images.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into(), images: Vec::new() }
    }

    /// What a tool came to, without images.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Tool { id: id.into(), name: name.into(), text: text.into(), images: Vec::new() }
    }
}

/// What a provider answers.
#[derive(Clone, Debug)]
pub struct Answer {
    pub message: AssistantMessage,
    pub finish: Finish,
    pub usage: Option<Usage>,
    pub timings: Timings,
    pub response_id: Option<String>,
}

/// A piece of an answer as it comes in; for people's eyes only, never recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A tool call has begun to come in.
    ToolCall {
        name: String,
    },
}

/// How long a provider may be silent, measured on content.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    pub connect: Duration,
    pub first_content: Duration,
    pub between_content: Duration,
    pub total: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            first_content: Duration::from_secs(300),
            between_content: Duration::from_secs(120),
            total: Duration::from_secs(1_800),
        }
    }
}

/// What a model call is run with.
#[derive(Clone)]
pub struct CallContext {
    /// Cancelled when the outcome is not wanted any more; the request is aborted then.
    pub cancel: CancellationToken,
    pub deadlines: Deadlines,
    /// Takes what can be shown; must not block.
    pub show: Arc<dyn Fn(Delta) + Send + Sync>,
}

/// One wire protocol at one endpoint.
pub trait Provider: Send + Sync {
    /// Sends `request` and reads the answer.
    ///
    /// # Errors
    /// A classified failure; its message holds no secret.
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Answer, ModelFailure>>;
}
