//! Version 1 of `MessageReceived` knew no attachments.

use serde::Deserialize;

use super::step;
use crate::CodecError;
use crate::events::{ChatRef, MessageReceived, Sender};

#[derive(Deserialize)]
struct V1 {
    message_id: String,
    chat: ChatRef,
    sender: Sender,
    text: String,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| MessageReceived {
        message_id: old.message_id,
        chat: old.chat,
        sender: old.sender,
        text: old.text,
        attachments: Vec::new(),
    })
}
