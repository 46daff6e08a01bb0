//! Platforms: the places where people read and write, and the trait that each implements.
//!
//! A platform sends what it is given and returns facts; it never retries and never records.

use herm_schema::events::{ChatRef, DeliveryFailure};
use std::time::Duration;

use crate::providers::BoxFuture;

/// What a platform can do, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Such as `cli`, `telegram`.
    pub name: &'static str,
    /// Whether the platform recognises a repeat by [`Outgoing::key`].
    pub keyed: bool,
    /// Longest message, in characters; `None` for no limit.
    pub message_chars_max: Option<usize>,
}

/// A chunk on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub target: ChatRef,
    pub text: String,
    /// The same for every attempt at the same chunk.
    pub key: String,
    /// An earlier attempt may have reached the person.
    pub possible_repeat: bool,
}

/// Why a chunk was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailure {
    pub class: DeliveryFailure,
    /// Without secrets.
    pub message: String,
    /// When another attempt makes sense; `None` if none does.
    pub retry_after: Option<Duration>,
}

/// One platform.
pub trait Platform: Send + Sync {
    fn capabilities(&self) -> Capabilities;

    /// Sends a chunk; the platform's id of it, where it has one.
    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>>;
}
