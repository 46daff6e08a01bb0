//! Version 1 of `SessionOpened` knew one place where command lines run.

use serde::Deserialize;

use super::step;
use crate::CodecError;
use crate::events::{ChatRef, SessionOpened};

#[derive(Deserialize)]
struct V1 {
    profile: String,
    chat: ChatRef,
    cwd: String,
    herm_version: String,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| SessionOpened {
        profile: old.profile,
        chat: old.chat,
        cwd: old.cwd,
        environment: "local".to_owned(),
        herm_version: old.herm_version,
    })
}
