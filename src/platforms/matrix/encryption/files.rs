//! PURE but for the key, which is random: files as they lie on the homeserver in encrypted rooms.
//!
//! Source: "Matrix Specification", spec.matrix.org/v1.11/client-server-api, "Sending encrypted attachments".

use std::io::{Cursor, Read};

use matrix_sdk_crypto::{AttachmentDecryptor, AttachmentEncryptor, MediaEncryptionInfo};
use serde_json::{Map, Value};

/// The bytes to upload, and what whoever may read them must know: the `file` of a message, without its
/// `url`.
pub(in super::super) fn seal_file(bytes: &[u8]) -> Result<(Vec<u8>, Map<String, Value>), String> {
    let mut plain = Cursor::new(bytes);
    let mut sealer = AttachmentEncryptor::new(&mut plain);
    let mut sealed = Vec::with_capacity(bytes.len());
    sealer.read_to_end(&mut sealed).map_err(|error| error.to_string())?;
    match serde_json::to_value(sealer.finish()) {
        Ok(Value::Object(told)) => Ok((sealed, told)),
        _ => Err("its key cannot be written".to_owned()),
    }
}

/// The file that was sealed; `told` is the `file` of its message.
pub(in super::super) fn open_file(sealed: &[u8], told: &Value) -> Result<Vec<u8>, &'static str> {
    let info: MediaEncryptionInfo =
        serde_json::from_value(told.clone()).map_err(|_| "the key that came with it cannot be read")?;
    let mut sealed = Cursor::new(sealed);
    let mut opener = AttachmentDecryptor::new(&mut sealed, info)
        .map_err(|_| "the key that came with it cannot be read")?;
    let mut plain = Vec::new();
    // It compares the hash when everything was read.
    opener.read_to_end(&mut plain).map_err(|_| "it is not what its sender has sealed")?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_file_is_opened_and_a_changed_one_is_not() {
        let plain: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        let (mut sealed, told) = seal_file(&plain).unwrap();
        let told = Value::Object(told);
        assert_ne!(sealed, plain);
        assert_eq!(open_file(&sealed, &told).unwrap(), plain);
        sealed[5_000] ^= 1;
        assert_eq!(open_file(&sealed, &told), Err("it is not what its sender has sealed"));
        assert!(open_file(&sealed, &serde_json::json!({"url": "mxc://a/b"})).is_err());
    }
}
