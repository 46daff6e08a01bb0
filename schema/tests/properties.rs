//! Encoding and decoding are each other's inverse, and damage is an error, never a panic.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

use herm_schema::codec::{self, CodecError, HEADER_BYTES, Placing};
use herm_schema::{Decoded, Event, testing};
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..400)
}

fn record(seed: &[u8]) -> (Vec<u8>, Placing) {
    let envelope = testing::recorded(seed).envelope;
    let place = Placing {
        position: envelope.position,
        stream: envelope.stream,
        stream_pos: envelope.stream_pos,
        recorded_at: envelope.recorded_at,
        key: envelope.key.filter(|key| key.0 != [0; 16]),
        batch_left: envelope.batch_left,
        epoch: envelope.epoch,
        chain: envelope.chain,
    };
    let mut out = Vec::new();
    codec::write_record(&testing::new_event(seed), &place, &mut out).unwrap();
    (out, place)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_event_of_every_type_decodes_to_itself(seed in bytes()) {
        for (nth, (name, kind, version)) in Event::KINDS.iter().enumerate() {
            let event = testing::event_of(nth, &seed);
            prop_assert_eq!(event.name(), *name);
            let payload = codec::encode_event(&event).unwrap();
            prop_assert_eq!(codec::decode_event(*kind, *version, &payload), Ok(Decoded::Event(event.clone())));
            let json = serde_json::to_string(&event).unwrap();
            prop_assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
        }
    }

    #[test]
    fn a_record_reads_back_as_it_was_written(seed in bytes(), behind in bytes()) {
        let (mut out, place) = record(&seed);
        let length = out.len();
        out.extend_from_slice(&behind);
        let raw = codec::read_record(&out).unwrap();
        let new = testing::new_event(&seed);
        prop_assert_eq!(raw.bytes, length);
        prop_assert_eq!(raw.envelope.position, place.position);
        prop_assert_eq!(raw.envelope.stream, place.stream);
        prop_assert_eq!(raw.envelope.recorded_at, place.recorded_at);
        prop_assert_eq!(raw.envelope.key, place.key);
        prop_assert_eq!(raw.envelope.cause, new.cause);
        prop_assert_eq!(raw.envelope.turn, new.turn);
        prop_assert!(raw.follows(place.chain));
        prop_assert_eq!(raw.decode(), Ok(Decoded::Event(new.event)));
    }

    #[test]
    fn a_changed_byte_is_noticed(seed in bytes(), at in any::<prop::sample::Index>(), flip in 1..=u8::MAX) {
        let (mut out, _) = record(&seed);
        let at = at.index(out.len());
        out[at] ^= flip;
        prop_assert!(codec::read_record(&out).is_err());
    }

    #[test]
    fn a_record_that_is_cut_says_how_much_is_missing(seed in bytes(), at in any::<prop::sample::Index>()) {
        let (out, _) = record(&seed);
        let cut = at.index(out.len());
        let expected = if cut < HEADER_BYTES { HEADER_BYTES } else { out.len() };
        prop_assert_eq!(codec::read_record(&out[..cut]), Err(CodecError::Short { expected, found: cut }));
    }

    #[test]
    fn arbitrary_bytes_are_an_error_and_not_a_panic(bytes in bytes()) {
        let _ = codec::read_record(&bytes);
        for (_, kind, version) in Event::KINDS {
            if let Ok(Decoded::Event(event)) = codec::decode_event(*kind, *version, &bytes) {
                // What decodes is a whole payload, so it says the same again.
                let again = codec::encode_event(&event).unwrap();
                prop_assert_eq!(codec::decode_event(*kind, *version, &again), Ok(Decoded::Event(event)));
            }
        }
    }

    #[test]
    fn a_payload_with_more_behind_it_is_refused(seed in bytes(), more in vec(any::<u8>(), 1..9)) {
        let event = testing::event(&seed);
        let mut payload = codec::encode_event(&event).unwrap();
        payload.extend_from_slice(&more);
        let refused = codec::decode_event(event.kind(), event.version(), &payload);
        prop_assert_eq!(refused, Err(CodecError::Trailing { left: more.len() }));
    }
}

#[test]
fn an_unknown_kind_is_a_newer_log_unless_it_may_be_passed_over() {
    assert_eq!(codec::decode_event(99, 1, b"x"), Err(CodecError::Newer { kind: 99, version: 1 }));
    assert_eq!(codec::decode_event(100, 9, b"x"), Err(CodecError::Newer { kind: 100, version: 9 }));
    let ignorable = herm_schema::event::IGNORABLE | 7;
    let decoded = codec::decode_event(ignorable, 3, b"x");
    assert_eq!(decoded, Ok(Decoded::Ignorable { kind: ignorable, version: 3 }));
}
