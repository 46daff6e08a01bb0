//! What the log knows of every event besides its payload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, Event, IdempotencyKey, Micros, Position, StreamId, StreamPos, TurnId};

/// How the payload bytes are stored; one byte in every record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[repr(u8)]
pub enum Codec {
    /// bincode 2 standard configuration, as it is.
    #[default]
    Plain = 0,
}

impl Codec {
    pub fn from_byte(byte: u8) -> Option<Self> {
        (byte == Self::Plain as u8).then_some(Self::Plain)
    }
}

/// What the log knows of an event besides its payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// Place in the whole log, given by the log.
    pub position: Position,
    pub stream: StreamId,
    /// Place in the stream, given by the log.
    pub stream_pos: StreamPos,
    /// When it was recorded; never decreases within a stream.
    pub recorded_at: Micros,
    /// The number of the event's type, see [`Event::kind`].
    pub kind: u16,
    /// The version of that type that was written.
    pub version: u16,
    /// The event that caused this one.
    pub cause: Option<Position>,
    /// The turn it belongs to.
    pub turn: Option<TurnId>,
    /// The name of the append it came with.
    pub key: Option<IdempotencyKey>,
    /// How many records of the same append follow; zero on the last.
    pub batch_left: u32,
    /// Fencing number of the writer that owned the stream.
    pub epoch: u32,
    /// Which key encrypted the payload; zero for none.
    pub key_id: u32,
    pub codec: Codec,
    /// Hash over the stream's records up to and including this one.
    pub chain: Digest,
}

/// An event that is about to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    pub event: Event,
    pub cause: Option<Position>,
    pub turn: Option<TurnId>,
}

impl From<Event> for NewEvent {
    fn from(event: Event) -> Self {
        Self { event, cause: None, turn: None }
    }
}

/// An event as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    pub envelope: Envelope,
    pub event: Event,
}
