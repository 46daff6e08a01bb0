//! A barrier between groups of records: "everything up to here was on the disk before I was written".
//!
//! A power cut may leave any part of what was not synced, so a broken record with sound ones
//! behind it can be an unfinished group as well as damage. A barrier behind it that claims it
//! settles the question. Sixteen bytes, little-endian:
//! `magic u16 | format u8 | zero u8 | crc32c u32 over the rest | durable position u64`.

use herm_schema::Position;

pub(crate) const BARRIER_BYTES: usize = 16;
pub(crate) const BARRIER_MAGIC: [u8; 2] = *b"Hb";
const BARRIER_FORMAT: u8 = 1;

pub(crate) fn write_barrier(durable: Position, out: &mut Vec<u8>) {
    let head = [BARRIER_MAGIC[0], BARRIER_MAGIC[1], BARRIER_FORMAT, 0];
    let number = durable.0.to_le_bytes();
    out.extend_from_slice(&head);
    out.extend_from_slice(&checksum(&head, &number).to_le_bytes());
    out.extend_from_slice(&number);
}

/// What the barrier at the start of `bytes` claims; `None` if there is no sound one.
pub(crate) fn read_barrier(bytes: &[u8]) -> Option<Position> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let (crc, rest) = rest.split_first_chunk::<4>()?;
    let (number, _) = rest.split_first_chunk::<8>()?;
    let sound = head.starts_with(&BARRIER_MAGIC)
        && head.get(2) == Some(&BARRIER_FORMAT)
        && checksum(head, number) == u32::from_le_bytes(*crc);
    sound.then(|| Position(u64::from_le_bytes(*number)))
}

fn checksum(head: &[u8], number: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(head), number)
}

/// The highest claim of a barrier in `bytes`.
pub(crate) fn highest_claim(bytes: &[u8]) -> Option<Position> {
    bytes
        .windows(BARRIER_BYTES)
        .filter(|window| window.starts_with(&BARRIER_MAGIC))
        .filter_map(read_barrier)
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_reads_back_and_any_flipped_bit_voids_it() {
        let mut bytes = Vec::new();
        write_barrier(Position(77), &mut bytes);
        assert_eq!(bytes.len(), BARRIER_BYTES);
        assert_eq!(read_barrier(&bytes), Some(Position(77)));
        for bit in 0..BARRIER_BYTES * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read_barrier(&bad), None, "bit {bit}");
        }
    }
}
