//! Version 1 of `ToolCallFinished` knew no images.

use serde::Deserialize;

use super::step;
use crate::events::{ToolCallFinished, ToolStatus};
use crate::{BlobRef, CallRef, CodecError, Text};

#[derive(Deserialize)]
struct V1 {
    call: CallRef,
    status: ToolStatus,
    shown: Text,
    full: Option<BlobRef>,
    recovered: bool,
    elapsed_us: u64,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| ToolCallFinished {
        call: old.call,
        status: old.status,
        shown: old.shown,
        images: Vec::new(),
        full: old.full,
        recovered: old.recovered,
        elapsed_us: old.elapsed_us,
    })
}
