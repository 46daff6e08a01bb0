//! A double of a Matrix homeserver: the client-server API on loopback, with syncs, limited timelines,
//! transaction ids, errors and media of a real one.
//!
//! [`Double::start`] starts it; [`Double::url`] and [`TOKEN`] are what an adapter is given. `state` is what it
//! knows, `calls` what can be called.

mod calls;
mod state;

use std::sync::{Arc, Mutex, MutexGuard};

use herm::platforms::Platform;
use herm::platforms::contract::{Bench, Fault, Happening, Record, Who};
use herm::platforms::table::{PLATFORMS, Section};
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::Value;
use tokio::sync::Notify;

use super::door::Doorkeeper;
use state::State;

/// The token that works.
pub const TOKEN: &str = "syt_aGVybQ_xKqLbVwNtRzYpFsGhJkM_0Zb1cD";
/// The name of the server in ids.
pub const SERVER: &str = "double.example";

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

    /// For `MATRIX_HOMESERVER`.
    pub fn url(&self) -> String {
        format!("http://{}", self.door.addr())
    }

    /// Syncs and pages have at most so many events of a room.
    pub fn cut_short(&self, events_max: usize) {
        self.shared.state().events_max = events_max;
    }

    /// Puts an event of a person into a room; its id.
    pub fn put(&self, chat: &ChatRef, who: Who, kind: &str, content: Value) -> String {
        let id = self.shared.state().put(&chat.chat, &state::user_id(who), kind, None, content);
        self.shared.changed.notify_waiters();
        id
    }

    /// A person makes a room, says something, invites herm, and says something more.
    pub fn invite(&self, room_id: &str, before: &str, after: &str) {
        self.shared.state().invite(room_id, before, after);
        self.shared.changed.notify_waiters();
    }

    /// Whether herm is in the room.
    pub fn is_in(&self, room_id: &str) -> bool {
        self.shared.state().rooms.get(room_id).is_some_and(|room| room.membership == "join")
    }

    /// The content of an event, as it stands.
    pub fn content_of(&self, event_id: &str) -> Value {
        self.shared.state().events[event_id]["content"].clone()
    }

    /// Whether an event of herm's of this kind was taken back.
    pub fn is_taken_back(&self, kind: &str) -> bool {
        let (state, herm) = (self.shared.state(), state::user_id(Who::Herm));
        state.events.values().any(|event| {
            event["type"] == kind && event["sender"] == *herm && event["content"] == serde_json::json!({})
        })
    }

    /// How many syncs were asked for.
    pub fn syncs(&self) -> usize {
        self.shared.state().syncs
    }

    /// What herm asked for that no client should.
    pub fn problems(&self) -> Vec<String> {
        self.shared.state().problems.clone()
    }

    /// The adapter, pointed at this double, with more settings.
    pub fn adapter(&self, more: &[(&str, &str)]) -> Arc<dyn Platform> {
        let row = PLATFORMS.iter().find(|row| row.name == "matrix").unwrap();
        let mut section = Section::default();
        for (name, value) in [("token", TOKEN), ("homeserver", self.url().as_str())].iter().chain(more) {
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
        vec![TOKEN.to_owned()]
    }

    fn id_of(&self, who: Who) -> String {
        state::user_id(who)
    }

    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef> {
        let (name, thread) = match kind {
            ChatKind::Direct => ("direct", None),
            // Every other one is a thread.
            ChatKind::Group if number % 2 == 1 => ("group", Some(format!("$root{number}"))),
            ChatKind::Group => ("group", None),
            ChatKind::Channel => return None,
        };
        let chat = format!("!{name}{number}:{SERVER}");
        self.shared.state().make(&chat, kind == ChatKind::Direct);
        Some(ChatRef { platform: "matrix".to_owned(), chat, thread })
    }

    fn happen(&self, happening: &Happening) -> Option<String> {
        let happened = self.shared.state().happen(happening);
        self.shared.changed.notify_waiters();
        happened
    }

    fn is_acknowledged(&self, message_id: &str) -> Option<bool> {
        let state = self.shared.state();
        let position = state.stream.iter().position(|(_, id)| id == message_id)?;
        Some(position < state.since_max)
    }

    fn record(&self) -> Record {
        self.shared.state().record.clone()
    }

    fn fail(&self, fault: Fault) -> bool {
        match fault {
            // A homeserver takes any markup.
            Fault::MarkupRefused => return false,
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
