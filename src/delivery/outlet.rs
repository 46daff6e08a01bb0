//! Where deliveries go out: the one way that the runtime knows.

use herm_schema::SessionId;
use herm_schema::events::ChatRef;

use super::Format;
use crate::platforms::SendFailure;
use crate::providers::BoxFuture;

/// What the place that a delivery goes to takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    pub format: Format,
    /// Whether a repeat is recognised there by [`Parcel::key`].
    pub keyed: bool,
}

/// A chunk of a delivery, as it was planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    pub target: ChatRef,
    /// Whose answer it is; `None` for what herm itself has to say.
    pub session: Option<SessionId>,
    pub content: Content,
    /// The same for every attempt at the same chunk; letters, digits and `-`, at most 64.
    pub key: String,
    /// An earlier attempt may have reached the person.
    pub possible_repeat: bool,
    /// It is the first chunk of its delivery.
    pub first: bool,
    /// The platform's id of the message that it answers; whether that is shown is the platform's to say.
    pub reply_to: Option<String>,
    /// The platform's id of a message that stands already, and that this takes the place of.
    pub replaces: Option<String>,
}

/// What a chunk holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Markdown, which fits the way when it is rendered.
    Text(String),
    File {
        name: String,
        media_type: String,
        bytes: Vec<u8>,
    },
}

impl Parcel {
    /// The text; a file is its name.
    pub fn text(&self) -> &str {
        match &self.content {
            Content::Text(text) => text,
            Content::File { name, .. } => name,
        }
    }
}

/// Sends what is owed, each to the platform that its target names.
pub trait Outlet: Send + Sync {
    fn way(&self, target: &ChatRef) -> Way;

    /// Sends a chunk; the platform's id of it, where it has one.
    fn send<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Option<String>, SendFailure>>;
}
