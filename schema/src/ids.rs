//! Names of things: newtypes that cannot be mistaken for one another.
//!
//! Identifiers are derived from the log or stamped when something enters; nothing here draws one.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number that is a name: ordered, copied, printed as a plain number.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The one after this one.
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// Where an event stands in the whole log: dense, from 1. Zero stands before the first event.
    Position
}
number! {
    /// Where an event stands in its stream: dense, from 1. Zero stands before the first event.
    StreamPos
}
number! {
    /// The how-manieth turn of its session, from 1.
    TurnId
}

/// Microseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    /// This moment plus `micros` microseconds, held at the end of time instead of wrapping.
    pub const fn plus(self, micros: u64) -> Self {
        let step = if micros > i64::MAX as u64 { i64::MAX } else { micros as i64 };
        Self(self.0.saturating_add(step))
    }

    /// Microseconds from `earlier` to this moment; zero if it is not earlier.
    pub const fn since(self, earlier: Self) -> u64 {
        let gap = self.0.saturating_sub(earlier.0);
        if gap < 0 { 0 } else { gap as u64 }
    }
}

/// What a stream is about; the first byte of its [`StreamId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum StreamKind {
    Session = 1,
    Profile = 2,
    Gateway = 3,
    Job = 4,
    Board = 5,
}

impl StreamKind {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Session, "session"),
        (Self::Profile, "profile"),
        (Self::Gateway, "gateway"),
        (Self::Job, "job"),
        (Self::Board, "board"),
    ];

    /// The word used in the text form of an identifier.
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("session", |(_, word)| word)
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.iter().find(|(kind, _)| *kind as u8 == byte).map(|(kind, _)| *kind)
    }
}

/// The name of a stream: a kind byte, 40 bits of seconds, 80 bits that tell apart.
///
/// Text form: `session-20261130-201034-00112233445566778899`; for streams that are named rather
/// than opened at a moment the seconds are zero. In JSON a string, in the log sixteen bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId([u8; 16]);

/// Before the number of a kind that a newer herm wrote, in the text form of an identifier.
const NEWER_KIND: &str = "kind";

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct BadId {
    pub text: String,
    pub expected: &'static str,
}

impl StreamId {
    /// A stream opened at `at`, told apart by `salt` (random bytes, stamped by the caller).
    pub fn opened(kind: StreamKind, at: Micros, salt: [u8; 10]) -> Self {
        let secs = (at.0.max(0) as u64 / 1_000_000) & 0xff_ffff_ffff;
        let [_, _, _, s0, s1, s2, s3, s4] = secs.to_be_bytes();
        let [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9] = salt;
        Self([kind as u8, s0, s1, s2, s3, s4, r0, r1, r2, r3, r4, r5, r6, r7, r8, r9])
    }

    /// The one stream of `kind` that bears `name`, such as the profile `default`.
    pub fn named(kind: StreamKind, name: &str) -> Self {
        let hash = blake3::hash(name.as_bytes());
        let mut salt = [0; 10];
        salt.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
        Self::opened(kind, Micros(0), salt)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// What the stream is about; `None` for a kind that a newer herm wrote.
    pub fn kind(&self) -> Option<StreamKind> {
        StreamKind::from_byte(self.0[0])
    }

    /// When it was opened, in whole seconds.
    pub fn opened_at(&self) -> Micros {
        let [_, s0, s1, s2, s3, s4, ..] = self.0;
        let secs = u64::from_be_bytes([0, 0, 0, s0, s1, s2, s3, s4]);
        Micros(secs as i64 * 1_000_000)
    }

    fn salt_hex(&self) -> String {
        self.0.iter().skip(6).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = civil(self.opened_at());
        match self.kind() {
            Some(kind) => write!(f, "{}", kind.word())?,
            None => write!(f, "{NEWER_KIND}{}", self.0[0])?,
        }
        write!(f, "-{date}-{time}-{}", self.salt_hex())
    }
}

impl fmt::Debug for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for StreamId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { text: text.chars().take(80).collect(), expected: "a stream identifier" };
        let mut parts = text.split('-');
        let (word, date, time, salt) = (parts.next(), parts.next(), parts.next(), parts.next());
        let known = StreamKind::ALL.iter().find(|(_, name)| Some(*name) == word);
        let newer = || word?.strip_prefix(NEWER_KIND)?.parse().ok();
        let kind: u8 = known.map(|(kind, _)| *kind as u8).or_else(newer).ok_or_else(bad)?;
        let (Some(date), Some(time), Some(salt), None) = (date, time, salt, parts.next()) else {
            return Err(bad());
        };
        let secs = seconds_of(date, time).ok_or_else(bad)?;
        let salt = unhex::<10>(salt).ok_or_else(bad)?;
        let mut id = Self::opened(StreamKind::Session, Micros(secs * 1_000_000), salt);
        id.0[0] = kind;
        Ok(id)
    }
}

/// The civil date and time of a moment, UTC, as `YYYYMMDD` and `HHMMSS`.
/// Howard Hinnant's days-to-civil, so that this crate needs no calendar.
fn civil(at: Micros) -> (String, String) {
    let secs = at.0.div_euclid(1_000_000);
    let (days, rest) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let date = format!("{year:04}{month:02}{day:02}");
    (date, format!("{:02}{:02}{:02}", rest / 3_600, rest / 60 % 60, rest % 60))
}

/// The inverse of [`civil`]; `None` for anything but digits of a sensible length.
fn seconds_of(date: &str, time: &str) -> Option<i64> {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if date.len() < 8 || date.len() > 9 || time.len() != 6 || !digits(date) || !digits(time) {
        return None;
    }
    let (date, time): (i64, i64) = (date.parse().ok()?, time.parse().ok()?);
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let y = year - i64::from(month <= 2);
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    let days = era * 146_097 + doe - 719_468;
    Some(days * 86_400 + time / 10_000 * 3_600 + time / 100 % 100 * 60 + time % 100)
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    if text.len() != N * 2 {
        return None;
    }
    let mut out = [0; N];
    let mut bytes = text.bytes();
    for slot in &mut out {
        *slot = digit(bytes.next()?)? << 4 | digit(bytes.next()?)?;
    }
    Some(out)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sixteen or thirty-two bytes: a string for people and JSON, plain bytes in the log.
macro_rules! text_or_bytes {
    ($name:ident, $len:literal, $pattern:literal, $what:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
                } else {
                    <[u8; $len]>::deserialize(deserializer).map(Self)
                }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $what })
            }
        }
    };
}

text_or_bytes!(StreamId, 16, "^[a-z]+-[0-9]{8,9}-[0-9]{6}-[0-9a-f]{20}$", "the name of a stream");
text_or_bytes!(Digest, 32, "^[0-9a-f]{64}$", "a BLAKE3 hash, hexadecimal");
text_or_bytes!(IdempotencyKey, 16, "^[0-9a-f]{32}$", "an idempotency key, hexadecimal");

macro_rules! hex_text {
    ($name:ident, $len:literal, $what:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex(&self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex(&self.0))
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                let bad = || BadId { text: text.chars().take(80).collect(), expected: $what };
                unhex::<$len>(text).map(Self).ok_or_else(bad)
            }
        }
    };
}

/// A BLAKE3 hash.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

hex_text!(Digest, 32, "a digest of 64 hexadecimal digits");

impl Digest {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The first eight hexadecimal digits, for people.
    pub fn short(&self) -> String {
        self.0.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Names an append, so that the same one sent twice is recorded once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(pub [u8; 16]);

hex_text!(IdempotencyKey, 16, "an idempotency key of 32 hexadecimal digits");

impl IdempotencyKey {
    /// The key of what `parts` name together; parts are kept apart by their lengths.
    pub fn of(parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut key = [0; 16];
        key.iter_mut().zip(hasher.finalize().as_bytes()).for_each(|(to, from)| *to = *from);
        Self(key)
    }
}

/// The stream of one conversation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SessionId(StreamId);

impl SessionId {
    /// A session opened at `at`, told apart by `salt`.
    pub fn opened(at: Micros, salt: [u8; 10]) -> Self {
        Self(StreamId::opened(StreamKind::Session, at, salt))
    }

    /// The session whose stream this is; `None` for streams about other things.
    pub fn of_stream(stream: StreamId) -> Option<Self> {
        (stream.kind() == Some(StreamKind::Session)).then_some(Self(stream))
    }

    pub const fn stream(&self) -> StreamId {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = civil(self.0.opened_at());
        write!(f, "{date}-{time}-{}", self.0.salt_hex())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SessionId {
    type Err = BadId;

    /// Reads `20261130-201034-…`, with or without the leading `session-`.
    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { text: text.chars().take(80).collect(), expected: "a session identifier" };
        let bare = text.strip_prefix("session-").unwrap_or(text);
        format!("session-{bare}").parse().map(Self).map_err(|_| bad())
    }
}

/// Which tool call of which answer: the stream position of the `ModelCallSucceeded` that asked for
/// it, and its place among that answer's tool calls, from 0. Providers' own ids are not unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CallRef {
    pub message: StreamPos,
    pub index: u16,
}

impl fmt::Display for CallRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.message, self.index)
    }
}

/// Bytes in the blob store, by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    pub hash: Digest,
    /// Length in bytes.
    pub bytes: u64,
}

impl BlobRef {
    /// The name that `bytes` have in a blob store.
    pub fn of(bytes: &[u8]) -> Self {
        Self { hash: Digest::of(bytes), bytes: bytes.len() as u64 }
    }
}

/// JSON that herm does not own, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct JsonText(pub String);

impl From<&str> for JsonText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Text that is either here or in the blob store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Text {
    Inline(String),
    Stored(BlobRef),
}

impl Text {
    /// Length in bytes of UTF-8.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Stored(blob) => blob.bytes,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Inline(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_reads_back_from_its_text() {
        let id = SessionId::opened(Micros(1_796_069_434_123_456), [7; 10]);
        assert_eq!(id.to_string(), "20261130-201034-07070707070707070707");
        assert_eq!(id.to_string().parse::<SessionId>(), Ok(id));
        assert_eq!(format!("session-{id}").parse::<SessionId>(), Ok(id));
        assert_eq!(id.stream().to_string().parse::<StreamId>(), Ok(id.stream()));
    }

    #[test]
    fn texts_that_are_no_identifiers_are_refused() {
        for text in ["", "é", "20261130-201034", "20261330-201034-07070707070707070707", "a-b-c-d-e"] {
            assert!(text.parse::<SessionId>().is_err(), "{text}");
        }
    }

    #[test]
    fn idempotency_keys_keep_their_parts_apart() {
        assert_ne!(IdempotencyKey::of(&["ab", "c"]), IdempotencyKey::of(&["a", "bc"]));
    }
}
