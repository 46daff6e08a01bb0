//! One exchange of a refresh token for new tokens. Source: RFC 6749, sections 5 and 6.

use std::time::Duration;

use herm_schema::events::{FailureClass, ModelFailure};
use reqwest::Url;
use serde_json::Value;

use super::Tokens;
use crate::config::Secret;
use crate::providers::classify::{cut, redact};
use crate::providers::http;

/// How long an exchange may take.
pub(super) const TIME_MAX: Duration = Duration::from_secs(30);
/// Largest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Longest reason that is kept, in characters.
const REASON_CHARS_MAX: usize = 200;
/// What a server says when the refresh token will never be taken again (RFC 6749, 5.2).
const FINAL: [&str; 5] =
    ["invalid_grant", "invalid_client", "unauthorized_client", "refresh_token_reused", "invalid_token"];

/// What came of an exchange.
pub(super) enum Exchange {
    Renewed {
        access: Secret,
        refresh: Secret,
        expires_at: Option<i64>,
    },
    /// Never again with this refresh token.
    Final {
        reason: String,
    },
    /// Another time perhaps.
    Failed {
        failure: ModelFailure,
    },
}

/// Asks the token server. `now` is in seconds since the epoch.
pub(super) async fn exchange(tokens: &Tokens, now: i64) -> Exchange {
    match tokio::time::timeout(TIME_MAX, ask(tokens)).await {
        Ok(Ok((status, body))) => read(tokens, status, &body, now),
        Ok(Err(reason)) => failed(FailureClass::Timeout, None, &reason),
        Err(_) => failed(FailureClass::Timeout, None, "the token server does not answer"),
    }
}

async fn ask(tokens: &Tokens) -> Result<(u16, Vec<u8>), String> {
    let url = Url::parse(&tokens.token_url).map_err(|error| error.to_string())?;
    if url.scheme() != "https" && !http::is_loopback(&url) {
        return Err("the token server's address is not https".to_owned());
    }
    let client = http::client_for(&tokens.token_url, TIME_MAX).map_err(|error| error.to_string())?;
    let mut form = url.clone();
    form.query_pairs_mut()
        .clear()
        .append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", tokens.refresh.reveal())
        .append_pair("client_id", &tokens.client_id);
    let request = client
        .post(url)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("accept", "application/json")
        .body(form.query().unwrap_or_default().to_owned());
    // The error's own text would name the address and nothing more.
    let unreachable = |error: reqwest::Error| {
        if error.is_connect() { "the token server cannot be reached" } else { "the exchange broke off" }
            .to_owned()
    };
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend(chunk.iter().take(ANSWER_BYTES_MAX.saturating_sub(body.len())));
    }
    Ok((status, body))
}

fn read(tokens: &Tokens, status: u16, body: &[u8], now: i64) -> Exchange {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let (200..=299, Some(access)) = (status, text("access_token")) {
        let seconds =
            value.get("expires_in").and_then(|it| it.as_i64().or_else(|| it.as_str()?.parse().ok()));
        return Exchange::Renewed {
            access: Secret::new(access),
            refresh: text("refresh_token").map_or_else(|| tokens.refresh.clone(), Secret::new),
            expires_at: seconds.map(|seconds| now.saturating_add(seconds)),
        };
    }
    let error = text("error").or_else(|| value.pointer("/error/code").and_then(Value::as_str));
    let described =
        text("error_description").or_else(|| value.pointer("/error/message").and_then(Value::as_str));
    let reason = [error, described].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let reason = if reason.is_empty() { format!("HTTP {status}") } else { reason };
    let reason = redact(&reason, &[tokens.refresh.clone(), tokens.access.clone()]);
    let reason = cut(&reason, REASON_CHARS_MAX);
    if error.is_some_and(|error| FINAL.contains(&error)) || (status == 401 && error.is_some()) {
        return Exchange::Final { reason };
    }
    let class = match status {
        429 => FailureClass::RateLimit,
        500..=599 => FailureClass::ServerError,
        _ => FailureClass::Auth,
    };
    failed(class, Some(status), &reason)
}

fn failed(class: FailureClass, status: Option<u16>, reason: &str) -> Exchange {
    let message = format!("the token cannot be renewed: {reason}");
    Exchange::Failed { failure: ModelFailure { class, status, message, retry_after_us: None } }
}
