//! Calls of the HTTP API: one request, one answer, and what it means if there is none.
//!
//! Source: API v10, "API Reference" and "Rate Limits". Nothing is asked that Discord would refuse for now
//! anyway: refusals are counted, and too many lock the whole address out.

use std::sync::Mutex;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::multipart::Form;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::limits::{Limits, Route, Told};
use super::locked;
use super::wire::ApiError;
use crate::config::Secret;
use crate::platforms::link::{self, Broken, FILE_TIME_MAX, Unread};

/// In the form that Discord asks for; others may be locked out (API v10, "User Agent").
const USER_AGENT: &str =
    concat!("DiscordBot (https://github.com/herm-agent/herm, ", env!("CARGO_PKG_VERSION"), ")");
/// How long a call may take, uploads excepted.
const CALL_MAX: Duration = Duration::from_secs(30);
/// Longest answer to a call; a page of 100 messages is well below.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
/// How long a refusal lasts that does not say it.
const RATE_LIMIT_DEFAULT: Duration = Duration::from_secs(5);
/// How often something that can wait is asked again after "too many".
const PATIENT_TRIES: usize = 5;
/// The longest wait for that.
const PATIENT_WAIT_MAX: Duration = Duration::from_secs(60);

/// The API, and an account there.
pub(super) struct Api {
    client: reqwest::Client,
    base: Url,
    token: Secret,
    limits: Mutex<Limits>,
}

/// Why a call did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// Discord says no: the status of HTTP, its own code (0 for none) and words.
    Refused {
        status: u16,
        code: i64,
        message: String,
        retry_after: Option<Duration>,
    },
    Broken(Broken),
}

impl Api {
    /// # Errors
    /// What is wrong with the address.
    pub fn new(base_url: &str, token: Secret) -> Result<Self, String> {
        let (client, base) = link::client(base_url)?;
        Ok(Self { client, base, token, limits: Mutex::default() })
    }

    pub fn token(&self) -> &Secret {
        &self.token
    }

    pub async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, Failed> {
        let mut url = link::below(&self.base, segments);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        read(self.asked("GET", segments, self.request(Method::GET, url).timeout(CALL_MAX)).await?)
    }

    /// As [`Api::get`], for what can wait until it is let through.
    pub async fn get_patiently<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, Failed> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.get(segments, query).await {
                Err(Failed::Refused { status: 429, retry_after, .. }) if tries < PATIENT_TRIES => {
                    tokio::time::sleep(retry_after.unwrap_or(RATE_LIMIT_DEFAULT).min(PATIENT_WAIT_MAX)).await;
                }
                other => return other,
            }
        }
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Failed> {
        read(self.with("POST", Method::POST, segments, body).await?)
    }

    pub async fn patch<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Failed> {
        read(self.with("PATCH", Method::PATCH, segments, body).await?)
    }

    pub async fn put<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Failed> {
        read(self.with("PUT", Method::PUT, segments, body).await?)
    }

    /// A call whose answer says nothing.
    pub async fn tell(&self, method: Method, segments: &[&str]) -> Result<(), Failed> {
        let name = method.as_str().to_owned();
        let request = self.request(method, link::below(&self.base, segments)).header("content-length", "0");
        self.asked(&name, segments, request.timeout(CALL_MAX)).await.map(|_| ())
    }

    /// As [`Api::post`], when nothing is wanted of the answer.
    pub async fn post_quietly(&self, segments: &[&str], body: &impl Serialize) -> Result<(), Failed> {
        self.with("POST", Method::POST, segments, body).await.map(|_| ())
    }

    /// A call with files.
    pub async fn upload<T: DeserializeOwned>(&self, segments: &[&str], form: Form) -> Result<T, Failed> {
        let request = self.request(Method::POST, link::below(&self.base, segments)).multipart(form);
        read(self.asked("POST", segments, request.timeout(FILE_TIME_MAX)).await?)
    }

    /// A request for a file, which Discord keeps elsewhere and gives without the token.
    pub fn file(&self, url: &str) -> RequestBuilder {
        self.client.get(url)
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.client.request(method, url).header("user-agent", USER_AGENT);
        request.header("authorization", format!("Bot {}", self.token.reveal()))
    }

    async fn with(
        &self,
        name: &str,
        method: Method,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<Vec<u8>, Failed> {
        let unwritten = |error: serde_json::Error| Failed::Broken(Broken::Unreachable(error.to_string()));
        let body = serde_json::to_vec(body).map_err(unwritten)?;
        let request = self.request(method, link::below(&self.base, segments));
        let request = request.header("content-type", "application/json").body(body);
        self.asked(name, segments, request.timeout(CALL_MAX)).await
    }

    async fn asked(&self, name: &str, segments: &[&str], request: RequestBuilder) -> Result<Vec<u8>, Failed> {
        let route = Route::new(name, segments);
        let waiting = locked(&self.limits).wait(&route, Instant::now());
        if let Some(wait) = waiting {
            let message = "the rate limit that Discord told is reached".to_owned();
            return Err(Failed::Refused { status: 429, code: 0, message, retry_after: Some(wait) });
        }
        let response = request.send().await.map_err(|error| Failed::Broken(link::broken(error)))?;
        let status = response.status().as_u16();
        let told = told(response.headers());
        let patience = retry_after(&response);
        locked(&self.limits).told(&route, &told, Instant::now());
        let bytes = match link::body(response, ANSWER_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(Unread::Broken(broken)) => return Err(Failed::Broken(broken)),
            Err(Unread::TooLarge) => {
                return Err(Failed::Broken(Broken::Unanswered("the answer is too long".to_owned())));
            }
        };
        match status {
            200..300 => Ok(bytes),
            _ => Err(self.refused(&route, status, patience, &bytes)),
        }
    }

    fn refused(&self, route: &Route, status: u16, header: Option<Duration>, bytes: &[u8]) -> Failed {
        let error: ApiError = serde_json::from_slice(bytes).unwrap_or_default();
        let retry_after = error.retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let retry_after = retry_after.or(header);
        if status == 429 {
            let after = retry_after.unwrap_or(RATE_LIMIT_DEFAULT);
            locked(&self.limits).refused(route, after, error.global, Instant::now());
        }
        let message = match error.message.is_empty() {
            true => "an answer that is not Discord's".to_owned(),
            false => error.said().replace(self.token.reveal(), &self.token.fingerprint()),
        };
        Failed::Refused { status, code: error.code, message, retry_after }
    }
}

fn read<T: DeserializeOwned>(bytes: Vec<u8>) -> Result<T, Failed> {
    let unread = |_| Failed::Broken(Broken::Unanswered("an answer that cannot be read".to_owned()));
    serde_json::from_slice(&bytes).map_err(unread)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn told(headers: &HeaderMap) -> Told {
    let seconds = header(headers, "x-ratelimit-reset-after").and_then(|text| text.parse().ok());
    Told {
        bucket: header(headers, "x-ratelimit-bucket").map(str::to_owned),
        remaining: header(headers, "x-ratelimit-remaining").and_then(|text| text.parse().ok()),
        reset_after: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = header(response.headers(), "retry-after")?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
