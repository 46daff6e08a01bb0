//! Damaged payloads cost no more memory than their size explains. A binary of its own, because it
//! counts every allocation of its process.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]
#![expect(unsafe_code, reason = "an allocator that counts cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use herm_schema::{Event, codec, testing};

/// Largest single request since the last reset, in bytes.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a list may be given room for before its elements are read, in bytes; serde's own caution.
const LIST_RESERVE_BYTES: usize = 1 << 20;

/// Length prefixes that lie: the limit itself, just above, far above.
const LIES: [&[u8]; 4] = [
    &[252, 0, 0, 0, 1],
    &[252, 1, 0, 0, 1],
    &[253, 0, 0, 0, 0, 0, 0, 0, 16],
    &[253, 255, 255, 255, 255, 255, 255, 255, 255],
];

#[test]
fn a_length_that_lies_is_not_believed() {
    let mut refused = 0;
    for (nth, (name, kind, version)) in Event::KINDS.iter().enumerate() {
        for event in testing::samples(nth) {
            let payload = codec::encode_event(&event).unwrap();
            for at in 0..payload.len() {
                for lie in LIES {
                    let mut damaged = payload[..at].to_vec();
                    damaged.extend_from_slice(lie);
                    damaged.extend_from_slice(&payload[at + 1..]);
                    LARGEST.store(0, Relaxed);
                    let result = codec::decode_event(*kind, *version, &damaged);
                    let largest = LARGEST.load(Relaxed);
                    refused += usize::from(result.is_err());
                    // A string of exactly the limit may be given its room before its bytes are found missing.
                    let bound = codec::PAYLOAD_BYTES_MAX.max(LIST_RESERVE_BYTES);
                    assert!(largest <= bound, "{name} at {at}: {largest} bytes for {} bytes", damaged.len());
                }
            }
        }
    }
    assert!(refused > 1_000, "only {refused} refused: the lies are not where lengths are");
}
