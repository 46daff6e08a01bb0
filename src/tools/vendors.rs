//! Vendors whose services tools use: their keys and addresses, and one request to one of them.
//!
//! What a vendor is asked and how its answer is read is data of the tool that uses it; this sends it.
//! A vendor's address is herm's or the person's own, so the guard of the web tools has no say here.

use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::text;
use crate::config::Secret;
use crate::providers::http::deepest;

/// Largest answer, in bytes; a picture fits.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Characters of a vendor's own words in an error, at most.
const WORDS_CHARS_MAX: usize = 300;

/// Looks up a variable that may hold a key.
type Keys<'a> = Box<dyn Fn(&str) -> Option<Secret> + 'a>;

/// What this home knows of vendors.
pub struct Vendors<'a> {
    endpoints: &'a Value,
    keys: Keys<'a>,
}

impl<'a> Vendors<'a> {
    /// With the addresses that a person configured, and the keys at hand.
    pub fn new(endpoints: &'a Value, keys: impl Fn(&str) -> Option<Secret> + 'a) -> Self {
        Self { endpoints, keys: Box::new(keys) }
    }

    /// The first of these variables that is set.
    pub fn key(&self, variables: &[&str]) -> Option<Secret> {
        variables.iter().find_map(|name| (self.keys)(name))
    }

    /// The address of a vendor, without a slash at its end: the configured one, or its own.
    pub fn endpoint(&self, vendor: &str, own: &str) -> String {
        let configured = self.endpoints.get(vendor).and_then(Value::as_str);
        configured.unwrap_or(own).trim().trim_end_matches('/').to_owned()
    }
}

/// How a vendor takes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    Bearer,
    /// In a header of this name.
    Header(&'static str),
    /// In `Authorization`, after this word.
    Scheme(&'static str),
    Nothing,
}

/// A request to a vendor.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    pub url: String,
    /// Posted as JSON; `None` gets.
    pub body: Option<Value>,
    pub headers: Vec<(&'static str, String)>,
}

impl Wire {
    pub fn get(url: String) -> Self {
        Self { url, body: None, headers: Vec::new() }
    }

    pub fn post(url: String, body: Value) -> Self {
        Self { url, body: Some(body), headers: Vec::new() }
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

/// `?a=b&c=d`, encoded.
pub fn query(pairs: &[(&str, &str)]) -> String {
    let encoded = |text: &str| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
    };
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    format!("?{}", pairs.join("&"))
}

/// What a vendor answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl Answer {
    /// # Errors
    /// It is no JSON.
    pub fn json(&self) -> Result<Value, String> {
        serde_json::from_slice(&self.bytes).map_err(|error| format!("the answer is no JSON: {error}"))
    }
}

/// A client for vendors.
#[derive(Clone)]
pub struct Caller {
    client: reqwest::Client,
    time_max: Duration,
}

impl Caller {
    /// # Errors
    /// The client cannot be built.
    pub fn new(time_max: Duration) -> Result<Self, String> {
        // The first installation stays; a second one finds it and changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            // A redirected request would carry its key elsewhere.
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("herm/", env!("CARGO_PKG_VERSION")));
        let client = client.build().map_err(|error| format!("no HTTP client: {}", deepest(&error)))?;
        Ok(Self { client, time_max })
    }

    /// Asks a vendor.
    ///
    /// # Errors
    /// For the model: it could not be reached, refused, or was too slow. `None` if it was cancelled.
    pub async fn ask(
        &self,
        vendor: &str,
        wire: Wire,
        auth: (Auth, Option<&Secret>),
        cancel: &CancellationToken,
    ) -> Result<Answer, Option<String>> {
        let asked = timeout(self.time_max, self.exchange(wire, auth));
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(None),
            answered = asked => match answered {
                Ok(answer) => answer.map_err(|error| Some(format!("{vendor}: {error}"))),
                Err(_) => Err(Some(format!("{vendor} took longer than {} seconds", self.time_max.as_secs()))),
            },
        }
    }

    async fn exchange(&self, wire: Wire, (auth, key): (Auth, Option<&Secret>)) -> Result<Answer, String> {
        let unreachable = |error: reqwest::Error| format!("cannot be reached: {}", deepest(&error));
        let mut request = match &wire.body {
            Some(body) => self.client.post(&wire.url).json_body(body),
            None => self.client.get(&wire.url),
        };
        for (name, value) in &wire.headers {
            request = request.header(*name, value);
        }
        let header = key.and_then(|key| match auth {
            Auth::Bearer => Some(("authorization", format!("Bearer {}", key.reveal()))),
            Auth::Scheme(word) => Some(("authorization", format!("{word} {}", key.reveal()))),
            Auth::Header(name) => Some((name, key.reveal().to_owned())),
            Auth::Nothing => None,
        });
        if let Some((name, value)) = header {
            let mut value = reqwest::header::HeaderValue::from_str(&value)
                .map_err(|_| "the key holds characters that no header may".to_owned())?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if bytes.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(format!("answers more than {ANSWER_BYTES_MAX} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return Ok(Answer { content_type, bytes });
        }
        let words = String::from_utf8_lossy(&bytes).into_owned();
        let key = key.map(|key| key.reveal().to_owned()).unwrap_or_default();
        let words = if key.is_empty() { words } else { words.replace(&key, "[key]") };
        let advice = match status.as_u16() {
            401 | 403 => "; the key is not accepted",
            402 => "; the account is out of credit",
            429 => "; asked too often, wait before the next try",
            _ => "",
        };
        Err(format!("answers {status}{advice}: {}", text::shortened(words.trim(), WORDS_CHARS_MAX)))
    }
}

/// Posting JSON without the client's own feature for it.
trait JsonBody {
    fn json_body(self, body: &Value) -> Self;
}

impl JsonBody for reqwest::RequestBuilder {
    fn json_body(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }
}
