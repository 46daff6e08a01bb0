//! A double of Slack: the Web API and Socket Mode on loopback, with the envelopes, acknowledgements, limits
//! and error words of the real one.
//!
//! [`Double::start`] starts it; [`Double::url`], [`TOKEN`] and [`APP_TOKEN`] are what an adapter is given. An
//! envelope is delivered until it is acknowledged, over whichever connection there is.
//! [`Double::misbehave`] makes it duplicate, cut, delay and refuse on and on; as a
//! [`herm::platforms::contract::Bench`] it fails as it is told. `state` is what it knows, `socket` the web
//! socket, `calls` the Web API, `sending` what herm says, `posted` signs requests of the Events API.

mod calls;
pub mod posted;
mod sending;
mod socket;
mod state;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use herm::platforms::Platform;
use herm::platforms::contract::{Bench, Fault, Happening, Record, Said, Seen, Who};
use herm::platforms::table::{PLATFORMS, Section};
use herm_schema::events::{ChatKind, ChatRef};
use serde_json::Value;
use tokio::sync::{Notify, broadcast};

use super::door::Doorkeeper;
use state::State;

/// The tokens that work.
pub const TOKEN: &str = "xoxb-2345-6789-aBcDeFgHiJkLmNoPqRsTuVwX";
pub const APP_TOKEN: &str = "xapp-1-A0123-4567-0a1b2c3d4e5f60718293a4b5c6d7e8f9";
pub const SIGNING_SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";
/// Who herm is there.
pub const HERM: &str = "U00HERM01";
pub const HERM_BOT: &str = "B00HERM01";
pub const TEAM: &str = "T00TEAM01";
/// Orders for the connections that may wait.
const ORDERS_MAX: usize = 64;

/// What goes wrong on and on; each by a count, 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mischief {
    /// Every so many messages of people are delivered a second time, in another envelope.
    pub duplicate_every: usize,
    /// After every so many messages of people all connections break.
    pub cut_socket_every: usize,
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

/// What every connection is told to do.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// A `disconnect` with this reason.
    Disconnect(&'static str),
    /// Breaks off.
    Cut,
}

/// What the routes and the connections share.
struct Shared {
    state: Mutex<State>,
    changed: Notify,
    orders: broadcast::Sender<Order>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// The double; its servers stop when it is dropped.
pub struct Double {
    shared: Arc<Shared>,
    api: Doorkeeper,
    socket: Doorkeeper,
}

impl Double {
    pub fn start() -> Self {
        let (orders, _) = broadcast::channel(ORDERS_MAX);
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Notify::new(), orders });
        let api = Doorkeeper::serve(calls::router(Arc::clone(&shared)));
        let greeted = Arc::clone(&shared);
        let socket = Doorkeeper::greet(move |stream| socket::serve(Arc::clone(&greeted), stream));
        {
            let mut state = shared.state();
            state.socket_url = format!("ws://{}", socket.addr());
            state.own_url = format!("http://{}", api.addr());
        }
        Self { shared, api, socket }
    }

    /// For `SLACK_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}/api", self.api.addr())
    }

    /// A direct chat between herm and a person.
    pub fn direct(&self, number: usize) -> ChatRef {
        self.chat(ChatKind::Direct, number).unwrap()
    }

    /// A person writes; the id of the message.
    pub fn write(&self, chat: &ChatRef, text: &str) -> String {
        self.happen(&Happening::Said(Said::new(chat, text))).unwrap()
    }

    /// What herm sent to a chat, as it stands.
    pub fn sent_to(&self, chat: &ChatRef) -> Vec<Seen> {
        let sent = self.record().sent.into_iter();
        sent.filter(|seen| seen.chat == *chat && !seen.deleted).collect()
    }

    /// Texts that herm sent to a chat.
    pub fn texts_of(&self, chat: &ChatRef) -> Vec<String> {
        self.sent_to(chat).into_iter().map(|seen| seen.text).collect()
    }

    pub fn misbehave(&self, mischief: Mischief) {
        self.shared.state().mischief = mischief;
    }

    /// What is said from now on is delivered to nobody, or again to whoever listens.
    #[allow(dead_code, reason = "each test binary uses its own part of it")]
    pub fn lose(&self, loses: bool) {
        self.shared.state().loses = loses;
    }

    /// Delivers an event, as it is; the payload, for Slack's web hook.
    pub fn event(&self, event: Value) -> Value {
        let payload = self.shared.state().event(event, None);
        self.shared.changed.notify_waiters();
        payload
    }

    /// Delivers an envelope of another type, as it is.
    pub fn envelope(&self, kind: &str, payload: Value) {
        self.shared.state().deliver(kind, payload, None);
        self.shared.changed.notify_waiters();
    }

    /// The payload that a message came in by.
    pub fn payload_of(&self, message_id: &str) -> Value {
        self.shared.state().payload_of(message_id).unwrap()
    }

    pub fn disconnect(&self, reason: &'static str) {
        self.order(Order::Disconnect(reason));
    }

    fn order(&self, order: Order) {
        // Nobody may be connected.
        let _ = self.shared.orders.send(order);
    }

    /// Envelopes that were not acknowledged.
    pub fn waiting(&self) -> usize {
        self.shared.state().open.len()
    }

    /// How often a connection was opened.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }

    /// How often each method was called.
    pub fn calls(&self, method: &str) -> usize {
        self.shared.state().calls.iter().filter(|called| *called == method).count()
    }

    /// What herm did that no client should.
    pub fn problems(&self) -> Vec<String> {
        self.shared.state().problems.clone()
    }

    /// The adapter, pointed at this double, with these settings besides the bot's token.
    pub fn adapter(&self, more: &[(&str, &str)]) -> Arc<dyn Platform> {
        let row = PLATFORMS.iter().find(|row| row.name == "slack").unwrap();
        let mut section = Section::default();
        for (name, value) in [("token", TOKEN), ("base_url", self.url().as_str())].iter().chain(more) {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).unwrap()
    }
}

impl Bench for Double {
    fn platform(&self) -> Arc<dyn Platform> {
        self.adapter(&[("app_token", APP_TOKEN)])
    }

    fn secrets(&self) -> Vec<String> {
        let tail = |token: &str| token.split('-').next_back().unwrap().to_owned();
        vec![TOKEN.to_owned(), APP_TOKEN.to_owned(), tail(TOKEN), tail(APP_TOKEN), socket::TICKET.to_owned()]
    }

    fn id_of(&self, who: Who) -> String {
        state::user_id(who)
    }

    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef> {
        Some(self.shared.state().chat(kind, number))
    }

    fn happen(&self, happening: &Happening) -> Option<String> {
        let (happened, cut) = {
            let mut state = self.shared.state();
            (state.happen(happening), std::mem::take(&mut state.cut_due))
        };
        self.shared.changed.notify_waiters();
        if cut {
            self.order(Order::Cut);
        }
        happened
    }

    fn is_acknowledged(&self, message_id: &str) -> Option<bool> {
        let state = self.shared.state();
        state.payload_of(message_id)?;
        Some(!state.open.iter().any(|envelope| envelope.message.as_deref() == Some(message_id)))
    }

    fn record(&self) -> Record {
        self.shared.state().record.clone()
    }

    fn fail(&self, fault: Fault) -> bool {
        match fault {
            // Its markup can always be read.
            Fault::MarkupRefused => return false,
            Fault::Cut => {
                self.api.cut();
                self.socket.cut();
            }
            Fault::Unreachable => {
                self.api.shut();
                self.socket.shut();
            }
            Fault::Unauthorised => self.shared.state().unauthorised = true,
            next => self.shared.state().fault = Some(next),
        }
        true
    }

    fn heal(&self) {
        let mut state = self.shared.state();
        state.unauthorised = false;
        state.fault = None;
        drop(state);
        self.api.open();
        self.socket.open();
    }
}
