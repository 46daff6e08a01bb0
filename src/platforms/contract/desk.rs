//! An inlet that remembers, and an adapter that runs as the gateway would run it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use herm_schema::events::ChatRef;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{PATIENCE, STOP_MAX};
use crate::platforms::{Inbound, Inlet, NotNow, Platform, Stopped, Taken, What};
use crate::providers::BoxFuture;

/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long it is watched that something does not happen.
const WATCH: Duration = Duration::from_millis(300);
/// The longest pause before an adapter that stopped is begun again.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The shortest one, which keeps a broken adapter from spinning.
const PAUSE_MIN: Duration = Duration::from_millis(20);
/// How often an adapter may stop for a reason that passes within one check.
const STOPS_MAX: usize = 500;

/// Looks until there is something.
///
/// # Panics
/// Nothing came within [`PATIENCE`].
pub async fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: it did not come within {} s", PATIENCE.as_secs());
        sleep(LOOK_EVERY).await;
    }
}

/// Looks for a while, in which there must be nothing.
///
/// # Panics
/// There was something.
pub async fn never<T>(what: &str, look: impl Fn() -> Option<T>) {
    let end = Instant::now() + WATCH;
    while Instant::now() < end {
        assert!(look().is_none(), "{what}");
        sleep(LOOK_EVERY).await;
    }
}

/// Remembers what comes in, and can say "not now".
pub struct Desk {
    state: Mutex<State>,
    open: watch::Sender<bool>,
    media_bytes_max: u64,
}

#[derive(Default)]
struct State {
    taken: Vec<Inbound>,
    ids: HashSet<String>,
    /// What was offered, and whether it was taken, known or refused.
    offered: Vec<(Inbound, bool)>,
    refusals: usize,
    cursor: Option<String>,
}

impl Desk {
    pub fn new(media_bytes_max: u64) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), open: watch::Sender::new(true), media_bytes_max })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was taken from a chat, each once.
    pub fn of(&self, chat: &ChatRef) -> Vec<Inbound> {
        self.state().taken.iter().filter(|inbound| inbound.chat.place == *chat).cloned().collect()
    }

    /// Ids of what was offered from a chat, as often as it was, and whether it was accepted.
    pub fn offered(&self, chat: &ChatRef) -> Vec<(String, bool)> {
        let state = self.state();
        let of = state.offered.iter().filter(|(inbound, _)| inbound.chat.place == *chat);
        of.map(|(inbound, accepted)| (inbound.id.clone(), *accepted)).collect()
    }

    /// Texts of the messages that were taken from a chat.
    pub fn texts(&self, chat: &ChatRef) -> Vec<String> {
        let text = |inbound: Inbound| match inbound.what {
            What::Message(message) => Some(message.text),
            _ => None,
        };
        self.of(chat).into_iter().filter_map(text).collect()
    }

    /// The next so many are refused.
    pub fn refuse(&self, count: usize) {
        self.state().refusals = count;
    }

    /// What is offered waits, until [`Desk::open`].
    pub fn hold(&self) {
        self.open.send_replace(false);
    }

    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Waits until something of a chat was taken that `want` wants.
    pub async fn until<T>(&self, chat: &ChatRef, what: &str, want: impl Fn(&Inbound) -> Option<T>) -> T {
        eventually(what, || self.of(chat).iter().find_map(&want)).await
    }

    /// Waits until a message whose text has this in it was taken.
    pub async fn message(&self, chat: &ChatRef, text: &str) -> (Inbound, crate::platforms::Message) {
        let want = |inbound: &Inbound| match &inbound.what {
            What::Message(message) if message.text.contains(text) => Some((inbound.clone(), message.clone())),
            _ => None,
        };
        self.until(chat, &format!("the message `{text}`"), want).await
    }
}

impl Inlet for Desk {
    fn take(&self, inbound: Inbound) -> BoxFuture<'_, Result<Taken, NotNow>> {
        Box::pin(async move {
            let refused = {
                let mut state = self.state();
                let refused = state.refusals > 0;
                state.refusals = state.refusals.saturating_sub(1);
                state.offered.push((inbound.clone(), !refused));
                refused
            };
            if refused {
                return Err(NotNow { why: "the kit says so".to_owned() });
            }
            let mut open = self.open.subscribe();
            if open.wait_for(|open| *open).await.is_err() {
                return Err(NotNow { why: "the desk is gone".to_owned() });
            }
            let mut state = self.state();
            if !state.ids.insert(inbound.id.clone()) {
                return Ok(Taken::Known);
            }
            state.taken.push(inbound);
            Ok(Taken::Recorded)
        })
    }

    fn media_bytes_max(&self) -> u64 {
        self.media_bytes_max
    }

    fn cursor(&self) -> Option<String> {
        self.state().cursor.clone()
    }

    fn advance(&self, cursor: String) -> BoxFuture<'_, Result<(), NotNow>> {
        assert!(cursor.len() <= 4096, "a cursor of {} bytes", cursor.len());
        self.state().cursor = Some(cursor);
        Box::pin(async { Ok(()) })
    }
}

/// An adapter that reads, and is begun again when it stops for a reason that passes.
pub struct Running {
    stop: CancellationToken,
    task: JoinHandle<Result<(), Stopped>>,
}

impl Running {
    pub fn start(platform: Arc<dyn Platform>, desk: &Arc<Desk>) -> Self {
        let stop = CancellationToken::new();
        let task = tokio::spawn(supervise(platform, Arc::clone(desk), stop.clone()));
        Self { stop, task }
    }

    /// Stops it.
    ///
    /// # Panics
    /// It took longer than [`STOP_MAX`], or had stopped before for a reason that does not pass.
    pub async fn stop(self) {
        self.stop.cancel();
        let ended = timeout(STOP_MAX, self.task).await;
        let Ok(ended) = ended else { panic!("`stop` took longer than {} s", STOP_MAX.as_secs()) };
        match ended {
            Ok(Ok(())) => {}
            other => panic!("the adapter did not end well: {other:?}"),
        }
    }

    /// Waits until it stops by itself, for a reason that does not pass.
    ///
    /// # Panics
    /// It did not.
    pub async fn gave_up(self) -> Stopped {
        match timeout(PATIENCE, self.task).await {
            Ok(Ok(Err(stopped))) => stopped,
            other => panic!("the adapter did not give up: {other:?}"),
        }
    }
}

async fn supervise(
    platform: Arc<dyn Platform>,
    desk: Arc<Desk>,
    stop: CancellationToken,
) -> Result<(), Stopped> {
    let mut stops = 0;
    loop {
        match platform.run(&*desk, stop.clone()).await {
            Ok(()) => {
                assert!(stop.is_cancelled(), "`run` ended well without being asked to");
                return Ok(());
            }
            Err(Stopped::Transient { retry_after, .. }) => {
                stops += 1;
                assert!(stops < STOPS_MAX, "`run` stopped {STOPS_MAX} times");
                let pause = retry_after.unwrap_or_default().clamp(PAUSE_MIN, PAUSE_MAX);
                tokio::select! {
                    () = stop.cancelled() => return Ok(()),
                    () = sleep(pause) => {}
                }
            }
            Err(terminal) => return Err(terminal),
        }
    }
}
