//! Version 1 of `DeliveryPlanned` knew texts only.

use serde::Deserialize;

use super::step;
use crate::CodecError;
use crate::events::{ChatRef, DeliveryKind, DeliveryPlanned, Part};

#[derive(Deserialize)]
struct V1 {
    target: ChatRef,
    kind: DeliveryKind,
    chunks: Vec<String>,
    keyed: bool,
}

pub(super) fn from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: V1| DeliveryPlanned {
        target: old.target,
        kind: old.kind,
        chunks: old.chunks.into_iter().map(Part::Text).collect(),
        keyed: old.keyed,
        reply_to: None,
        possible_repeat: false,
    })
}
