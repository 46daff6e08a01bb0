//! Google's tokens, for Vertex: fetched with the key of a service account or the refresh token of a
//! person, kept until a minute before their end.
//!
//! Sources: "Using OAuth 2.0 for server to server applications" (signed assertion, RFC 7523) and
//! "Using OAuth 2.0 for web server applications" (refresh) of Google Identity; the two JSON shapes
//! are those of `gcloud`: `service_account` and `authorized_user`. Whoever needs a token fetches it
//! under the lock, and the others wait for it; a fetch that is dropped lets the next one in.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use herm_schema::events::{FailureClass, ModelFailure};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

use super::Authorize;
use super::assertion::Signer;
use crate::config::Secret;
use crate::providers::http::client::{build, failure_of};
use crate::providers::http::now;
use crate::providers::{BoxFuture, Deadlines, classify};

/// Where a refresh token is exchanged, unless the file says otherwise.
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
/// How long before its end a token is not used any more.
const RENEW_BEFORE: Duration = Duration::from_secs(60);
/// How long a token is good for if the server does not say.
const LIFETIME_DEFAULT: Duration = Duration::from_secs(3_600);
/// How long a token is waited for.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer of a token server, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// How much of a description is passed on, in characters.
const DESCRIPTION_CHARS_MAX: usize = 300;
const QUOTA_PROJECT: HeaderName = HeaderName::from_static("x-goog-user-project");

/// Why a credentials file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GoogleError {
    /// What the parser says is not passed on: it quotes what it reads.
    #[error("the credentials are not the JSON of a service account or an authorized user (line {line})")]
    Unreadable { line: usize },
    #[error("the private key of `{account}` cannot be used: {reason}")]
    BadKey { account: String, reason: String },
}

/// What is in a credentials file.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum File {
    ServiceAccount {
        client_email: String,
        private_key: String,
        #[serde(default)]
        private_key_id: Option<String>,
        #[serde(default = "token_uri")]
        token_uri: String,
        #[serde(default)]
        project_id: Option<String>,
    },
    AuthorizedUser {
        client_id: String,
        client_secret: String,
        refresh_token: String,
        #[serde(default = "token_uri")]
        token_uri: String,
        #[serde(default)]
        quota_project_id: Option<String>,
    },
}

fn token_uri() -> String {
    TOKEN_URI.to_owned()
}

enum Account {
    Service(Box<Signer>),
    User { client_id: String, client_secret: Secret, refresh_token: Secret },
}

struct Token {
    text: Secret,
    /// From when on it is not used any more.
    until: SystemTime,
}

/// What a token server answers.
#[derive(Deserialize)]
struct Issued {
    access_token: String,
    #[serde(default)]
    expires_in: Option<u64>,
}

/// Authorises requests with a token of Google's.
pub struct Google {
    account: Account,
    /// What the file holds that must not be told.
    secrets: Vec<Secret>,
    fingerprint: String,
    token_uri: String,
    project: Option<String>,
    quota_project: Option<HeaderValue>,
    client: OnceLock<Result<reqwest::Client, crate::providers::Error>>,
    token: tokio::sync::Mutex<Option<Token>>,
    /// The newest token, for those who must not wait for the lock.
    newest: Mutex<Option<Secret>>,
}

impl Google {
    /// From the text of a credentials file.
    ///
    /// # Errors
    /// It is no such file, or its key is none. Nothing is connected yet.
    pub fn from_json(text: &str) -> Result<Self, GoogleError> {
        let file = serde_json::from_str(text)
            .map_err(|error: serde_json::Error| GoogleError::Unreadable { line: error.line() })?;
        let (account, secrets, token_uri, project, quota) = match file {
            File::ServiceAccount { client_email, private_key, private_key_id, token_uri, project_id } => {
                let key = Secret::new(private_key);
                let signer = Signer::new(client_email, private_key_id, &key)?;
                (Account::Service(Box::new(signer)), vec![key], token_uri, project_id, None)
            }
            File::AuthorizedUser { client_id, client_secret, refresh_token, token_uri, quota_project_id } => {
                let (client_secret, refresh_token) = (Secret::new(client_secret), Secret::new(refresh_token));
                let secrets = vec![refresh_token.clone(), client_secret.clone()];
                let quota = quota_project_id.clone();
                let account = Account::User { client_id, client_secret, refresh_token };
                (account, secrets, token_uri, quota_project_id, quota)
            }
        };
        Ok(Self {
            account,
            fingerprint: secrets.first().map(Secret::fingerprint).unwrap_or_default(),
            secrets,
            token_uri,
            project,
            quota_project: quota.and_then(|project| HeaderValue::from_str(&project).ok()),
            client: OnceLock::new(),
            token: tokio::sync::Mutex::new(None),
            newest: Mutex::new(None),
        })
    }

    /// The project that the file names.
    pub fn project(&self) -> Option<&str> {
        self.project.as_deref()
    }

    /// A token that is good for at least a minute.
    async fn token(&self) -> Result<Secret, ModelFailure> {
        let mut held = self.token.lock().await;
        if let Some(token) = held.as_ref().filter(|token| SystemTime::now() < token.until) {
            return Ok(token.text.clone());
        }
        let token = self.fetch().await?;
        let text = token.text.clone();
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
        *held = Some(token);
        Ok(text)
    }

    async fn fetch(&self) -> Result<Token, ModelFailure> {
        let deadlines = Deadlines { total: FETCH_TIMEOUT, ..Deadlines::default() };
        let built = self.client.get_or_init(|| build(&self.token_uri, deadlines.connect));
        let client = built.as_ref().map_err(|error| unusable(error.to_string()))?;
        let asked = SystemTime::now();
        let sent = client
            .post(&self.token_uri)
            .timeout(FETCH_TIMEOUT)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(self.form(asked)?)
            .send();
        let response = sent.await.map_err(|error| unfetched(failure_of(&error, &deadlines)))?;
        let status = response.status();
        let headers = texts(response.headers());
        let answer = body(response).await;
        if !status.is_success() {
            let text = String::from_utf8_lossy(&answer.unwrap_or_default()).into_owned();
            return Err(refused(status.as_u16(), &headers, &text));
        }
        let answer = answer.map_err(|error| unfetched(failure_of(&error, &deadlines)))?;
        let issued: Issued = serde_json::from_slice(&answer)
            .map_err(|_| unusable("the answer of the token server holds no token".to_owned()))?;
        let lifetime = issued.expires_in.map_or(LIFETIME_DEFAULT, Duration::from_secs);
        let until = asked.checked_add(lifetime.saturating_sub(RENEW_BEFORE)).unwrap_or(asked);
        Ok(Token { text: Secret::new(issued.access_token), until })
    }

    fn form(&self, now: SystemTime) -> Result<String, ModelFailure> {
        let fields = match &self.account {
            Account::Service(signer) => {
                let assertion = signer.assertion(&self.token_uri, now).map_err(unusable)?;
                vec![
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()),
                    ("assertion", assertion),
                ]
            }
            Account::User { client_id, client_secret, refresh_token } => vec![
                ("grant_type", "refresh_token".to_owned()),
                ("client_id", client_id.clone()),
                ("client_secret", client_secret.reveal().to_owned()),
                ("refresh_token", refresh_token.reveal().to_owned()),
            ],
        };
        let encoded = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
        Ok(encoded.collect::<Vec<_>>().join("&"))
    }
}

impl Authorize for Google {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async move {
            let token = self.token().await.map_err(|failure| self.untold(failure))?;
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()))
                .map_err(|_| unusable("the token holds characters that no header takes".to_owned()))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
            if let Some(project) = &self.quota_project {
                request.headers_mut().insert(QUOTA_PROJECT, project.clone());
            }
            Ok(())
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.secrets.iter().cloned().chain(newest).collect()
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.fingerprint.clone())
    }
}

impl Google {
    fn untold(&self, failure: ModelFailure) -> ModelFailure {
        let message = classify::redact(&failure.message, &self.secrets());
        ModelFailure { message, ..failure }
    }
}

/// The beginning of a body, which is all of it unless a server has gone wrong.
async fn body(mut response: reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend(chunk.iter().take(ANSWER_BYTES_MAX.saturating_sub(body.len())));
        if body.len() >= ANSWER_BYTES_MAX {
            break;
        }
    }
    Ok(body)
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    headers.iter().filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?))).collect()
}

/// What a token server's refusal means: a grant that is not valid will not become so by waiting.
fn refused(status: u16, headers: &[(String, String)], body: &str) -> ModelFailure {
    let failure = classify::response(status, headers, body, now());
    let said = body.to_ascii_lowercase();
    let final_words = ["invalid_grant", "invalid_client", "unauthorized_client", "account_disabled"];
    let class = match status {
        400..=403 if final_words.iter().any(|word| said.contains(word)) => FailureClass::AuthPermanent,
        400..=403 => FailureClass::Auth,
        _ => failure.class,
    };
    // `{"error":"invalid_grant","error_description":"…"}`: only the description says what to do.
    let described = serde_json::from_str::<serde_json::Value>(body).ok();
    let described = described.as_ref().and_then(|it| it.get("error_description")?.as_str());
    let message = match described {
        Some(text) => format!("{}: {}", failure.message, classify::cut(text, DESCRIPTION_CHARS_MAX)),
        None => failure.message.clone(),
    };
    unfetched(ModelFailure { class, message, ..failure })
}

fn unfetched(failure: ModelFailure) -> ModelFailure {
    let message = format!("no token from Google: {}", failure.message);
    ModelFailure { message, ..failure }
}

fn unusable(reason: String) -> ModelFailure {
    unfetched(ModelFailure { class: FailureClass::Auth, status: None, message: reason, retry_after_us: None })
}

/// `text` as a value of a form.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
