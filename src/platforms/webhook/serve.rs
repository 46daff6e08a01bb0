//! The listener of webhooks.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{Received, Webhook};
use crate::platforms::{Inlet, Stopped};

/// Largest request, in bytes.
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Requests that wait to be taken, at most; more are told to come again.
const WAITING_MAX: usize = 256;
/// Longest time that a request may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(25);

/// A request on its way to whoever may take it.
struct Call {
    route: String,
    headers: HeaderMap,
    body: Bytes,
    answer: oneshot::Sender<Received>,
}

/// Listens until `stop`.
pub async fn run(webhook: &Webhook, inlet: &dyn Inlet, stop: CancellationToken) -> Result<(), Stopped> {
    let address = webhook.settings.address;
    let listener = TcpListener::bind(address).await.map_err(|error| Stopped::Transient {
        message: format!("cannot listen at {address}: {error}"),
        retry_after: None,
    })?;
    let (calls, mut called) = mpsc::channel::<Call>(WAITING_MAX);
    let app = Router::new()
        .route(
            "/health",
            get(|| async { axum::Json(serde_json::json!({ "status": "ok", "platform": "webhook" })) }),
        )
        .route("/webhooks/{route}", post(take))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(Arc::new(calls));
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let _guard = AbortOnDrop(server.abort_handle());
    let mut taking = futures_util::stream::FuturesUnordered::new();
    loop {
        use futures_util::StreamExt;
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            Some(call) = called.recv() => taking.push(answer(webhook, inlet, call)),
            Some(()) = taking.next() => {}
        }
    }
}

async fn answer(webhook: &Webhook, inlet: &dyn Inlet, call: Call) {
    let Call { route, headers, body, answer } = call;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let received = webhook.receive(&route, &header, &body, inlet).await;
    // Whoever asked has gone.
    let _ = answer.send(received);
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn take(
    State(calls): State<Arc<mpsc::Sender<Call>>>,
    Path(route): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (answer, wait) = oneshot::channel();
    if calls.try_send(Call { route, headers, body, answer }).is_err() {
        return said(StatusCode::SERVICE_UNAVAILABLE, "come again");
    }
    let received = tokio::time::timeout(ANSWER_TIME_MAX, wait).await;
    match received.ok().and_then(Result::ok) {
        Some(Received::Taken) => said(StatusCode::ACCEPTED, "accepted"),
        Some(Received::Known) => said(StatusCode::OK, "known already"),
        Some(Received::Unwanted) => said(StatusCode::OK, "ignored"),
        Some(Received::NoRoute) => said(StatusCode::NOT_FOUND, "there is no such route"),
        Some(Received::Unsigned(why)) => said(StatusCode::UNAUTHORIZED, why),
        Some(Received::Unreadable) => said(StatusCode::BAD_REQUEST, "the body is no JSON"),
        Some(Received::NotNow(_)) | None => said(StatusCode::SERVICE_UNAVAILABLE, "come again"),
    }
}

fn said(status: StatusCode, text: &str) -> Response {
    (status, axum::Json(serde_json::json!({ "status": text }))).into_response()
}
