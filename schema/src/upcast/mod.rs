//! Old version to next version: a pure function and a file each.
//!
//! [`STEPS`] is the whole chain. A step reads the payload of one version of one kind and writes
//! the payload of the next; [`walk`] goes on until the version that this build writes.

mod approvals;
mod delivery_planned;
mod message_received;
mod model_call_started;
mod session_configured;
mod session_opened;
mod tool_call_finished;

use crate::CodecError;
use crate::codec::decode_exact;

/// One step: payload bytes of version `from` of `kind` to payload bytes of version `from + 1`.
pub struct Step {
    pub kind: u16,
    pub from: u16,
    pub apply: fn(&[u8]) -> Result<Vec<u8>, CodecError>,
}

/// Every step there is.
pub const STEPS: &[Step] = &[
    Step { kind: 100, from: 1, apply: session_opened::from_1 },
    Step { kind: 100, from: 2, apply: session_opened::from_2 },
    Step { kind: 101, from: 1, apply: session_configured::from_1 },
    Step { kind: 101, from: 2, apply: session_configured::from_2 },
    Step { kind: 101, from: 3, apply: session_configured::from_3 },
    Step { kind: 200, from: 1, apply: message_received::from_1 },
    Step { kind: 200, from: 2, apply: message_received::from_2 },
    // One more reason for an end; what was said before is said the same.
    Step { kind: 301, from: 1, apply: same },
    Step { kind: 400, from: 1, apply: model_call_started::from_1 },
    // More that can be done about a failure; what was said before is said the same.
    Step { kind: 402, from: 1, apply: same },
    Step { kind: 501, from: 1, apply: tool_call_finished::from_1 },
    // More reasons why a call did not run; what was said before is said the same.
    Step { kind: 502, from: 1, apply: same },
    Step { kind: 600, from: 1, apply: approvals::requested_from_1 },
    Step { kind: 601, from: 1, apply: approvals::decided_from_1 },
    Step { kind: 603, from: 1, apply: approvals::granted_from_1 },
    Step { kind: 800, from: 1, apply: delivery_planned::from_1 },
];

fn same(bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    Ok(bytes.to_vec())
}

/// Reads an old payload, and writes the next that `change` makes of it.
fn step<Old, New>(bytes: &[u8], change: impl FnOnce(Old) -> New) -> Result<Vec<u8>, CodecError>
where
    Old: serde::de::DeserializeOwned,
    New: serde::Serialize,
{
    let mut out = Vec::with_capacity(bytes.len() + 32);
    let error = |error: bincode::error::EncodeError| CodecError::Encode { reason: error.to_string() };
    crate::codec::encode_into(&change(decode_exact(bytes)?), &mut out).map_err(error)?;
    Ok(out)
}

/// Walks `steps` from `version` of `kind` as far as they go; the version reached, and its bytes.
///
/// # Errors
/// Those of a step, when the bytes are not what its version says.
pub fn walk(steps: &[Step], kind: u16, version: u16, bytes: &[u8]) -> Result<(u16, Vec<u8>), CodecError> {
    let (mut version, mut bytes) = (version, bytes.to_vec());
    while let Some(step) = steps.iter().find(|step| step.kind == kind && step.from == version) {
        bytes = (step.apply)(&bytes)?;
        version = version.saturating_add(1);
    }
    Ok((version, bytes))
}
