//! Calls of the client-server API: one request, one answer, and what it means if there is none.
//!
//! The token goes in a header, never into an address; a server that repeats it is cleaned all the same.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wire::Problem;
use crate::config::Secret;
use crate::platforms::link::{self, Broken, FILE_TIME_MAX, Unread};

/// How long a call may take, files, joins and long polls excepted.
pub(super) const CALL_MAX: Duration = Duration::from_secs(30);
/// Longest answer to a call; the first sync of an account in many rooms is the longest.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// A homeserver, and an account there.
pub(super) struct Api {
    client: reqwest::Client,
    base: Url,
    token: Secret,
}

/// Why a call did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The server says no, and why; `errcode` is empty where the answer is not a homeserver's.
    Refused { code: u16, errcode: String, error: String, retry_after: Option<Duration> },
    /// No connection stood: it was certainly not done.
    Unreachable(String),
    /// It was asked and not answered: it may have been done.
    Unanswered(String),
    /// It was to be encrypted and could not be: it was not sent.
    Unsealed { why: String, may_pass: bool },
}

impl Failed {
    /// The server says that there is no such thing.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    pub fn has_code(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { errcode, .. } if errcode == wanted)
    }
}

/// Why a file was not fetched.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfetched {
    TooLarge,
    Failed(Failed),
}

/// A call: its method, the parts of its path below `/_matrix`, each as it is, and what belongs to it.
pub(super) struct Call<'a> {
    pub method: Method,
    pub path: &'a [&'a str],
    pub query: &'a [(&'a str, &'a str)],
    pub body: Option<Value>,
    pub time_max: Duration,
}

impl<'a> Call<'a> {
    pub fn get(path: &'a [&'a str]) -> Self {
        Self { method: Method::GET, path, query: &[], body: None, time_max: CALL_MAX }
    }

    pub fn put(path: &'a [&'a str], body: Value) -> Self {
        Self { method: Method::PUT, path, query: &[], body: Some(body), time_max: CALL_MAX }
    }
}

impl Api {
    /// # Errors
    /// What is wrong with the address.
    pub fn new(base_url: &str, token: Secret) -> Result<Self, String> {
        let (client, base) = link::client(base_url)?;
        Ok(Self { client, base, token })
    }

    /// # Errors
    /// [`Failed`].
    pub async fn call<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Failed> {
        read(&self.bytes(call).await?)
    }

    /// The answer to a call as it came.
    ///
    /// # Errors
    /// [`Failed`].
    pub async fn bytes(&self, call: Call<'_>) -> Result<Vec<u8>, Failed> {
        let mut request = self.request(call.method, call.path, call.query).timeout(call.time_max);
        if let Some(body) = call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        self.ask(request).await
    }

    /// Puts a file into the media store.
    ///
    /// # Errors
    /// [`Failed`].
    pub async fn upload<T: DeserializeOwned>(
        &self,
        name: &str,
        media_type: &str,
        bytes: &[u8],
    ) -> Result<T, Failed> {
        let request = self.request(Method::POST, &["media", "v3", "upload"], &[("filename", name)]);
        let request = request.header(CONTENT_TYPE, media_type).body(bytes.to_vec()).timeout(FILE_TIME_MAX);
        read(&self.ask(request).await?)
    }

    /// The bytes of a file of the media store. `server` and `media_id` are the parts of its `mxc:`
    /// address.
    ///
    /// # Errors
    /// [`Unfetched`].
    pub async fn fetch(
        &self,
        (server, media_id): (&str, &str),
        bytes_max: u64,
    ) -> Result<Vec<u8>, Unfetched> {
        let path = ["client", "v1", "media", "download", server, media_id];
        match self.fetch_from(&path, bytes_max).await {
            // Servers before 1.11 have it elsewhere, and say that they do not know this place.
            Err(Unfetched::Failed(failed)) if failed.has_code("M_UNRECOGNIZED") => {
                self.fetch_from(&["media", "v3", "download", server, media_id], bytes_max).await
            }
            other => other,
        }
    }

    async fn fetch_from(&self, path: &[&str], bytes_max: u64) -> Result<Vec<u8>, Unfetched> {
        let request = self.request(Method::GET, path, &[]).timeout(FILE_TIME_MAX);
        let response = request.send().await.map_err(|error| Unfetched::Failed(self.broken(error)))?;
        let code = response.status().as_u16();
        if code == 200 {
            return self.body(response, bytes_max).await;
        }
        let bytes = self.body(response, ANSWER_BYTES_MAX).await?;
        Err(Unfetched::Failed(self.refused(code, None, &bytes)))
    }

    fn request(&self, method: Method, path: &[&str], query: &[(&str, &str)]) -> RequestBuilder {
        // Each part is escaped, so that no name of a room leads to another call.
        let mut url = link::below(&link::below(&self.base, &["_matrix"]), path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.client.request(method, url).bearer_auth(self.token.reveal())
    }

    async fn ask(&self, request: RequestBuilder) -> Result<Vec<u8>, Failed> {
        let response = request.send().await.map_err(|error| self.broken(error))?;
        let code = response.status().as_u16();
        let header = response.headers().get(RETRY_AFTER).and_then(|seconds| seconds.to_str().ok());
        let told = header.and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        let bytes = match self.body(response, ANSWER_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(Unfetched::Failed(failed)) => return Err(failed),
            Err(Unfetched::TooLarge) => return Err(Failed::Unanswered("the answer is too long".to_owned())),
        };
        match code {
            200..300 => Ok(bytes),
            _ => Err(self.refused(code, told, &bytes)),
        }
    }

    fn refused(&self, code: u16, told: Option<Duration>, bytes: &[u8]) -> Failed {
        let problem: Problem = serde_json::from_slice(bytes).unwrap_or_default();
        let retry_after = problem.retry_after_ms.map(Duration::from_millis).or(told);
        let error = match problem.errcode.is_empty() {
            true => "an answer that is not a homeserver's".to_owned(),
            false => self.clean(&problem.error),
        };
        Failed::Refused { code, errcode: self.clean(&problem.errcode), error, retry_after }
    }

    async fn body(&self, response: Response, bytes_max: u64) -> Result<Vec<u8>, Unfetched> {
        link::body(response, bytes_max).await.map_err(|unread| match unread {
            Unread::TooLarge => Unfetched::TooLarge,
            Unread::Broken(broken) => Unfetched::Failed(self.failed(broken)),
        })
    }

    /// What an error of the client means.
    fn broken(&self, error: reqwest::Error) -> Failed {
        self.failed(link::broken(error))
    }

    fn failed(&self, broken: Broken) -> Failed {
        match broken {
            Broken::Unreachable(why) => Failed::Unreachable(self.clean(&why)),
            Broken::Unanswered(why) => Failed::Unanswered(self.clean(&why)),
        }
    }

    fn clean(&self, text: &str) -> String {
        text.replace(self.token.reveal(), &self.token.fingerprint())
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failed> {
    serde_json::from_slice(bytes).map_err(|_| Failed::Unanswered("an answer that cannot be read".to_owned()))
}
