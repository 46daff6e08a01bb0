//! No bytes make the reader panic or ask for memory without bound, and what it accepts it can write.
#![no_main]

use herm_schema::codec::{self, CodecError, HEADER_BYTES};
use herm_schema::{Decoded, Event, testing};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    damaged_record(bytes);
    damaged_payload(bytes);
    sound_record(bytes);
});

/// The bytes as they are, and with a checksum that holds, or nothing behind it would be reached.
fn damaged_record(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    for _ in 0..2 {
        match codec::read_record(&bytes) {
            Ok(record) => {
                let _ = record.follows(Default::default());
                let _ = record.decode();
            }
            Err(CodecError::Checksum { found, .. }) => bytes[8..12].copy_from_slice(&found.to_le_bytes()),
            Err(_) => break,
        }
    }
}

fn damaged_payload(bytes: &[u8]) {
    let [pick, payload @ ..] = bytes else { return };
    let (_, kind, version) = Event::KINDS[usize::from(*pick) % Event::KINDS.len()];
    if let Ok(Decoded::Event(event)) = codec::decode_event(kind, version, payload) {
        let again = codec::encode_event(&event).expect("what decodes, encodes");
        assert_eq!(codec::decode_event(kind, version, &again), Ok(Decoded::Event(event)));
    }
}

fn sound_record(bytes: &[u8]) {
    let recorded = testing::recorded(bytes);
    let payload = codec::encode_event(&recorded.event).expect("generated events encode");
    let mut out = Vec::new();
    codec::frame(&recorded.envelope, Default::default(), &payload, &mut out);
    let record = codec::read_record(&out).expect("a written record reads back");
    assert_eq!(record.bytes, HEADER_BYTES + payload.len());
    assert!(record.follows(Default::default()));
}
