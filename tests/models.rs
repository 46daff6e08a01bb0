//! The transport and the chat-completions dialect against a server on a real socket.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use herm::config::Secret;
use herm::providers::catalog::Heading;
use herm::providers::dialects::chat_completions::ChatCompletions;
use herm::providers::http::HttpProvider;
use herm::providers::http::auth::{Authorize, Header, Nothing};
use herm::providers::{
    Answer, CallContext, Deadlines, Delta, LoadedMessage, LoadedRequest, Provider, ToolDefinition, Wanted,
    probe::probe, reachable, resolve,
};
use herm_replay::reducer::request::RequestOptions;
use herm_schema::events::{FailureClass, Finish, ModelChoice, ModelFailure, Usage};
use serde_json::json;
use support::{Gate, ModelServer, Reply};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

const SHORT: Duration = Duration::from_millis(60);

fn request(stream: bool) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice {
            context_window_tokens: 8_192,
            output_tokens_max: 512,
            stream,
            ..ModelChoice::new("custom", "scripted", "chat_completions")
        },
        system: Some("be brief".into()),
        tools: vec![ToolDefinition {
            name: "read_file".into(),
            description: "reads".into(),
            parameters: json!({"type": "object"}),
        }],
        messages: vec![LoadedMessage::user("hi")],
        output_tokens_max: 512,
        options: RequestOptions::default(),
    }
}

fn provider(server: &ModelServer, key: Option<&str>) -> HttpProvider {
    let dialect = Arc::new(ChatCompletions::default());
    let auth: Arc<dyn Authorize> = match key {
        Some(key) => Arc::new(Header::bearer(Secret::new(key))),
        None => Arc::new(Nothing),
    };
    HttpProvider::new(&server.base_url(), auth, dialect).unwrap()
}

/// A context, and what was shown through it.
fn context(deadlines: Deadlines) -> (CallContext, Arc<Mutex<Vec<Delta>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let sink = shown.clone();
    let show = Arc::new(move |delta| sink.lock().unwrap().push(delta));
    (CallContext { cancel: CancellationToken::new(), deadlines, show }, shown)
}

async fn call(server: &ModelServer, stream: bool) -> Result<Answer, ModelFailure> {
    provider(server, None).call(&request(stream), context(Deadlines::default()).0).await
}

fn text_of(deltas: &[Delta]) -> String {
    let text = |delta: &Delta| match delta {
        Delta::Text(text) => Some(text.clone()),
        _ => None,
    };
    deltas.iter().filter_map(text).collect()
}

#[tokio::test]
async fn an_answer_comes_streamed_or_whole() {
    for stream in [true, false] {
        let server = ModelServer::start([Reply::text("Héllo, 世界").reasoning("hm").usage(7, 3)]);
        let (context, shown) = context(Deadlines::default());
        let answer = provider(&server, Some("k-test")).call(&request(stream), context).await.unwrap();
        assert_eq!(answer.message.text, "Héllo, 世界");
        assert_eq!(answer.message.reasoning.as_deref(), Some("hm"));
        assert_eq!((answer.finish, answer.response_id.as_deref()), (Finish::Stop, Some("r")));
        assert_eq!(answer.usage, Some(Usage { input: 7, output: 3, ..Usage::default() }));
        assert_eq!(text_of(&shown.lock().unwrap()), "Héllo, 世界");
        assert!(answer.timings.first_content_us <= answer.timings.total_us);
        let sent = &server.requests()[0];
        assert_eq!(sent.path, "/v1/chat/completions");
        assert_eq!(sent.header("authorization"), Some("Bearer k-test"));
        assert_eq!(sent.header("content-type"), Some("application/json"));
        assert_eq!(sent.json["stream"], stream);
        server.verify();
    }
}

#[tokio::test]
async fn text_is_shown_while_the_answer_is_still_coming() {
    let gate = Gate::closed();
    let server = ModelServer::start([Reply::text("abcdef").pieces(2).gate_after(2, &gate)]);
    let (half, mut halves) = tokio::sync::mpsc::unbounded_channel();
    let show = Arc::new(move |delta| drop(half.send(delta)));
    let context = CallContext { cancel: CancellationToken::new(), deadlines: Deadlines::default(), show };
    let (provider, request) = (provider(&server, None), request(true));
    let (answer, ()) = tokio::join!(provider.call(&request, context), async {
        assert_eq!(halves.recv().await, Some(Delta::Text("abc".into())));
        gate.open();
    });
    assert_eq!(answer.unwrap().message.text, "abcdef");
}

#[tokio::test]
async fn tool_calls_come_streamed_or_whole() {
    for stream in [true, false] {
        let calls = [("a", "read_file", "{\"path\":\"x\"}"), ("b", "read_file", "{\"path\":\"ü\"}")];
        let server = ModelServer::start([Reply::calls(&calls).saying("Let me look.")]);
        let answer = call(&server, stream).await.unwrap();
        let found: Vec<_> = answer
            .message
            .calls
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.0.as_str()))
            .collect();
        assert_eq!(found, calls);
        assert_eq!((answer.finish, answer.message.text.as_str()), (Finish::ToolCalls, "Let me look."));
        server.verify();
    }
}

#[tokio::test]
async fn a_missing_end_mark_is_harmless_and_a_missing_finish_reason_is_not() {
    let server = ModelServer::start([
        Reply::text("ok").without_done(),
        Reply::text("part").without_finish(),
        Reply::text("abcdef").pieces(3).cut_after(2),
        Reply::calls(&[("a", "f", "{\"x\":1}")]).finish("length"),
    ]);
    assert_eq!(call(&server, true).await.unwrap().message.text, "ok");
    for _ in 0..2 {
        assert_eq!(call(&server, true).await.unwrap_err().class, FailureClass::ServerError);
    }
    assert_eq!(call(&server, true).await.unwrap().finish, Finish::Length);
}

#[tokio::test]
async fn a_server_that_stays_on_the_line_after_the_finish_reason_is_not_waited_for() {
    let gate = Gate::closed();
    // Role, three pieces of text and the finish reason; the usage never comes.
    let server = ModelServer::start([Reply::text("abc").pieces(3).gate_after(5, &gate)]);
    let answer = call(&server, true).await.unwrap();
    assert_eq!((answer.message.text.as_str(), answer.usage), ("abc", None));
}

#[tokio::test]
async fn failures_are_classified_and_say_how_long_to_wait() {
    let limit = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
    let server = ModelServer::start([
        Reply::status(429, limit).header("retry-after", "7"),
        Reply::status(429, limit).header("retry-after-ms", "350"),
        Reply::status(503, ""),
        Reply::status(400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#),
        Reply::status(200, r#"{"error":{"message":"overloaded"}}"#),
        Reply::raw(&[b"data: {\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n"]),
        Reply::raw(&[b"garb", b"age\n\n"]),
        Reply::status(200, "<html>login</html>"),
        Reply::status(302, "").header("location", "http://127.0.0.1:1/"),
    ]);
    let mut found = Vec::new();
    for _ in 0..9 {
        let failure = call(&server, true).await.unwrap_err();
        found.push((failure.class, failure.status, failure.retry_after_us));
    }
    use FailureClass as C;
    let expected = [
        (C::RateLimit, Some(429), Some(7_000_000)),
        (C::RateLimit, Some(429), Some(350_000)),
        (C::Overloaded, Some(503), None),
        (C::ContextOverflow, Some(400), None),
        (C::Overloaded, None, None),
        (C::ServerError, Some(502), None),
        (C::ServerError, None, None),
        (C::ServerError, None, None),
        (C::FormatError, Some(302), None),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_key_that_the_server_repeats_does_not_get_out() {
    let body = r#"{"error":{"message":"Incorrect API key provided: plain-secret-1"}}"#;
    let server = ModelServer::start([Reply::status(401, body)]);
    let (provider, context) = (provider(&server, Some("plain-secret-1")), context(Deadlines::default()).0);
    let failure = provider.call(&request(true), context).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Auth);
    assert!(!format!("{failure:?}").contains("plain-secret"), "{failure:?}");
}

#[tokio::test]
async fn nobody_listening_is_a_failure_that_says_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let dialect = Arc::new(ChatCompletions::default());
    let provider =
        HttpProvider::new(&format!("http://127.0.0.1:{port}"), Arc::new(Nothing), dialect).unwrap();
    let failure = provider.call(&request(true), context(Deadlines::default()).0).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Timeout);
    assert!(failure.message.contains("connection refused"), "{}", failure.message);
}

#[tokio::test]
async fn a_server_without_tls_is_a_failure_that_says_so() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}/v1", listener.local_addr().unwrap());
    let provider =
        HttpProvider::new(&address, Arc::new(Nothing), Arc::new(ChatCompletions::default())).unwrap();
    let (request, context) = (request(true), context(Deadlines::default()).0);
    let (outcome, _socket) = tokio::join!(provider.call(&request, context), async {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        socket
    });
    let failure = outcome.unwrap_err();
    assert_eq!(failure.class, FailureClass::ServerError);
    assert!(failure.message.starts_with("no secure connection"), "{}", failure.message);
}

#[tokio::test]
async fn deadlines_are_measured_on_content() {
    let first = Deadlines { first_content: SHORT, ..Deadlines::default() };
    let between = Deadlines { between_content: SHORT, ..Deadlines::default() };
    let total = Deadlines { total: SHORT, ..Deadlines::default() };
    let gate = Gate::closed();
    let stuck = || Reply::text("abcdef").gate_after(2, &gate);
    for (reply, deadlines, words) in [
        (Reply::silence(), first, "no content within 60 ms"),
        (Reply::keep_alives(), first, "no content within 60 ms"),
        (Reply::text("abc").gate_after(1, &gate), first, "no content within 60 ms"),
        (stuck(), between, "no more content within 60 ms"),
        (stuck(), total, "no whole answer within 60 ms"),
        (Reply::keep_alives(), total, "no whole answer within 60 ms"),
    ] {
        let server = ModelServer::start([reply]);
        let outcome = provider(&server, None).call(&request(true), context(deadlines).0).await;
        let failure = outcome.unwrap_err();
        assert_eq!((failure.class, failure.message.as_str()), (FailureClass::Timeout, words));
        server.hung_up(1).await;
    }
}

#[tokio::test]
async fn cancelling_closes_the_connection_at_once() {
    let gate = Gate::closed();
    for reply in [Reply::silence(), Reply::keep_alives(), Reply::text("abcdef").gate_after(2, &gate)] {
        let server = ModelServer::start([reply]);
        let (context, _) = context(Deadlines::default());
        let cancel = context.cancel.clone();
        let (provider, request) = (provider(&server, None), request(true));
        let (outcome, ()) = tokio::join!(provider.call(&request, context), async {
            server.requested(1).await;
            cancel.cancel();
        });
        assert_eq!(outcome.unwrap_err().message, "cancelled");
        server.hung_up(1).await;
    }
}

#[tokio::test]
async fn a_conversation_that_goes_on_repeats_its_bytes_and_uses_its_connection_again() {
    let server = ModelServer::computed(|request| Reply::text(&format!("echo {}", request.last_text())));
    let provider = provider(&server, None);
    let mut request = request(true);
    for turn in ["one", "two", "three"] {
        let answer = provider.call(&request, context(Deadlines::default()).0).await.unwrap();
        request.messages.push(LoadedMessage::Assistant {
            text: answer.message.text,
            calls: vec![],
            extras: None,
        });
        request.messages.push(LoadedMessage::user(turn));
    }
    let bodies: Vec<String> = server.requests().into_iter().map(|request| request.body).collect();
    for pair in bodies.windows(2) {
        assert!(pair[1].starts_with(pair[0].strip_suffix("]}").unwrap()));
    }
    assert!(bodies[2].contains("echo one"), "{}", bodies[2]);
    server.verify();
}

#[tokio::test]
async fn a_server_is_found_by_its_address_and_by_its_port() {
    let server = ModelServer::start([]);
    let wanted = Wanted { base_url: Some(server.base_url()), ..Wanted::default() };
    let resolved = resolve(&wanted, &|_| None).await.unwrap();
    assert_eq!((resolved.choice.model.as_str(), resolved.choice.context_window_tokens), ("scripted", 65_536));
    let told = reachable(&resolved).await.unwrap();
    assert!(told.ends_with("answers, 1 models"), "{told}");

    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mute_url = format!("http://{}/v1", mute.local_addr().unwrap());
    let at = |name: &str, base_url: String| Heading { name: name.into(), base_url, ..Heading::default() };
    let servers = [at("mute", mute_url), at("ollama", server.base_url())];
    // Long enough for a busy machine; the port that accepts and says nothing uses all of it.
    let found = probe(&servers, Duration::from_millis(800)).await.unwrap();
    assert_eq!((found.name.as_str(), found.model.as_str()), ("ollama", "scripted"));
}

#[test]
#[should_panic(expected = "calls without results")]
fn the_server_objects_to_a_request_that_does_not_pair() {
    let server = ModelServer::start([Reply::text("x")]);
    let body = json!({"messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "user", "content": "u"}]})
    .to_string();
    let address = server.base_url().replace("http://", "").replace("/v1", "");
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    let head = format!("POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
    std::io::Write::write_all(&mut socket, (head + body.as_str()).as_bytes()).unwrap();
    server.wait_for_requests(1);
    server.verify();
}
