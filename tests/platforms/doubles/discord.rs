//! A double of Discord: API v10 and its gateway on loopback, with the sessions, numbers, limits and error
//! codes of the real one.
//!
//! [`Double::start`] starts it; [`Double::url`] and [`TOKEN`] are what an adapter is given. A session keeps all
//! that happened, so that it can be resumed, until [`Double::forget_sessions`]. [`Double::misbehave`] makes it
//! duplicate, cut, delay and refuse on and on; as a [`herm::platforms::contract::Bench`] it fails as it is
//! told. `state` is what it knows, `gateway` the web socket, `calls` the API, `sending` what herm says.

mod calls;
mod gateway;
mod sending;
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

/// The token that works.
pub const TOKEN: &str = "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs";
/// Who herm is there, and the application.
pub const HERM: &str = "1000000000000000001";
/// The server that all channels are of.
pub const GUILD: &str = "1050000000000000001";
/// Orders for the connections that may wait.
const ORDERS_MAX: usize = 64;

/// What goes wrong on and on; each by a count, 0 for never.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mischief {
    /// Every so many messages of people are given twice.
    pub duplicate_every: usize,
    /// After every so many messages of people all gateways break.
    pub cut_gateway_every: usize,
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

/// What every connection of the gateway is told to do.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// Operation 7.
    Reconnect,
    /// Operation 9.
    Invalid(bool),
    Close(u16),
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
    gateway: Doorkeeper,
}

impl Double {
    pub fn start() -> Self {
        let (orders, _) = broadcast::channel(ORDERS_MAX);
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Notify::new(), orders });
        let api = Doorkeeper::serve(calls::router(Arc::clone(&shared)));
        let greeted = Arc::clone(&shared);
        let gateway = Doorkeeper::greet(move |stream| gateway::serve(Arc::clone(&greeted), stream));
        let double = Self { shared, api, gateway };
        {
            let mut state = double.shared.state();
            state.gateway_url = double.gateway_url();
            state.files_url = format!("http://{}", double.api.addr());
        }
        double
    }

    /// For `DISCORD_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}/api/v10", self.api.addr())
    }

    /// For `DISCORD_GATEWAY_URL`, which is not needed: the API tells it.
    pub fn gateway_url(&self) -> String {
        format!("ws://{}", self.gateway.addr())
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

    /// Gives an event to every session, as it is.
    pub fn dispatch(&self, name: &str, data: Value) {
        self.shared.state().dispatch(name, data);
        self.shared.changed.notify_waiters();
    }

    /// A person uses a slash command.
    pub fn slash(&self, chat: &ChatRef, name: &str, args: Option<&str>) -> String {
        let id = self.shared.state().slash(chat, name, args);
        self.shared.changed.notify_waiters();
        id
    }

    /// Nothing of before can be resumed.
    pub fn forget_sessions(&self) {
        self.shared.state().sessions.clear();
    }

    /// Nonces of before are too old to be recognised.
    pub fn forget_nonces(&self) {
        self.shared.state().nonces.clear();
    }

    pub fn ask_to_reconnect(&self) {
        self.order(Order::Reconnect);
    }

    pub fn invalidate(&self, resumable: bool) {
        if !resumable {
            self.forget_sessions();
        }
        self.order(Order::Invalid(resumable));
    }

    pub fn close(&self, code: u16) {
        self.order(Order::Close(code));
    }

    fn order(&self, order: Order) {
        // Nobody may be connected.
        let _ = self.shared.orders.send(order);
    }

    /// What is changed in the tempers of the gateway and the API.
    pub fn set(&self, change: impl FnOnce(&mut state::Tempers)) {
        change(&mut self.shared.state().tempers);
    }

    /// How often a session began, and how often one was resumed.
    pub fn greetings(&self) -> (usize, usize) {
        let state = self.shared.state();
        (state.identified, state.resumed)
    }

    /// How often herm's heart beat.
    pub fn beats(&self) -> usize {
        self.shared.state().beats
    }

    /// The slash commands that were told.
    pub fn commands(&self) -> Vec<Value> {
        self.shared.state().commands.clone()
    }

    /// The first answer to each interaction: its kind, and what it says.
    pub fn callbacks(&self) -> Vec<Value> {
        self.shared.state().callbacks.clone()
    }

    /// What herm did that no client should.
    pub fn problems(&self) -> Vec<String> {
        self.shared.state().problems.clone()
    }

    /// The adapter, pointed at this double, with more settings.
    pub fn adapter(&self, more: &[(&str, &str)]) -> Arc<dyn Platform> {
        // What happened until now is not early for it.
        self.shared.state().early.clear();
        let row = PLATFORMS.iter().find(|row| row.name == "discord").unwrap();
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
        vec![TOKEN.to_owned(), TOKEN.split('.').next_back().unwrap().to_owned()]
    }

    fn id_of(&self, who: Who) -> String {
        state::user_id(who)
    }

    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef> {
        Some(state::place(&state::channel_id(kind, number)))
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

    /// Discord does not count: what was not taken is asked for by number.
    fn is_acknowledged(&self, _: &str) -> Option<bool> {
        None
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
                self.gateway.cut();
            }
            Fault::Unreachable => {
                self.api.shut();
                self.gateway.shut();
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
        self.gateway.open();
    }
}
