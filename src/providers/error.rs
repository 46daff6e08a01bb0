//! Why no provider can be set up.

/// Each says what to do about it as far as it is known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("unknown provider `{name}`{}; known are {known}", suggestion.as_ref().map(|it| format!(", did you mean `{it}`?")).unwrap_or_default())]
    UnknownProvider { name: String, suggestion: Option<String>, known: String },
    #[error("provider `{provider}` needs a key: set {}", variables.join(" or "))]
    KeyMissing { provider: String, variables: Vec<String> },
    #[error("provider `{provider}` needs a base URL, such as `http://127.0.0.1:8080/v1`")]
    BaseUrlMissing { provider: String },
    #[error("base URL `{url}` is no http or https address: {reason}")]
    BadBaseUrl { url: String, reason: String },
    #[error("no model is named, and `{base_url}` does not say which it has: {reason}")]
    ModelUnknown { base_url: String, reason: String },
    #[error("the HTTP client cannot be built: {reason}")]
    Client { reason: String },
}
