//! Version 1 of `MessageReceived` knew no attachments, version 2 no context.

use serde::{Deserialize, Serialize};

use super::step;
use crate::CodecError;
use crate::events::{Attachment, ChatRef, MessageReceived, Sender};

#[derive(Deserialize)]
struct V1 {
    message_id: String,
    chat: ChatRef,
    sender: Sender,
    text: String,
}

#[derive(Serialize, Deserialize)]
struct V2 {
    message_id: String,
    chat: ChatRef,
    sender: Sender,
    text: String,
    attachments: Vec<Attachment>,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| V2 {
        message_id: old.message_id,
        chat: old.chat,
        sender: old.sender,
        text: old.text,
        attachments: Vec::new(),
    })
}

pub(super) fn from_2(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V2| MessageReceived {
        message_id: old.message_id,
        chat: old.chat,
        sender: old.sender,
        text: old.text,
        attachments: old.attachments,
        context: None,
    })
}
