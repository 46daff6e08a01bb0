//! The routes, as they are configured.

use std::net::{IpAddr, SocketAddr};

use herm_schema::events::ChatRef;
use serde::Deserialize;

use super::NAME;
use crate::config::Secret;
use crate::platforms::table::{Misconfigured, Row, Section};

const PORT: u16 = 8644;
/// Shortest secret, in characters.
const SECRET_CHARS_MIN: usize = 8;
/// Age of a signature that names its time, at most, in seconds.
const TOLERANCE_S: i64 = 300;

/// Who signs, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `X-Webhook-Signature: sha256=HEX` over the body, or over `TIMESTAMP.BODY` with `X-Webhook-Timestamp`.
    Hmac,
    Github,
    Gitlab,
    Stripe,
    Slack,
}

/// One route.
#[derive(Clone, Debug)]
pub struct Route {
    pub name: String,
    pub scheme: Scheme,
    pub secret: Secret,
    /// Empty for a usual one.
    pub prompt: String,
    /// Kinds of events that are wanted; empty for all.
    pub events: Vec<String>,
    /// Where the answer goes; `None` leaves it in the log.
    pub deliver: Option<ChatRef>,
    pub tolerance_s: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    scheme: Option<Scheme>,
    secret: String,
    #[serde(default)]
    prompt: String,
    #[serde(default)]
    events: Vec<String>,
    deliver: Option<String>,
    tolerance_seconds: Option<i64>,
}

/// How webhooks are served.
#[derive(Clone, Debug)]
pub struct Settings {
    pub address: SocketAddr,
    pub routes: Vec<Route>,
}

impl Settings {
    /// # Errors
    /// What does not fit.
    pub fn of(row: &Row, section: &Section) -> Result<Self, Misconfigured> {
        let wrong = |reason: String| Misconfigured {
            platform: NAME,
            reason,
            fix: "herm gateway setup webhook   # shows what a route looks like".to_owned(),
        };
        let written = section.needed(row, "routes")?;
        // What is wrong is not shown with its values: they hold secrets.
        let written: std::collections::BTreeMap<String, serde_json::Value> =
            serde_json::from_str(written.reveal())
                .map_err(|_| wrong("`platforms.webhook.routes` is no mapping".into()))?;
        let mut routes = Vec::new();
        for (name, written) in written {
            routes.push(
                route(&name, written)
                    .map_err(|why| wrong(format!("`platforms.webhook.routes.{name}`: {why}")))?,
            );
        }
        let host: IpAddr = match section.text("host").unwrap_or("127.0.0.1") {
            "localhost" => [127, 0, 0, 1].into(),
            host => host.parse().map_err(|_| wrong(format!("`{host}` is no IP address")))?,
        };
        let port = match section.text("port") {
            None => PORT,
            Some(port) => port.parse().map_err(|_| wrong(format!("`{port}` is no port")))?,
        };
        Ok(Self { address: SocketAddr::new(host, port), routes })
    }
}

fn route(name: &str, written: serde_json::Value) -> Result<Route, String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(letters) {
        return Err("the name of a route has letters, digits, `-` and `_` only".to_owned());
    }
    let written: Written = serde_json::from_value(written).map_err(|error| shape(&error))?;
    if written.secret.chars().count() < SECRET_CHARS_MIN {
        return Err(format!("its `secret` has fewer than {SECRET_CHARS_MIN} characters"));
    }
    let deliver = match written.deliver.as_deref() {
        None | Some("log") => None,
        Some(target) => match crate::gateway::errands::target(target) {
            Some(Ok(chat)) => Some(chat),
            _ => return Err("`deliver` is `PLATFORM:CHAT` or `log`".to_owned()),
        },
    };
    Ok(Route {
        name: name.to_owned(),
        scheme: written.scheme.unwrap_or(Scheme::Hmac),
        secret: Secret::new(written.secret),
        prompt: written.prompt,
        events: written.events,
        deliver,
        tolerance_s: written.tolerance_seconds.unwrap_or(TOLERANCE_S).max(1),
    })
}

/// What is wrong with the shape, without the values.
fn shape(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once("invalid type") {
        Some(_) => "a value is not of its kind; `secret` and `prompt` are texts, `events` a list".to_owned(),
        None => text,
    }
}
