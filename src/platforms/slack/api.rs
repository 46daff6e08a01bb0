//! Calls of the Web API: one request, one answer, and what it means if there is none.
//!
//! Source: docs.slack.dev, "Using the Slack Web API" and "Rate limits": every answer says `ok`, and if not, an
//! `error` in a word; too many requests are 429 with `Retry-After` in seconds.

use std::time::Duration;

use reqwest::{RequestBuilder, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::Verdict;
use crate::config::Secret;
use crate::platforms::link::{self, Broken, FILE_TIME_MAX, Unread};

/// How long a call may take, uploads excepted.
const CALL_MAX: Duration = Duration::from_secs(30);
/// Longest answer to a call.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// The Web API, and an account there.
pub(super) struct Api {
    client: reqwest::Client,
    base: Url,
    token: Secret,
}

/// Why a call did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// Slack says no: the status of HTTP, and its word (empty for none).
    Refused {
        status: u16,
        error: String,
        retry_after: Option<Duration>,
    },
    Broken(Broken),
}

impl Api {
    /// # Errors
    /// What is wrong with the address.
    pub fn new(base_url: &str, token: Secret) -> Result<Self, String> {
        let (client, base) = link::client(base_url)?;
        Ok(Self { client, base, token })
    }

    /// A call that reads, which takes no JSON.
    pub async fn get<T: DeserializeOwned>(&self, method: &str, query: &[(&str, &str)]) -> Result<T, Failed> {
        let mut url = link::below(&self.base, &[method]);
        url.query_pairs_mut().extend_pairs(query);
        self.ask(self.client.get(url).bearer_auth(self.token.reveal())).await
    }

    pub async fn post<T: DeserializeOwned>(&self, method: &str, body: &impl Serialize) -> Result<T, Failed> {
        self.post_as(&self.token, method, body).await
    }

    /// A call with another token than the bot's.
    pub async fn post_as<T: DeserializeOwned>(
        &self,
        token: &Secret,
        method: &str,
        body: &impl Serialize,
    ) -> Result<T, Failed> {
        let unwritten = |error: serde_json::Error| Failed::Broken(Broken::Unreachable(error.to_string()));
        let body = serde_json::to_vec(body).map_err(unwritten)?;
        let request = self.client.post(link::below(&self.base, &[method])).bearer_auth(token.reveal());
        self.ask(request.header("content-type", "application/json; charset=utf-8").body(body)).await
    }

    /// Puts a file to where Slack said; that place proves itself and gets no token.
    pub async fn put_file(&self, url: &str, bytes: Vec<u8>) -> Result<(), Failed> {
        let request = self.client.post(url).header("content-type", "application/octet-stream").body(bytes);
        let response = request.timeout(FILE_TIME_MAX).send().await;
        let response = response.map_err(|error| Failed::Broken(link::broken(error)))?;
        match response.status().as_u16() {
            200 => Ok(()),
            status => Err(Failed::Refused { status, error: String::new(), retry_after: None }),
        }
    }

    /// The address of a file; `None` if it does not lie with Slack, who alone gets the token.
    pub fn place_of_file(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok()?;
        let is_slack = url.scheme() == "https"
            && url.host_str().is_some_and(|host| host == "slack.com" || host.ends_with(".slack.com"));
        (is_slack || url.origin() == self.base.origin()).then_some(url)
    }

    pub fn file(&self, place: &Url) -> RequestBuilder {
        self.client.get(place.clone()).bearer_auth(self.token.reveal())
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failed> {
        let response = request.timeout(CALL_MAX).send().await;
        let response = response.map_err(|error| Failed::Broken(link::broken(error)))?;
        let status = response.status().as_u16();
        let seconds = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let retry_after = seconds.and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let bytes = match link::body(response, ANSWER_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(Unread::Broken(broken)) => return Err(Failed::Broken(broken)),
            Err(Unread::TooLarge) => {
                return Err(Failed::Broken(Broken::Unanswered("the answer is too long".to_owned())));
            }
        };
        let verdict = serde_json::from_slice::<Verdict>(&bytes);
        match verdict {
            Ok(Verdict { ok: true, .. }) if status == 200 => {
                let unread = "an answer that cannot be read".to_owned();
                serde_json::from_slice(&bytes).map_err(|_| Failed::Broken(Broken::Unanswered(unread)))
            }
            Ok(verdict) => {
                // A word, so that nothing of the request is repeated.
                let is_letter = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
                let error = verdict.error.unwrap_or_default().chars().filter(is_letter).take(80).collect();
                Err(Failed::Refused { status, error, retry_after })
            }
            Err(_) if status != 200 => Err(Failed::Refused { status, error: String::new(), retry_after }),
            Err(_) => {
                let message = "an answer that is not Slack's".to_owned();
                Err(Failed::Broken(Broken::Unanswered(message)))
            }
        }
    }
}
