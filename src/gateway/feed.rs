//! What happens in the sessions of a profile, to whoever follows: previews, clients of the API, hooks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use herm_replay::reducer::command::Fact;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::{ChatRef, PreviewPosted};
use herm_schema::{CallRef, Event, Recorded, SessionId};
use tokio::sync::broadcast;

use super::hooks::{Hook, Hooks};
use super::metrics::Metrics;
use super::previews::{Previews, Record, Stage};
use super::switchboard::Switchboard;
use super::telemetry::Traces;
use crate::entry::engine::Engine;
use crate::providers::Delta;
use crate::runtime::{Redact, Watch};
use crate::tools::arguments::telling;

/// What a follower has not read yet, at most; one that is slower reads the log.
const UNREAD_MAX: usize = 128;
/// Longest preview of the arguments of a tool call, in characters.
const ARGUMENTS_CHARS_MAX: usize = 120;

/// What reaches a follower of a session.
#[derive(Clone, Debug)]
pub enum Happening {
    Event(Arc<Recorded>),
    Text(String),
    Reasoning(String),
    /// The session's actor cannot go on.
    Broken(String),
}

/// The feed of a profile.
pub struct Feed {
    profile: String,
    redact: Redact,
    texts: bool,
    followers: Mutex<HashMap<SessionId, broadcast::Sender<Happening>>>,
    /// Where each session that moved speaks, and when it last moved.
    moved: Mutex<HashMap<SessionId, (ChatRef, Instant)>>,
    previews: Arc<Previews>,
    hooks: Arc<Hooks>,
    metrics: Arc<Metrics>,
    traces: Option<Arc<Traces>>,
    switchboard: OnceLock<Weak<Switchboard>>,
    engine: OnceLock<Weak<Engine>>,
}

/// What a feed tells.
pub struct Tells {
    pub previews: Arc<Previews>,
    pub hooks: Arc<Hooks>,
    pub metrics: Arc<Metrics>,
    pub traces: Option<Arc<Traces>>,
    /// Whether chats are shown texts that are being written.
    pub texts: bool,
}

impl Feed {
    pub fn new(profile: &str, redact: Redact, tells: Tells) -> Arc<Self> {
        let Tells { previews, hooks, metrics, traces, texts } = tells;
        Arc::new(Self {
            profile: profile.to_owned(),
            redact,
            texts,
            followers: Mutex::default(),
            moved: Mutex::default(),
            previews,
            hooks,
            metrics,
            traces,
            switchboard: OnceLock::new(),
            engine: OnceLock::new(),
        })
    }

    /// The other parts are there now.
    pub fn connect(&self, switchboard: &Arc<Switchboard>, engine: &Arc<Engine>) {
        drop(self.switchboard.set(Arc::downgrade(switchboard)));
        drop(self.engine.set(Arc::downgrade(engine)));
    }

    /// Everything that happens in a session from now on.
    pub fn follow(&self, session: SessionId) -> broadcast::Receiver<Happening> {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|_, sender| sender.receiver_count() > 0);
        followers.entry(session).or_insert_with(|| broadcast::channel(UNREAD_MAX).0).subscribe()
    }

    fn tell(&self, session: SessionId, happening: impl FnOnce() -> Happening) {
        let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = followers.get(&session) {
            // Nobody follows any more.
            drop(sender.send(happening()));
        }
    }

    /// The chat of a session that has moved since the start.
    pub fn chat(&self, session: SessionId) -> Option<ChatRef> {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.get(&session).map(|(chat, _)| chat.clone())
    }

    /// A session leaves memory.
    pub fn forget(&self, session: SessionId) {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
    }

    /// Sessions that have not moved for so long; they are forgotten here.
    pub fn idle(&self, longer_than: Duration) -> Vec<SessionId> {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = moved.iter().filter(|(_, (_, at))| at.elapsed() >= longer_than);
        let idle: Vec<_> = idle.map(|(id, _)| *id).collect();
        idle.iter().for_each(|id| drop(moved.remove(id)));
        idle
    }

    fn switchboard(&self) -> Option<Arc<Switchboard>> {
        self.switchboard.get()?.upgrade()
    }

    fn stage(&self, session: SessionId) -> Option<Stage> {
        let engine = self.engine.get()?.clone();
        let record: Record = Arc::new(move |session, platform_message_id| {
            let engine = engine.clone();
            Box::pin(async move {
                let Some(engine) = engine.upgrade() else { return };
                let fact = Fact::PreviewPosted(PreviewPosted { platform_message_id });
                if let Ok(handle) = engine.sessions.resume(session, None).await {
                    // Refused if the turn is over; then the message is taken back or stands as it is.
                    drop(handle.send(Command::Record(fact), None).await);
                }
            })
        });
        let (switchboard, redact) = (self.switchboard()?, self.redact.clone());
        Some(Stage { session, switchboard, redact, record, texts: self.texts })
    }

    fn show(&self, session: SessionId, recorded: &Recorded, state: &SessionState) {
        match &recorded.event {
            Event::TurnStarted(_) | Event::TurnResumed(_) => {
                let Some(opened) = state.opened.as_ref() else { return };
                let answers = state.turn.as_ref().and_then(|turn| turn.answers.clone());
                if let Some(stage) = self.stage(session) {
                    let reply_to = answers.filter(|_| stage.switchboard.shows_answered(&opened.chat, true));
                    self.previews.begin(opened.chat.clone(), reply_to, stage);
                }
            }
            Event::ModelCallStarted(_) | Event::ModelCallFailed(_) | Event::ModelCallAborted(_) => {
                self.previews.retract(session);
            }
            Event::ToolCallStarted(event) => {
                let arguments = (self.redact)(&telling(&event.arguments.0).unwrap_or_default());
                let arguments = arguments.replace(['\n', '`'], " ");
                let short: String = arguments.chars().take(ARGUMENTS_CHARS_MAX).collect();
                let what = match short.trim() {
                    "" => event.name.clone(),
                    short => format!("{}: `{short}`", event.name),
                };
                self.previews.tool(session, what);
            }
            Event::DeliveryConfirmed(_) => self.previews.arrived(session),
            Event::TurnEnded(_) => {
                if let Some(switchboard) = self.switchboard() {
                    self.previews.end(session, &switchboard);
                }
            }
            _ => {}
        }
    }

    fn call_hooks(&self, session: SessionId, recorded: &Recorded, state: &SessionState) {
        let name = match &recorded.event {
            Event::SessionOpened(_) => "session:start",
            Event::SessionEnded(_) => "session:end",
            Event::TurnStarted(_) => "agent:start",
            Event::ModelCallStarted(_) => "agent:step",
            Event::TurnEnded(_) => "agent:end",
            _ => return,
        };
        let chat = state.opened.as_ref().map(|opened| &opened.chat);
        self.hooks.call(&Hook {
            event: name.to_owned(),
            data: serde_json::json!({
                "profile": self.profile, "session": session.to_string(), "position": recorded.envelope.position.0,
                "platform": chat.map(|chat| &chat.platform), "chat": chat.map(|chat| &chat.chat),
                "thread": chat.and_then(|chat| chat.thread.as_ref()),
            }),
        });
    }
}

impl Watch for Feed {
    fn event(&self, recorded: &Recorded, state: &SessionState) {
        let Some(session) = SessionId::of_stream(recorded.envelope.stream) else { return };
        if let Some(opened) = &state.opened {
            let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
            moved.insert(session, (opened.chat.clone(), Instant::now()));
        }
        self.show(session, recorded, state);
        self.call_hooks(session, recorded, state);
        self.metrics.event(&self.profile, recorded, state);
        if let Some(traces) = &self.traces {
            traces.event(&self.profile, session, recorded, state);
        }
        self.tell(session, || Happening::Event(Arc::new(recorded.clone())));
    }

    fn delta(&self, session: SessionId, delta: &Delta) {
        match delta {
            Delta::Text(text) => {
                self.previews.text(session, text);
                self.tell(session, || Happening::Text(text.clone()));
            }
            Delta::Reasoning(text) => self.tell(session, || Happening::Reasoning(text.clone())),
            Delta::ToolCall { .. } => {}
        }
    }

    fn still_runs(&self, session: SessionId, _: CallRef, _: Duration) {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, at)) = moved.get_mut(&session) {
            *at = Instant::now();
        }
    }

    fn broken(&self, session: SessionId, reason: &str) {
        tracing::error!(%session, reason, "a session cannot go on");
        self.tell(session, || Happening::Broken(reason.to_owned()));
    }
}
