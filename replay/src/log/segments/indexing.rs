//! The thread that owns the index: it applies what is on the disk, and answers questions.
//!
//! Nobody else calls the store, so a call that hangs hangs only this thread, and who asks gives up
//! after a while; a call that panics is caught. In every such case the segments answer, the store is
//! moved aside and built anew, [`REBUILDS_MAX`] times.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use herm_schema::{IdempotencyKey, Position, StreamId, StreamPos};

use super::Options;
use super::overlay::{Place, Pointer};
use super::shared::Shared;
use crate::log::Error;
use crate::log::index::{Failure, OpenStore, Store, Syncing};

/// Entries applied at once, at least one whole append; questions are answered in between, and who asks is the
/// one thread that appends.
const STEP_ENTRIES: usize = 64;
/// Steps between two looks at whether a burst goes on.
const ROUND_STEPS: usize = 8;
/// Entries after which the index is flushed and marked.
const FLUSH_ENTRIES: usize = 20_000;
/// Time after which a quiet index is flushed and marked.
const FLUSH_AFTER: Duration = Duration::from_secs(5);
/// Times that an index which failed is built anew, until the log is opened again.
const REBUILDS_MAX: u32 = 2;
/// In a burst the appenders need processor and disk more than the index does: it waits, up to this lag.
const BURST_LAG_EVENTS_MAX: usize = 65_536;
/// How long it looks on at a time, and how many events in that time make a burst.
const BURST_LOOK: Duration = Duration::from_millis(10);
const BURST_EVENTS_MIN: u64 = 64;
/// Messages to the thread that wait, at most.
const MESSAGES_MAX: usize = 256;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    Head(StreamId),
    Key(IdempotencyKey),
    Records { stream: StreamId, from: StreamPos, to: StreamPos },
    Near(Position),
}

#[derive(Debug)]
pub(crate) enum Answer {
    Head(Option<(StreamPos, Pointer)>),
    Key(Option<Pointer>),
    Records(Vec<Pointer>),
    Near(Option<Pointer>),
}

enum Message {
    Ask(Question, Sender<Answer>),
    Grown,
    CatchUp(Sender<()>),
    /// What was flushed is on the disk, or is not.
    Synced(Flushed, Result<(), Failure>),
    Stop,
}

/// How far a flush of the store goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flushed {
    /// Which of the stores that were opened, by number.
    store: u32,
    /// The last position in it.
    base: Position,
    /// Where the record behind it stands.
    next: Place,
}

/// The way to the thread.
pub(crate) struct Asking {
    messages: Sender<Message>,
    patience: Duration,
    flags: Arc<Flags>,
}

#[derive(Default)]
struct Flags {
    /// `Grown` is under way.
    rung: AtomicBool,
    /// The store must not be used any more.
    discarded: AtomicBool,
    /// The thread does not answer.
    hung: AtomicBool,
    /// There will be no index until the log is opened again.
    given_up: AtomicBool,
}

impl Asking {
    pub(crate) fn ask(&self, question: Question) -> Option<Answer> {
        if self.flags.hung.load(Ordering::Acquire) || self.is_given_up() {
            return None;
        }
        let (reply, wait) = bounded(1);
        let sent = self.messages.send_timeout(Message::Ask(question, reply), self.patience);
        match sent.ok().map(|()| wait.recv_timeout(self.patience))? {
            Ok(answer) => Some(answer),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                self.flags.hung.store(true, Ordering::Release);
                None
            }
        }
    }

    pub(crate) fn ring(&self) {
        if !self.flags.rung.swap(true, Ordering::AcqRel) && self.messages.try_send(Message::Grown).is_err() {
            self.flags.rung.store(false, Ordering::Release);
        }
    }

    pub(crate) fn discard_store(&self) {
        self.flags.discarded.store(true, Ordering::Release);
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.flags.given_up.load(Ordering::Acquire)
    }
}

pub(crate) struct Indexing {
    messages: Sender<Message>,
    thread: JoinHandle<()>,
    flags: Arc<Flags>,
}

impl Indexing {
    pub(crate) fn start(shared: Arc<Shared>, open: Arc<OpenStore>, options: &Options) -> Result<Self, Error> {
        let (messages, incoming) = bounded(MESSAGES_MAX);
        let flags = Arc::new(Flags::default());
        let asking = Asking {
            messages: messages.clone(),
            patience: options.index_patience,
            flags: Arc::clone(&flags),
        };
        // Set before anybody can ask: this log was made a moment ago.
        let _ = shared.asking.set(asking);
        let path = options.folder.join("index");
        let work = Work {
            messages: messages.clone(),
            shared,
            open,
            path,
            store: None,
            opened: 0,
            syncing: false,
            unflushed: 0,
            rebuilds: 0,
            flags: Arc::clone(&flags),
            waiting: Vec::new(),
            stopping: false,
        };
        let thread =
            std::thread::Builder::new().name("log-index".to_owned()).spawn(move || work.run(&incoming));
        let thread = thread.map_err(|error| Error::io("start a thread for", &options.folder, &error))?;
        Ok(Self { messages, thread, flags })
    }

    pub(crate) fn catch_up(&self, timeout: Duration) {
        let (reply, wait) = bounded(0);
        if self.messages.send_timeout(Message::CatchUp(reply), timeout).is_ok() {
            // Dropped when it is done.
            let _ = wait.recv_timeout(timeout);
        }
    }

    pub(crate) fn stop(self) {
        if self.flags.hung.load(Ordering::Acquire) {
            // It cannot be waited for; what it holds ends with the process.
            return;
        }
        let _ = self.messages.send(Message::Stop);
        let _ = self.thread.join();
    }
}

struct Work {
    messages: Sender<Message>,
    shared: Arc<Shared>,
    open: Arc<OpenStore>,
    path: PathBuf,
    store: Option<Box<dyn Store>>,
    /// How many stores were opened; the number of the current one.
    opened: u32,
    /// Another thread waits for the disk.
    syncing: bool,
    unflushed: usize,
    rebuilds: u32,
    flags: Arc<Flags>,
    /// Those that wait until everything is applied.
    waiting: Vec<Sender<()>>,
    stopping: bool,
}

impl Work {
    fn run(mut self, incoming: &Receiver<Message>) {
        loop {
            let message = incoming.recv_timeout(FLUSH_AFTER);
            self.drop_discarded();
            match message {
                Ok(Message::Ask(question, reply)) => self.answer(question, &reply),
                Ok(Message::Grown) => {
                    if self.shared.state().overlay.len() > self.shared.index_from_events {
                        self.apply_all(incoming);
                    }
                    // Not before: whoever appends in the meantime need not ring, for all of it is applied.
                    self.flags.rung.store(false, Ordering::Release);
                }
                Ok(Message::CatchUp(reply)) => {
                    self.apply_all(incoming);
                    self.flush_now();
                    drop(reply);
                }
                Ok(Message::Synced(flushed, result)) => self.synced(flushed, result),
                Err(RecvTimeoutError::Timeout) => self.flush(),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return self.finish(incoming),
            }
            self.flags.hung.store(false, Ordering::Release);
            if self.stopping {
                return self.finish(incoming);
            }
        }
    }

    fn finish(mut self, incoming: &Receiver<Message>) {
        if self.store.is_some() {
            self.apply_all(incoming);
            self.flush_now();
        }
        self.shared.write_mark(None);
        self.drop_store();
    }

    /// Drops the reply when there is no answer: who asks goes to the segments.
    fn answer(&mut self, question: Question, reply: &Sender<Answer>) {
        if self.shared.state().overlay.base() == Position(0) {
            return;
        }
        let answer = self.call(|store| match question {
            Question::Head(stream) => store.head(stream).map(Answer::Head),
            Question::Key(key) => store.key(key).map(Answer::Key),
            Question::Records { stream, from, to } => store.records(stream, from, to).map(Answer::Records),
            Question::Near(position) => store.near(position).map(Answer::Near),
        });
        if let Some(answer) = answer {
            // Whoever asked may have given up.
            let _ = reply.send(answer);
        }
    }

    fn apply_all(&mut self, incoming: &Receiver<Message>) {
        loop {
            self.let_burst_pass(incoming);
            for _ in 0..ROUND_STEPS {
                if !self.apply_step() {
                    if !self.waiting.is_empty() {
                        self.flush_now();
                        self.waiting.clear();
                    }
                    return;
                }
                while let Ok(message) = incoming.try_recv() {
                    self.read(message);
                }
            }
        }
    }

    /// What is sent while entries are being applied.
    fn read(&mut self, message: Message) {
        match message {
            Message::Ask(question, reply) => self.answer(question, &reply),
            Message::Grown => {}
            // Both wait for what is being done here anyway.
            Message::CatchUp(reply) => self.waiting.push(reply),
            Message::Stop => self.stopping = true,
            Message::Synced(flushed, result) => self.synced(flushed, result),
        }
    }

    /// Answers what was asked, and waits while events pour in and nobody waits for the index.
    fn let_burst_pass(&mut self, incoming: &Receiver<Message>) {
        loop {
            let (before, lag) = {
                let state = self.shared.state();
                (state.tail.last, state.overlay.len())
            };
            let patient = lag < BURST_LAG_EVENTS_MAX && self.waiting.is_empty() && !self.stopping;
            let until = Instant::now() + if patient { BURST_LOOK } else { Duration::ZERO };
            while let Ok(message) = incoming.recv_deadline(until) {
                self.read(message);
            }
            let grown = self.shared.state().tail.last.0.saturating_sub(before.0);
            if !patient || grown < BURST_EVENTS_MIN || !self.waiting.is_empty() || self.stopping {
                return;
            }
        }
    }

    /// Applies some entries; whether there may be more.
    fn apply_step(&mut self) -> bool {
        self.drop_discarded();
        let entries = {
            let state = self.shared.state();
            state.overlay.oldest(STEP_ENTRIES, state.tail.durable)
        };
        let Some(last) = entries.last().copied() else {
            // What is queued only is brought to the disk first: the index never knows more than it.
            let (before, lag) = {
                let state = self.shared.state();
                (state.tail.durable, state.overlay.len())
            };
            return lag > self.shared.index_from_events
                && self.shared.sync_tail().is_ok_and(|durable| durable > before);
        };
        if self.call(|store| store.apply(&entries)).is_none() {
            return !self.flags.given_up.load(Ordering::Acquire) && self.store_can_be_opened();
        }
        {
            let _reloading = self.shared.reloading();
            if self.flags.discarded.load(Ordering::Acquire) {
                return true;
            }
            self.shared.state().overlay.forget(last.position);
        }
        self.shared.shrunk.notify_all();
        self.unflushed = self.unflushed.saturating_add(entries.len());
        if self.unflushed >= FLUSH_ENTRIES {
            self.flush();
        }
        true
    }

    fn store_can_be_opened(&self) -> bool {
        self.rebuilds <= REBUILDS_MAX
    }

    /// Hands what was applied to the system, and lets another thread wait for the disk: that takes long, and
    /// whoever appends may have a question meanwhile.
    fn flush(&mut self) {
        if self.syncing {
            return;
        }
        let Some((flushed, sync)) = self.handed_over() else {
            return;
        };
        let messages = self.messages.clone();
        let wait = move || {
            let result = sync();
            // Nobody listens any more when the log was closed meanwhile.
            let _ = messages.send(Message::Synced(flushed, result));
        };
        // Without a thread the next flush tries again.
        self.syncing = std::thread::Builder::new().name("log-index-sync".to_owned()).spawn(wait).is_ok();
    }

    /// What was applied is on the disk when it returns.
    fn flush_now(&mut self) {
        if self.syncing {
            // Not known yet to be there.
            self.unflushed = self.unflushed.max(1);
        }
        if let Some((flushed, sync)) = self.handed_over() {
            let result = sync();
            self.synced(flushed, result);
        }
    }

    fn handed_over(&mut self) -> Option<(Flushed, Syncing)> {
        if self.unflushed == 0 || self.store.is_none() {
            return None;
        }
        let (base, next) = {
            let state = self.shared.state();
            let base = state.overlay.base();
            (base, state.overlay.at(base.next()).map_or(state.end, |entry| entry.pointer.place))
        };
        let sync = self.call(|store| store.flush())?;
        self.unflushed = 0;
        Some((Flushed { store: self.opened, base, next }, sync))
    }

    fn synced(&mut self, flushed: Flushed, result: Result<(), Failure>) {
        self.syncing = false;
        if flushed.store != self.opened || self.store.is_none() {
            return;
        }
        match result {
            Err(failure) => self.fail(failure),
            Ok(()) => {
                let rebuilt = {
                    let mut state = self.shared.state();
                    state.overlay.len() <= self.shared.index_from_events && state.degraded.take().is_some()
                };
                if rebuilt {
                    tracing::info!("the index has been rebuilt");
                }
                if flushed.base > self.shared.state().mark.indexed {
                    self.shared.write_mark(Some((flushed.base, flushed.next)));
                }
            }
        }
    }

    /// Calls the store, opened if it is not; `None` if it fails in any way, and then it is gone.
    fn call<T>(&mut self, what: impl FnOnce(&mut dyn Store) -> Result<T, Failure>) -> Option<T> {
        if self.store.is_none() && !self.open_store() {
            return None;
        }
        let store = self.store.as_mut()?;
        let result = catch_unwind(AssertUnwindSafe(|| what(store.as_mut())));
        let failure = match result {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(failure)) => failure,
            Err(panic) => format!("it panicked: {}", said(panic.as_ref())),
        };
        self.fail(failure);
        None
    }

    fn open_store(&mut self) -> bool {
        if !self.store_can_be_opened() {
            self.flags.given_up.store(true, Ordering::Release);
            self.shared.shrunk.notify_all();
            return false;
        }
        let (base, mark, last) = {
            let state = self.shared.state();
            (state.overlay.base(), state.mark.indexed, state.tail.last)
        };
        if base == Position(0) {
            // Whatever stands there is of no use: everything is applied from the start.
            self.move_aside();
        }
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let store = (self.open)(&self.path)?;
            let applied = store.applied()?;
            Ok((store, applied))
        }));
        let failure = match opened {
            Ok(Ok((_, applied))) if base > Position(0) && applied < mark => {
                format!("it ends at position {applied}, {mark} were flushed")
            }
            Ok(Ok((_, applied))) if applied > last => {
                format!("it ends at position {applied}, the log at {last}")
            }
            Ok(Ok((store, _))) => {
                self.flags.discarded.store(false, Ordering::Release);
                self.store = Some(store);
                self.opened = self.opened.saturating_add(1);
                return true;
            }
            Ok(Err(failure)) => failure,
            Err(panic) => format!("it panicked: {}", said(panic.as_ref())),
        };
        self.fail(failure);
        false
    }

    fn fail(&mut self, failure: Failure) {
        self.rebuilds = self.rebuilds.saturating_add(1);
        if let Err(error) = self.shared.distrust(failure) {
            tracing::error!(%error, "the segments do not read either");
            self.flags.given_up.store(true, Ordering::Release);
        }
        self.drop_discarded();
    }

    fn drop_discarded(&mut self) {
        if self.flags.discarded.swap(false, Ordering::AcqRel) {
            self.drop_store();
            self.unflushed = 0;
            self.move_aside();
            // Nothing is indexed until it has been flushed again.
            self.shared.write_mark(Some((Position(0), Place::default())));
        }
    }

    fn drop_store(&mut self) {
        let store = self.store.take();
        if catch_unwind(AssertUnwindSafe(|| drop(store))).is_err() {
            tracing::warn!("the index panicked when it was closed");
        }
    }

    /// Keeps one index that failed, for whoever wants to look at it.
    fn move_aside(&self) {
        if !self.path.exists() {
            return;
        }
        let aside = self.path.with_extension("bad");
        let moved = match std::fs::remove_dir_all(&aside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => std::fs::rename(&self.path, &aside),
        };
        if let Err(error) = moved {
            tracing::warn!(%error, "the index cannot be moved aside");
        }
    }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nothing").to_owned()
}
