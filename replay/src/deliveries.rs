//! Deliveries of one stream: planned, attempted, confirmed, failed, given up. PURE.
//!
//! Sessions and the gateway owe answers in the same way; both keep a [`Deliveries`] in their state, fold
//! the same events into it and ask it what is owed. Chunks go out in order, deliveries in order per
//! target, one at a time.

use std::collections::BTreeMap;

use herm_schema::events::*;
use herm_schema::{Event, Micros, Position, StreamPos};
use serde::{Deserialize, Serialize};

/// Attempts at one chunk, after which it has failed for good.
pub const ATTEMPTS_MAX: u32 = 12;
/// Wait after a failure of herm's own before a chunk is sent again.
const FAULT_RETRY_US: u64 = 30_000_000;

/// Those with a chunk that is neither confirmed nor failed for good, by what planned them.
pub type Deliveries = BTreeMap<StreamPos, Delivery>;

/// A delivery that is owed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub planned: Position,
    pub target: ChatRef,
    pub kind: DeliveryKind,
    pub keyed: bool,
    pub reply_to: Option<String>,
    /// A message that stands already, and that the first chunk takes the place of.
    pub preview: Option<String>,
    pub chunks: Vec<Chunk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    pub part: Part,
    pub attempts: u32,
    /// An earlier attempt may have reached the person.
    pub uncertain: bool,
    pub status: ChunkStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkStatus {
    /// To be sent, not before this time.
    Due {
        not_before: Micros,
    },
    /// Being sent; by the position of its intent.
    Attempted {
        intent: StreamPos,
        position: Position,
        possible_repeat: bool,
    },
    Confirmed,
    /// Failed for good.
    Failed,
}

impl Chunk {
    /// Whether nothing more is owed for it.
    pub fn resolved(&self) -> bool {
        matches!(self.status, ChunkStatus::Confirmed | ChunkStatus::Failed)
    }
}

/// What is owed next to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// An attempt can begin.
    Attempt,
    Wait {
        until: Micros,
    },
    /// An attempt has begun.
    Send {
        intent: StreamPos,
        position: Position,
        delivery: StreamPos,
        chunk: u16,
    },
}

/// The first delivery of each target, and the first chunk of it that is not resolved.
fn heads(deliveries: &Deliveries) -> impl Iterator<Item = (StreamPos, &Delivery, u16, &Chunk)> {
    let mut busy: Vec<&ChatRef> = Vec::new();
    deliveries.iter().filter_map(move |(id, delivery)| {
        if busy.contains(&&delivery.target) {
            return None;
        }
        busy.push(&delivery.target);
        let (index, chunk) = delivery.chunks.iter().enumerate().find(|(_, chunk)| !chunk.resolved())?;
        Some((*id, delivery, index as u16, chunk))
    })
}

/// What is owed, a target each.
pub fn owed(deliveries: &Deliveries) -> Vec<Owed> {
    let owed = heads(deliveries).filter_map(|(delivery, _, chunk, next)| match next.status {
        ChunkStatus::Due { not_before } if not_before > Micros(0) => Some(Owed::Wait { until: not_before }),
        ChunkStatus::Due { .. } => Some(Owed::Attempt),
        ChunkStatus::Attempted { intent, position, .. } => {
            Some(Owed::Send { intent, position, delivery, chunk })
        }
        ChunkStatus::Confirmed | ChunkStatus::Failed => None,
    });
    owed.collect()
}

/// A delivery is planned as the event at `at`; its first attempt goes with it where nothing else is on
/// its way to the target: one wait for the disk, not two.
pub fn plan(deliveries: &Deliveries, at: StreamPos, planned: DeliveryPlanned) -> Vec<Event> {
    let idle = !deliveries.values().any(|delivery| delivery.target == planned.target);
    let (repeat, empty) = (planned.possible_repeat && !planned.keyed, planned.chunks.is_empty());
    let mut events: Vec<Event> = vec![planned.into()];
    if idle && !empty {
        events.push(attempt(at, 0, 1, repeat));
    }
    events
}

fn attempt(delivery: StreamPos, chunk: u16, attempt: u32, possible_repeat: bool) -> Event {
    DeliveryAttempted { delivery, chunk, attempt, possible_repeat }.into()
}

/// The first chunk that is due, of the first delivery of its target.
pub fn next_attempt(deliveries: &Deliveries, now: Micros) -> Option<Event> {
    let mut due = heads(deliveries)
        .filter(|(.., chunk)| matches!(chunk.status, ChunkStatus::Due { not_before } if not_before <= now));
    due.next().map(|(id, delivery, index, chunk)| {
        attempt(id, index, chunk.attempts.saturating_add(1), chunk.uncertain && !delivery.keyed)
    })
}

/// A chunk that is being sent.
struct Sent {
    delivery: StreamPos,
    chunk: u16,
    attempts: u32,
    keyed: bool,
    /// It may have arrived once already: it is not sent a third time.
    repeated: bool,
}

fn sent(deliveries: &Deliveries, intent: StreamPos) -> Option<Sent> {
    deliveries.iter().find_map(|(id, delivery)| {
        let mut chunks = delivery.chunks.iter().enumerate();
        let (index, chunk) = chunks.find(
            |(_, chunk)| matches!(chunk.status, ChunkStatus::Attempted { intent: at, .. } if at == intent),
        )?;
        let repeated = chunk.uncertain && !delivery.keyed;
        Some(Sent {
            delivery: *id,
            chunk: index as u16,
            attempts: chunk.attempts,
            keyed: delivery.keyed,
            repeated,
        })
    })
}

/// The platform has it; `None` if it is not being sent any more.
pub fn confirm(
    deliveries: &Deliveries,
    intent: StreamPos,
    platform_message_id: Option<String>,
) -> Option<Event> {
    let Sent { delivery, chunk, .. } = sent(deliveries, intent)?;
    Some(DeliveryConfirmed { delivery, chunk, platform_message_id }.into())
}

/// Why a chunk was not sent, and when another attempt makes sense.
pub struct Failure {
    pub class: DeliveryFailure,
    pub message: String,
    pub retry_at: Option<Micros>,
}

impl Failure {
    /// herm failed while it was being sent: like a failure that leaves open whether it was.
    pub fn of_herm(now: Micros) -> Self {
        Self {
            class: DeliveryFailure::Unknown,
            message: "herm failed while sending".to_owned(),
            retry_at: Some(now.plus(FAULT_RETRY_US)),
        }
    }
}

/// It was not sent, or nobody knows; `None` if it is not being sent any more.
pub fn fail(
    deliveries: &Deliveries,
    policy: DeliveryPolicy,
    intent: StreamPos,
    failure: Failure,
) -> Option<Event> {
    let Sent { delivery, chunk, attempts, keyed, repeated } = sent(deliveries, intent)?;
    let Failure { class, message, retry_at } = failure;
    let at_least_once = policy == DeliveryPolicy::AtLeastOnce && !repeated;
    let may_repeat = class != DeliveryFailure::Unknown || keyed || at_least_once;
    let retry_at = retry_at.filter(|_| may_repeat && attempts < ATTEMPTS_MAX);
    Some(DeliveryFailed { delivery, chunk, class, message, retry_at }.into())
}

/// What follows when nobody knows whether an attempt before a restart arrived.
pub enum Doubt {
    /// It is not being sent any more.
    Stale,
    /// It is sent again under the same key, as the same attempt.
    SameAttempt,
    /// A possible repeat or a possible loss, as the policy has it.
    Event(Box<Event>),
}

pub fn doubt(deliveries: &Deliveries, policy: DeliveryPolicy, intent: StreamPos) -> Doubt {
    let Some(Sent { delivery, chunk, attempts, keyed, repeated }) = sent(deliveries, intent) else {
        return Doubt::Stale;
    };
    if keyed {
        return Doubt::SameAttempt;
    }
    Doubt::Event(Box::new(match policy {
        DeliveryPolicy::AtLeastOnce if !repeated => {
            attempt(delivery, chunk, attempts.saturating_add(1), true)
        }
        DeliveryPolicy::AtLeastOnce | DeliveryPolicy::AtMostOnce => {
            let message = "sent or not, a restart came between; it is not repeated any more".to_owned();
            DeliveryFailed { delivery, chunk, class: DeliveryFailure::Unknown, message, retry_at: None }
                .into()
        }
    }))
}

/// Folds a plan made at `at`.
pub fn planned(
    deliveries: &mut Deliveries,
    (at, position): (StreamPos, Position),
    event: &DeliveryPlanned,
    preview: Option<String>,
) {
    let chunks = event.chunks.iter().map(|part| Chunk {
        part: part.clone(),
        attempts: 0,
        uncertain: event.possible_repeat,
        status: ChunkStatus::Due { not_before: Micros(0) },
    });
    let delivery = Delivery {
        planned: position,
        target: event.target.clone(),
        kind: event.kind,
        keyed: event.keyed,
        reply_to: event.reply_to.clone(),
        preview,
        chunks: chunks.collect(),
    };
    if !delivery.chunks.is_empty() {
        deliveries.insert(at, delivery);
    }
}

/// Folds an attempt begun at `at`.
pub fn attempted(
    deliveries: &mut Deliveries,
    (at, position): (StreamPos, Position),
    event: &DeliveryAttempted,
) {
    if let Some(chunk) = chunk_of(deliveries, event.delivery, event.chunk) {
        chunk.attempts = event.attempt;
        chunk.uncertain |= event.possible_repeat;
        let possible_repeat = event.possible_repeat;
        chunk.status = ChunkStatus::Attempted { intent: at, position, possible_repeat };
    }
}

pub fn confirmed(deliveries: &mut Deliveries, event: &DeliveryConfirmed) {
    settle(deliveries, event.delivery, event.chunk, ChunkStatus::Confirmed);
}

pub fn failed(deliveries: &mut Deliveries, event: &DeliveryFailed) {
    let status = match event.retry_at {
        Some(not_before) => ChunkStatus::Due { not_before },
        None => ChunkStatus::Failed,
    };
    if let (DeliveryFailure::Unknown, Some(chunk)) =
        (event.class, chunk_of(deliveries, event.delivery, event.chunk))
    {
        chunk.uncertain = true;
    }
    settle(deliveries, event.delivery, event.chunk, status);
    if event.retry_at.is_none() {
        // The rest of an answer makes no sense without this part of it.
        deliveries.remove(&event.delivery);
    }
}

pub fn dropped(deliveries: &mut Deliveries, event: &DeliveryDropped) {
    deliveries.remove(&event.delivery);
}

fn chunk_of(deliveries: &mut Deliveries, id: StreamPos, index: u16) -> Option<&mut Chunk> {
    deliveries.get_mut(&id)?.chunks.get_mut(usize::from(index))
}

fn settle(deliveries: &mut Deliveries, id: StreamPos, index: u16, status: ChunkStatus) {
    if let Some(chunk) = chunk_of(deliveries, id, index) {
        chunk.status = status;
    }
    if deliveries.get(&id).is_some_and(|delivery| delivery.chunks.iter().all(Chunk::resolved)) {
        deliveries.remove(&id);
    }
}
