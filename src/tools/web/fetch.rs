//! Fetching what a model or a page names: guarded at every hop, bounded in time and size.
//!
//! Nothing is kept between fetches but the connections: no cookies, no logins. Redirections are
//! followed here, not by the client, so that each target is judged as the first was.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode, Url};
use tokio::time::{Instant, timeout, timeout_at};

use super::guard::{Guard, Refused};
use crate::providers::http::deepest;

/// Redirections that are followed, at most.
const REDIRECTS_MAX: usize = 5;
/// Time for one fetch, from the first connection to the last byte.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Time without a byte after which a server is taken to say no more.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Time to connect.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// What is asked for first.
const ACCEPTED: &str = "text/html,application/xhtml+xml,text/markdown,text/plain;q=0.9,*/*;q=0.5";

/// Something that was fetched.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Where it was found in the end.
    pub url: Url,
    /// As the server says, in lower case.
    pub content_type: String,
    pub bytes: Vec<u8>,
    /// Whether there was more than is fetched.
    pub cut: bool,
}

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("`{from}` leads to `{to}`: {reason}")]
    RefusedOnTheWay { from: String, to: String, reason: Refused },
    #[error("`{url}` leads on and on; {REDIRECTS_MAX} redirections are followed")]
    TooManyRedirects { url: String },
    #[error("the server of `{url}` answers {status}")]
    Status { url: String, status: StatusCode },
    #[error("`{url}` took longer than {} seconds", .limit.as_secs())]
    TooLate { url: String, limit: Duration },
    #[error("`{url}` cannot be fetched: {reason}")]
    Broken { url: String, reason: String },
}

/// A client that goes only where the guard lets it.
#[derive(Clone)]
pub struct Fetcher {
    /// Built when something is fetched: certificates need not be read before, nor be installed at all where
    /// nothing ever is.
    client: Arc<OnceLock<Result<reqwest::Client, String>>>,
    guard: Guard,
    time_max: Duration,
}

impl Fetcher {
    pub fn new(guard: &Guard) -> Self {
        Self { client: Arc::default(), guard: guard.clone(), time_max: TIME_MAX }
    }

    fn client(&self) -> Result<&reqwest::Client, String> {
        self.client.get_or_init(|| self.built()).as_ref().map_err(Clone::clone)
    }

    fn built(&self) -> Result<reqwest::Client, String> {
        // The first installation stays; a second one finds it and changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .dns_resolver(Arc::new(self.guard.clone()))
            .redirect(Policy::none())
            .connect_timeout(CONNECT_MAX)
            .user_agent(concat!("Mozilla/5.0 (compatible; herm/", env!("CARGO_PKG_VERSION"), ")"));
        if !self.guard.allows_private() {
            // A proxy would look names up again, by itself.
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| format!("no HTTP client: {}", deepest(&error)))
    }

    #[cfg(test)]
    pub(super) fn with_time(self, time_max: Duration) -> Self {
        Self { time_max, ..self }
    }

    /// What is at an address, up to `bytes_max` bytes of it.
    ///
    /// # Errors
    /// Why there is nothing.
    pub async fn get(&self, address: &str, bytes_max: usize) -> Result<Fetched, Error> {
        let url = self.guard.read(address)?;
        let end = Instant::now() + self.time_max;
        let late = || Error::TooLate { url: url.to_string(), limit: self.time_max };
        timeout_at(end, self.follow(url.clone(), bytes_max)).await.map_err(|_| late())?
    }

    async fn follow(&self, first: Url, bytes_max: usize) -> Result<Fetched, Error> {
        let mut url = first.clone();
        let client = self.client().map_err(|reason| Error::Broken { url: first.to_string(), reason })?;
        for _ in 0..=REDIRECTS_MAX {
            let sent = client.get(url.clone()).header(ACCEPT, ACCEPTED).send().await;
            let response = sent.map_err(|error| broken(&first, &url, &error))?;
            let Some(next) = target(&response, &url) else {
                return read(response, url, bytes_max).await;
            };
            let refused =
                |reason| Error::RefusedOnTheWay { from: first.to_string(), to: next.to_string(), reason };
            self.guard.admits(&next).map_err(refused)?;
            url = next;
        }
        Err(Error::TooManyRedirects { url: first.to_string() })
    }
}

fn target(response: &Response, at: &Url) -> Option<Url> {
    let moved = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| moved)?;
    at.join(location.to_str().ok()?).ok()
}

async fn read(mut response: Response, url: Url, bytes_max: usize) -> Result<Fetched, Error> {
    let status = response.status();
    if !status.is_success() {
        return Err(Error::Status { url: url.to_string(), status });
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    let (mut bytes, mut cut) = (Vec::new(), false);
    while !cut {
        let silent = |_| Error::TooLate { url: url.to_string(), limit: SILENCE_MAX };
        let chunk = timeout(SILENCE_MAX, response.chunk()).await.map_err(silent)?;
        let Some(chunk) = chunk.map_err(|error| broken(&url, &url, &error))? else { break };
        let room = bytes_max.saturating_sub(bytes.len());
        cut = chunk.len() > room;
        bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
    }
    Ok(Fetched { url, content_type, bytes, cut })
}

/// What an error of the client means; a refusal by the guard is found at its bottom.
fn broken(first: &Url, at: &Url, error: &reqwest::Error) -> Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut reason = String::new();
    while let Some(error) = cause {
        if let Some(refused) = error.downcast_ref::<Refused>() {
            return match first == at {
                true => Error::Refused(refused.clone()),
                false => Error::RefusedOnTheWay {
                    from: first.to_string(),
                    to: at.to_string(),
                    reason: refused.clone(),
                },
            };
        }
        reason = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() {
        return Error::TooLate { url: at.to_string(), limit: CONNECT_MAX };
    }
    Error::Broken { url: at.to_string(), reason }
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
