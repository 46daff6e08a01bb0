//! Routes, keys, limits, errors.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::settings::{NAME, ROW, Settings};
use super::{chat_completions, models, responses, runs, sessions};
use crate::config::{FIRST_PROFILE, Secret};
use crate::entry::{Exit, Failure};
use crate::gateway::hub::{Health, Hub};
use crate::gateway::profile::Profile;
use crate::gateway::{sections, status};
use crate::platforms::{Ingress, IngressAnswer};

/// Largest request, in bytes.
pub const REQUEST_BYTES_MAX: usize = 10 << 20;
/// Requests that wait for a turn, at most; more are told to come again.
const WAITING_MAX: usize = 1_024;
/// How long a connection that stops has.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);

/// What every route is given.
#[derive(Clone)]
pub struct Api {
    pub hub: Arc<Hub>,
    pub profile: Arc<Profile>,
    pub places: Arc<Places>,
}

/// Turns that may run, and requests that may wait.
pub struct Places {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Places {
    /// Waits for a place: a queue, not a refusal.
    ///
    /// # Errors
    /// More wait than is sound.
    pub async fn one(self: &Arc<Self>) -> Result<tokio::sync::OwnedSemaphorePermit, Refusal> {
        let full = || {
            let message = format!("{WAITING_MAX} requests wait already");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", message)
        };
        let _waits = self.waiting.try_acquire().map_err(|_| full())?;
        Arc::clone(&self.running).acquire_owned().await.map_err(|_| full())
    }
}

/// An error, in OpenAI's shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
}

impl Refusal {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no {what}"))
    }

    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", error.to_string())
    }

    pub fn body(&self) -> Value {
        let kind = match self.status.is_client_error() {
            true => "invalid_request_error",
            false => "server_error",
        };
        json!({ "error": { "message": self.message, "type": kind, "param": null, "code": self.code } })
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body())).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

/// Serves, if it is switched on.
///
/// # Errors
/// Another program has the port.
pub async fn start(hub: &Arc<Hub>, stop: &CancellationToken, tasks: &mut JoinSet<()>) -> Result<(), Failure> {
    let section = sections::section(&hub.loaded, &ROW);
    if !sections::is_on(&hub.loaded, &ROW, &section) {
        return Ok(());
    }
    // What is wrong with them is the platform's standing already.
    let Ok(settings) = Settings::of(&ROW, &section) else { return Ok(()) };
    let listener = TcpListener::bind(settings.address).await.map_err(|error| {
        let message = format!("cannot listen at {}", settings.address);
        Failure::new(Exit::Failed, anyhow::Error::new(error).context(message))
            .hint("set `API_SERVER_PORT` in .env")
    })?;
    let address = listener.local_addr()?;
    hub.set_api(address);
    tracing::info!(%address, "the API server listens");
    let app = router(hub, &settings);
    let stop = stop.clone();
    tasks.spawn(async move {
        let ending = stop.clone();
        let serving =
            axum::serve(listener, app).with_graceful_shutdown(async move { ending.cancelled().await });
        tokio::select! {
            served = std::future::IntoFuture::into_future(serving) => {
                if let Err(error) = served {
                    tracing::error!(%error, "the API server");
                }
            }
            // A stream that is still read does not hold the process back.
            () = async { stop.cancelled().await; tokio::time::sleep(STOP_TIME_MAX).await } => {}
        }
    });
    Ok(())
}

fn router(hub: &Arc<Hub>, settings: &Settings) -> Router {
    let places = Arc::new(Places {
        running: Arc::new(Semaphore::new(settings.concurrent)),
        waiting: Semaphore::new(WAITING_MAX),
    });
    let mut app = Router::new().nest("/api/platforms", ingress(hub));
    for (name, profile) in &hub.profiles {
        let api = Api { hub: Arc::clone(hub), profile: Arc::clone(profile), places: Arc::clone(&places) };
        let open = health_routes(&api);
        let closed =
            routes().with_state(api).layer(middleware::from_fn_with_state(settings.key.clone(), with_key));
        let all = open.merge(closed);
        app = app.nest(&format!("/p/{name}"), all.clone());
        if name == FIRST_PROFILE {
            app = app.merge(all);
        }
    }
    let origins: Arc<Vec<String>> = Arc::new(settings.origins.clone());
    app.fallback(|| async { Refusal::not_found("such route") })
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .layer(middleware::from_fn_with_state(origins, cross_origin))
}

fn health_routes(api: &Api) -> Router {
    Router::new().route("/health", get(health)).route("/v1/health", get(health)).with_state(api.clone())
}

fn routes() -> Router<Api> {
    Router::new()
        .route("/health/detailed", get(detailed))
        .route("/metrics", get(metrics))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::one))
        .route("/v1/capabilities", get(models::capabilities))
        .route("/v1/toolsets", get(models::toolsets))
        .route("/v1/skills", get(models::skills))
        .route("/v1/chat/completions", post(chat_completions::create))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/{id}", get(responses::one).delete(responses::delete))
        .route("/v1/runs", post(runs::create))
        .route("/v1/runs/{id}", get(runs::one))
        .route("/v1/runs/{id}/events", get(runs::events))
        .route("/v1/runs/{id}/approval", post(runs::approval))
        .route("/v1/runs/{id}/stop", post(runs::stop))
        .route("/api/sessions", get(sessions::list).post(sessions::create))
        .route("/api/sessions/{id}", get(sessions::one).patch(sessions::rename).delete(sessions::delete))
        .route("/api/sessions/{id}/messages", get(sessions::messages))
        .route("/api/sessions/{id}/fork", post(sessions::fork))
        .route("/api/sessions/{id}/chat", post(sessions::chat))
        .route("/api/sessions/{id}/chat/stream", post(sessions::chat_stream))
}

/// What platforms send by themselves; each verifies its own.
fn ingress(hub: &Arc<Hub>) -> Router {
    Router::new().route("/{platform}/events", axum::routing::any(events)).with_state(Arc::clone(hub))
}

async fn events(State(hub): State<Arc<Hub>>, Path(platform): Path<String>, request: Request) -> Response {
    let Some(adapter) = hub.switchboard.platform(&platform) else {
        return Refusal::not_found("such platform").into_response();
    };
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, REQUEST_BYTES_MAX).await else {
        return Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is too large")
            .into_response();
    };
    let headers = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    let ingress = Ingress {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: headers.collect(),
        body: body.to_vec(),
    };
    let inlet = crate::gateway::supervise::inlet(&hub, &*adapter);
    let IngressAnswer { status, headers, body } = adapter.ingress(&ingress, &*inlet).await;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<header::HeaderName>(), value.parse()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

async fn with_key(State(key): State<Secret>, headers: HeaderMap, request: Request, next: Next) -> Response {
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown =
        shown.and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")));
    // Compared by hash, so that the time it takes tells nothing.
    let same = shown
        .is_some_and(|shown| blake3::hash(shown.trim().as_bytes()) == blake3::hash(key.reveal().as_bytes()));
    if same {
        return next.run(request).await;
    }
    let message = "a valid `Authorization: Bearer KEY` is needed; the key is `API_SERVER_KEY`";
    Refusal::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message).into_response()
}

/// Pages of other origins are refused unless they are listed.
async fn cross_origin(State(origins): State<Arc<Vec<String>>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let Some(origin) = origin else {
        return next.run(request).await;
    };
    let listed =
        origin.to_str().is_ok_and(|origin| origins.iter().any(|known| known == origin || known == "*"));
    if !listed {
        let message = "this origin may not call it; list it in `API_SERVER_CORS_ORIGINS`";
        return Refusal::new(StatusCode::FORBIDDEN, "cross_origin", message).into_response();
    }
    let mut response = match *request.method() == Method::OPTIONS {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let methods = HeaderValue::from_static("GET, POST, PATCH, DELETE, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let allowed = "authorization, content-type, idempotency-key, x-hermes-session-id, x-hermes-session-key";
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    response
}

async fn health(State(api): State<Api>) -> Response {
    let status = if api.hub.open().is_ok() { "ok" } else { "draining" };
    axum::Json(json!({ "status": status, "platform": "herm", "version": env!("CARGO_PKG_VERSION") }))
        .into_response()
}

async fn detailed(State(api): State<Api>) -> Response {
    let mut facts = status::json(&api.hub);
    let down = api
        .hub
        .health()
        .values()
        .any(|health| matches!(health, Health::Down { .. } | Health::Retrying { .. }));
    if let Some(facts) = facts.as_object_mut() {
        facts.insert("status".to_owned(), json!(if down { "degraded" } else { "ok" }));
        facts.insert("platform".to_owned(), json!("herm"));
    }
    axum::Json(facts).into_response()
}

async fn metrics(State(api): State<Api>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], api.hub.metrics.text()).into_response()
}

/// The platform that sessions of the API belong to.
pub fn platform() -> &'static str {
    NAME
}
