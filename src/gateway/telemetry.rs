//! Traces of turns, model calls and tool calls, to an OpenTelemetry collector.
//!
//! Spans follow from the log: their ids are hashes of positions, so a span that is sent twice is the
//! same span. OTLP over HTTP with JSON (opentelemetry-proto 1.3, `ExportTraceServiceRequest`), attributes by
//! the GenAI semantic conventions (1.36). Written here: the SDK would bring a second HTTP client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm_replay::reducer::SessionState;
use herm_schema::{CallRef, Event, Micros, Recorded, SessionId};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Spans that wait to be sent, at most; more are not sent.
const WAITING_MAX: usize = 4_096;
/// Spans of one request, at most.
const BATCH_MAX: usize = 256;
/// Wait for more spans before a request.
const BATCH_WAIT: Duration = Duration::from_secs(2);
const SEND_TIME_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Turn(SessionId),
    Model(SessionId),
    Tool(SessionId, CallRef),
}

struct Open {
    span_id: String,
    parent: Option<String>,
    trace_id: String,
    name: String,
    kind: u8,
    start: Micros,
    attributes: Vec<Value>,
}

/// The spans that are open, and the way to the collector.
pub struct Traces {
    open: Mutex<HashMap<Key, Open>>,
    ended: mpsc::Sender<Value>,
}

impl Traces {
    /// To the collector at `endpoint`. Must be called in a runtime.
    ///
    /// # Errors
    /// The address makes no sense.
    pub fn to(endpoint: &str) -> Result<Arc<Self>, String> {
        let http =
            crate::providers::http::client_for(endpoint, SEND_TIME_MAX).map_err(|error| error.to_string())?;
        let (ended, waiting) = mpsc::channel(WAITING_MAX);
        let url = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        tokio::spawn(export(url, http, waiting));
        Ok(Arc::new(Self { open: Mutex::default(), ended }))
    }

    /// An event was recorded.
    pub fn event(&self, profile: &str, session: SessionId, recorded: &Recorded, state: &SessionState) {
        let at = recorded.envelope.recorded_at;
        match &recorded.event {
            Event::TurnStarted(_) => self.turn(profile, session, recorded, state),
            Event::ModelCallStarted(call) => self.child(Key::Model(session), session, recorded, |open| {
                open.name = format!("chat {}", call.model);
                open.kind = 3;
                open.attributes = vec![
                    text("gen_ai.operation.name", "chat"),
                    text("gen_ai.provider.name", &call.provider),
                    text("gen_ai.request.model", &call.model),
                ];
            }),
            Event::ModelCallSucceeded(answer) => {
                let usage = answer.usage.unwrap_or_default();
                let numbers = vec![
                    number("gen_ai.usage.input_tokens", usage.input),
                    number("gen_ai.usage.output_tokens", usage.output),
                ];
                self.end(Key::Model(session), at, numbers, None);
            }
            Event::ModelCallFailed(failed) => {
                let why = format!("{:?}", failed.failure.class);
                self.end(Key::Model(session), at, vec![text("error.type", &why)], Some(&why));
            }
            Event::ModelCallAborted(_) => self.end(Key::Model(session), at, vec![], None),
            Event::ToolCallStarted(call) => {
                self.child(Key::Tool(session, call.call), session, recorded, |open| {
                    open.name = format!("execute_tool {}", call.name);
                    open.attributes = vec![
                        text("gen_ai.operation.name", "execute_tool"),
                        text("gen_ai.tool.name", &call.name),
                    ];
                });
            }
            Event::ToolCallFinished(done) => {
                let failed = done.status != herm_schema::events::ToolStatus::Succeeded;
                let why = format!("{:?}", done.status);
                self.end(Key::Tool(session, done.call), at, vec![], failed.then_some(why.as_str()));
            }
            Event::TurnEnded(ended) => {
                let exit = format!("{:?}", ended.reason);
                self.end(Key::Turn(session), at, vec![text("herm.turn.exit", &exit)], None);
                let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                open.retain(|key, _| !matches!(key, Key::Model(of) | Key::Tool(of, _) if *of == session));
            }
            _ => {}
        }
    }

    fn turn(&self, profile: &str, session: SessionId, recorded: &Recorded, state: &SessionState) {
        let id = recorded.envelope.position.0.to_string();
        let platform = state.opened.as_ref().map_or("", |opened| &opened.chat.platform);
        let span = Open {
            span_id: hash(&["turn", &session.to_string(), &id], 8),
            parent: None,
            trace_id: hash(&["trace", &session.to_string(), &id], 16),
            name: "invoke_agent herm".to_owned(),
            kind: 2,
            start: recorded.envelope.recorded_at,
            attributes: vec![
                text("gen_ai.operation.name", "invoke_agent"),
                text("gen_ai.agent.name", profile),
                text("gen_ai.conversation.id", &session.to_string()),
                text("herm.platform", platform),
            ],
        };
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(Key::Turn(session), span);
    }

    fn child(&self, key: Key, session: SessionId, recorded: &Recorded, fill: impl FnOnce(&mut Open)) {
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(turn) = all.get(&Key::Turn(session)) else { return };
        let position = recorded.envelope.position.0.to_string();
        let mut span = Open {
            span_id: hash(&["span", &session.to_string(), &position], 8),
            parent: Some(turn.span_id.clone()),
            trace_id: turn.trace_id.clone(),
            name: String::new(),
            kind: 1,
            start: recorded.envelope.recorded_at,
            attributes: vec![],
        };
        fill(&mut span);
        all.insert(key, span);
    }

    fn end(&self, key: Key, at: Micros, more: Vec<Value>, error: Option<&str>) {
        let span = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let Some(mut span) = span else { return };
        span.attributes.extend(more);
        let status = match error {
            Some(message) => json!({ "code": 2, "message": message }),
            None => json!({ "code": 1 }),
        };
        let ended = json!({
            "traceId": span.trace_id, "spanId": span.span_id,
            "parentSpanId": span.parent.unwrap_or_default(), "name": span.name, "kind": span.kind,
            "startTimeUnixNano": nanoseconds(span.start), "endTimeUnixNano": nanoseconds(at),
            "attributes": span.attributes, "status": status,
        });
        // A collector that is too slow misses some.
        drop(self.ended.try_send(ended));
    }
}

fn nanoseconds(at: Micros) -> String {
    (i128::from(at.0) * 1_000).to_string()
}

fn hash(parts: &[&str], bytes: usize) -> String {
    let digest = blake3::hash(parts.join("\u{0}").as_bytes()).to_hex();
    digest.as_str().chars().take(bytes * 2).collect()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

async fn export(url: String, http: reqwest::Client, mut waiting: mpsc::Receiver<Value>) {
    let mut failing = false;
    loop {
        let mut spans = Vec::new();
        if waiting.recv_many(&mut spans, BATCH_MAX).await == 0 {
            return;
        }
        tokio::time::sleep(BATCH_WAIT).await;
        while spans.len() < BATCH_MAX {
            match waiting.try_recv() {
                Ok(span) => spans.push(span),
                Err(_) => break,
            }
        }
        let body = json!({ "resourceSpans": [{
            "resource": { "attributes": [
                text("service.name", "herm"), text("service.version", env!("CARGO_PKG_VERSION")),
            ] },
            "scopeSpans": [{ "scope": { "name": "herm" }, "spans": spans }],
        }] });
        let sent = http
            .post(&url)
            .header("content-type", "application/json")
            .timeout(SEND_TIME_MAX)
            .body(body.to_string())
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        match sent {
            Ok(_) => failing = false,
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(%error, "traces do not reach their collector");
            }
            Err(_) => {}
        }
    }
}
