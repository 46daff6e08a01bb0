//! What can be said: herm's event vocabulary, its envelope, its versions and its bytes.
//!
//! Everything that happens to herm is an [`Event`] in a stream of a log. This crate knows the
//! words and their bytes, and nothing else: no I/O, no clock, no randomness. Start reading at
//! [`event`] (the table of contents), then [`envelope`], then [`codec`].
//!
//! # Glossary
//!
//! | word | meaning |
//! |---|---|
//! | *message* | something said by someone: a person, or the model |
//! | *event* | something that happened, in the past tense; one variant of [`Event`] |
//! | *record* | an event as framed bytes in the log |
//! | *stream* | a row of events about one thing: a session, a profile, the gateway, a job, a board |
//! | *position* | where an event stands in the whole log ([`Position`]), counted from 1, dense |
//! | *stream position* | where it stands in its stream ([`StreamPos`]), counted from 1, dense |
//! | *chat* | a place on a platform where messages are exchanged ([`events::ChatRef`]) |
//! | *session* | one conversation: one stream |
//! | *turn* | from the start of work on a message to its answer |
//! | *iteration* | one model call of a turn that counts against its limits |
//! | *model call*, *tool call* | always qualified, never just "call" |
//! | *command* | what the reducer is asked; a shell line is a *command line* |
//! | *context* | what the model sees |
//! | *delivery* | one answer on its way to one chat, in chunks; a *receipt* confirms a chunk |
//! | *intent*, *outcome* | the event before an effect, and the event after it |
//! | *in doubt* | an intent without an outcome after a crash |
//! | *blob* | bytes stored beside the log under their BLAKE3 hash ([`BlobRef`]) |
//!
//! # Rules of change
//!
//! 1. The bytes of a payload are frozen the day they land on main. A change is a new version in a
//!    new struct, with a pure upcast from the old one in [`upcast`]; the old struct and its fixture
//!    in `fixtures/` stay forever.
//! 2. Numbers of kinds are given once and never used again.
//! 3. No `serde_json::Value`, no `skip_serializing_if`, `untagged`, `tag`, `flatten`, no hash maps,
//!    no floats, no `usize` in a payload: bincode is not self-describing, and order is truth.
//! 4. JSON that herm does not own (tool arguments, a provider's extras) travels as [`JsonText`].

pub mod codec;
pub mod envelope;
pub mod event;
pub mod events;
pub mod ids;
#[cfg(feature = "arbitrary")]
pub mod testing;
pub mod upcast;

pub use codec::{CodecError, Decoded};
pub use envelope::{Envelope, NewEvent, Recorded};
pub use event::Event;
pub use ids::{
    BlobRef, CallRef, Digest, IdempotencyKey, JsonText, Micros, Position, SessionId, StreamId, StreamKind,
    StreamPos, Text, TurnId,
};
