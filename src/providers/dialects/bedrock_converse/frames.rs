//! PURE: the frames of `application/vnd.amazon.eventstream`, over any chunk borders.
//!
//! A frame says how long it is before anything else; that is checked against a limit before memory
//! is spent on it. Both checksums are checked by Amazon's own crate.

use aws_smithy_eventstream::frame::read_message_from;

/// Largest frame in bytes; the vendor allows 16 MiB, and sends a few hundred bytes.
pub(super) const FRAME_BYTES_MAX: usize = 16 << 20;
/// Two lengths and their checksum, and the checksum of the whole.
const FRAME_BYTES_MIN: usize = 16;

/// What a frame bears.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Whether it is an `event`, an `exception` or an `error`.
    pub message_type: String,
    /// The name of the event, of the exception, or the code of the error.
    pub name: String,
    /// The message of an error; the others have theirs in the payload.
    pub message: String,
    pub payload: Vec<u8>,
}

/// Why a stream cannot be read on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    #[error(
        "a frame of the stream has {found} bytes, which is not between 16 and the limit of {limit} bytes"
    )]
    Length { found: usize, limit: usize },
    #[error("a frame of the stream is damaged: {reason}")]
    Damaged { reason: String },
}

/// Takes frames out of a stream.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
}

impl Frames {
    /// Takes the next bytes; the frames that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, FrameError> {
        self.bytes.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut rest = self.bytes.as_slice();
        while let Some((length, _)) = rest.split_first_chunk::<4>() {
            let found = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            if !(FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&found) {
                return Err(FrameError::Length { found, limit: FRAME_BYTES_MAX });
            }
            let Some((frame, after)) = rest.split_at_checked(found) else { break };
            frames.push(frame_of(frame)?);
            rest = after;
        }
        let taken = self.bytes.len() - rest.len();
        self.bytes.drain(..taken);
        Ok(frames)
    }
}

fn frame_of(bytes: &[u8]) -> Result<Frame, FrameError> {
    let message =
        read_message_from(bytes).map_err(|error| FrameError::Damaged { reason: error.to_string() })?;
    let header = |name: &str| {
        let header = message.headers().iter().find(|header| header.name().as_str() == name)?;
        header.value().as_string().ok().map(|text| text.as_str().to_owned())
    };
    let named = [":event-type", ":exception-type", ":error-code"];
    Ok(Frame {
        message_type: header(":message-type").unwrap_or_else(|| "event".to_owned()),
        name: named.iter().find_map(|name| header(name)).unwrap_or_default(),
        message: header(":error-message").unwrap_or_default(),
        payload: message.payload().to_vec(),
    })
}
