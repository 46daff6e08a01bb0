//! The HTTP client: what it is built with, where it goes, and what its errors mean.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use herm_schema::events::ModelFailure;
use reqwest::Url;
use reqwest::redirect::Policy;

use crate::providers::classify::{self, Phase, TransportFailure};
use crate::providers::{Deadlines, Error};

/// How many connections to one endpoint are kept for the next call: as many as chats that are answered at
/// once, so that none of them waits for a handshake.
const IDLE_CONNECTIONS_MAX: usize = 64;

/// What people copy along behind a base URL.
const COPIED_PATHS: [&str; 3] = ["/chat/completions", "/messages", "/responses"];

/// The base URL as it is used: no slash at the end, with `default_path` where there was no path,
/// without the path of a request that was copied along.
pub(super) fn base_url(text: &str, default_path: &str) -> Result<String, Error> {
    let bad = |reason: String| Error::BadBaseUrl { url: without_login(text), reason };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("its scheme is `{}`", url.scheme())));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it has a query or a fragment".to_owned()));
    }
    let path = url.path().trim_end_matches('/');
    let path = COPIED_PATHS.iter().find_map(|copied| path.strip_suffix(copied)).unwrap_or(path);
    let path = if path.is_empty() { default_path.to_owned() } else { path.to_owned() };
    let mut url = url;
    url.set_path(&path);
    Ok(url.to_string().trim_end_matches('/').to_owned())
}

/// An address may hold a login, which is a secret.
fn without_login(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => text.to_owned(),
    }
}

/// A client for `base_url`, and for nothing else.
pub(crate) fn build(base_url: &str, connect: Duration) -> Result<reqwest::Client, Error> {
    let client = |error: &dyn std::error::Error| Error::Client { reason: deepest(error) };
    // The first installation stays; a second one finds it and changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = Url::parse(base_url).map_err(|error| client(&error))?;
    let mut builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        // A redirected request would lose its body or carry its key elsewhere.
        .redirect(Policy::none())
        .user_agent(concat!("herm/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // Without TLS no roots are needed, and reading the system's takes longer than all the rest.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(&url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| client(&error))
}

/// The deepest cause of an error: it is the one that tells something ("connection refused", that no certificates
/// are installed), while those above it name the address, which may hold a secret.
pub(crate) fn deepest(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), deepest)
}

pub(in crate::providers) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What an error of the client means.
pub(super) fn failure_of(error: &reqwest::Error, deadlines: &Deadlines) -> ModelFailure {
    classify::transport(&transport_failure(error, deadlines))
}

fn transport_failure(error: &reqwest::Error, deadlines: &Deadlines) -> TransportFailure {
    let mut detail = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(found) = told_by(error) {
            return found;
        }
        detail = error.to_string();
        if detail.contains("dns error") || detail.contains("failed to lookup address") {
            return TransportFailure::NameNotFound { detail };
        }
        cause = error.source();
    }
    if detail.is_empty() {
        // Its own text names the address, which may hold a login.
        detail = if error.is_timeout() { "timed out" } else { "no reason is known" }.to_owned();
    }
    if error.is_connect() && error.is_timeout() {
        return TransportFailure::TooLate { phase: Phase::Connect, limit: deadlines.connect };
    }
    if error.is_builder() {
        TransportFailure::Unsendable { detail }
    } else {
        TransportFailure::Broken { detail }
    }
}

/// What one error of a chain tells for certain.
fn told_by(error: &(dyn std::error::Error + 'static)) -> Option<TransportFailure> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        let detail = tls.to_string();
        return Some(match tls {
            rustls::Error::InvalidCertificate(_) => TransportFailure::Certificate { detail },
            _ => TransportFailure::Tls { detail },
        });
    }
    let io = error.downcast_ref::<io::Error>()?;
    if io.kind() == io::ErrorKind::ConnectionRefused {
        return Some(TransportFailure::Refused);
    }
    io.get_ref().and_then(|inner| told_by(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_be_written_in_several_ways() {
        for (text, expected) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
            ("https://host/v1beta/openai/", "https://host/v1beta/openai"),
            (" https://host/v1/chat/completions ", "https://host/v1"),
        ] {
            assert_eq!(base_url(text, "/v1").as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_its_login() {
        for text in ["", "127.0.0.1:8080", "ftp://a:secret@host/", "http://host/v1?key=1"] {
            let error = base_url(text, "/v1").unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
