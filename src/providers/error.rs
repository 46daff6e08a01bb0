//! Why no provider can be set up.

/// Each says what to do about it as far as it is known here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("unknown provider `{name}`{}; known are {known}", suggestion.as_ref().map(|it| format!(", did you mean `{it}`?")).unwrap_or_default())]
    UnknownProvider { name: String, suggestion: Option<String>, known: String },
    #[error("provider `{provider}` needs a key: set {}, or run `herm auth add {provider}`", variables.join(" or "))]
    KeyMissing { provider: String, variables: Vec<String> },
    #[error("provider `{provider}` needs a token: run `herm auth add {provider}`")]
    TokenMissing { provider: String },
    #[error("provider `{provider}` cannot be called: {reason}")]
    Unavailable { provider: String, reason: String },
    #[error("provider `{provider}` needs a base URL, such as `http://127.0.0.1:8080/v1`")]
    BaseUrlMissing { provider: String },
    #[error("the address of provider `{provider}` needs a {placeholder}: set {}", variables.join(" or "))]
    PlaceholderUnset { provider: String, placeholder: String, variables: Vec<String> },
    #[error("base URL `{url}` is no http or https address: {reason}")]
    BadBaseUrl { url: String, reason: String },
    #[error("no model is named, and `{base_url}` does not say which it has: {reason}")]
    ModelUnknown { base_url: String, reason: String },
    #[error("no model of provider `{provider}` is named, and it has no usual one")]
    ModelMissing { provider: String },
    #[error("`{name}` is no wire format that herm speaks; known are {known}")]
    UnknownDialect { name: String, known: String },
    #[error("`{name}` is no way of authentication that herm knows; known are {known}")]
    UnknownScheme { name: String, known: String },
    #[error("the quirks for `{dialect}` do not fit: {reason}")]
    BadQuirks { dialect: String, reason: String },
    #[error("a vendor in {place} does not fit: {reason}")]
    BadVendor { place: String, reason: String },
    #[error("an entry of `fallback_providers` does not fit: {reason}")]
    BadFallback { reason: String },
    #[error("the stored credentials cannot be used: {reason}")]
    Credentials { reason: String },
    #[error("the HTTP client cannot be built: {reason}")]
    Client { reason: String },
}
