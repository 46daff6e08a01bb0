//! Background processes: begun by `terminal`, followed to their end, found again after a restart.
//!
//! What is known of a process lies in a folder of its own below herm's home: `process.json` when it
//! was begun, the spool that its output goes to, `ended.json` when it has ended. That it was begun and
//! that it ended are events of its session; the folder is what makes a process that outlives herm one
//! that herm finds again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use herm_schema::{CallRef, SessionId};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{patterns, wrap};
use crate::environments::{Environments, Execution, Recovery};

/// Processes that may run at once, of all sessions.
const RUNNING_MAX: usize = 32;
/// Processes of all sessions that are remembered after their end.
const ENDED_KEPT: usize = 64;
/// How long the news of an end waits: the model may be about to see it by itself.
const NEWS_GRACE: Duration = Duration::from_secs(1);
/// How long a write to a standard input may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// News that wait to be told to a session, at most; more are dropped, their processes can be polled.
pub const NEWS_MAX: usize = 64;

/// What is known of a process from its beginning.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begun {
    pub name: String,
    pub session: SessionId,
    pub call: CallRef,
    /// Redacted.
    pub command: String,
    pub cwd: PathBuf,
    pub started_s: u64,
    pub notify: bool,
    pub watch_patterns: Vec<String>,
}

/// What is known of a process that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// `None` if nobody knows.
    pub exit_code: Option<i32>,
    pub ended_s: u64,
    /// Whether its session has heard of it.
    pub told: bool,
}

/// A process, running or ended.
pub struct Entry {
    pub begun: Begun,
    folder: PathBuf,
    cancel: CancellationToken,
    ended: watch::Sender<Option<Ended>>,
    /// Bytes of the output that a poll has shown.
    pub read_to: Mutex<u64>,
    /// The model waits for its end, or has seen it: it need not be told of it too.
    pub attended: AtomicBool,
}

impl Entry {
    pub fn output(&self) -> PathBuf {
        self.folder.join("spool/output")
    }

    pub fn ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// Waits for its end.
    pub async fn gone(&self) {
        let mut ended = self.ended.subscribe();
        drop(ended.wait_for(Option::is_some).await);
    }

    /// Ends it and everything that it started.
    pub fn kill(&self) {
        self.cancel.cancel();
    }

    fn write(&self, ended: &Ended) {
        let text = serde_json::to_vec(ended).unwrap_or_default();
        let part = self.folder.join("ended.part");
        if let Err(error) =
            fs::write(&part, text).and_then(|()| fs::rename(&part, self.folder.join("ended.json")))
        {
            tracing::warn!(%error, process = self.begun.name, "cannot note the end of a process");
        }
    }
}

/// What a session is told of a process of its own accord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub process: String,
    pub command: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It ended; `notify` says whether the model is to hear of it.
    Ended { exit_code: Option<i32>, notify: bool, output: PathBuf },
    /// It printed a line that was waited for.
    Printed { lines: Vec<String> },
}

/// How a process is to be begun.
pub struct Start {
    pub session: SessionId,
    pub call: CallRef,
    pub command_line: String,
    /// As it may be shown.
    pub shown: String,
    /// Of the session, on this machine.
    pub opened_in: PathBuf,
    pub workdir: Option<String>,
    pub pty: bool,
    pub notify: bool,
    pub watch_patterns: Vec<String>,
}

/// The processes of this home.
pub struct Processes {
    folder: PathBuf,
    environments: Arc<Environments>,
    entries: Mutex<BTreeMap<String, Arc<Entry>>>,
    listeners: Mutex<BTreeMap<SessionId, mpsc::Sender<News>>>,
}

impl Processes {
    /// Their folders lie below `folder`.
    pub fn new(folder: PathBuf, environments: Arc<Environments>) -> Self {
        Self { folder, environments, entries: Mutex::default(), listeners: Mutex::default() }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process of this name, if it belongs to the session.
    pub fn of(&self, session: SessionId, name: &str) -> Option<Arc<Entry>> {
        self.entries().get(name).filter(|entry| entry.begun.session == session).cloned()
    }

    /// The processes of a session, the oldest first.
    pub fn list(&self, session: SessionId) -> Vec<Arc<Entry>> {
        let mut found: Vec<_> =
            self.entries().values().filter(|entry| entry.begun.session == session).cloned().collect();
        found.sort_by_key(|entry| entry.begun.started_s);
        found
    }

    /// Begins one, and follows it.
    ///
    /// # Errors
    /// For the model: there are too many, or its environment cannot be had.
    pub fn begin(self: &Arc<Self>, start: Start) -> Result<Arc<Entry>, String> {
        let running = self.entries().values().filter(|entry| entry.ended().is_none()).count();
        if running >= RUNNING_MAX {
            return Err(format!(
                "{running} background processes run already, which is the limit; kill one first"
            ));
        }
        let session = start.session.to_string();
        let environment =
            self.environments.of(&session, &start.opened_in).map_err(|error| error.to_string())?;
        let name = name(start.session, start.call);
        let folder = self.folder.join(&name);
        let stands = environment.cwd(&session).unwrap_or_else(|| start.opened_in.clone());
        let begun = Begun {
            name: name.clone(),
            session: start.session,
            call: start.call,
            command: start.shown,
            cwd: stands.clone(),
            started_s: now_s(),
            notify: start.notify,
            watch_patterns: start.watch_patterns,
        };
        let written = serde_json::to_vec_pretty(&begun).map_err(|error| error.to_string())?;
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("process.json"), written))
            .map_err(|error| format!("`{}` cannot be written: {error}", folder.display()))?;
        let named = wrap::Named { name: &name, shared: environment.shared_folder() };
        let line = wrap::command(named, &start.command_line, start.pty);
        let lifetime = Duration::from_secs(wrap::LIFETIME_S);
        let execution = Execution {
            workdir: start.workdir,
            session: Some(session),
            keeps: false,
            ..Execution::new(line, &stands, &folder.join("spool"), lifetime)
        };
        let entry = self.keep(begun, folder, None);
        let (this, followed) = (Arc::clone(self), Arc::clone(&entry));
        tokio::spawn(async move {
            let exit_code = match environment.execute(&execution, &followed.cancel).await {
                Ok(outcome) => Some(outcome.ending.exit_code()),
                Err(error) => {
                    tracing::warn!(%error, process = followed.begun.name, "a process was not begun");
                    drop(fs::create_dir_all(followed.folder.join("spool")));
                    drop(fs::write(followed.output(), format!("not begun: {error}\n")));
                    None
                }
            };
            this.has_ended(&followed, exit_code).await;
        });
        self.look_out(&entry);
        Ok(entry)
    }

    fn keep(&self, begun: Begun, folder: PathBuf, ended: Option<Ended>) -> Arc<Entry> {
        let name = begun.name.clone();
        let (ended, _) = watch::channel(ended);
        let (cancel, read_to, attended) = (CancellationToken::new(), Mutex::new(0), AtomicBool::new(false));
        let entry = Arc::new(Entry { begun, folder, cancel, ended, read_to, attended });
        self.entries().insert(name, Arc::clone(&entry));
        entry
    }

    /// Finds the processes again that an earlier herm left: those that still run are followed.
    pub fn adopt(self: &Arc<Self>) {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for folder in folders {
            let Some(begun) = read::<Begun>(&folder.join("process.json")) else { continue };
            let ended = read::<Ended>(&folder.join("ended.json"));
            let running = ended.is_none();
            let entry = self.keep(begun, folder, ended);
            if running {
                let this = Arc::clone(self);
                tokio::spawn(async move { this.find_out(&entry).await });
            }
        }
        self.forget_old();
    }

    async fn find_out(self: &Arc<Self>, entry: &Arc<Entry>) {
        let environment = self.environments.of(&entry.begun.session.to_string(), &entry.begun.cwd);
        self.look_out(entry);
        let exit_code = match environment {
            Ok(environment) => match environment.recover(&entry.folder.join("spool"), &entry.cancel).await {
                Recovery::Finished(outcome) => Some(outcome.ending.exit_code()),
                Recovery::NeverBegan | Recovery::Unknown => None,
            },
            Err(_) => None,
        };
        self.has_ended(entry, exit_code).await;
    }

    async fn has_ended(&self, entry: &Entry, exit_code: Option<i32>) {
        let ended = Ended { exit_code, ended_s: now_s(), told: false };
        entry.write(&ended);
        entry.ended.send_replace(Some(ended));
        tokio::time::sleep(NEWS_GRACE).await;
        self.tell_end(entry).await;
    }

    async fn tell_end(&self, entry: &Entry) {
        let Some(ended) = entry.ended().filter(|ended| !ended.told) else { return };
        let listener = self.listener(entry.begun.session);
        let Some(listener) = listener else { return };
        let what = What::Ended {
            exit_code: ended.exit_code,
            notify: entry.begun.notify && !entry.attended.load(Ordering::SeqCst),
            output: entry.output(),
        };
        if listener.send(news(entry, what)).await.is_ok() {
            let ended = Ended { told: true, ..ended };
            entry.write(&ended);
            entry.ended.send_replace(Some(ended));
        }
    }

    fn listener(&self, session: SessionId) -> Option<mpsc::Sender<News>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).get(&session).cloned()
    }

    /// What there is to be told to a session from now on, and what it has not heard yet.
    pub async fn listen(&self, session: SessionId) -> mpsc::Receiver<News> {
        let (sender, receiver) = mpsc::channel(NEWS_MAX);
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).insert(session, sender);
        for entry in self.list(session) {
            self.tell_end(&entry).await;
        }
        receiver
    }

    /// Looks out for lines that were asked for, until the process has ended.
    fn look_out(self: &Arc<Self>, entry: &Arc<Entry>) {
        let Some(mut watched) = patterns::Watched::of(&entry.begun.watch_patterns) else {
            return;
        };
        let (this, entry) = (Arc::clone(self), Arc::clone(entry));
        tokio::spawn(async move {
            loop {
                let over = tokio::select! {
                    () = entry.gone() => true,
                    () = tokio::time::sleep(patterns::LOOK_EVERY) => false,
                };
                let lines = watched.look(&entry.output());
                if let (false, Some(listener)) = (lines.is_empty(), this.listener(entry.begun.session)) {
                    drop(listener.try_send(news(&entry, What::Printed { lines })));
                }
                if over || watched.is_done() {
                    return;
                }
            }
        });
    }

    /// Writes to the standard input of a process, or closes it; what is wrong if it cannot.
    ///
    /// # Errors
    /// For the model.
    pub async fn input(&self, entry: &Entry, data: Option<&str>, spool: &Path) -> Result<(), String> {
        let environment = self
            .environments
            .of(&entry.begun.session.to_string(), &entry.begun.cwd)
            .map_err(|error| error.to_string())?;
        let named = wrap::Named { name: &entry.begun.name, shared: environment.shared_folder() };
        let line = data.map_or_else(|| wrap::close(named), |data| wrap::write(named, data));
        let execution = Execution::new(line, Path::new("/"), spool, WRITE_TIMEOUT);
        let outcome = environment.execute(&execution, &CancellationToken::new()).await;
        let outcome = outcome.map_err(|error| error.to_string())?;
        match outcome.ending.exit_code() {
            0 => Ok(()),
            124 => Err("it does not read its standard input, and the pipe is full".to_owned()),
            _ => Err(fs::read_to_string(&outcome.output).unwrap_or_default().trim().to_owned()),
        }
    }

    /// Removes the oldest of those that have ended, above what is kept.
    fn forget_old(&self) {
        let mut entries = self.entries();
        let mut ended: Vec<(u64, String)> = entries
            .iter()
            .filter_map(|(name, entry)| entry.ended().map(|ended| (ended.ended_s, name.clone())))
            .collect();
        ended.sort();
        let more = ended.len().saturating_sub(ENDED_KEPT);
        for (_, name) in ended.into_iter().take(more) {
            if let Some(entry) = entries.remove(&name) {
                drop(fs::remove_dir_all(&entry.folder));
            }
        }
    }
}

fn news(entry: &Entry, what: What) -> News {
    News { process: entry.begun.name.clone(), command: entry.begun.command.clone(), what }
}

/// The same call has the same process, also after a restart.
fn name(session: SessionId, call: CallRef) -> String {
    let hash = blake3::hash(format!("{session} {call}").as_bytes()).to_hex();
    format!("proc_{}", hash.chars().take(8).collect::<String>())
}

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

pub fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
