//! Platforms: the places where people read and write, and the trait that each implements.
//!
//! An adapter translates: what happens there becomes an [`Inbound`], what herm says becomes calls of
//! its API. It decides nothing, retries no sending, and records nothing; it returns facts. What it can
//! do is data ([`Capabilities`]), so that nobody ever asks which platform this is. Start reading at
//! [`Platform`]; `contract` is the kit that every adapter passes.

pub mod contract;
mod discord;
mod email;
mod inbound;
pub mod ingress;
mod link;
mod matrix;
mod slack;
pub mod table;
mod telegram;
mod webhook;

pub use inbound::*;
pub use ingress::{Ingress, IngressAnswer};

use std::time::Duration;

use herm_schema::events::{ChatRef, DeliveryFailure};
use tokio_util::sync::CancellationToken;

use crate::delivery::Format;
use crate::providers::BoxFuture;

/// What a platform can do, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Such as `cli`, `telegram`; the `platform` of its [`ChatRef`]s.
    pub name: &'static str,
    /// Whether the platform recognises a repeat by [`Outgoing::key`].
    pub keyed: bool,
    pub format: Format,
    /// Messages can be changed, at most so often each; `None` if they cannot.
    pub edit_every: Option<Duration>,
    /// Messages can be taken back.
    pub deletes: bool,
    /// "is typing" can be shown, and lasts so long; `None` if it cannot.
    pub typing: Option<Duration>,
    /// Messages can carry buttons.
    pub buttons: bool,
    pub reactions: bool,
    /// Files can be sent, of at most so many bytes; `None` if none can.
    pub file_bytes_max: Option<u64>,
    /// Whoever reaches herm here was let in by the platform's own rules, such as a key or a signature.
    pub own_access: bool,
}

impl Capabilities {
    /// A platform that takes texts of any length and can do nothing else.
    pub const fn plain(name: &'static str) -> Self {
        Self {
            name,
            keyed: false,
            format: Format::SOURCE,
            edit_every: None,
            deletes: false,
            typing: None,
            buttons: false,
            reactions: false,
            file_bytes_max: None,
            own_access: false,
        }
    }
}

/// A chunk on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub target: ChatRef,
    pub content: Say,
    /// The same for every attempt at the same chunk; letters, digits and `-`, at most 64.
    pub key: String,
    /// An earlier attempt may have reached the person.
    pub possible_repeat: bool,
    /// The message that this answers, where the platform shows that.
    pub reply_to: Option<String>,
    /// A preview of it stands already: that message is changed instead of sending another. If it is
    /// gone, a new one is sent.
    pub replaces: Option<String>,
    /// Offered below the text; empty for none. Only where `Capabilities::buttons`.
    pub buttons: Vec<Button>,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    Text(Written),
    File { name: String, media_type: String, bytes: Vec<u8> },
}

/// A text in the platform's markup, and without any for when that is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// In [`Format::markup`], within [`Format::limit`].
    pub text: String,
    pub plain: String,
}

impl Written {
    /// Nothing in it is markup.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { plain: text.clone(), text }
    }
}

/// Comes back as [`What::Button`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    /// At most 64 bytes.
    pub data: String,
}

/// What is shown and never owed: lost by a crash, it is simply not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// herm is at work here.
    Typing {
        chat: ChatRef,
    },
    Post {
        chat: ChatRef,
        text: Written,
        reply_to: Option<String>,
    },
    Edit {
        chat: ChatRef,
        message_id: String,
        text: Written,
    },
    Delete {
        chat: ChatRef,
        message_id: String,
    },
    React {
        chat: ChatRef,
        message_id: String,
        emoji: String,
    },
    /// A button was pressed: its pressing is answered, and the question's buttons go. `press` is the
    /// [`Inbound::id`] of the pressing.
    Answered {
        chat: ChatRef,
        message_id: String,
        press: String,
        text: String,
    },
}

/// Why something was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailure {
    /// [`DeliveryFailure::Unknown`] if it may have been sent all the same: the request was written and
    /// no answer came. A connection that never stood is `Unreachable`.
    pub class: DeliveryFailure,
    /// Without secrets.
    pub message: String,
    /// When another attempt makes sense; `None` if none does.
    pub retry_after: Option<Duration>,
}

/// Why an adapter stopped reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Another try may do, after so long if the platform said so.
    Transient { message: String, retry_after: Option<Duration> },
    /// No try will: a bad token, a revoked right. `fix` says what a person is to do.
    Terminal { message: String, fix: String },
}

/// Who herm is on a platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub id: String,
    pub name: String,
}

/// One platform, with one account.
pub trait Platform: Send + Sync {
    fn capabilities(&self) -> &Capabilities;

    /// Reads until `stop` is cancelled or something is wrong. Each thing is given to `inlet` and, where
    /// the platform has acknowledgements, acknowledged only when `take` has returned `Ok`; in the order
    /// of the chat that it happened in. `Err` of `take` means: not now, leave it to be redelivered.
    fn run<'a>(&'a self, inlet: &'a dyn Inlet, stop: CancellationToken)
    -> BoxFuture<'a, Result<(), Stopped>>;

    /// Sends a chunk, in one request; the platform's id of the message, where it has one.
    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>>;

    /// Does what is never owed; the id of a message that was posted. What the platform cannot do is
    /// `Ok(None)`.
    fn act<'a>(&'a self, act: &'a Act) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        let _ = act;
        Box::pin(async { Ok(None) })
    }

    /// A request came in over HTTP at the place that this platform is mounted at. It is answered when
    /// what it holds was taken; if it was not, so that the platform sends it again.
    fn ingress<'a>(&'a self, request: &'a Ingress, inlet: &'a dyn Inlet) -> BoxFuture<'a, IngressAnswer> {
        let _ = (request, inlet);
        Box::pin(async { IngressAnswer::status(404) })
    }

    /// Where what is said in a chat of this platform really goes, where that is another platform's.
    fn forward(&self, target: &ChatRef) -> Option<ChatRef> {
        let _ = target;
        None
    }

    /// One round trip that shows that the account works.
    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>>;
}

/// Where an adapter puts what comes in.
pub trait Inlet: Send + Sync {
    /// Returns when it is safe to acknowledge: it is on the disk, or was there before, or will never
    /// be wanted.
    fn take(&self, inbound: Inbound) -> BoxFuture<'_, Result<Taken, NotNow>>;

    /// Most bytes of one file that comes with a message; larger ones are [`Content::Left`].
    fn media_bytes_max(&self) -> u64;

    /// Where the adapter had come to, as it last told; survives restarts.
    fn cursor(&self) -> Option<String>;

    /// The adapter has come to here: everything before was taken. At most 4 KiB.
    fn advance(&self, cursor: String) -> BoxFuture<'_, Result<(), NotNow>>;
}

/// What became of something that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Recorded,
    /// It was taken before.
    Known,
    /// Nobody wants it: own words, another bot, a stranger, a group that did not speak to herm.
    Ignored,
}

/// It was not taken, and should come again: herm is going down, or its disk is full.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not taken: {why}")]
pub struct NotNow {
    pub why: String,
}
