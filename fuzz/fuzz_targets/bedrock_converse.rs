//! No bytes make the reader of this dialect panic, and where they are cut makes no difference: as
//! they are, and as payloads and headers of frames whose checksums hold.
#![no_main]

use herm::providers::dialects::bedrock_converse::BedrockConverse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let (cuts, bytes) = herm_fuzz::split(input);
    let dialect = BedrockConverse::default();
    herm_fuzz::check(&dialect, cuts, bytes);
    herm_fuzz::check(&dialect, cuts, &events(bytes));
    if let Some((length, bytes)) = bytes.split_first() {
        // Headers of any bytes, and a length of them that need not be true.
        let (headers, payload) = bytes.split_at(bytes.len().min(usize::from(*length)));
        herm_fuzz::check(&dialect, cuts, &frame(headers, payload, u32::from(*length)));
    }
});

/// A line `NAME JSON` is an event.
fn events(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let at = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
        let (name, payload) = line.split_at(at);
        let mut headers = Vec::new();
        header(":event-type", name, &mut headers);
        header(":message-type", b"event", &mut headers);
        let length = u32::try_from(headers.len()).unwrap_or(u32::MAX);
        out.extend(frame(&headers, payload, length));
    }
    out
}

fn header(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    out.extend(name.as_bytes());
    out.push(7);
    let value = &value[..value.len().min(1_000)];
    out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend(value);
}

fn frame(headers: &[u8], payload: &[u8], headers_length: u32) -> Vec<u8> {
    let total = 16 + headers.len() + payload.len();
    let mut out = u32::try_from(total).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    out.extend(headers_length.to_be_bytes());
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.extend(headers);
    out.extend(payload);
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out
}
