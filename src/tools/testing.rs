//! What the tests of this folder share: a place on the disk, and a log that is a list.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use herm_replay::log::{Acknowledge, Append, Error, Head, Log, Records, Tail};
use herm_schema::events::ToolStatus;
use herm_schema::{
    BlobRef, CallRef, Digest, Envelope, Event, Micros, Position, Recorded, SessionId, StreamId, StreamKind,
    StreamPos,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{OutputLimits, Recovered, Services, Tool, ToolContext, arguments};
use crate::providers::BoxFuture;

/// A folder to work in, and what a tool is run with.
pub(crate) struct Place {
    _dir: tempfile::TempDir,
    pub cwd: PathBuf,
    pub context: ToolContext,
    pub services: Arc<Fake>,
}

pub(crate) fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (cwd, home) = (root.join("work"), root.join("home"));
    std::fs::create_dir_all(&cwd).unwrap();
    std::fs::create_dir_all(home.join("spool")).unwrap();
    let services = Arc::new(Fake::default());
    let context = ToolContext {
        session: session(),
        call: CallRef { message: StreamPos(1), index: 0 },
        cwd: cwd.clone(),
        spool: home.join("spool/1.0"),
        home,
        cancel: CancellationToken::new(),
        services: services.clone(),
        limits: OutputLimits::default(),
    };
    Place { _dir: dir, cwd, context, services }
}

fn session() -> SessionId {
    SessionId::of_stream(StreamId::named(StreamKind::Session, "test")).unwrap()
}

impl Place {
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.cwd.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.cwd.join(name)).unwrap()
    }

    /// Runs a tool as the runtime does; its status and what the model is shown.
    pub fn run(&self, tool: &dyn Tool, raw: Value) -> (ToolStatus, Value) {
        let arguments = arguments::prepare(&tool.parameters(), &raw.to_string()).unwrap();
        let result = wait(tool.run(&arguments, &self.context));
        (result.status, serde_json::from_str(&result.shown).unwrap())
    }

    pub fn succeeds(&self, tool: &dyn Tool, raw: Value) -> Value {
        let (status, shown) = self.run(tool, raw);
        assert_eq!(status, ToolStatus::Succeeded, "{shown}");
        shown
    }

    /// The error of a run that fails.
    pub fn fails(&self, tool: &dyn Tool, raw: Value) -> String {
        let (status, shown) = self.run(tool, raw);
        assert_eq!(status, ToolStatus::Failed, "{shown}");
        shown["error"].as_str().unwrap().to_owned()
    }

    pub fn recovers(&self, tool: &dyn Tool) -> Recovered {
        wait(tool.recover(&json!({}), &self.context))
    }
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Services that answer what they are told to.
#[derive(Default)]
pub(crate) struct Fake {
    pub log: ListLog,
    pub answer: Mutex<Option<String>>,
    pub asked: Mutex<Vec<(String, Vec<String>)>>,
    pub never_answers: Mutex<bool>,
}

impl Services for Fake {
    fn log(&self) -> &dyn Log {
        &self.log
    }

    fn search_sessions(&self, _session: SessionId, arguments: &Value) -> Value {
        match arguments.get("session_id") {
            Some(_) => json!({"error": "no such session"}),
            None => json!({"success": true, "asked": arguments}),
        }
    }

    fn ask<'a>(
        &'a self,
        _session: SessionId,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        self.asked.lock().unwrap().push((question.to_owned(), choices.to_vec()));
        if *self.never_answers.lock().unwrap() {
            return Box::pin(std::future::pending());
        }
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move { answer })
    }
}

/// A log of one stream that only tests write.
#[derive(Default)]
pub(crate) struct ListLog {
    events: Mutex<Vec<Recorded>>,
    blobs: Mutex<Vec<Vec<u8>>>,
}

impl ListLog {
    pub fn push(&self, event: impl Into<Event>) {
        let event = event.into();
        let mut events = self.events.lock().unwrap();
        let at = events.len() as u64 + 1;
        let envelope = Envelope {
            position: Position(at),
            stream: session().stream(),
            stream_pos: StreamPos(at),
            recorded_at: Micros(at as i64),
            kind: event.kind(),
            version: event.version(),
            cause: None,
            turn: None,
            key: None,
            batch_left: 0,
            epoch: 0,
            key_id: 0,
            codec: herm_schema::envelope::Codec::Plain,
            chain: Digest::of(b""),
        };
        events.push(Recorded { envelope, event });
    }
}

impl Log for ListLog {
    fn submit(&self, _append: Append, done: Acknowledge) {
        done(Err(Error::Closed));
    }

    fn read_stream(&self, stream: StreamId, from: StreamPos) -> Records<'_> {
        let events = self.events.lock().unwrap().clone();
        let wanted =
            move |event: &Recorded| event.envelope.stream == stream && event.envelope.stream_pos >= from;
        Box::new(events.into_iter().filter(wanted).map(Ok))
    }

    fn read_all(&self, _from: Position) -> Records<'_> {
        Box::new(self.events.lock().unwrap().clone().into_iter().map(Ok))
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, Error> {
        let events = self.events.lock().unwrap();
        Ok(events.iter().rev().find(|event| event.envelope.stream == stream).map(|event| Head {
            stream_pos: event.envelope.stream_pos,
            position: event.envelope.position,
            recorded_at: event.envelope.recorded_at,
            chain: event.envelope.chain,
        }))
    }

    fn tail(&self) -> Tail {
        Tail::default()
    }

    fn wait(&self, past: Position, _timeout: Duration) -> Position {
        past
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobRef, Error> {
        self.blobs.lock().unwrap().push(bytes.to_vec());
        Ok(BlobRef::of(bytes))
    }

    fn blob(&self, blob: BlobRef) -> Result<Vec<u8>, Error> {
        let blobs = self.blobs.lock().unwrap();
        Ok(blobs.iter().find(|bytes| BlobRef::of(bytes) == blob).cloned().unwrap())
    }
}
