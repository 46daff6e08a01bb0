//! The API server, spoken to as clients do.

use serde_json::{Value, json};

use super::gateway::{Gateway, KEY, echo};
use super::support::model_server::ModelServer;
use super::support::reply::Reply;

fn text_of(completion: &Value) -> &str {
    completion["choices"][0]["message"]["content"].as_str().unwrap()
}

#[test]
fn a_completion_is_answered_whole_and_in_pieces() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let whole = gateway.complete("hello", &[]);
    assert_eq!(text_of(&whole), "you said: hello");
    assert_eq!(whole["object"], "chat.completion");
    assert!(whole["usage"]["total_tokens"].as_u64().is_some());

    let body =
        json!({ "model": "herm", "stream": true, "messages": [{ "role": "user", "content": "one two" }] });
    let (status, stream) = gateway.post("/v1/chat/completions", &body, &[]);
    assert_eq!(status, 200);
    let lines: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(lines.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> =
        lines[..lines.len() - 1].iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "you said: one two");
    assert!(chunks.iter().any(|chunk| chunk["choices"][0]["finish_reason"] == "stop"));
    assert!(chunks.last().unwrap()["usage"]["completion_tokens"].as_u64().is_some());
}

#[test]
fn what_was_said_before_and_the_clients_system_message_reach_the_model() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let body = json!({ "model": "herm", "messages": [
        { "role": "system", "content": "Speak like a pirate." },
        { "role": "user", "content": "my name is Ada" },
        { "role": "assistant", "content": "noted" },
        { "role": "user", "content": [{ "type": "text", "text": "who am I?" }] },
    ] });
    let (status, text) = gateway.post("/v1/chat/completions", &body, &[]);
    assert_eq!(status, 200, "{text}");
    let asked = gateway.model.requests().pop().unwrap().json;
    let messages = asked["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.trim_end().ends_with("Speak like a pirate."), "{system}");
    let said: Vec<&str> = messages[1..].iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["my name is Ada", "noted", "who am I?"]);
}

#[test]
fn without_the_key_and_from_other_pages_nothing_is_answered() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let client = Gateway::client();
    for key in [None, Some("wrong"), Some("")] {
        let mut request = client.get(gateway.url("/v1/models"));
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        assert_eq!(request.send().unwrap().status(), 401);
    }
    let models = client.get(gateway.url("/v1/models")).bearer_auth(KEY);
    let foreign = models.try_clone().unwrap().header("origin", "https://evil.example");
    assert_eq!(foreign.send().unwrap().status(), 403);
    let answered: Value = serde_json::from_str(&models.send().unwrap().text().unwrap()).unwrap();
    assert_eq!(answered["data"][0]["id"], "herm");
    assert_eq!(client.get(gateway.url("/health")).send().unwrap().status(), 200);
    assert_eq!(client.get(gateway.url("/metrics")).send().unwrap().status(), 401);
    assert_eq!(client.get(gateway.url("/health/detailed")).send().unwrap().status(), 401);
    let large = "x".repeat(11 << 20);
    let body = json!({ "messages": [{ "role": "user", "content": large }] });
    assert_eq!(gateway.post("/v1/chat/completions", &body, &[]).0, 413);
}

#[test]
fn a_short_key_is_no_key() {
    let mut gateway = Gateway::new(echo(), &[]);
    let mut command = gateway.command(&["gateway", "run"]);
    command.env("API_SERVER_KEY", "short");
    let _running = super::stage::Running::begin(&mut command);
    super::stage::await_that("the gateway", || gateway.herm(&["gateway", "status"]).exit == 0);
    let status = gateway.herm(&["gateway", "status"]).out;
    assert!(status.contains("api_server") && status.contains("fewer than 16 characters"), "{status}");
    assert!(gateway.get("/health").is_err());
    gateway.port = 0;
}

#[test]
fn the_same_request_again_is_answered_as_before() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let first = gateway.complete("hello", &[("idempotency-key", "k1")]);
    let again = gateway.complete("hello", &[("idempotency-key", "k1")]);
    assert_eq!(first["id"], again["id"]);
    assert_eq!(text_of(&first), text_of(&again));
    assert_eq!(gateway.model.requests().len(), 1);
    // Also after a restart.
    gateway.kill();
    gateway.start();
    let later = gateway.complete("hello", &[("idempotency-key", "k1")]);
    assert_eq!(first["id"], later["id"]);
    assert_eq!(gateway.model.requests().len(), 1);
}

#[test]
fn a_session_goes_on_by_its_header() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    gateway.complete("first", &[("x-hermes-session-id", "mine")]);
    gateway.complete("second", &[("x-hermes-session-id", "mine")]);
    let asked = gateway.model.requests().pop().unwrap().json;
    let said: Vec<&str> =
        asked["messages"].as_array().unwrap()[1..].iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["first", "you said: first", "second"]);
}

#[test]
fn responses_go_on_from_one_another_and_outlive_the_process() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let ask = |gateway: &Gateway, body: Value| -> Value {
        let (status, text) = gateway.post("/v1/responses", &body, &[]);
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let first = ask(&gateway, json!({ "model": "herm", "input": "one" }));
    assert_eq!(first["status"], "completed");
    assert_eq!(first["output"][0]["content"][0]["text"], "you said: one");
    let id = first["id"].as_str().unwrap().to_owned();
    ask(&gateway, json!({ "model": "herm", "input": "two", "previous_response_id": id }));
    // From the first once more: another conversation, which does not know of the second.
    ask(&gateway, json!({ "model": "herm", "input": "three", "previous_response_id": id }));
    let asked = gateway.model.requests().pop().unwrap().json;
    let said: Vec<&str> =
        asked["messages"].as_array().unwrap()[1..].iter().map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["one", "you said: one", "three"]);
    gateway.kill();
    gateway.start();
    let found = gateway.get(&format!("/v1/responses/{id}")).unwrap();
    assert_eq!(found["output"][0]["content"][0]["text"], "you said: one");
    assert!(gateway.get("/v1/responses/resp_nonsense_1").unwrap_err().starts_with("404"));
}

#[test]
fn a_run_is_looked_at_followed_approved_and_ends() {
    let call = || Reply::call("terminal", &json!({ "command": "rm -rf build" }));
    let mut gateway = Gateway::new(ModelServer::start([call(), Reply::text("gone")]), &[]);
    std::fs::create_dir(gateway.stage.path("build")).unwrap();
    gateway.start();
    let (status, text) = gateway.post("/v1/runs", &json!({ "input": "clean up" }), &[]);
    assert_eq!(status, 202, "{text}");
    let run: Value = serde_json::from_str(&text).unwrap();
    let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
    super::stage::await_that("the question", || {
        gateway.get(&path).is_ok_and(|run| run["status"] == "requires_approval")
    });
    let (status, said) = gateway.post(&format!("{path}/approval"), &json!({ "choice": "once" }), &[]);
    assert_eq!(status, 200, "{said}");
    super::stage::await_that("the end", || {
        let run = gateway.get(&path).unwrap();
        assert_ne!(run["status"], "failed", "{run}");
        run["status"] == "completed"
    });
    let run = gateway.get(&path).unwrap();
    assert_eq!(run["output"], "gone");
    let events = gateway.get(&format!("{path}/events")).unwrap();
    let events = events.as_str().unwrap();
    for name in ["tool.started", "tool.completed", "approval.request", "approval.responded", "run.completed"]
    {
        assert!(events.contains(&format!("event: {name}")), "{name} in {events}");
    }
}

#[test]
fn sessions_are_listed_read_renamed_forked_and_ended() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    let (status, text) = gateway.post("/api/sessions", &json!({ "title": "plans" }), &[]);
    assert_eq!(status, 201, "{text}");
    let id = serde_json::from_str::<Value>(&text).unwrap()["id"].as_str().unwrap().to_owned();
    let (status, text) = gateway.post(&format!("/api/sessions/{id}/chat"), &json!({ "message": "hi" }), &[]);
    assert_eq!(status, 200, "{text}");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["message"]["content"], "you said: hi");
    let listed = gateway.get("/api/sessions").unwrap();
    assert_eq!((&listed["data"][0]["id"], &listed["data"][0]["title"]), (&json!(id), &json!("plans")));
    let messages = gateway.get(&format!("/api/sessions/{id}/messages")).unwrap();
    let said: Vec<_> =
        messages["data"].as_array().unwrap().iter().map(|m| (&m["role"], &m["content"])).collect();
    assert_eq!(said, [(&json!("user"), &json!("hi")), (&json!("assistant"), &json!("you said: hi"))]);
    let (status, text) = gateway.post(&format!("/api/sessions/{id}/fork"), &json!({}), &[]);
    assert_eq!(status, 201, "{text}");
    let copy = serde_json::from_str::<Value>(&text).unwrap()["id"].as_str().unwrap().to_owned();
    gateway.post(&format!("/api/sessions/{copy}/chat"), &json!({ "message": "more" }), &[]);
    let asked = gateway.model.requests().pop().unwrap().json;
    assert_eq!(asked["messages"].as_array().unwrap().len(), 4);
    let client = Gateway::client();
    let ended = client.delete(gateway.url(&format!("/api/sessions/{id}"))).bearer_auth(KEY).send().unwrap();
    assert_eq!(ended.status(), 200);
    assert!(gateway.get(&format!("/api/sessions/{id}")).unwrap_err().starts_with("404"));
}

#[test]
fn a_failed_turn_is_an_error_and_names_no_key() {
    let failing = ModelServer::computed(|_| Reply::status(401, r#"{"error":{"message":"bad key sk-abc"}}"#));
    let mut gateway = Gateway::new(failing, &[]);
    gateway.start();
    let body = json!({ "messages": [{ "role": "user", "content": "hello" }] });
    let (status, text) = gateway.post("/v1/chat/completions", &body, &[]);
    assert_eq!(status, 502, "{text}");
    assert!(!text.contains("sk-abc"), "{text}");
    for body in [json!({}), json!({ "messages": [] }), json!({ "messages": [{ "role": "user" }] })] {
        assert_eq!(gateway.post("/v1/chat/completions", &body, &[]).0, 400, "{body}");
    }
}
