//! PURE: who sent a request, which event it is, and by which name it comes again.
//!
//! Sources: GitHub "Validating webhook deliveries", GitLab "Webhooks", Stripe "Verify webhook signatures
//! manually" (scheme v1), Slack "Verifying requests from Slack" (v0); read 2026-11.

use ring::hmac;
use serde_json::Value;

use super::settings::{Route, Scheme};
use crate::platforms::ingress::is_same_secret;

type Headers<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Whether the holder of the route's secret sent this, and just now where the scheme can tell.
///
/// # Errors
/// Why it does not hold, without anything of the secret.
pub fn check(route: &Route, headers: Headers<'_>, body: &[u8], now_s: i64) -> Result<(), &'static str> {
    let header = |name: &str| headers(name).ok_or("the signature is missing");
    match route.scheme {
        Scheme::Github => {
            let sent = header("x-hub-signature-256")?;
            signed(route, &[body], sent.strip_prefix("sha256=").ok_or("the signature is not of this scheme")?)
        }
        Scheme::Gitlab => {
            let same = is_same_secret(&header("x-gitlab-token")?, route.secret.reveal());
            if same { Ok(()) } else { Err("the token is wrong") }
        }
        Scheme::Stripe => {
            let sent = header("stripe-signature")?;
            let parts: Vec<(&str, &str)> =
                sent.split(',').filter_map(|part| part.trim().split_once('=')).collect();
            let time = parts.iter().find(|(name, _)| *name == "t");
            let (_, time) = time.ok_or("the time is missing")?;
            fresh(route, time, now_s)?;
            // While a secret is rolled there are several.
            let mut signatures = parts.iter().filter(|(name, _)| *name == "v1");
            let holds = |(_, hex): &(&str, &str)| signed(route, &[time.as_bytes(), b".", body], hex).is_ok();
            if signatures.any(holds) { Ok(()) } else { Err("the signature is wrong") }
        }
        Scheme::Slack => {
            let time = header("x-slack-request-timestamp")?;
            fresh(route, &time, now_s)?;
            let sent = header("x-slack-signature")?;
            let hex = sent.strip_prefix("v0=").ok_or("the signature is not of this scheme")?;
            signed(route, &[b"v0:", time.as_bytes(), b":", body], hex)
        }
        Scheme::Hmac => {
            let sent = header("x-webhook-signature")?;
            let hex = sent.strip_prefix("sha256=").unwrap_or(&sent);
            match headers("x-webhook-timestamp") {
                Some(time) => {
                    fresh(route, &time, now_s)?;
                    signed(route, &[time.as_bytes(), b".", body], hex)
                }
                None => signed(route, &[body], hex),
            }
        }
    }
}

fn fresh(route: &Route, time: &str, now_s: i64) -> Result<(), &'static str> {
    let time: i64 = time.trim().parse().map_err(|_| "the time is not understood")?;
    match now_s.saturating_sub(time).saturating_abs() <= route.tolerance_s {
        true => Ok(()),
        false => Err("the time is too far from now: it may be a replay"),
    }
}

fn signed(route: &Route, parts: &[&[u8]], hex: &str) -> Result<(), &'static str> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, route.secret.reveal().as_bytes());
    let sent = bytes_of(hex).ok_or("the signature is no hexadecimal text")?;
    hmac::verify(&key, &parts.concat(), &sent).map_err(|_| "the signature is wrong")
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.trim().chars().map(|c| c.to_digit(16)).collect();
    let pairs = digits?;
    if pairs.len() % 2 == 1 {
        return None;
    }
    pairs
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}

/// Which kind of event it is, as the service calls it; empty where it says nothing.
pub fn event(route: &Route, headers: Headers<'_>, payload: &Value) -> String {
    let field = |path: &[&str]| {
        let found = path.iter().try_fold(payload, |value, name| value.get(name));
        found.and_then(Value::as_str).map(str::to_owned)
    };
    let found = match route.scheme {
        Scheme::Github => headers("x-github-event"),
        Scheme::Gitlab => headers("x-gitlab-event"),
        Scheme::Stripe => field(&["type"]),
        Scheme::Slack => field(&["event", "type"]).or_else(|| field(&["type"])),
        Scheme::Hmac => headers("x-webhook-event").or_else(|| field(&["event"])).or_else(|| field(&["type"])),
    };
    found.unwrap_or_default()
}

/// The name of the event, by which it is recognised when it comes again. Where the service gives none, the
/// same bytes are the same event.
pub fn id(route: &Route, headers: Headers<'_>, payload: &Value, body: &[u8]) -> String {
    let field = |name: &str| payload.get(name).and_then(Value::as_str).map(str::to_owned);
    let found = match route.scheme {
        Scheme::Github => headers("x-github-delivery"),
        Scheme::Gitlab => headers("x-gitlab-event-uuid"),
        Scheme::Stripe => field("id"),
        Scheme::Slack => field("event_id"),
        Scheme::Hmac => headers("x-webhook-id").or_else(|| headers("x-request-id")),
    };
    let sound = |id: &String| !id.is_empty() && id.len() <= 128 && !id.chars().any(char::is_control);
    found.filter(sound).unwrap_or_else(|| {
        let time = headers("x-webhook-timestamp").unwrap_or_default();
        let digest = blake3::hash(&[time.as_bytes(), b".", body].concat()).to_hex();
        digest.as_str().chars().take(32).collect()
    })
}
