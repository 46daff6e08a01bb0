//! What can be watched from outside: metrics, and traces by OpenTelemetry.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::gateway::{Gateway, echo};
use super::stage::await_that;

/// A collector that keeps what it is sent.
fn collector() -> (String, Arc<Mutex<Vec<Value>>>) {
    let spans = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&spans);
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let take = move |body: String| {
                let batch: Value = serde_json::from_str(&body).unwrap();
                for resource in batch["resourceSpans"].as_array().unwrap() {
                    for scope in resource["scopeSpans"].as_array().unwrap() {
                        kept.lock().unwrap().extend(scope["spans"].as_array().unwrap().iter().cloned());
                    }
                }
                async { axum::Json(serde_json::json!({})) }
            };
            let app = axum::Router::new().route("/v1/traces", axum::routing::post(take));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(format!("http://{}", listener.local_addr().unwrap())).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    (heard.recv().unwrap(), spans)
}

fn attribute<'a>(span: &'a Value, name: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    found.map_or(&Value::Null, |attribute| &attribute["value"])
}

#[test]
fn a_turn_is_a_trace_with_its_model_call_below_it() {
    let (endpoint, spans) = collector();
    let mut gateway = Gateway::new(echo(), &[("HERM_OTLP_ENDPOINT", endpoint)]);
    gateway.start();
    gateway.complete("hello", &[]);
    await_that("the spans", || spans.lock().unwrap().len() >= 2);
    let spans = spans.lock().unwrap();
    let turn = spans.iter().find(|span| span["name"] == "invoke_agent herm").unwrap();
    let call = spans.iter().find(|span| span["name"] == "chat scripted").unwrap();
    assert_eq!((&call["traceId"], &call["parentSpanId"]), (&turn["traceId"], &turn["spanId"]));
    assert_eq!(turn["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(attribute(call, "gen_ai.operation.name")["stringValue"], "chat");
    assert_eq!(attribute(turn, "gen_ai.agent.name")["stringValue"], "default");
    assert!(attribute(call, "gen_ai.usage.output_tokens")["intValue"].is_string());
}

#[test]
fn metrics_count_what_happens() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    gateway.complete("hello", &[]);
    let metrics = gateway.get("/metrics").unwrap();
    let metrics = metrics.as_str().unwrap();
    for line in [
        "herm_turns_total{profile=\"default\",exit=\"Answered\"} 1",
        "herm_model_calls_total{profile=\"default\",outcome=\"succeeded\"} 1",
        "herm_platform_up{platform=\"api_server\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
}
