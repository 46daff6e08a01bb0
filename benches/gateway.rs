//! Claims: fifty chats at a time over the API cost little more than the model's own time; a gateway at rest
//! is small; sessions at rest cost next to nothing; memory stays flat over many turns.
//!
//! Units: turns a second, milliseconds of wall time a turn (p50, p99), CPU time of the gateway a turn, MiB.
//! Real are the binary, its log on a disk, HTTP on both sides; the model is a server in this process that
//! answers after 50 ms, whose time is not counted. Compared in the same run with the same clients asking
//! the model directly.
//!
//! `GATEWAY_TURNS`, `GATEWAY_SESSIONS` and `GATEWAY_SOAK` try it small.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a bench may panic")]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use support::{row, size, table};

const KEY: &str = "a-key-of-a-bench-0123456789";
const MODEL_TIME: Duration = Duration::from_millis(50);
/// Clients of the latency, who leave the model's own time as the limit (50 of them at 50 ms: 1,000 turns/s); and
/// of the throughput, who do not.
const CLIENTS: usize = 50;
const MANY_CLIENTS: usize = 150;
/// How long a gateway rests before it is measured.
const REST: Duration = Duration::from_secs(30);
/// Sessions of one turn that are kept in memory.
const REST_SESSIONS: usize = 2_000;

fn main() {
    // The first installation stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let turns = size("GATEWAY_TURNS", 4_000);
    let sessions = size("GATEWAY_SESSIONS", 200);
    let soak = size("GATEWAY_SOAK", 10_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let model = runtime.block_on(model());
    let directly = format!("{model}/chat/completions");
    let gateway = Gateway::start(scratch.path(), &model);
    let (started, own) = (gateway.memory(), gateway.anonymous());
    std::thread::sleep(REST);
    let idle = gateway.memory();
    let url = format!("http://127.0.0.1:{}/v1/chat/completions", gateway.port);
    let mut rows = vec![row(["a model of 50 ms", "clients", "turns/s", "p50", "p99", "CPU a turn"])];
    let mut above = Vec::new();
    for clients in [1, CLIENTS, MANY_CLIENTS] {
        let turns = (turns * clients / CLIENTS).max(100);
        let direct = runtime.block_on(ask_all(&directly, turns, clients, |_| None));
        let before = gateway.cpu();
        let through = runtime.block_on(ask_all(&url, turns, clients, |_| None));
        let cpu = (gateway.cpu() - before) / u32::try_from(turns).unwrap();
        rows.push(direct.row("the model directly", clients, "-"));
        rows.push(through.row("through the gateway", clients, &format!("{:.2} ms", cpu.as_secs_f64() * 1e3)));
        above.push(format!("{:.1} ms with {clients}", (through.p50 - direct.p50).as_secs_f64() * 1e3));
    }
    table(&rows);
    println!("p50 above the model's own: {}", above.join(", "));

    let before = gateway.anonymous();
    runtime.block_on(ask_all(&url, REST_SESSIONS, CLIENTS, |turn| Some(format!("rest-{turn}"))));
    let each = gateway.anonymous().saturating_sub(before) as f64 / REST_SESSIONS as f64;
    let of = move |turn: usize| Some(format!("soak-{}", turn % sessions));
    let warm = runtime.block_on(ask_all(&url, soak / 5, CLIENTS, of));
    let early = gateway.memory();
    let rest = runtime.block_on(ask_all(&url, soak - soak / 5, CLIENTS, of));
    let late = gateway.memory();
    println!("a session that is kept in memory: {:.1} KiB", each / 1024.0);
    println!("warming up: {:.0} turns/s", warm.per_second);
    let mut rows = vec![row(["memory of the gateway", "MiB"])];
    rows.push(row(["just started", &mib(started)]));
    rows.push(row(["of that without the pages of its own file", &mib(own)]));
    rows.push(row(["at rest since half a minute", &mib(idle)]));
    rows.push(row([&format!("after {} turns over {sessions} sessions", soak / 5), &mib(early)]));
    rows.push(row([&format!("after {soak} turns over {sessions} sessions"), &mib(late)]));
    table(&rows);
    println!("soak: {:.0} turns/s", rest.per_second);
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

/// A model that answers after a while.
async fn model() -> String {
    let answer = || async {
        tokio::time::sleep(MODEL_TIME).await;
        let chunk = |delta: &str, finish: &str| {
            format!(
                "data: {{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\
             \"delta\":{{{delta}}},\"finish_reason\":{finish}}}]}}\n\n"
            )
        };
        let body = format!(
            "{}{}data: [DONE]\n\n",
            chunk("\"role\":\"assistant\",\"content\":\"The build fails because of a typo.\"", "null"),
            chunk("", "\"stop\""),
        );
        ([("content-type", "text/event-stream")], body)
    };
    let app = Router::new().route("/v1/chat/completions", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/v1")
}

struct Measured {
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

impl Measured {
    fn row(&self, name: &str, clients: usize, cpu: &str) -> Vec<String> {
        let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
        let (clients, rate) = (clients.to_string(), format!("{:.0}", self.per_second));
        row([name, &clients, &rate, &ms(self.p50), &ms(self.p99), cpu])
    }
}

/// `turns` questions by so many clients at a time.
async fn ask_all(
    url: &str,
    turns: usize,
    clients: usize,
    session: impl Fn(usize) -> Option<String> + Send + Sync + 'static,
) -> Measured {
    let next = Arc::new(AtomicUsize::new(0));
    let session = Arc::new(session);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let began = Instant::now();
    let tasks: Vec<_> = (0..clients)
        .map(|_| {
            let (next, session, client, url) = (next.clone(), session.clone(), client.clone(), url.to_owned());
            tokio::spawn(async move {
                let mut times = Vec::new();
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= turns {
                        return times;
                    }
                    let body = r#"{"model":"herm","messages":[{"role":"user","content":"why does the build fail?"}]}"#;
                    let mut request =
                        client.post(&url).bearer_auth(KEY).header("content-type", "application/json").body(body);
                    if let Some(session) = session(turn) {
                        request = request.header("x-hermes-session-id", session);
                    }
                    let asked = Instant::now();
                    let answer = request.send().await.unwrap();
                    assert!(answer.status().is_success(), "{}", answer.status());
                    let text = answer.text().await.unwrap();
                    assert!(text.contains("typo"), "{text}");
                    times.push(asked.elapsed());
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    let (p50, p99) = (at(50), at(99));
    Measured { per_second: turns as f64 / began.elapsed().as_secs_f64(), p50, p99 }
}

struct Gateway {
    child: Child,
    port: u16,
}

impl Gateway {
    fn start(home: &Path, model: &str) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(env!("CARGO_BIN_EXE_herm"))
            .args(["gateway", "run"])
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("HERM_HOME", home.join("home"))
            .env("API_SERVER_KEY", KEY)
            .env("API_SERVER_PORT", port.to_string())
            .env("HERM_BASE_URL", model)
            .env("HERM_MODEL", "m")
            .env("HERM_SESSION_TITLES", "false")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "the gateway did not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_secs(1));
        Self { child, port }
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap()
    }

    /// Resident, in bytes.
    fn memory(&self) -> u64 {
        self.proc("statm").split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
    }

    /// Of that, what is not backed by a file, in bytes.
    fn anonymous(&self) -> u64 {
        let smaps = self.proc("smaps_rollup");
        let line = smaps.lines().find(|line| line.starts_with("Anonymous:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
    }

    /// User and system time.
    fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        let fields: Vec<u64> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|f| f.parse().unwrap())
            .collect();
        Duration::from_millis(fields.iter().sum::<u64>() * 10)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
