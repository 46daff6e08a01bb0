//! A model server on a real loopback socket that speaks chat completions and follows a script.
//!
//! It has a thread and a runtime of its own, so that tests may block, run a real binary against it
//! or be asynchronous. It records every request, and checks each; [`ModelServer::verify`] tells.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::conversation;
use super::reply::{Kind, Reply};
use super::wires::Wire;

/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a comment is sent by a reply of comments.
const KEEP_ALIVE_EVERY: Duration = Duration::from_millis(5);

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// `null` where the body is no JSON.
    pub json: Value,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Text of the last message.
    pub fn last_text(&self) -> &str {
        let last = self.json["messages"].as_array().and_then(|messages| messages.last());
        last.and_then(|last| last["content"].as_str()).unwrap_or_default()
    }
}

type Compute = Box<dyn Fn(&Recorded) -> Reply + Send + Sync>;

enum Script {
    List(Mutex<VecDeque<Reply>>),
    Computed(Compute),
}

#[derive(Default)]
struct Seen {
    requests: Vec<Recorded>,
    problems: Vec<String>,
    /// Replies that the client did not wait for the end of.
    hangups: usize,
    finished: usize,
}

struct State {
    script: Script,
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl State {
    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait(&self, what: &str, ready: impl Fn(&Seen) -> bool) {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.lock().unwrap();
        while !ready(&seen) {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{what} did not come within {PATIENCE:?}");
            seen = self.changed.wait_timeout(seen, left).unwrap().0;
        }
    }
}

/// The server; it stops when it is dropped.
pub struct ModelServer {
    state: Arc<State>,
    port: u16,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl ModelServer {
    /// A server that gives `replies` in order, one for each POST request.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::run(Script::List(Mutex::new(replies.into_iter().collect())))
    }

    /// A server whose replies are computed from the requests.
    pub fn computed(reply: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        Self::run(Script::Computed(Box::new(reply)))
    }

    fn run(script: Script) -> Self {
        let state = Arc::new(State { script, seen: Mutex::new(Seen::default()), changed: Condvar::new() });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let shared = state.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = accept(TcpListener::from_std(listener).unwrap(), shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { state, port, stop: Some(stop) }
    }

    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.state.seen.lock().unwrap().requests.clone()
    }

    /// Appends a reply to the script.
    pub fn push(&self, reply: Reply) {
        match &self.state.script {
            Script::List(list) => list.lock().unwrap().push_back(reply),
            Script::Computed(_) => panic!("the replies of this server are computed"),
        }
    }

    /// Blocks until `count` POST requests have come in.
    pub fn wait_for_requests(&self, count: usize) {
        self.state.wait(&format!("request {count}"), |seen| seen.requests.len() >= count);
    }

    /// Blocks until the client has gone away from `count` replies.
    pub fn wait_for_hangups(&self, count: usize) {
        self.state.wait(&format!("hang-up {count}"), |seen| seen.hangups >= count);
    }

    /// As [`ModelServer::wait_for_requests`], without blocking the test's runtime.
    pub async fn requested(&self, count: usize) {
        let state = self.state.clone();
        let wait = move || state.wait(&format!("request {count}"), |seen| seen.requests.len() >= count);
        tokio::task::spawn_blocking(wait).await.unwrap();
    }

    /// As [`ModelServer::wait_for_hangups`], without blocking the test's runtime.
    pub async fn hung_up(&self, count: usize) {
        let state = self.state.clone();
        let wait = move || state.wait(&format!("hang-up {count}"), |seen| seen.hangups >= count);
        tokio::task::spawn_blocking(wait).await.unwrap();
    }

    /// Panics with everything that was wrong with the requests.
    #[track_caller]
    pub fn verify(&self) {
        let problems = self.state.seen.lock().unwrap().problems.clone();
        assert!(problems.is_empty(), "the model server objects:\n{}", problems.join("\n"));
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((socket, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            // A client may go away at any time; that is what some tests are about.
            let _ = serve(socket, &state).await;
        });
    }
}

async fn serve(mut socket: TcpStream, state: &State) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut socket, &mut buffer).await? {
        if request.method == "GET" {
            let body = json!({"object": "list", "data": [{"id": "scripted", "context_length": 65_536}]});
            write_whole(&mut socket, 200, &[], "application/json", body.to_string().as_bytes()).await?;
            continue;
        }
        let wire = Wire::of_path(&request.path);
        // The others have validators of their own, which their tests ask.
        let found = match wire {
            Wire::ChatCompletions => conversation::problems(&request.json),
            _ => Vec::new(),
        };
        let number = {
            let mut number = 0;
            state.note(|seen| {
                seen.requests.push(request.clone());
                number = seen.requests.len();
                let named = found.iter().map(|problem| format!("request {number}: {problem}"));
                seen.problems.extend(named);
            });
            number
        };
        let next = match &state.script {
            Script::List(list) => list.lock().unwrap().pop_front(),
            Script::Computed(compute) => Some(compute(&request)),
        };
        let reply = next.unwrap_or_else(|| {
            state.note(|seen| seen.problems.push(format!("request {number}: nothing was scripted for it")));
            Reply::status(400, "{\"error\":{\"message\":\"the script has ended\"}}")
        });
        let streamed = request.json["stream"] == true || matches!(wire, Wire::BedrockConverse | Wire::Gemini);
        let sent = send(&mut socket, &reply, streamed, wire).await;
        state.note(|seen| match sent {
            Ok(()) => seen.finished += 1,
            Err(_) => seen.hangups += 1,
        });
        sent?;
        if reply.cut_after.is_some() {
            break;
        }
    }
    Ok(())
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Recorded>> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    while buffer.len() < head_end + length {
        if socket.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    let body = String::from_utf8_lossy(&buffer[head_end..head_end + length]).into_owned();
    buffer.drain(..head_end + length);
    let json = serde_json::from_str(&body).unwrap_or(Value::Null);
    Ok(Some(Recorded { method: method.to_owned(), path: path.to_owned(), headers, body, json }))
}

/// Sends `reply`; an error means that the client went away before its end.
async fn send(socket: &mut TcpStream, reply: &Reply, streamed: bool, wire: Wire) -> io::Result<()> {
    if let Some(gate) = &reply.before {
        unless_gone(socket, gate.pass()).await?;
    }
    let pieces = match &reply.kind {
        Kind::Silence => return unless_gone(socket, std::future::pending()).await,
        Kind::KeepAlives => {
            begin_chunked(socket, 200, &reply.headers, "text/event-stream").await?;
            loop {
                write_chunk(socket, b": keep-alive\n\n").await?;
                unless_gone(socket, tokio::time::sleep(KEEP_ALIVE_EVERY)).await?;
            }
        }
        Kind::Answer(answer) if streamed => {
            let mut pieces = wire.stream(answer);
            if let Some(after) = reply.fails_after {
                pieces.truncate(after);
                pieces.push(wire.failure());
            }
            pieces
        }
        Kind::Answer(answer) => vec![answer.whole().to_string().into_bytes()],
        Kind::Raw { pieces, .. } => pieces.clone(),
    };
    let content_type = match &reply.kind {
        Kind::Raw { content_type, .. } => content_type,
        _ if streamed => wire.content_type(),
        _ => "application/json",
    };
    begin_chunked(socket, reply.status, &reply.headers, content_type).await?;
    for (sent, piece) in pieces.iter().enumerate() {
        if reply.cut_after == Some(sent) {
            return socket.shutdown().await;
        }
        if let Some((after, gate)) = &reply.gate
            && *after == sent
        {
            unless_gone(socket, gate.pass()).await?;
        }
        write_chunk(socket, piece).await?;
    }
    socket.write_all(b"0\r\n\r\n").await
}

/// Waits for `future`, or fails as soon as the client closes the connection.
async fn unless_gone(socket: &TcpStream, future: impl Future<Output = ()>) -> io::Result<()> {
    let gone = async {
        loop {
            let mut byte = [0];
            if !matches!(socket.peek(&mut byte).await, Ok(count) if count > 0) {
                return;
            }
            // Bytes of a next request are nobody's concern here.
            tokio::time::sleep(KEEP_ALIVE_EVERY).await;
        }
    };
    tokio::select! {
        () = future => Ok(()),
        () = gone => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

fn head(status: u16, headers: &[(String, String)], content_type: &str) -> String {
    let mut head = format!("HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

async fn begin_chunked(
    socket: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    content_type: &str,
) -> io::Result<()> {
    let head = head(status, headers, content_type) + "transfer-encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).await
}

async fn write_chunk(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    socket.write_all(&framed).await
}

async fn write_whole(
    socket: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    content_type: &str,
    body: &[u8],
) -> io::Result<()> {
    let length = format!("content-length: {}\r\n\r\n", body.len());
    let head = head(status, headers, content_type) + length.as_str();
    socket.write_all(head.as_bytes()).await?;
    socket.write_all(body).await
}
