//! PURE: what libraries and systems say when there is no answer at all, as a class.

use herm_schema::events::{FailureClass, ModelFailure};
use serde_json::Value;

use super::{MESSAGE_CHARS_MAX, TransportFailure, cut, reported, transport, words};

/// Makes a failure of what was said.
type Meaning = fn(String) -> TransportFailure;

/// What is looked for, and what it means; in the order in which it is asked. Lower case.
const SIGNS: &[(&[&str], Meaning)] = &[
    (&["econnrefused", "connection refused", "actively refused"], |_| TransportFailure::Refused),
    (
        &[
            "enotfound",
            "eai_again",
            "getaddrinfo",
            "dns error",
            "name resolution",
            "no such host",
            "name or service not known",
        ],
        |detail| TransportFailure::NameNotFound { detail },
    ),
    (
        &[
            "certificate",
            "self-signed",
            "self signed",
            "unable_to_verify",
            "cert_has_expired",
            "unknownissuer",
            "unknown issuer",
        ],
        |detail| TransportFailure::Certificate { detail },
    ),
    (
        &[
            "econnreset",
            "econnaborted",
            "epipe",
            "socket hang up",
            "connection reset",
            "broken pipe",
            "connection closed",
            "connection broke",
            "unexpected eof",
            "peer closed",
            "incomplete",
            "server disconnected",
            "terminated",
            "goaway",
        ],
        |detail| TransportFailure::Broken { detail },
    ),
    (&["tls", "ssl"], |detail| TransportFailure::Tls { detail }),
];
/// These are as good as no answer, and no part of a call that could be named is known.
const LATE: &[&str] =
    &["etimedout", "esockettimedout", "timed out", "timeout", "time out", "deadline exceeded"];
/// No way to the host, which may come back.
const NO_WAY: &[&str] =
    &["ehostunreach", "enetunreach", "host unreachable", "no route to host", "network is unreachable"];

/// A failure without a status: the words of a library, or a report inside of an answer.
pub fn told(text: &str) -> ModelFailure {
    let text = text.trim();
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str::<Value>(text) {
        return reported(&value);
    }
    let lower = text.to_lowercase();
    let has = |signs: &&[&str]| signs.iter().any(|sign| lower.contains(sign));
    let failure = |class| ModelFailure {
        class,
        status: None,
        message: if text.is_empty() { "no reason is known".to_owned() } else { cut(text, MESSAGE_CHARS_MAX) },
        retry_after_us: None,
    };
    if has(&LATE) || has(&NO_WAY) {
        return failure(FailureClass::Timeout);
    }
    match SIGNS.iter().find(|(signs, _)| has(signs)) {
        Some((_, meaning)) => transport(&meaning(text.to_owned())),
        None => failure(words::of_text(&lower, None).unwrap_or(FailureClass::Unknown)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_network_says_is_told_apart() {
        use FailureClass as C;
        for (text, class) in [
            ("connect ECONNREFUSED 127.0.0.1:11434", C::Timeout),
            ("getaddrinfo ENOTFOUND api.example.com", C::Timeout),
            ("read ECONNRESET", C::ServerError),
            ("socket hang up", C::ServerError),
            ("Connection timed out after 30 s", C::Timeout),
            ("connect EHOSTUNREACH 10.0.0.1:443", C::Timeout),
            ("self-signed certificate in certificate chain", C::SslCertVerification),
            ("SSL: WRONG_VERSION_NUMBER", C::ServerError),
            (
                "peer closed connection without sending complete message body (incomplete chunked read)",
                C::ServerError,
            ),
            ("prompt is too long", C::ContextOverflow),
            ("{\"error\":{\"code\":429,\"message\":\"slow down\"}}", C::RateLimit),
            ("", C::Unknown),
            ("gibberish", C::Unknown),
        ] {
            assert_eq!(told(text).class, class, "{text}");
        }
    }
}
