//! Version 1 of `ModelCallStarted` knew one model a session.

use serde::Deserialize;

use super::step;
use crate::events::{ModelCallStarted, ModelPurpose};
use crate::{CodecError, Digest};

#[derive(Deserialize)]
struct V1 {
    call: u32,
    attempt: u32,
    iteration: u32,
    purpose: ModelPurpose,
    request_digest: Digest,
    estimated_tokens: u64,
    provider: String,
    model: String,
    credential: Option<String>,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| ModelCallStarted {
        call: old.call,
        attempt: old.attempt,
        iteration: old.iteration,
        purpose: old.purpose,
        request_digest: old.request_digest,
        estimated_tokens: old.estimated_tokens,
        provider: old.provider,
        model: old.model,
        credential: old.credential,
        route: 0,
    })
}
