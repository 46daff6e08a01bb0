//! Requests of the Events API, signed as Slack signs them.

use std::time::{SystemTime, UNIX_EPOCH};

use herm::platforms::Ingress;

use super::SIGNING_SECRET;

/// A request that Slack posts now.
pub fn request(content_type: &str, body: &[u8]) -> Ingress {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    signed(content_type, body, now)
}

/// A request that Slack posted then, in seconds since 1970.
pub fn signed(content_type: &str, body: &[u8], at: u64) -> Ingress {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SIGNING_SECRET.as_bytes());
    let mut text = format!("v0:{at}:").into_bytes();
    text.extend_from_slice(body);
    let signature: String =
        ring::hmac::sign(&key, &text).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let headers = [
        ("Content-Type", content_type.to_owned()),
        ("X-Slack-Request-Timestamp", at.to_string()),
        ("X-Slack-Signature", format!("v0={signature}")),
    ];
    Ingress {
        method: "POST".to_owned(),
        path: "/".to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
        body: body.to_vec(),
        ..Ingress::default()
    }
}
