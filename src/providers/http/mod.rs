//! The transport that every dialect over HTTP shares: one request, one answer, deadlines, bounds.
//!
//! Time is measured on content, not on bytes: a server that only keeps the line open is as silent
//! as one that says nothing. Nothing is retried here, but for one case: where a key is refused that its
//! source has another one for by now, the request goes out once more with that. A key is put into a
//! header that cannot be printed and is taken out of every text that leaves.

pub mod auth;
mod client;
mod deadline;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use herm_schema::Micros;
use herm_schema::events::{ModelFailure, Timings};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use self::auth::Authorize;
pub(super) use self::client::is_loopback;
use self::client::{base_url, build, failure_of};
pub(crate) use self::client::{build as client_for, deepest};
use self::deadline::Watch;
use super::classify::{self, TransportFailure, redact};
use super::dialects::{AnswerReader, Dialect, ListedModel};
use super::{Answer, BoxFuture, CallContext, Deadlines, Delta, Error, LoadedRequest, Provider};

/// Largest answer, in bytes as they come over the wire.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Most that is read behind the end of an answer, in bytes, and how long that may take.
const REST_BYTES_MAX: usize = 16 << 10;
const REST_TIME_MAX: Duration = Duration::from_secs(2);
/// Most that is read of the body of a failure, in bytes.
const FAILURE_BYTES_MAX: usize = 64 << 10;

/// One endpoint, one credential, one wire format.
pub struct HttpProvider {
    base_url: String,
    auth: Arc<dyn Authorize>,
    dialect: Arc<dyn Dialect>,
    client: OnceLock<Result<reqwest::Client, Error>>,
}

impl HttpProvider {
    /// `base_url` with or without a slash at the end; where it has no path, the dialect's is meant.
    ///
    /// # Errors
    /// `BadBaseUrl`. Nothing is connected or loaded yet.
    pub fn new(
        base_url_text: &str,
        auth: Arc<dyn Authorize>,
        dialect: Arc<dyn Dialect>,
    ) -> Result<Self, Error> {
        let base_url = base_url(base_url_text, dialect.base_path())?;
        Ok(Self { base_url, auth, dialect, client: OnceLock::new() })
    }

    /// As [`HttpProvider::new`], for an address that means what it says: without a path it has none.
    ///
    /// # Errors
    /// As [`HttpProvider::new`].
    pub fn exactly(
        base_url_text: &str,
        auth: Arc<dyn Authorize>,
        dialect: Arc<dyn Dialect>,
    ) -> Result<Self, Error> {
        let base_url = base_url(base_url_text, "")?;
        Ok(Self { base_url, auth, dialect, client: OnceLock::new() })
    }

    /// As requests use it: no slash at the end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The client is built at the first use: certificates need not be read before, nor ever for an
    /// address without TLS. The first call's time to connect stays the client's.
    fn client(&self, deadlines: &Deadlines) -> Result<&reqwest::Client, ModelFailure> {
        let built = self.client.get_or_init(|| build(&self.base_url, deadlines.connect));
        built.as_ref().map_err(|error| unsendable(error.to_string()))
    }

    /// The request, authorised, and sent.
    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        deadlines: &Deadlines,
        watch: &Watch,
    ) -> Result<reqwest::Response, ModelFailure> {
        let mut request = request.build().map_err(|error| failure_of(&error, deadlines))?;
        watch.until(self.auth.authorize(&mut request)).await??;
        let sending = self.client(deadlines)?.execute(request);
        watch.until(sending).await?.map_err(|error| failure_of(&error, deadlines))
    }

    fn encoded(
        &self,
        request: &LoadedRequest,
        deadlines: &Deadlines,
    ) -> Result<reqwest::RequestBuilder, ModelFailure> {
        let wire = self.dialect.encode(request);
        let posted = self.client(deadlines)?.post(format!("{}/{}", self.base_url, wire.path));
        let posted = posted.headers(headers(&wire.headers)?);
        Ok(posted.header("content-type", "application/json").body(wire.body))
    }

    /// The request as it would be sent.
    #[cfg(test)]
    pub(in crate::providers) async fn signed(&self, request: &LoadedRequest) -> reqwest::Request {
        let mut request = self.encoded(request, &Deadlines::default()).unwrap().build().unwrap();
        self.auth.authorize(&mut request).await.unwrap();
        request
    }

    async fn run(&self, request: &LoadedRequest, context: &CallContext) -> Result<Answer, ModelFailure> {
        let started = Instant::now();
        let mut watch = Watch::new(started, context.deadlines);
        let encoded = self.encoded(request, &context.deadlines)?;
        let mut response = self.send(encoded, &context.deadlines, &watch).await?;
        if response.status() == StatusCode::UNAUTHORIZED && watch.until(self.auth.renew()).await? {
            let encoded = self.encoded(request, &context.deadlines)?;
            response = self.send(encoded, &context.deadlines, &watch).await?;
        }
        if !response.status().is_success() {
            return Err(refused(response, &mut watch).await);
        }
        let mut reader = self.dialect.reader(request);
        read(response, reader.as_mut(), &mut watch, context.show.as_ref()).await?;
        let (answer, progress) = reader.finish()?;
        progress.deltas.into_iter().for_each(|delta| (context.show)(delta));
        let first = watch.first_content().unwrap_or_else(Instant::now);
        Ok(Answer {
            message: answer.message,
            finish: answer.finish,
            usage: answer.usage,
            timings: Timings {
                first_content_us: micros(first - started),
                total_us: micros(started.elapsed()),
            },
            response_id: answer.response_id,
        })
    }

    /// The models that the endpoint lists.
    ///
    /// # Errors
    /// As [`Provider::call`].
    pub async fn models(&self, deadlines: &Deadlines) -> Result<Vec<ListedModel>, ModelFailure> {
        let mut watch = Watch::new(Instant::now(), *deadlines);
        let listed = self.list(deadlines, &mut watch).await;
        listed.map_err(|failure| self.without_key(failure))
    }

    async fn list(&self, deadlines: &Deadlines, watch: &mut Watch) -> Result<Vec<ListedModel>, ModelFailure> {
        let path = self.dialect.models_path();
        let path = path.ok_or_else(|| unsendable("this endpoint does not list its models".to_owned()))?;
        let sent = self
            .client(deadlines)?
            .get(format!("{}/{path}", self.base_url))
            .header("accept", "application/json");
        let response = self.send(sent, deadlines, watch).await?;
        if !response.status().is_success() {
            return Err(refused(response, watch).await);
        }
        let body = body(response, watch, ANSWER_BYTES_MAX, deadlines).await?;
        let value: serde_json::Value = serde_json::from_slice(&body)
            .map_err(|_| unsendable("the list of models is not JSON: is the base URL right?".to_owned()))?;
        self.dialect
            .read_models(&value)
            .ok_or_else(|| unsendable("the answer is no list of models: is the base URL right?".to_owned()))
    }

    fn without_key(&self, failure: ModelFailure) -> ModelFailure {
        ModelFailure { message: redact(&failure.message, &self.auth.secrets()), ..failure }
    }
}

impl Provider for HttpProvider {
    fn call<'a>(
        &'a self,
        request: &'a LoadedRequest,
        context: CallContext,
    ) -> BoxFuture<'a, Result<Answer, ModelFailure>> {
        Box::pin(async move {
            // Dropping the request closes its connection, so cancelling is immediate.
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(classify::transport(&TransportFailure::Cancelled)),
                outcome = self.run(request, &context) => outcome.map_err(|failure| self.without_key(failure)),
            }
        })
    }
}

fn headers(fields: &[(&'static str, String)]) -> Result<HeaderMap, ModelFailure> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let value = HeaderValue::from_str(value).map_err(|error| unsendable(error.to_string()))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// Feeds `reader` until the answer is over, the stream ends, or a deadline passes.
async fn read(
    mut response: reqwest::Response,
    reader: &mut dyn AnswerReader,
    watch: &mut Watch,
    show: &(dyn Fn(Delta) + Send + Sync),
) -> Result<(), ModelFailure> {
    let mut bytes = 0_usize;
    while !reader.is_over() {
        let chunk = match watch.until(response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break,
            // What follows a finish reason is welcome, but not waited for at any price.
            _ if reader.is_complete() => break,
            Ok(Err(error)) => return Err(failure_of(&error, &watch.deadlines())),
            Err(late) => return Err(late),
        };
        bytes = bytes.saturating_add(chunk.len());
        if bytes > ANSWER_BYTES_MAX {
            return Err(classify::transport(&TransportFailure::TooLarge { limit_bytes: ANSWER_BYTES_MAX }));
        }
        let progress = reader.feed(&chunk)?;
        if progress.content {
            watch.content();
        }
        if reader.is_complete() {
            watch.complete();
        }
        progress.deltas.into_iter().for_each(show);
    }
    if reader.is_over() {
        tokio::spawn(let_go(response));
    }
    Ok(())
}

/// Reads what stands behind the end of an answer, which is nothing or little: a connection whose response was
/// read to its end is used again.
async fn let_go(mut response: reqwest::Response) {
    let rest = async {
        let mut bytes = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            bytes += chunk.len();
            if bytes > REST_BYTES_MAX {
                return;
            }
        }
    };
    // A server that goes on does so on a connection that is closed.
    let _ = tokio::time::timeout(REST_TIME_MAX, rest).await;
}

/// The failure that a response without success is.
async fn refused(response: reqwest::Response, watch: &mut Watch) -> ModelFailure {
    let status = response.status().as_u16();
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?)))
        .collect();
    watch.complete();
    let deadlines = watch.deadlines();
    // The status alone is worth something when its body does not come.
    let body = body(response, watch, FAILURE_BYTES_MAX, &deadlines).await.unwrap_or_default();
    classify::response(status, &headers, &String::from_utf8_lossy(&body), now())
}

/// A body whole, or its beginning up to `bytes_max`.
async fn body(
    mut response: reqwest::Response,
    watch: &mut Watch,
    bytes_max: usize,
    deadlines: &Deadlines,
) -> Result<Vec<u8>, ModelFailure> {
    let mut body = Vec::new();
    while let Some(chunk) =
        watch.until(response.chunk()).await?.map_err(|error| failure_of(&error, deadlines))?
    {
        body.extend(chunk.iter().take(bytes_max.saturating_sub(body.len())));
        if body.len() >= bytes_max {
            break;
        }
    }
    Ok(body)
}

fn now() -> Micros {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn micros(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn unsendable(detail: String) -> ModelFailure {
    classify::transport(&TransportFailure::Unsendable { detail })
}
