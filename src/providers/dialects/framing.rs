//! PURE: whether an answer is streamed or whole, seen from its bytes, and its events or its body.
//!
//! Servers ignore what they were asked for, in both directions, so the first byte that is not white
//! space decides.

use herm_schema::events::{FailureClass, ModelFailure};
use serde_json::Value;

use crate::providers::classify;
use crate::providers::sse::{SseEvent, SseReader};

/// Largest answer that is not streamed, in bytes.
const BODY_BYTES_MAX: usize = 32 << 20;
/// How much of an answer that cannot be read is shown, in characters.
const EXCERPT_CHARS: usize = 200;

enum Form {
    /// Only white space so far.
    Unknown,
    Stream(SseReader),
    Whole(Vec<u8>),
}

/// What bytes brought.
pub(super) enum Fed {
    Events(Vec<SseEvent>),
    /// A part of a body; whether there was more than white space in it.
    Body {
        content: bool,
    },
}

/// What there is at the end of the bytes.
pub(super) enum End {
    Nothing,
    /// An event whose blank line is missing; it may be cut.
    Event(SseEvent),
    Body(Vec<u8>),
}

/// Sorts the bytes of one answer.
pub(super) struct Framing(Form);

impl Default for Framing {
    fn default() -> Self {
        Self(Form::Unknown)
    }
}

impl Framing {
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<Fed, ModelFailure> {
        if let Form::Unknown = self.0 {
            // White space in front goes wherever it is cut: in a first line it would be another name.
            bytes = bytes.trim_ascii_start();
            match bytes.first() {
                None => return Ok(Fed::Body { content: false }),
                Some(b'{' | b'[' | b'<') => self.0 = Form::Whole(Vec::new()),
                Some(_) => self.0 = Form::Stream(SseReader::default()),
            }
        }
        match &mut self.0 {
            Form::Unknown => Ok(Fed::Body { content: false }),
            Form::Whole(body) => {
                if body.len().saturating_add(bytes.len()) > BODY_BYTES_MAX {
                    let message = format!("the answer is larger than the limit of {BODY_BYTES_MAX} bytes");
                    return Err(failed(FailureClass::FormatError, message));
                }
                body.extend_from_slice(bytes);
                Ok(Fed::Body { content: bytes.iter().any(|byte| !byte.is_ascii_whitespace()) })
            }
            Form::Stream(stream) => stream
                .feed(bytes)
                .map(Fed::Events)
                .map_err(|error| failed(FailureClass::FormatError, error.to_string())),
        }
    }

    pub(super) fn finish(&mut self) -> End {
        match std::mem::replace(&mut self.0, Form::Unknown) {
            Form::Unknown => End::Nothing,
            Form::Whole(body) => End::Body(body),
            Form::Stream(mut stream) => match stream.finish() {
                Ok(Some(event)) => End::Event(event),
                _ => End::Nothing,
            },
        }
    }
}

/// The JSON of an event.
pub(super) fn json_of(data: &str) -> Result<Value, ModelFailure> {
    serde_json::from_str(data).map_err(|_| {
        let message = format!("the stream holds what is not JSON: `{}`", excerpt(data));
        failed(FailureClass::ServerError, message)
    })
}

/// The JSON of a whole body.
pub(super) fn json_of_body(body: &[u8]) -> Result<Value, ModelFailure> {
    serde_json::from_slice(body).map_err(|_| {
        let shown = excerpt(&String::from_utf8_lossy(body));
        failed(FailureClass::ServerError, format!("the answer is cut off or is not JSON: `{shown}`"))
    })
}

/// Whether `data` is whole JSON: what fails in a last event that is cut does not count.
pub(super) fn is_whole(data: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

/// Whether a server reports an error in `value`, an object with a field `error`.
pub(super) fn has_error(value: &Value) -> bool {
    value.get("error").is_some_and(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    })
}

/// The failure of a stream that ended before its answer did.
pub(super) fn cut_off(begun: bool) -> ModelFailure {
    let what = if begun { "before the answer did" } else { "without an answer" };
    failed(FailureClass::ServerError, format!("the stream ended {what}: no finish reason came"))
}

pub(super) fn failed(class: FailureClass, message: String) -> ModelFailure {
    ModelFailure { class, status: None, message, retry_after_us: None }
}

fn excerpt(text: &str) -> String {
    classify::cut(text.trim(), EXCERPT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<String> {
        let mut framing = Framing::default();
        let mut found = Vec::new();
        for chunk in chunks {
            if let Fed::Events(events) = framing.feed(chunk).unwrap() {
                found.extend(events.into_iter().map(|event| event.data));
            }
        }
        found
    }

    #[test]
    fn white_space_in_front_counts_nothing_wherever_it_is_cut() {
        for chunks in [
            &[&b"\t\n data: 1\n\ndata: 2\n\n"[..]][..],
            &[&b"\t\n "[..], b"data: 1\n\ndata: 2\n\n"],
            &[&b"\t"[..], b"\n dat", b"a: 1\n\ndata: 2\n\n"],
        ] {
            assert_eq!(events(chunks), ["1", "2"]);
        }
        for chunks in [&[&b" \n{\"a\":1}"[..]][..], &[&b" \n"[..], b"{\"a\"", b":1}"]] {
            let mut framing = Framing::default();
            for chunk in chunks {
                assert!(matches!(framing.feed(chunk), Ok(Fed::Body { .. })));
            }
            assert!(matches!(framing.finish(), End::Body(body) if body == b"{\"a\":1}"));
        }
    }
}
