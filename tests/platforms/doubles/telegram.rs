//! A double of Telegram: the Bot API on loopback, with the offset, limits, errors and tempers of the
//! real one.
//!
//! [`Double::start`] starts it; [`Double::url`] and [`TOKEN`] are what an adapter is given. It keeps updates
//! until they are asked past, reads MarkdownV2 as strictly as Telegram, and remembers what herm sent.
//! [`Double::misbehave`] makes it duplicate, cut, delay and refuse on and on; as a
//! [`herm::platforms::contract::Bench`] it fails as it is told. `state` is what it knows, `calls` what
//! can be called, `markdown` the reading of markup.

mod calls;
pub mod markdown;
mod sending;
mod state;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use herm::platforms::Platform;
use herm::platforms::contract::{Bench, Fault, Happening, Record, Said, Seen, Who};
use herm::platforms::table::{PLATFORMS, Section};
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::Value;
use tokio::sync::Notify;

use super::door::Doorkeeper;
use state::State;

/// The token that works.
pub const TOKEN: &str = "7000001:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
/// Who herm is there.
pub const HERM: i64 = 7_000_001;
pub const USERNAME: &str = "herm_test_bot";

/// What goes wrong on and on; each by a count of what comes in, 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mischief {
    /// Every so many polls give again what the one before gave.
    pub duplicate_every: usize,
    /// Every so many polls break before they are answered.
    pub cut_poll_every: usize,
    /// Every so many sendings are done, and break before they are answered.
    pub cut_send_every: usize,
    /// Every so many sendings are refused for a second.
    pub rate_limit_every: usize,
    /// Every so many sendings fail in the server, and are not done.
    pub server_error_every: usize,
    /// Every so many sendings are answered after `delay`.
    pub delay_every: usize,
    pub delay: Duration,
}

/// What the routes share.
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// The double; its server stops when it is dropped.
pub struct Double {
    shared: Arc<Shared>,
    door: Doorkeeper,
}

impl Double {
    pub fn start() -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Notify::new() });
        let door = Doorkeeper::serve(calls::router(Arc::clone(&shared)));
        Self { shared, door }
    }

    /// For `TELEGRAM_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.door.addr())
    }

    /// The id of a private chat.
    pub fn private(number: usize) -> i64 {
        state::PRIVATE + i64::try_from(number).unwrap()
    }

    /// The id of a group.
    #[allow(dead_code, reason = "each test binary uses its own part of it")]
    pub fn group() -> i64 {
        state::GROUP
    }

    /// The first person writes in a private chat with herm; the id of the message.
    pub fn write(&self, chat: i64, text: &str) -> i64 {
        self.write_as(Who::Person(0), chat, text)
    }

    /// Somebody writes in a chat with herm; the id of the message.
    pub fn write_as(&self, who: Who, chat: i64, text: &str) -> i64 {
        let place = ChatRef { platform: "telegram".into(), chat: chat.to_string(), thread: None };
        let id = self.happen(&Happening::Said(Said { who, ..Said::new(&place, text) }));
        id.unwrap().parse().unwrap()
    }

    /// The id of a person's account.
    #[allow(dead_code, reason = "each test binary uses its own part of it")]
    pub fn account(person: usize) -> i64 {
        state::user_id(Who::Person(person))
    }

    /// What herm sent to a chat, as it stands.
    pub fn sent_to(&self, chat: i64) -> Vec<Seen> {
        let chat = chat.to_string();
        let sent = self.record().sent.into_iter();
        sent.filter(|seen| seen.chat.chat == chat && !seen.deleted).collect()
    }

    pub fn misbehave(&self, mischief: Mischief) {
        self.shared.state().mischief = mischief;
    }

    /// The update that a message came in by, as it is on the wire.
    pub fn update_of(&self, message_id: &str) -> Value {
        self.shared.state().updates[message_id].clone()
    }

    /// Gives an update as it is, with a number of its own.
    pub fn update(&self, update: Value) {
        self.shared.state().give(update, None);
        self.shared.changed.notify_waiters();
    }

    /// Address and secret of the web hook that is set.
    pub fn webhook(&self) -> Option<(String, String)> {
        self.shared.state().webhook.clone()
    }

    /// How many updates were not asked past yet.
    pub fn waiting(&self) -> usize {
        self.shared.state().queue.len()
    }

    /// A group becomes a supergroup with another id.
    pub fn migrate(&self, chat: &ChatRef, to: i64) {
        self.shared.state().migrated.insert(chat.chat.parse().unwrap(), to);
    }

    /// Texts that herm sent to a chat, without markup.
    pub fn texts_of(&self, chat: i64) -> Vec<String> {
        self.sent_to(chat).into_iter().map(|seen| seen.text).collect()
    }

    /// What herm asked for that no client should, such as to drop what waits.
    pub fn problems(&self) -> Vec<String> {
        self.shared.state().problems.clone()
    }

    /// The adapter, pointed at this double, with more settings.
    pub fn adapter(&self, more: &[(&str, &str)]) -> Arc<dyn Platform> {
        let row = PLATFORMS.iter().find(|row| row.name == "telegram").unwrap();
        let mut section = Section::default();
        for (name, value) in [("token", TOKEN), ("base_url", self.url().as_str())].iter().chain(more) {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).unwrap()
    }
}

impl Bench for Double {
    fn platform(&self) -> Arc<dyn Platform> {
        self.adapter(&[])
    }

    fn secrets(&self) -> Vec<String> {
        vec![TOKEN.to_owned(), TOKEN.split(':').next_back().unwrap().to_owned()]
    }

    fn id_of(&self, who: Who) -> String {
        state::user_id(who).to_string()
    }

    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef> {
        let number = i64::try_from(number).unwrap();
        let (chat, thread) = match kind {
            ChatKind::Direct => (state::PRIVATE + number, None),
            // Every other one is a topic of a forum.
            ChatKind::Group if number % 2 == 1 => (state::GROUP - number, Some("77".to_owned())),
            ChatKind::Group => (state::GROUP - number, None),
            ChatKind::Channel => (state::CHANNEL - number, None),
        };
        Some(ChatRef { platform: "telegram".to_owned(), chat: chat.to_string(), thread })
    }

    fn happen(&self, happening: &Happening) -> Option<String> {
        let happened = self.shared.state().happen(happening);
        self.shared.changed.notify_waiters();
        happened
    }

    fn is_acknowledged(&self, message_id: &str) -> Option<bool> {
        let state = self.shared.state();
        let id = state.updates.get(message_id)?["update_id"].as_i64()?;
        Some(id < state.confirmed)
    }

    fn record(&self) -> Record {
        self.shared.state().record.clone()
    }

    fn fail(&self, fault: Fault) -> bool {
        match fault {
            Fault::Cut => self.door.cut(),
            Fault::Unreachable => self.door.shut(),
            Fault::Unauthorised => {
                self.shared.state().unauthorised = true;
                self.shared.changed.notify_waiters();
            }
            next => self.shared.state().fault = Some(next),
        }
        true
    }

    fn heal(&self) {
        let mut state = self.shared.state();
        state.unauthorised = false;
        state.fault = None;
        drop(state);
        self.door.open();
    }
}
