//! The HTTP client of adapters: how it is built, and what it means when it fails.

use std::time::Duration;

use reqwest::{Client, Url};

use crate::providers::http::client_for;

/// How long a connection may take to stand.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A client for the platform at `base_url`.
///
/// # Errors
/// What is wrong with the address.
pub(super) fn client(base_url: &str) -> Result<Client, String> {
    let url = Url::parse(base_url).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("its scheme is `{}`", url.scheme()));
    }
    client_for(base_url, CONNECT_MAX).map_err(|error| error.to_string())
}

/// Why there is no answer; without the address, which may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// No connection stood: what was asked was certainly not done.
    Unreachable(String),
    /// It was asked and not answered: it may have been done.
    Unanswered(String),
}

/// What an error of the client means.
pub(super) fn broken(error: reqwest::Error) -> Broken {
    let not_asked = error.is_connect() || error.is_builder();
    let late = error.is_timeout();
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    // The deepest cause is the one that tells something, such as "connection refused".
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    if late {
        "timed out".clone_into(&mut text);
    }
    match not_asked {
        true => Broken::Unreachable(text),
        false => Broken::Unanswered(text),
    }
}
