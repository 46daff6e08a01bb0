//! The outbox: what was to be sent to each target, in order, and what became of it.

use herm_schema::events::{ChatRef, DeliveryFailed, DeliveryFailure, DeliveryKind};
use herm_schema::{Event, Micros, Position, Recorded, StreamId, StreamPos};
use serde::{Deserialize, Serialize};

use super::Error;
use super::keyed::{Fold, Rows};
use crate::log::Log;

/// One delivery to one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The session's, or the gateway's.
    pub stream: StreamId,
    /// Stream position of the plan, which names the delivery in its session.
    pub delivery: StreamPos,
    pub planned: Position,
    pub planned_at: Micros,
    pub target: ChatRef,
    pub kind: DeliveryKind,
    /// Whether the platform recognises a repeat.
    pub keyed: bool,
    pub chunks: Vec<Chunk>,
}

impl Delivery {
    /// Whether a chunk of it is still to arrive.
    pub fn is_open(&self) -> bool {
        self.chunks.iter().any(|chunk| !chunk.standing.is_final())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    pub attempts: u32,
    /// An attempt may have repeated one that had arrived.
    pub possible_repeat: bool,
    pub standing: Standing,
}

/// What became of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Planned,
    /// Being sent, or in doubt after a crash.
    Attempted,
    Confirmed {
        platform_message_id: Option<String>,
    },
    /// Another attempt is due.
    Retrying {
        class: DeliveryFailure,
        retry_at: Micros,
    },
    /// For good.
    Failed {
        class: DeliveryFailure,
        message: String,
    },
    /// An attempt before a restart, whose outcome nobody knows, and which is not repeated.
    Unknown,
}

impl Standing {
    fn is_final(&self) -> bool {
        matches!(self, Self::Confirmed { .. } | Self::Failed { .. } | Self::Unknown)
    }
}

/// Folds the outbox. `d` + target + position holds a delivery, `i` + stream + stream position says
/// where it is.
pub struct Outbox;

impl Fold for Outbox {
    const NAME: &'static str = "outbox";
    const SCHEMA: u32 = 2;

    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, _: &dyn Log) -> Result<(), Error> {
        let envelope = &recorded.envelope;
        let stream = envelope.stream;
        match &recorded.event {
            Event::DeliveryPlanned(planned) => {
                let chunk = Chunk { attempts: 0, possible_repeat: false, standing: Standing::Planned };
                let delivery = Delivery {
                    stream,
                    delivery: envelope.stream_pos,
                    planned: envelope.position,
                    planned_at: envelope.recorded_at,
                    target: planned.target.clone(),
                    kind: planned.kind,
                    keyed: planned.keyed,
                    chunks: vec![chunk; planned.chunks.len()],
                };
                let mut key = target_key(&planned.target);
                key.extend_from_slice(&envelope.position.0.to_be_bytes());
                rows.put(named_key(stream, envelope.stream_pos), &key)?;
                rows.put(key, &delivery)
            }
            Event::DeliveryAttempted(attempted) => {
                change(rows, stream, attempted.delivery, attempted.chunk, |chunk| {
                    chunk.attempts = attempted.attempt;
                    chunk.possible_repeat |= attempted.possible_repeat;
                    chunk.standing = Standing::Attempted;
                })
            }
            Event::DeliveryConfirmed(confirmed) => {
                change(rows, stream, confirmed.delivery, confirmed.chunk, |chunk| {
                    let platform_message_id = confirmed.platform_message_id.clone();
                    chunk.standing = Standing::Confirmed { platform_message_id };
                })
            }
            Event::DeliveryFailed(failed) => give_up_or_wait(rows, stream, failed),
            Event::DeliveryDropped(dropped) => give_up(rows, stream, dropped.delivery),
            _ => Ok(()),
        }
    }
}

fn change(
    rows: &mut Rows<'_>,
    stream: StreamId,
    delivery: StreamPos,
    chunk: u16,
    change: impl FnOnce(&mut Chunk),
) -> Result<(), Error> {
    let Some(key) = rows.get::<Vec<u8>>(&named_key(stream, delivery))? else {
        return Ok(());
    };
    rows.modify(&key, |delivery: &mut Delivery| {
        if let Some(chunk) = delivery.chunks.get_mut(usize::from(chunk)) {
            change(chunk);
        }
    })
}

/// Without this chunk the rest of the delivery makes no sense: it fails with it.
fn give_up_or_wait(rows: &mut Rows<'_>, stream: StreamId, failed: &DeliveryFailed) -> Result<(), Error> {
    let class = failed.class;
    if let Some(retry_at) = failed.retry_at {
        let standing = Standing::Retrying { class, retry_at };
        return change(rows, stream, failed.delivery, failed.chunk, |chunk| chunk.standing = standing);
    }
    let Some(key) = rows.get::<Vec<u8>>(&named_key(stream, failed.delivery))? else {
        return Ok(());
    };
    rows.modify(&key, |delivery: &mut Delivery| {
        let mut rest = delivery.chunks.iter_mut().skip(usize::from(failed.chunk));
        let for_good = || Standing::Failed { class, message: failed.message.clone() };
        if let Some(chunk) = rest.next() {
            chunk.standing = if class == DeliveryFailure::Unknown { Standing::Unknown } else { for_good() };
        }
        rest.for_each(|chunk| chunk.standing = for_good());
    })
}

/// A person gave up what is left of it.
fn give_up(rows: &mut Rows<'_>, stream: StreamId, delivery: StreamPos) -> Result<(), Error> {
    let Some(key) = rows.get::<Vec<u8>>(&named_key(stream, delivery))? else {
        return Ok(());
    };
    rows.modify(&key, |delivery: &mut Delivery| {
        for chunk in delivery.chunks.iter_mut().filter(|chunk| !chunk.standing.is_final()) {
            let message = "given up by a person".to_owned();
            chunk.standing = Standing::Failed { class: DeliveryFailure::Refused, message };
        }
    })
}

/// Names of platforms and chats may hold any characters, so their lengths stand before them.
fn target_key(target: &ChatRef) -> Vec<u8> {
    let thread = target.thread.as_deref().unwrap_or_default();
    let mut key = b"d".to_vec();
    for part in [target.platform.as_str(), target.chat.as_str(), thread] {
        key.extend_from_slice(&(part.len() as u32).to_be_bytes());
        key.extend_from_slice(part.as_bytes());
    }
    key.push(u8::from(target.thread.is_some()));
    key
}

fn named_key(stream: StreamId, delivery: StreamPos) -> Vec<u8> {
    [b"i".as_slice(), stream.bytes(), &delivery.0.to_be_bytes()].concat()
}

/// Deliveries to one target, oldest first.
///
/// # Errors
/// Those of the store.
pub fn to(rows: &Rows<'_>, target: &ChatRef) -> Result<Vec<Delivery>, Error> {
    Ok(rows.rows(&target_key(target))?.into_iter().map(|(_, delivery)| delivery).collect())
}

/// Every delivery, target by target, oldest first.
///
/// # Errors
/// Those of the store.
pub fn all(rows: &Rows<'_>) -> Result<Vec<Delivery>, Error> {
    Ok(rows.rows(b"d")?.into_iter().map(|(_, delivery)| delivery).collect())
}
