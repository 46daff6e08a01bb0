//! The chain from an old version to the current one, on a type that changed twice.
//!
//! Version 1 knew one recipient; version 2 knew whether it was urgent; version 3 has a list of
//! recipients and a priority in its place. The bytes of version 1 are written out by hand.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use herm_schema::CodecError;
use herm_schema::upcast::{STEPS, Step, walk};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const NOTE: u16 = 0x7001;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NoteV1 {
    to: String,
    text: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NoteV2 {
    to: String,
    text: String,
    urgent: bool,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NoteV3 {
    to: Vec<String>,
    text: String,
    priority: Priority,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Priority {
    Normal,
    Urgent,
}

fn decode<T: DeserializeOwned>(bytes: &[u8], version: u16) -> Result<T, CodecError> {
    let (value, read) = bincode::serde::decode_from_slice(bytes, bincode::config::standard())
        .map_err(|error| CodecError::Payload { kind: NOTE, version, reason: error.to_string() })?;
    if read == bytes.len() { Ok(value) } else { Err(CodecError::Trailing { left: bytes.len() - read }) }
}

fn encode<T: Serialize>(value: T) -> Result<Vec<u8>, CodecError> {
    bincode::serde::encode_to_vec(value, bincode::config::standard())
        .map_err(|error| CodecError::Encode { reason: error.to_string() })
}

fn v1_to_v2(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let NoteV1 { to, text } = decode(bytes, 1)?;
    encode(NoteV2 { to, text, urgent: false })
}

fn v2_to_v3(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    let NoteV2 { to, text, urgent } = decode(bytes, 2)?;
    encode(NoteV3 { to: vec![to], text, priority: if urgent { Priority::Urgent } else { Priority::Normal } })
}

/// Out of order, beside a step of another kind: neither may matter.
const CHAIN: &[Step] = &[
    Step { kind: NOTE, from: 2, apply: v2_to_v3 },
    Step {
        kind: NOTE + 1,
        from: 1,
        apply: |_| Err(CodecError::Encode { reason: "another kind".to_owned() }),
    },
    Step { kind: NOTE, from: 1, apply: v1_to_v2 },
];

#[test]
fn a_payload_of_version_one_becomes_one_of_version_three() {
    let (version, bytes) = walk(CHAIN, NOTE, 1, b"\x04anna\x06h\xc3\xa9llo").unwrap();
    assert_eq!(version, 3);
    let expected =
        NoteV3 { to: vec!["anna".to_owned()], text: "héllo".to_owned(), priority: Priority::Normal };
    assert_eq!(decode::<NoteV3>(&bytes, 3), Ok(expected));
}

#[test]
fn a_payload_in_the_middle_of_the_chain_goes_on_from_there() {
    let (version, bytes) = walk(CHAIN, NOTE, 2, b"\x01b\x02hi\x01").unwrap();
    assert_eq!(version, 3);
    let expected = NoteV3 { to: vec!["b".to_owned()], text: "hi".to_owned(), priority: Priority::Urgent };
    assert_eq!(decode::<NoteV3>(&bytes, 3), Ok(expected));
}

#[test]
fn a_current_payload_is_left_alone() {
    assert_eq!(walk(CHAIN, NOTE, 3, b"anything"), Ok((3, b"anything".to_vec())));
    assert_eq!(walk(CHAIN, NOTE + 2, 1, b"anything"), Ok((1, b"anything".to_vec())));
}

#[test]
fn bytes_that_are_not_their_version_are_refused_by_its_step() {
    assert!(matches!(walk(CHAIN, NOTE, 1, b"\x04an"), Err(CodecError::Payload { version: 1, .. })));
    assert_eq!(walk(CHAIN, NOTE, 1, b"\x01a\x01b\x00"), Err(CodecError::Trailing { left: 1 }));
}

#[test]
fn the_real_chain_has_one_step_a_version_and_ends_at_the_current_one() {
    for step in STEPS {
        let same = STEPS.iter().filter(|other| (other.kind, other.from) == (step.kind, step.from)).count();
        assert_eq!(same, 1, "kind {} version {}", step.kind, step.from);
        let known = herm_schema::Event::KINDS.iter().find(|(_, kind, _)| *kind == step.kind);
        assert!(known.is_some_and(|(_, _, current)| step.from < *current), "kind {}", step.kind);
    }
    for (name, kind, current) in herm_schema::Event::KINDS {
        for from in 1..*current {
            assert!(STEPS.iter().any(|step| (step.kind, step.from) == (*kind, from)), "{name} v{from}");
        }
    }
}
