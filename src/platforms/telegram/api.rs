//! Calls of the Bot API: one request, one answer, and what it means if there is none.
//!
//! The token is part of every address, so no error leaves here with one: neither reqwest's, whose text
//! names the address, nor a server's that repeats it.

use std::time::Duration;

use reqwest::multipart::Form;
use reqwest::{RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::wire::{Parameters, Reply};
use crate::config::Secret;
use crate::platforms::link::{self, Broken, FILE_TIME_MAX, Unread};

/// How long a call may take, uploads and long polls excepted.
pub(super) const CALL_MAX: Duration = Duration::from_secs(30);
/// Longest answer to a call; a full poll of 100 long messages is well below.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// A server of the Bot API, and an account there.
pub(super) struct Api {
    client: reqwest::Client,
    /// Without a slash at the end.
    base: String,
    token: Secret,
}

/// Why a call did not do what it should.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// The server says no, and why.
    Refused { code: u16, description: String, retry_after: Option<Duration>, migrated_to: Option<i64> },
    /// No connection stood: it was certainly not done.
    Unreachable(String),
    /// It was asked and not answered: it may have been done.
    Unanswered(String),
}

impl Failed {
    /// The description of a refusal, in small letters; empty for anything else.
    pub fn said(&self) -> String {
        match self {
            Self::Refused { description, .. } => description.to_lowercase(),
            _ => String::new(),
        }
    }
}

/// Why a file was not fetched.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfetched {
    TooLarge,
    Failed(Failed),
}

impl Api {
    /// # Errors
    /// What is wrong with the address.
    pub fn new(base_url: &str, token: Secret) -> Result<Self, String> {
        let (client, _) = link::client(base_url)?;
        Ok(Self { client, base: base_url.trim_end_matches('/').to_owned(), token })
    }

    /// # Errors
    /// [`Failed`].
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        request: &impl Serialize,
        time_max: Duration,
    ) -> Result<T, Failed> {
        let body = serde_json::to_vec(request).map_err(|error| Failed::Unreachable(error.to_string()))?;
        let request = self.client.post(self.address("", method)).header("content-type", "application/json");
        self.ask(request.body(body).timeout(time_max)).await
    }

    /// A call with a file.
    ///
    /// # Errors
    /// [`Failed`].
    pub async fn upload<T: DeserializeOwned>(&self, method: &str, form: Form) -> Result<T, Failed> {
        self.ask(self.client.post(self.address("", method)).multipart(form).timeout(FILE_TIME_MAX)).await
    }

    /// The bytes of a file, of which `getFile` told the path.
    ///
    /// # Errors
    /// [`Unfetched`].
    pub async fn fetch(&self, path: &str, bytes_max: u64) -> Result<Vec<u8>, Unfetched> {
        let request = self.client.get(self.address("/file", path)).timeout(FILE_TIME_MAX);
        let response = request.send().await.map_err(|error| Unfetched::Failed(self.broken(error)))?;
        let code = response.status().as_u16();
        if code != 200 {
            let description = format!("the file server says {code}");
            let refused = Failed::Refused { code, description, retry_after: None, migrated_to: None };
            return Err(Unfetched::Failed(refused));
        }
        self.body(response, bytes_max).await
    }

    fn address(&self, prefix: &str, rest: &str) -> String {
        format!("{}{prefix}/bot{}/{rest}", self.base, self.token.reveal())
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failed> {
        let response = request.send().await.map_err(|error| self.broken(error))?;
        let code = response.status().as_u16();
        let bytes = match self.body(response, ANSWER_BYTES_MAX).await {
            Ok(bytes) => bytes,
            Err(Unfetched::Failed(failed)) => return Err(failed),
            Err(Unfetched::TooLarge) => return Err(Failed::Unanswered("the answer is too long".to_owned())),
        };
        let reply = serde_json::from_slice::<Reply<T>>(&bytes);
        match reply {
            Ok(Reply { ok: true, result: Some(result), .. }) => Ok(result),
            Ok(reply) if !reply.ok => {
                let Parameters { migrate_to_chat_id, retry_after } = reply.parameters.unwrap_or_default();
                let description = reply.description.unwrap_or_default();
                Err(Failed::Refused {
                    code: reply.error_code.unwrap_or(code),
                    description: self.clean(&description),
                    retry_after: retry_after.map(Duration::from_secs),
                    migrated_to: migrate_to_chat_id,
                })
            }
            // Something between here and there answered, or it was done and the answer is garbled.
            _ if code >= 400 => {
                let description = format!("an answer {code} that is not Telegram's");
                Err(Failed::Refused { code, description, retry_after: None, migrated_to: None })
            }
            _ => Err(Failed::Unanswered(format!("an answer {code} that cannot be read"))),
        }
    }

    async fn body(&self, response: Response, bytes_max: u64) -> Result<Vec<u8>, Unfetched> {
        link::body(response, bytes_max).await.map_err(|unread| match unread {
            Unread::TooLarge => Unfetched::TooLarge,
            Unread::Broken(broken) => Unfetched::Failed(self.failed(broken)),
        })
    }

    fn broken(&self, error: reqwest::Error) -> Failed {
        self.failed(link::broken(error))
    }

    fn failed(&self, broken: Broken) -> Failed {
        match broken {
            Broken::Unreachable(text) => Failed::Unreachable(self.clean(&text)),
            Broken::Unanswered(text) => Failed::Unanswered(self.clean(&text)),
        }
    }

    fn clean(&self, text: &str) -> String {
        text.replace(self.token.reveal(), &self.token.fingerprint())
    }
}
