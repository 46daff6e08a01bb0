//! Events to bytes and back.
//!
//! A record is a fixed header of [`HEADER_BYTES`] bytes, little-endian, and the payload:
//!
//! ```text
//! magic u16 | format u8 | codec u8 | payload length u32 | crc32c u32 over all the rest
//! position u64 | stream [16] | stream position u64 | time i64 | kind u16 | version u16
//! key id u32 | cause u64 | turn u64 | idempotency key [16] | epoch u32 | batch left u32
//! chain [32] | payload
//! ```
//!
//! The chain is `BLAKE3(chain before ‖ header without crc and chain ‖ stored payload)`: over the
//! bytes as stored, so that a payload can lose its key without breaking it. Zero stands for "none"
//! in cause, turn and key. The payload is bincode 2 (standard configuration), read only behind the
//! checksum, with a limit, and to its last byte.

use crate::envelope::Codec;
use crate::event::IGNORABLE;
use crate::{
    Digest, Envelope, Event, IdempotencyKey, Micros, NewEvent, Position, StreamId, StreamPos, TurnId, upcast,
};

/// Length of a record's header.
pub const HEADER_BYTES: usize = 132;
/// Largest payload that is written or read; larger things are blobs.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;
/// First two bytes of a record.
pub const MAGIC: u16 = 0x6d48;
/// Version of the header's layout.
pub const FORMAT: u8 = 1;

const CRC_AT: usize = 8;
const CRC_END: usize = 12;
const CHAIN_AT: usize = HEADER_BYTES - 32;

/// Why bytes are not a record, or not an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    #[error("cut short: {found} bytes of {expected}")]
    Short { expected: usize, found: usize },
    #[error("no record begins here: magic `{found:#06x}`")]
    Magic { found: u16 },
    #[error("record format `{found}` is newer than this herm knows (`{FORMAT}`)")]
    Format { found: u8 },
    #[error("payload codec `{found}` is not known to this herm")]
    Codec { found: u8 },
    #[error("payload of {bytes} bytes, limit {PAYLOAD_BYTES_MAX} bytes")]
    TooLarge { bytes: usize },
    #[error("checksum `{found:#010x}`, expected `{expected:#010x}`")]
    Checksum { expected: u32, found: u32 },
    #[error("event kind `{kind}` version `{version}` was written by a newer herm")]
    Newer { kind: u16, version: u16 },
    #[error("payload of kind `{kind}` version `{version}` does not decode: {reason}")]
    Payload { kind: u16, version: u16, reason: String },
    #[error("{left} bytes left after the payload")]
    Trailing { left: usize },
    #[error("payload does not encode: {reason}")]
    Encode { reason: String },
}

/// What a payload says. Almost always an event, so boxing it would cost every read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "the small variant is the rare one")]
pub enum Decoded {
    Event(Event),
    /// A kind that a newer herm wrote and that older ones may pass over.
    Ignorable {
        kind: u16,
        version: u16,
    },
}

fn configuration() -> impl bincode::config::Config {
    bincode::config::standard().with_limit::<PAYLOAD_BYTES_MAX>()
}

pub(crate) fn encode_into<T: serde::Serialize>(
    payload: &T,
    out: &mut Vec<u8>,
) -> Result<(), bincode::error::EncodeError> {
    bincode::serde::encode_into_std_write(payload, out, bincode::config::standard()).map(|_| ())
}

pub(crate) fn decode_exact<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let (value, read) = bincode::serde::decode_from_slice(bytes, configuration())
        .map_err(|error| CodecError::Payload { kind: 0, version: 0, reason: error.to_string() })?;
    match bytes.len().saturating_sub(read) {
        0 => Ok(value),
        left => Err(CodecError::Trailing { left }),
    }
}

/// Payload bytes of `event`, as its current version.
///
/// # Errors
/// `TooLarge` above [`PAYLOAD_BYTES_MAX`].
pub fn encode_event(event: &Event) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::with_capacity(256);
    event.encode_payload(&mut out).map_err(|error| CodecError::Encode { reason: error.to_string() })?;
    if out.len() > PAYLOAD_BYTES_MAX {
        return Err(CodecError::TooLarge { bytes: out.len() });
    }
    Ok(out)
}

/// The event that payload bytes of a kind and version say, in its current version.
///
/// # Errors
/// `Newer` for a kind or version this build does not know and must not pass over; `Payload` or
/// `Trailing` for bytes that are not such a payload.
pub fn decode_event(kind: u16, version: u16, bytes: &[u8]) -> Result<Decoded, CodecError> {
    let name = |error| match error {
        CodecError::Payload { reason, .. } => CodecError::Payload { kind, version, reason },
        other => other,
    };
    if let Some(result) = Event::decode_current(kind, version, bytes) {
        return result.map(Decoded::Event).map_err(name);
    }
    let (reached, current) = upcast::walk(upcast::STEPS, kind, version, bytes)?;
    match Event::decode_current(kind, reached, &current) {
        Some(result) => result.map(Decoded::Event).map_err(name),
        None if kind & IGNORABLE != 0 => Ok(Decoded::Ignorable { kind, version }),
        None => Err(CodecError::Newer { kind, version }),
    }
}

/// What the log gives to an event when it takes it in.
#[derive(Clone, Copy, Debug)]
pub struct Placing {
    pub position: Position,
    pub stream: StreamId,
    pub stream_pos: StreamPos,
    pub recorded_at: Micros,
    pub key: Option<IdempotencyKey>,
    pub batch_left: u32,
    pub epoch: u32,
    /// Chain of the record before in the stream; zero for its first.
    pub chain: Digest,
}

/// Appends the record of `event` to `out`; the envelope that was written.
///
/// # Errors
/// Those of [`encode_event`]; `out` is as before then.
pub fn write_record(event: &NewEvent, place: &Placing, out: &mut Vec<u8>) -> Result<Envelope, CodecError> {
    let payload = encode_event(&event.event)?;
    let mut envelope = Envelope {
        position: place.position,
        stream: place.stream,
        stream_pos: place.stream_pos,
        recorded_at: place.recorded_at,
        kind: event.event.kind(),
        version: event.event.version(),
        cause: event.cause,
        turn: event.turn,
        key: place.key,
        batch_left: place.batch_left,
        epoch: place.epoch,
        key_id: 0,
        codec: Codec::Plain,
        chain: Digest::default(),
    };
    envelope.chain = frame(&envelope, place.chain, &payload, out);
    Ok(envelope)
}

/// Appends the record with this envelope and stored payload; its chain.
pub fn frame(envelope: &Envelope, chain_before: Digest, payload: &[u8], out: &mut Vec<u8>) -> Digest {
    let mut header = header_bytes(envelope, payload.len());
    let chain = chain_of(&header, chain_before, payload);
    put(&mut header, CHAIN_AT, &chain.0);
    let crc = checksum(&header, payload);
    put(&mut header, CRC_AT, &crc.to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
    chain
}

/// A record, checked, its payload not yet decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    pub envelope: Envelope,
    pub payload: &'a [u8],
    /// Length of the whole record in bytes.
    pub bytes: usize,
}

impl RawRecord<'_> {
    /// Whether this record follows `chain_before` in its stream.
    pub fn follows(&self, chain_before: Digest) -> bool {
        let header = header_bytes(&self.envelope, self.payload.len());
        chain_of(&header, chain_before, self.payload) == self.envelope.chain
    }

    /// What it says.
    ///
    /// # Errors
    /// Those of [`decode_event`].
    pub fn decode(&self) -> Result<Decoded, CodecError> {
        decode_event(self.envelope.kind, self.envelope.version, self.payload)
    }
}

/// Reads the record at the start of `bytes`: complete, with a sound checksum.
///
/// # Errors
/// `Short` if `bytes` end too early, `Magic`, `Format`, `Codec`, `TooLarge` or `Checksum` if they
/// are something else.
pub fn read_record(bytes: &[u8]) -> Result<RawRecord<'_>, CodecError> {
    let short = |expected| CodecError::Short { expected, found: bytes.len() };
    let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(short(HEADER_BYTES))?;
    let mut reader = Reader(header);
    let magic = u16::from_le_bytes(reader.take());
    if magic != MAGIC {
        return Err(CodecError::Magic { found: magic });
    }
    let [format] = reader.take();
    let [codec] = reader.take();
    let length = u32::from_le_bytes(reader.take()) as usize;
    let expected = u32::from_le_bytes(reader.take());
    if length > PAYLOAD_BYTES_MAX {
        return Err(CodecError::TooLarge { bytes: length });
    }
    let payload = rest.get(..length).ok_or(short(HEADER_BYTES + length))?;
    let found = checksum(header, payload);
    if found != expected {
        return Err(CodecError::Checksum { expected, found });
    }
    if format != FORMAT {
        return Err(CodecError::Format { found: format });
    }
    let codec = Codec::from_byte(codec).ok_or(CodecError::Codec { found: codec })?;
    let envelope = read_envelope(&mut reader, codec);
    Ok(RawRecord { envelope, payload, bytes: HEADER_BYTES + length })
}

fn read_envelope(reader: &mut Reader<'_>, codec: Codec) -> Envelope {
    let some = |number: u64| (number != 0).then_some(number);
    let position = Position(u64::from_le_bytes(reader.take()));
    let stream = StreamId::from_bytes(reader.take());
    let stream_pos = StreamPos(u64::from_le_bytes(reader.take()));
    let recorded_at = Micros(i64::from_le_bytes(reader.take()));
    let kind = u16::from_le_bytes(reader.take());
    let version = u16::from_le_bytes(reader.take());
    let key_id = u32::from_le_bytes(reader.take());
    let cause = some(u64::from_le_bytes(reader.take())).map(Position);
    let turn = some(u64::from_le_bytes(reader.take())).map(TurnId);
    let key: [u8; 16] = reader.take();
    let epoch = u32::from_le_bytes(reader.take());
    let batch_left = u32::from_le_bytes(reader.take());
    let chain = Digest(reader.take());
    let key = (key != [0; 16]).then_some(IdempotencyKey(key));
    Envelope {
        position,
        stream,
        stream_pos,
        recorded_at,
        kind,
        version,
        cause,
        turn,
        key,
        batch_left,
        epoch,
        key_id,
        codec,
        chain,
    }
}

fn header_bytes(envelope: &Envelope, payload_bytes: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let mut at = 0;
    let mut add = |bytes: &[u8]| {
        put(&mut header, at, bytes);
        at += bytes.len();
    };
    add(&MAGIC.to_le_bytes());
    add(&[FORMAT, envelope.codec as u8]);
    add(&(payload_bytes as u32).to_le_bytes());
    add(&[0; 4]);
    add(&envelope.position.0.to_le_bytes());
    add(envelope.stream.bytes());
    add(&envelope.stream_pos.0.to_le_bytes());
    add(&envelope.recorded_at.0.to_le_bytes());
    add(&envelope.kind.to_le_bytes());
    add(&envelope.version.to_le_bytes());
    add(&envelope.key_id.to_le_bytes());
    add(&envelope.cause.map_or(0, |cause| cause.0).to_le_bytes());
    add(&envelope.turn.map_or(0, |turn| turn.0).to_le_bytes());
    add(&envelope.key.map_or([0; 16], |key| key.0));
    add(&envelope.epoch.to_le_bytes());
    add(&envelope.batch_left.to_le_bytes());
    add(&envelope.chain.0);
    header
}

/// The chain over a header (its checksum and chain fields left out) and a payload.
fn chain_of(header: &[u8; HEADER_BYTES], before: Digest, payload: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.0);
    hasher.update(header.get(..CRC_AT).unwrap_or_default());
    hasher.update(header.get(CRC_END..CHAIN_AT).unwrap_or_default());
    hasher.update(payload);
    Digest(*hasher.finalize().as_bytes())
}

fn checksum(header: &[u8; HEADER_BYTES], payload: &[u8]) -> u32 {
    let crc = crc32c::crc32c(header.get(..CRC_AT).unwrap_or_default());
    let crc = crc32c::crc32c_append(crc, header.get(CRC_END..).unwrap_or_default());
    crc32c::crc32c_append(crc, payload)
}

fn put(header: &mut [u8; HEADER_BYTES], at: usize, bytes: &[u8]) {
    header.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
}

/// Takes fixed-size fields off the front of a header, which is always long enough.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk::<N>() else {
            return [0; N];
        };
        self.0 = rest;
        *field
    }
}
