//! What the tests of this folder share: a place on the disk, services that answer, a log in memory.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use herm_replay::log::{Append, Durability, Expect, Log, MemoryLog};
use herm_schema::events::{AuxiliaryTask, MemorySpace, ToolStatus};
use herm_schema::{CallRef, Event, Micros, SessionId, StreamPos};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ModelQuestion, OutputLimits, Recovered, Services, Tool, ToolContext, arguments, sanitize};
use crate::memory::MemoryProvider;
use crate::providers::{BoxFuture, Image};

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
        files: Default::default(),
        opened_in: cwd.clone(),
        spool: home.join("spool/1.0"),
        home,
        cancel: CancellationToken::new(),
        services: services.clone(),
        limits: OutputLimits::default(),
    };
    Place { _dir: dir, cwd, context, services }
}

fn session() -> SessionId {
    SessionId::opened(Micros(1), [7; 10])
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
        let error = shown["error"].as_str().unwrap();
        error.strip_prefix(sanitize::ERROR_PREFIX).unwrap_or_else(|| panic!("{error}")).to_owned()
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
    pub log: MemoryLog,
    pub answer: Mutex<Option<String>>,
    pub asked: Mutex<Vec<(String, Vec<String>)>>,
    pub never_answers: Mutex<bool>,
    pub shown: Mutex<Vec<(AuxiliaryTask, String, Vec<Image>)>>,
    pub memory: Mutex<Option<Arc<dyn MemoryProvider>>>,
}

impl Fake {
    /// Appends to the stream of the session.
    pub fn record(&self, event: impl Into<Event>) {
        let append = Append {
            stream: session().stream(),
            expect: Expect::Any,
            key: None,
            at: Micros(1),
            durability: Durability::Queued,
            events: vec![event.into().into()],
        };
        self.log.append(append).unwrap();
    }
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

    fn memory(&self, _session: SessionId) -> Option<(Arc<dyn MemoryProvider>, MemorySpace)> {
        Some((self.memory.lock().unwrap().clone()?, MemorySpace::Profile))
    }

    fn redacted(&self, text: &str) -> String {
        crate::config::Redactor::new([]).redact(text).into_owned()
    }

    fn ask_model<'a>(
        &'a self,
        _session: SessionId,
        question: ModelQuestion,
    ) -> BoxFuture<'a, Result<String, String>> {
        self.shown.lock().unwrap().push((question.task, question.text, question.images));
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move { answer.ok_or_else(|| "nobody answered".to_owned()) })
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
