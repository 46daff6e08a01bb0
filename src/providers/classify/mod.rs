//! PURE: what a server or the network did to a model call, as a class that decisions are made on.
//!
//! Structured codes come first, words second, the status last: a 429 may be a bill, a 404 a
//! setting, a 500 a prompt that is too long. What the class allows is not decided here but in
//! [`herm_replay::reducer::failure`]. Words are data: [`words`].

mod codes;
mod redact;
mod retry_after;
mod said;
mod transport;
mod words;

use std::time::Duration;

use herm_schema::Micros;
use herm_schema::events::{FailureClass, ModelFailure};
use serde_json::Value;

pub use redact::redact;
pub use retry_after::{from_headers, from_text};
use said::Said;
pub use transport::told;

/// Longest message of a failure, in characters.
const MESSAGE_CHARS_MAX: usize = 600;

/// Statuses of answers that a limit is the reason of.
const LIMITED: [u16; 4] = [429, 498, 503, 529];

/// Statuses that tell more than a code that only says that something is wrong.
const PLAIN: [u16; 9] = [401, 402, 403, 404, 408, 410, 429, 503, 529];

/// Which part of a call took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Connect,
    FirstContent,
    BetweenContent,
    Total,
}

/// What can go wrong below HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportFailure {
    TooLate {
        phase: Phase,
        limit: Duration,
    },
    Refused,
    /// The host has no address.
    NameNotFound {
        detail: String,
    },
    Certificate {
        detail: String,
    },
    Tls {
        detail: String,
    },
    /// The connection broke.
    Broken {
        detail: String,
    },
    TooLarge {
        limit_bytes: usize,
    },
    Cancelled,
    /// The request could not be built.
    Unsendable {
        detail: String,
    },
}

/// A failure below HTTP.
pub fn transport(failure: &TransportFailure) -> ModelFailure {
    use TransportFailure as T;
    let (class, message) = match failure {
        T::TooLate { phase, limit } => (FailureClass::Timeout, too_late(*phase, *limit)),
        T::Refused => (FailureClass::Timeout, "connection refused: nothing listens there".to_owned()),
        T::NameNotFound { detail } => (FailureClass::Timeout, format!("the host is not found: {detail}")),
        T::Certificate { detail } => {
            (FailureClass::SslCertVerification, format!("the server's certificate is not trusted: {detail}"))
        }
        T::Tls { detail } => (FailureClass::ServerError, format!("no secure connection: {detail}")),
        T::Broken { detail } => (FailureClass::ServerError, format!("the connection broke: {detail}")),
        T::TooLarge { limit_bytes } => {
            (FailureClass::FormatError, format!("the answer is larger than the limit of {limit_bytes} bytes"))
        }
        T::Cancelled => (FailureClass::Unknown, "cancelled".to_owned()),
        T::Unsendable { detail } => {
            (FailureClass::FormatError, format!("the request cannot be sent: {detail}"))
        }
    };
    ModelFailure { class, status: None, message: cut(&message, MESSAGE_CHARS_MAX), retry_after_us: None }
}

fn too_late(phase: Phase, limit: Duration) -> String {
    let what = match phase {
        Phase::Connect => "no connection",
        Phase::FirstContent => "no content",
        Phase::BetweenContent => "no more content",
        Phase::Total => "no whole answer",
    };
    format!("{what} within {} ms", limit.as_millis())
}

/// An answer with a status that is not success. `now` is the server's time where it tells it.
pub fn response(status: u16, headers: &[(String, String)], body: &str, now: Micros) -> ModelFailure {
    let json = serde_json::from_str::<Value>(body).ok();
    let mut said = json.as_ref().map_or_else(|| Said::of_text(body), Said::of_json);
    said.of_headers(headers);
    let wait = from_headers(headers, now)
        .or_else(|| retry_after::from_body(json.as_ref()?, now))
        .or_else(|| from_text(&said.message, now))
        .or_else(|| LIMITED.contains(&status).then(|| retry_after::from_resets(headers, now)).flatten());
    failure(Some(status), &said, wait)
}

/// A failure that was reported inside of an answer: in a stream, or with status 200.
pub fn reported(value: &Value) -> ModelFailure {
    let said = Said::of_json(value);
    // Relative times are what is used there; a moment would need a clock.
    let wait = retry_after::from_body(value, Micros(0)).or_else(|| from_text(&said.message, Micros(0)));
    failure(said.status, &said, wait.filter(|wait| *wait < retry_after::WAIT_MAX))
}

fn failure(status: Option<u16>, said: &Said, wait: Option<Duration>) -> ModelFailure {
    let message = match (status, said.message.is_empty()) {
        (Some(status), true) => format!("HTTP {status} without a message"),
        (Some(status), false) => format!("HTTP {status}: {}", said.message),
        (None, true) => "a failure without a message".to_owned(),
        (None, false) => said.message.clone(),
    };
    ModelFailure {
        class: class_of(status, said),
        status,
        message: cut(&message, MESSAGE_CHARS_MAX),
        retry_after_us: wait.map(|wait| u64::try_from(wait.as_micros()).unwrap_or(u64::MAX)),
    }
}

fn class_of(status: Option<u16>, said: &Said) -> FailureClass {
    let text = said.message.to_lowercase();
    let is_vague =
        |class: &FailureClass| matches!(class, FailureClass::ServerError | FailureClass::FormatError);
    let known = || said.codes.iter().filter_map(|code| codes::of_code(code));
    let by_code = known().find(|class| !is_vague(class)).or_else(|| known().next());
    // Too large for the limit of a minute: waiting never helps, a smaller request does.
    if words::is_too_large_for_a_minute(&text) {
        return FailureClass::PayloadTooLarge;
    }
    if status == Some(413) && by_code != Some(FailureClass::ContextOverflow) {
        return words::image_or(&text, FailureClass::PayloadTooLarge);
    }
    if matches!(status, Some(400 | 422)) && words::is_unknown_field(&text) {
        return FailureClass::FormatError;
    }
    let limited = status == Some(429) || by_code == Some(FailureClass::RateLimit);
    let class = match by_code {
        Some(FailureClass::RateLimit) | None if limited => words::of_limit(&text),
        // These codes say only that something is wrong, or are used for many things.
        Some(FailureClass::ServerError | FailureClass::FormatError | FailureClass::ModelNotFound) | None => {
            let plain =
                status.filter(|status| PLAIN.contains(status) && by_code.as_ref().is_none_or(is_vague));
            words::of_text(&text, status)
                .or_else(|| plain.map(|status| of_status(status, said)))
                .or(by_code)
                .or_else(|| status.map(|status| of_status(status, said)))
                .unwrap_or(FailureClass::Unknown)
        }
        Some(FailureClass::Billing) if words::is_transient(&text) => FailureClass::RateLimit,
        // A key may be refused for what it is to pay for or to reach, and be a good key.
        Some(FailureClass::Auth) => words::of_refusal(&text, status).unwrap_or(FailureClass::Auth),
        Some(class) => class,
    };
    let class = if class == FailureClass::Billing && said.resets { FailureClass::RateLimit } else { class };
    let upstream = said.upstream || words::is_upstream(&text);
    if class == FailureClass::RateLimit && upstream { FailureClass::UpstreamRateLimit } else { class }
}

fn of_status(status: u16, said: &Said) -> FailureClass {
    match status {
        // A page comes from what stands before the provider, which knows no keys.
        403 if said.is_page => FailureClass::ServerError,
        401 | 403 => FailureClass::Auth,
        402 => FailureClass::Billing,
        404 | 410 => FailureClass::ModelNotFound,
        408 | 504 | 522 | 524 => FailureClass::Timeout,
        429 => FailureClass::RateLimit,
        498 | 503 | 529 => FailureClass::Overloaded,
        500..=599 | 409 | 425 => FailureClass::ServerError,
        300..=499 => FailureClass::FormatError,
        _ => FailureClass::Unknown,
    }
}

/// At most `chars_max` characters of `text`, with a mark where it was cut.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vendors_tests;
