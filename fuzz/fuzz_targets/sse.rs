//! No bytes make the reader of server-sent events panic or pass its limits, and where they are cut
//! makes no difference.
#![no_main]

use herm::providers::sse::{SseError, SseEvent, SseReader};
use libfuzzer_sys::fuzz_target;

const LINE_BYTES_MAX: usize = 64;
const EVENT_BYTES_MAX: usize = 96;

fuzz_target!(|bytes: &[u8]| {
    let whole = read(std::iter::once(bytes));
    assert_eq!(whole.is_err(), read(bytes.chunks(1)).is_err());
    if let Ok(events) = whole {
        assert!(events.iter().all(|event| event.data.len() <= EVENT_BYTES_MAX * 3));
        assert_eq!(Ok(&events), read(bytes.chunks(1)).as_ref());
        assert_eq!(Ok(&events), read(bytes.chunks(3)).as_ref());
    }
});

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<SseEvent>, SseError> {
    let mut reader = SseReader::with_limits(LINE_BYTES_MAX, EVENT_BYTES_MAX);
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(reader.feed(piece)?);
    }
    events.extend(reader.finish()?);
    Ok(events)
}
