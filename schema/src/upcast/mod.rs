//! Old version to next version: a pure function and a file each.
//!
//! [`STEPS`] is the whole chain. A step reads the payload of one version of one kind and writes
//! the payload of the next; [`to_current`] walks it until the version that this build writes.
//! Nothing has been changed since the vocabulary was frozen, so the chain is empty.

use crate::CodecError;

/// One step: payload bytes of version `from` of `kind` to payload bytes of version `from + 1`.
pub struct Step {
    pub kind: u16,
    pub from: u16,
    pub apply: fn(&[u8]) -> Result<Vec<u8>, CodecError>,
}

/// Every step there is.
pub const STEPS: &[Step] = &[];

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
