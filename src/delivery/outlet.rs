//! Where deliveries go out: the one way that the runtime knows.

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
    /// Markdown, which fits the way when it is rendered.
    pub text: String,
    /// The same for every attempt at the same chunk; letters, digits and `-`, at most 64.
    pub key: String,
    /// An earlier attempt may have reached the person.
    pub possible_repeat: bool,
}

/// Sends what is owed, each to the platform that its target names.
pub trait Outlet: Send + Sync {
    fn way(&self, target: &ChatRef) -> Way;

    /// Sends a chunk; the platform's id of it, where it has one.
    fn send<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Option<String>, SendFailure>>;
}
