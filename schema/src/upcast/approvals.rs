//! Version 1 of the approval events knew no target, no answerer, and no end of a lasting yes.

use serde::Deserialize;

use super::step;
use crate::events::{ApprovalDecided, ApprovalGranted, ApprovalRequested, DecidedBy, Decision};
use crate::{CallRef, CodecError, StreamPos};

#[derive(Deserialize)]
struct RequestedV1 {
    call: CallRef,
    tool: String,
    subject: String,
    reason: String,
    rule: String,
    pattern: String,
}

pub(super) fn requested_from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: RequestedV1| ApprovalRequested {
        call: old.call,
        tool: old.tool,
        subject: old.subject,
        reason: old.reason,
        rule: old.rule,
        pattern: old.pattern,
        target: None,
    })
}

#[derive(Deserialize)]
struct DecidedV1 {
    call: CallRef,
    request: StreamPos,
    decision: Decision,
    by: DecidedBy,
}

pub(super) fn decided_from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: DecidedV1| ApprovalDecided {
        call: old.call,
        request: old.request,
        decision: old.decision,
        by: old.by,
        answerer: None,
    })
}

#[derive(Deserialize)]
struct GrantedV1 {
    tool: String,
    pattern: String,
}

pub(super) fn granted_from_1(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    step(bytes, |old: GrantedV1| ApprovalGranted {
        tool: old.tool,
        pattern: old.pattern,
        target: None,
        until: None,
        uses_max: None,
        origin: None,
    })
}
