//! Version 1 of `SessionOpened` knew one place where command lines run, version 2 no keys.

use serde::{Deserialize, Serialize};

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

#[derive(Serialize, Deserialize)]
struct V2 {
    profile: String,
    chat: ChatRef,
    cwd: String,
    environment: String,
    herm_version: String,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| V2 {
        profile: old.profile,
        chat: old.chat,
        cwd: old.cwd,
        environment: "local".to_owned(),
        herm_version: old.herm_version,
    })
}

pub(super) fn from_2(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V2| SessionOpened {
        profile: old.profile,
        chat: old.chat,
        key: String::new(),
        shared: false,
        cwd: old.cwd,
        environment: old.environment,
        herm_version: old.herm_version,
    })
}
