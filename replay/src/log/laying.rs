//! How an append becomes records: pure, the same for every implementation.
//!
//! Nothing here knows files, indexes or locks. Who calls has found out the stream's head and
//! whether the key is known; here the limits are checked and bytes are made.

use herm_schema::codec::{self, PAYLOAD_BYTES_MAX, Placing};
use herm_schema::{CodecError, Digest, Envelope, Micros, Position, Recorded, StreamPos};

use super::{APPEND_EVENTS_MAX, Append, Error, Expect, Head};

/// Whether an append has a size that can be taken in.
pub(crate) fn check_size(append: &Append) -> Result<(), Error> {
    let found = append.events.len() as u64;
    if append.events.is_empty() {
        return Err(Error::TooFew { what: "events of one append", found, least: 1 });
    }
    if append.events.len() > APPEND_EVENTS_MAX {
        let limit = APPEND_EVENTS_MAX as u64;
        return Err(Error::TooLarge { what: "events of one append", found, limit });
    }
    Ok(())
}

/// Whether the stream stands where the append takes it to stand.
pub(crate) fn check_expectation(append: &Append, head: Option<&Head>) -> Result<(), Error> {
    let actual = head.map_or(StreamPos(0), |head| head.stream_pos);
    match append.expect {
        Expect::At(expected) if expected != actual => {
            Err(Error::Conflict { stream: append.stream, expected, actual })
        }
        _ => Ok(()),
    }
}

/// The head of a stream after `event`.
pub(crate) fn head_of(envelope: &Envelope) -> Head {
    Head {
        stream_pos: envelope.stream_pos,
        position: envelope.position,
        recorded_at: envelope.recorded_at,
        chain: envelope.chain,
    }
}

/// Appends the records of `append` to `out`, the first at position `first`; what they record.
///
/// On an error `out` is as it was.
pub(crate) fn lay(
    append: Append,
    head: Option<&Head>,
    first: Position,
    out: &mut Vec<u8>,
) -> Result<Vec<Recorded>, Error> {
    let before = out.len();
    let result = lay_all(append, head, first, out);
    if result.is_err() {
        out.truncate(before);
    }
    result
}

fn lay_all(
    append: Append,
    head: Option<&Head>,
    first: Position,
    out: &mut Vec<u8>,
) -> Result<Vec<Recorded>, Error> {
    let count = append.events.len();
    let mut place = Placing {
        position: first,
        stream: append.stream,
        stream_pos: head.map_or(StreamPos(1), |head| head.stream_pos.next()),
        recorded_at: append.at.max(head.map_or(Micros(i64::MIN), |head| head.recorded_at)),
        key: append.key,
        batch_left: count.saturating_sub(1) as u32,
        epoch: 0,
        chain: head.map_or(Digest::default(), |head| head.chain),
    };
    let mut recorded = Vec::with_capacity(count);
    for event in append.events {
        let envelope =
            codec::write_record(&event, &place, out).map_err(|source| refused(place.position, source))?;
        place.chain = envelope.chain;
        recorded.push(Recorded { envelope, event: event.event });
        place.position = place.position.next();
        place.stream_pos = place.stream_pos.next();
        place.batch_left = place.batch_left.saturating_sub(1);
    }
    Ok(recorded)
}

fn refused(position: Position, source: CodecError) -> Error {
    match source {
        CodecError::TooLarge { bytes } => Error::TooLarge {
            what: "bytes of one payload",
            found: bytes as u64,
            limit: PAYLOAD_BYTES_MAX as u64,
        },
        source => Error::Undecodable { position, source },
    }
}
