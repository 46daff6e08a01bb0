//! What the gateway is at one moment: a fold of its events.

use std::collections::BTreeMap;

use herm_schema::events::*;
use herm_schema::{Digest, Micros, StreamPos};

use crate::deliveries::Deliveries;
use crate::reducer::state::StreamHead;

/// Starts that are remembered, for the guard against loops.
pub(super) const STARTS_KEPT: usize = 8;

/// A chat, in order.
pub type Place = (String, String, Option<String>);

/// The key of a chat in the maps here.
pub fn place(chat: &ChatRef) -> Place {
    (chat.platform.clone(), chat.chat.clone(), chat.thread.clone())
}

/// The gateway at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatewayState {
    pub head: StreamHead,
    pub deliveries: Deliveries,
    /// Without an answer, by what received them.
    pub commands: BTreeMap<StreamPos, CommandReceived>,
    /// Who may write since an owner said so, by platform and id.
    pub paired: BTreeMap<(String, String), Sender>,
    pub pending: Vec<PendingPairing>,
    /// When codes were tried that nobody was given, by platform; since the last that was right.
    pub missed: BTreeMap<String, Vec<Micros>>,
    pub chats: BTreeMap<Place, ChatSeen>,
    pub homes: BTreeMap<String, ChatRef>,
    pub dead: BTreeMap<Place, TargetDied>,
    pub cursors: BTreeMap<String, String>,
    /// The last of them, oldest first.
    pub starts: Vec<Start>,
}

/// Somebody was given a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingPairing {
    pub chat: ChatRef,
    pub sender: Sender,
    pub code: Digest,
    pub requested_at: Micros,
    pub expires_at: Micros,
}

/// A start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub at: Micros,
    pub open_work: u32,
    pub resumes: bool,
}

impl GatewayState {
    pub fn next_pos(&self) -> StreamPos {
        self.head.stream_pos.next()
    }

    /// Why nothing can be brought there; `None` if something can.
    pub fn dead(&self, chat: &ChatRef) -> Option<&TargetDied> {
        self.dead.get(&place(chat))
    }
}
