//! Claim: a plain turn costs less than a millisecond of CPU time, everything included.
//!
//! Unit: microseconds of CPU time of this process (all threads, user and system) and of wall time,
//! a turn. Real are the session actors, the segment log on a disk, the projections' absence, the
//! HTTP client and the tools; the model is a server in another process that answers at once, so
//! that its time is not counted. Compared in the same run with the bare request: the same bytes
//! sent by the same HTTP client, and the same answer read.
//!
//! `TURN_SESSIONS` and `TURN_TURNS` try it small.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use herm::approval::Verdict;
use herm::config::Redactor;
use herm::context::{Plain, Prompt};
use herm::delivery::{Format, Outlet, Parcel, Way};
use herm::entry::engine::fold;
use herm::platforms::SendFailure;
use herm::providers::dialects::Dialect;
use herm::providers::dialects::chat_completions::ChatCompletions;
use herm::providers::http::HttpProvider;
use herm::providers::http::auth;
use herm::providers::{BoxFuture, Deadlines, LoadedMessage, LoadedRequest, Provider};
use herm::runtime::{Grants, Models, Ports, PromptSource, SessionHandle, Sessions, Silent, SystemClock};
use herm::tools::{OutputLimits, Services, definitions, table as tools};
use herm_replay::log::segments::Options;
use herm_replay::log::{Log, SegmentLog};
use herm_replay::reducer::SessionState;
use herm_schema::events::{ChatRef, ModelChoice};
use herm_schema::{SessionId, StreamId, StreamKind};
use support::sessions::{message, model, opened, policy};
use support::{cpu, micros, row, size, table};

/// Turns this bench's own binary into the model server.
const SERVE: &str = "TURN_SERVE";
/// Tool calls of the turn with tools.
const TOOL_CALLS: usize = 10;
/// What a question holds that is answered with tool calls first.
const WITH_TOOLS: &str = "read ten files";
const PLAIN: &str = "why does the build fail?";

fn main() {
    if std::env::var_os(SERVE).is_some() {
        return serve();
    }
    let server = Server::start();
    let sessions = size("TURN_SESSIONS", 40);
    let turns = size("TURN_TURNS", 10);
    let mut rows = vec![row(["", "CPU", "wall", "bare request"])];
    let mut one = tokio::runtime::Builder::new_current_thread();
    let mut two = tokio::runtime::Builder::new_multi_thread();
    for (name, builder) in [("one thread", &mut one), ("two threads", two.worker_threads(2))] {
        let runtime = builder.enable_all().build().unwrap();
        let bench = Bench { server: &server, sessions, turns };
        let bare = runtime.block_on(bench.bare());
        let plain = runtime.block_on(bench.turns(PLAIN));
        let ten = runtime.block_on(bench.turns(WITH_TOOLS));
        let mut line = |what: &str, cost: Cost| {
            let ratio = cost.cpu.as_secs_f64() / bare.cpu.as_secs_f64();
            rows.push(row([
                &format!("{what}, {name}"),
                &format!("{:.0} µs", micros(cost.cpu, 1)),
                &format!("{:.0} µs", micros(cost.wall, 1)),
                &format!("{ratio:.1}x"),
            ]));
        };
        line("bare request", bare);
        line("plain turn", plain);
        line("turn with 10 tool calls", ten);
    }
    println!("\n{sessions} sessions of {turns} measured turns");
    table(&rows);
    println!("goal: a plain turn under 1000 µs of CPU time");
}

/// What one of something costs.
#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    wall: Duration,
}

struct Bench<'a> {
    server: &'a Server,
    sessions: usize,
    turns: usize,
}

impl Bench<'_> {
    /// Turns that ask `question`, through everything; the session's opening is not counted.
    async fn turns(&self, question: &str) -> Cost {
        let scratch = tempfile::tempdir().unwrap();
        for n in 0..TOOL_CALLS {
            let text = "fn main() {\n    println!(\"a line of a file\");\n}\n".repeat(20);
            std::fs::write(scratch.path().join(format!("file_{n}.rs")), text).unwrap();
        }
        let running = Sessions::new(Arc::new(ports(scratch.path(), &self.server.base_url())));
        let mut spent = Cost { cpu: Duration::ZERO, wall: Duration::ZERO };
        for session in 0..self.sessions {
            let cwd = scratch.path().to_string_lossy();
            let choice = model("custom", &self.server.base_url());
            let handle = running.open(opened(&cwd), policy(choice)).await.unwrap();
            ask(&handle, 0, question).await;
            let (begun, before) = (Instant::now(), cpu());
            for turn in 1..=self.turns {
                ask(&handle, turn, question).await;
            }
            // The first sessions warm up caches and the allocator.
            if session >= self.sessions / 10 {
                spent.cpu += cpu() - before;
                spent.wall += begun.elapsed();
            }
            let calls = if question == PLAIN { 1 } else { 2 };
            assert_eq!(handle.state().await.unwrap().model_calls as usize, calls * (self.turns + 1));
            running.release(handle.id());
        }
        self.share(spent, self.sessions - self.sessions / 10)
    }

    /// The request of a first turn, sent and its answer read, without any of herm.
    async fn bare(&self) -> Cost {
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder().tls_certs_only([]).no_proxy().build().unwrap();
        let body = body(&self.server.base_url());
        let url = format!("{}/chat/completions", self.server.base_url());
        let rounds = self.sessions - self.sessions / 10;
        let (mut begun, mut before) = (Instant::now(), cpu());
        for turn in 0..self.turns * (rounds + 1) {
            if turn == self.turns {
                (begun, before) = (Instant::now(), cpu());
            }
            let request = client.post(&url).header("content-type", "application/json").body(body.clone());
            let mut response = request.send().await.unwrap();
            while response.chunk().await.unwrap().is_some() {}
        }
        self.share(Cost { cpu: cpu() - before, wall: begun.elapsed() }, rounds)
    }

    fn share(&self, spent: Cost, rounds: usize) -> Cost {
        let count = u32::try_from(rounds * self.turns).unwrap();
        Cost { cpu: spent.cpu / count, wall: spent.wall / count }
    }
}

async fn ask(handle: &SessionHandle, turn: usize, question: &str) {
    // A message is known by its place and id, whichever session it is in.
    handle.receive(message(format!("{}-{turn}", handle.id()), question.to_owned())).await.unwrap();
    handle.idle().await.unwrap();
}

/// The body that the first turn of a session sends.
fn body(base_url: &str) -> Vec<u8> {
    let request = LoadedRequest {
        choice: model("custom", base_url),
        system: Some(Prompt::of("/nowhere".into()).build(&SessionState::default(), &[])),
        tools: definitions(&tools(Vec::new())),
        messages: vec![LoadedMessage::user(PLAIN)],
        output_tokens_max: 8_000,
        options: Default::default(),
    };
    ChatCompletions::default().encode(&request).body
}

fn ports(home: &Path, base_url: &str) -> Ports {
    let log: Arc<dyn Log> = Arc::new(SegmentLog::open(Options::new(home.join("log"))).unwrap());
    let provider =
        HttpProvider::new(base_url, Arc::new(auth::Nothing), Arc::new(ChatCompletions::default())).unwrap();
    let redactor = Redactor::new(["a secret that is nowhere"]);
    let (loaded, granted) = (Arc::clone(&log), Arc::clone(&log));
    Ports {
        log: Arc::clone(&log),
        clock: Arc::new(SystemClock),
        models: Arc::new(One(Arc::new(provider))),
        deadlines: Deadlines::default(),
        tools: tools(Vec::new()).into(),
        services: Arc::new(Nothing(log)),
        limits: OutputLimits::default(),
        judge: Arc::new(|_, _, _, _| Verdict::Allow),
        grants: Arc::new(Grants::new(Arc::clone(&granted), StreamId::named(StreamKind::Profile, "default"))),
        people: Arc::new(Silent),
        checkpoints: None,
        hooks: Arc::default(),
        prompt: Arc::new(Prompt::of(home.join("SOUL.md"))),
        engine: Arc::new(Plain),
        outlet: Arc::new(Ear),
        redact: Arc::new(move |text| redactor.redact(text).into_owned()),
        load: Arc::new(move |id| fold(&*loaded, id)),
        watch: Arc::new(()),
        home: home.to_owned(),
    }
}

struct One(Arc<dyn Provider>);

impl Models for One {
    fn provider(&self, _: &ModelChoice, _: Option<&str>) -> Option<Arc<dyn Provider>> {
        Some(Arc::clone(&self.0))
    }
}

struct Nothing(Arc<dyn Log>);

impl Services for Nothing {
    fn log(&self) -> &dyn Log {
        &*self.0
    }

    fn search_sessions(&self, _: SessionId, _: &serde_json::Value) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn ask<'a>(&'a self, _: SessionId, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// A platform that takes everything.
struct Ear;

impl Outlet for Ear {
    fn way(&self, _: &ChatRef) -> Way {
        Way { format: Format::SOURCE, keyed: true }
    }

    fn send<'a>(&'a self, _: &'a Parcel) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(async { Ok(None) })
    }
}

/// The model server, a process of its own.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(SERVE, "1")
            .stdout(Stdio::piped())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, port: line.trim().parse().unwrap() }
    }

    fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Answers until its standard input ends, so that it never outlives the bench.
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let socket = socket.unwrap();
            std::thread::spawn(move || drop(answer_all(socket)));
        }
    });
    drop(std::io::stdin().read(&mut [0]));
}

fn answer_all(mut socket: TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let (plain, calls) = (response(&words()), response(&tool_calls()));
    let mut reader = BufReader::with_capacity(1 << 20, socket.try_clone()?);
    let mut body = Vec::new();
    loop {
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 && line != "\r\n" {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        if length == 0 {
            return Ok(());
        }
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        // The last message is at the end of the body.
        let text = String::from_utf8_lossy(&body);
        let last = text.rsplit_once("{\"role\":").map_or("", |(_, last)| last);
        let wants_tools = last.starts_with("\"user\"") && last.contains(WITH_TOOLS);
        socket.write_all(if wants_tools { &calls } else { &plain })?;
    }
}

/// A streamed answer of a few dozen words.
fn words() -> Vec<serde_json::Value> {
    let piece = |n: usize| serde_json::json!({"content": format!("word{n} ")});
    (0..40).map(piece).collect()
}

fn tool_calls() -> Vec<serde_json::Value> {
    let call = |n: usize| {
        let arguments = format!("{{\"path\":\"file_{n}.rs\"}}");
        let function = serde_json::json!({"name": "read_file", "arguments": arguments});
        serde_json::json!({"tool_calls": [
            {"index": n, "id": format!("call_{n}"), "type": "function", "function": function}]})
    };
    (0..TOOL_CALLS).map(call).collect()
}

/// The whole response, head and body.
fn response(deltas: &[serde_json::Value]) -> Vec<u8> {
    let finish =
        if deltas.iter().any(|delta| delta.get("content").is_some()) { "stop" } else { "tool_calls" };
    let event = |choices: serde_json::Value, usage: serde_json::Value| {
        let chunk = serde_json::json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "model": "scripted", "choices": choices, "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let none = serde_json::Value::Null;
    let mut body: String = deltas
        .iter()
        .map(|delta| event(serde_json::json!([{"index": 0, "delta": delta}]), none.clone()))
        .collect();
    let end = serde_json::json!([{"index": 0, "delta": {}, "finish_reason": finish}]);
    body.push_str(&event(end, none));
    let usage = serde_json::json!({"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940});
    body.push_str(&event(serde_json::json!([]), usage));
    body.push_str("data: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).into_bytes()
}
