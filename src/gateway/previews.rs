//! Previews: one message a turn, edited in place, that shows how an answer comes to be; the answer then
//! takes its place.
//!
//! A preview is never owed. Its id is recorded when it stands, so that after a crash the answer still
//! takes its place instead of standing below it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm_schema::SessionId;
use herm_schema::events::ChatRef;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::switchboard::Switchboard;
use crate::delivery::{Format, plan, render};
use crate::platforms::{Act, Capabilities};
use crate::providers::BoxFuture;
use crate::runtime::Redact;

/// A quick answer is not announced: the first sight of it is itself.
const FIRST_AFTER: Duration = Duration::from_millis(900);
/// Tool calls that are shown, the newest.
const TOOLS_SHOWN: usize = 5;
/// Most bytes of an answer that are kept for its preview.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Where the text goes on.
const CURSOR: &str = " ▉";

/// Has the id of a preview recorded in the session's stream.
pub type Record = Arc<dyn Fn(SessionId, String) -> BoxFuture<'static, ()> + Send + Sync>;

/// The previews of the turns that run.
#[derive(Default)]
pub struct Previews {
    live: Mutex<HashMap<SessionId, Arc<Live>>>,
}

/// What a turn shows.
struct Live {
    chat: ChatRef,
    reply_to: Option<String>,
    shown: Mutex<Shown>,
    poke: Notify,
    /// Held while a request for the preview is under way.
    posted: tokio::sync::Mutex<Option<String>>,
    /// Cancelled when nothing more is to be shown.
    over: CancellationToken,
}

#[derive(Default)]
struct Shown {
    text: String,
    tools: Vec<String>,
}

impl Shown {
    /// As it may be seen: the last word of a text that still grows is held back, since half a secret
    /// looks like none.
    fn markdown(&self, redact: &Redact) -> String {
        let whole = self.text.rfind(char::is_whitespace).and_then(|at| self.text.get(..at));
        let text = redact(whole.unwrap_or_default().trim());
        let mut lines: Vec<String> = self.tools.iter().map(|tool| format!("⚙ {tool}")).collect();
        if !text.is_empty() {
            lines.push(format!("{text}{CURSOR}"));
        }
        lines.join("\n\n")
    }
}

/// What a preview is shown with.
pub struct Stage {
    pub session: SessionId,
    pub switchboard: Arc<Switchboard>,
    pub redact: Redact,
    pub record: Record,
    /// Whether texts are shown, or only that herm is at work.
    pub texts: bool,
}

impl Previews {
    /// A turn begins.
    pub fn begin(&self, chat: ChatRef, reply_to: Option<String>, stage: Stage) {
        let Some(platform) = stage.switchboard.platform(&chat.platform) else {
            return;
        };
        let capabilities = platform.capabilities().clone();
        if capabilities.typing.is_none() && capabilities.edit_every.is_none() {
            return;
        }
        let live = Arc::new(Live {
            chat,
            reply_to,
            shown: Mutex::default(),
            poke: Notify::new(),
            posted: tokio::sync::Mutex::default(),
            over: CancellationToken::new(),
        });
        let before = self.all().insert(stage.session, Arc::clone(&live));
        if let Some(before) = before {
            before.over.cancel();
        }
        tokio::spawn(show(live, capabilities, stage));
    }

    fn all(&self) -> std::sync::MutexGuard<'_, HashMap<SessionId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, session: SessionId, change: impl FnOnce(&mut Shown)) {
        let live = self.all().get(&session).cloned();
        if let Some(live) = live {
            change(&mut live.shown.lock().unwrap_or_else(PoisonError::into_inner));
            live.poke.notify_one();
        }
    }

    /// A piece of the answer came in.
    pub fn text(&self, session: SessionId, piece: &str) {
        self.change(session, |shown| {
            if shown.text.len() < TEXT_BYTES_MAX {
                shown.text.push_str(piece);
            }
        });
    }

    /// What was written so far was no answer, or another one begins.
    pub fn retract(&self, session: SessionId) {
        self.change(session, |shown| shown.text.clear());
    }

    /// A tool call began.
    pub fn tool(&self, session: SessionId, what: String) {
        self.change(session, |shown| {
            shown.text.clear();
            shown.tools.push(what);
            let surplus = shown.tools.len().saturating_sub(TOOLS_SHOWN);
            shown.tools.drain(..surplus);
        });
    }

    /// The answer is about to be sent: nothing more is shown, and this message gives its place to it.
    pub async fn taken_over(&self, session: SessionId) -> Option<String> {
        let live = self.all().get(&session).cloned()?;
        live.over.cancel();
        live.posted.lock().await.clone()
    }

    /// The answer has arrived, in the place of the preview if there was one.
    pub fn arrived(&self, session: SessionId) {
        if let Some(live) = self.all().remove(&session) {
            live.over.cancel();
        }
    }

    /// The turn has ended; a preview that nothing took the place of goes.
    pub fn end(&self, session: SessionId, switchboard: &Arc<Switchboard>) {
        let Some(live) = self.all().remove(&session) else {
            return;
        };
        live.over.cancel();
        let switchboard = Arc::clone(switchboard);
        tokio::spawn(async move {
            if let Some(message_id) = live.posted.lock().await.take() {
                switchboard.act(&Act::Delete { chat: live.chat.clone(), message_id }).await;
            }
        });
    }
}

async fn show(live: Arc<Live>, capabilities: Capabilities, stage: Stage) {
    let edit_every = capabilities.edit_every.filter(|_| stage.texts);
    let started = Instant::now();
    let mut typing_at = started;
    let mut next_edit = started + FIRST_AFTER;
    let mut last = String::new();
    loop {
        if let Some(lasts) = capabilities.typing.filter(|_| Instant::now() >= typing_at) {
            stage.switchboard.act(&Act::Typing { chat: live.chat.clone() }).await;
            typing_at = Instant::now() + lasts.mul_f32(0.8);
        }
        if live.over.is_cancelled() {
            return;
        }
        if let Some(every) = edit_every.filter(|_| Instant::now() >= next_edit) {
            let markdown = live.shown.lock().unwrap_or_else(PoisonError::into_inner).markdown(&stage.redact);
            if !markdown.is_empty() && markdown != last {
                put(&live, &capabilities.format, &stage, &markdown).await;
                last = markdown;
                next_edit = Instant::now() + every;
            }
        }
        let typing = capabilities.typing.map(|_| typing_at);
        let edit = edit_every.filter(|_| Instant::now() < next_edit).map(|_| next_edit);
        tokio::select! {
            () = live.over.cancelled() => return,
            () = live.poke.notified(), if edit_every.is_some() && edit.is_none() => {}
            () = until(typing) => {}
            () = until(edit) => {}
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Posts the preview, or changes the one that stands.
async fn put(live: &Live, format: &Format, stage: &Stage, markdown: &str) {
    let mut posted = live.posted.lock().await;
    if live.over.is_cancelled() {
        return;
    }
    let text = plan::parts(markdown, format).pop().unwrap_or_default();
    let text = render(&text, format);
    let chat = live.chat.clone();
    match posted.as_ref() {
        Some(message_id) => {
            stage.switchboard.act(&Act::Edit { chat, message_id: message_id.clone(), text }).await;
        }
        None => {
            let reply_to = live.reply_to.clone();
            if let Some(id) = stage.switchboard.act(&Act::Post { chat, text, reply_to }).await {
                *posted = Some(id.clone());
                (stage.record)(stage.session, id).await;
            }
        }
    }
}
