//! Open work: what a restart must pick up. Sessions with an unfinished turn, questions without an
//! answer, answers that have not arrived, messages that wait for a turn.

use herm_schema::events::{ApprovalDecided, Decision, DeliveryKind, SkipReason};
use herm_schema::{CallRef, Event, Micros, Position, Recorded, SessionId, StreamPos, TurnId};
use serde::{Deserialize, Serialize};

use super::Error;
use super::keyed::{Fold, Rows};
use crate::log::Log;

/// A session that is not done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenWork {
    /// The turn that has not ended.
    pub turn: Option<OpenTurn>,
    /// Messages that no turn has taken up.
    pub queued: Vec<StreamPos>,
    /// Questions to a person, by the event that asks.
    pub approvals: Vec<OpenApproval>,
    pub deliveries: Vec<OpenDelivery>,
}

impl OpenWork {
    pub fn is_done(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTurn {
    pub id: TurnId,
    pub started_at: Micros,
    pub position: Position,
    /// Restarts in a row that have resumed it.
    pub resumes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenApproval {
    pub request: StreamPos,
    pub call: CallRef,
    pub tool: String,
    pub subject: String,
    pub reason: String,
    pub asked_at: Micros,
    /// Nobody answered in time, and its turn went on without it.
    pub parked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDelivery {
    pub delivery: StreamPos,
    pub kind: DeliveryKind,
    pub platform: String,
    pub chat: String,
    /// For each chunk whether something is still owed for it.
    pub owed: Vec<bool>,
}

/// Folds open work, a row a session that is not done.
pub struct OpenWorks;

impl Fold for OpenWorks {
    const NAME: &'static str = "open_work";
    const SCHEMA: u32 = 3;

    fn apply(&self, recorded: &Recorded, rows: &mut Rows<'_>, _: &dyn Log) -> Result<(), Error> {
        let stream = recorded.envelope.stream;
        if SessionId::of_stream(stream).is_none() || !matters(&recorded.event) {
            return Ok(());
        }
        let key = [b"o".as_slice(), stream.bytes()].concat();
        let mut work: OpenWork = rows.get(&key)?.unwrap_or_default();
        take_in(&mut work, recorded);
        if work.is_done() {
            rows.remove(key);
            return Ok(());
        }
        rows.put(key, &work)
    }
}

fn matters(event: &Event) -> bool {
    matches!(
        event,
        Event::MessageReceived(_)
            | Event::NoticeReceived(_)
            | Event::TurnStarted(_)
            | Event::TurnResumed(_)
            | Event::TurnEnded(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalDecided(_)
            | Event::ToolCallSkipped(_)
            | Event::DeliveryPlanned(_)
            | Event::DeliveryConfirmed(_)
            | Event::DeliveryFailed(_)
            | Event::DeliveryDropped(_)
            | Event::SessionEnded(_)
    )
}

fn take_in(work: &mut OpenWork, recorded: &Recorded) {
    let envelope = &recorded.envelope;
    match &recorded.event {
        Event::MessageReceived(_) | Event::NoticeReceived(_) => work.queued.push(envelope.stream_pos),
        Event::TurnStarted(started) => {
            work.queued.retain(|at| !started.inbound.contains(at));
            work.turn = Some(OpenTurn {
                id: envelope.turn.unwrap_or_default(),
                started_at: envelope.recorded_at,
                position: envelope.position,
                resumes: 0,
            });
        }
        Event::TurnResumed(resumed) => {
            if let Some(turn) = &mut work.turn {
                turn.resumes = resumed.attempt;
            }
        }
        Event::TurnEnded(_) => {
            work.turn = None;
            work.approvals.retain(|approval| approval.parked);
        }
        Event::ApprovalRequested(asked) => work.approvals.push(OpenApproval {
            request: envelope.stream_pos,
            call: asked.call,
            tool: asked.tool.clone(),
            subject: asked.subject.clone(),
            reason: asked.reason.clone(),
            asked_at: envelope.recorded_at,
            parked: false,
        }),
        Event::ApprovalDecided(decided) => answered(work, envelope.stream_pos, decided),
        Event::ToolCallSkipped(skipped) => {
            let parked = work.approvals.iter_mut().filter(|open| open.call == skipped.call);
            parked.for_each(|open| open.parked = skipped.reason == SkipReason::Parked);
        }
        Event::DeliveryPlanned(planned) => work.deliveries.push(OpenDelivery {
            delivery: envelope.stream_pos,
            kind: planned.kind,
            platform: planned.target.platform.clone(),
            chat: planned.target.chat.clone(),
            owed: vec![true; planned.chunks.len()],
        }),
        Event::DeliveryConfirmed(confirmed) => settle(work, confirmed.delivery, confirmed.chunk, 1),
        // The rest of an answer makes no sense without this part of it.
        Event::DeliveryFailed(failed) if failed.retry_at.is_none() => {
            settle(work, failed.delivery, failed.chunk, usize::MAX);
        }
        Event::DeliveryDropped(dropped) => settle(work, dropped.delivery, 0, usize::MAX),
        Event::SessionEnded(_) => {
            work.queued.clear();
            work.approvals.clear();
        }
        _ => {}
    }
    work.deliveries.retain(|delivery| delivery.owed.contains(&true));
}

/// A question that nobody answered stays open; a late yes gets its call a turn.
fn answered(work: &mut OpenWork, at: StreamPos, decided: &ApprovalDecided) {
    let Some(index) = work.approvals.iter().position(|open| open.request == decided.request) else {
        return;
    };
    // Parked only if its call was left out; a program goes on without its answer.
    if decided.decision == Decision::Expired {
        return;
    }
    let late = work.approvals.remove(index).parked;
    if late && matches!(decided.decision, Decision::Allowed { .. }) {
        work.queued.push(at);
    }
}

/// Nothing more is owed for `chunks` chunks from this one on.
fn settle(work: &mut OpenWork, delivery: StreamPos, chunk: u16, chunks: usize) {
    let open = work.deliveries.iter_mut().filter(|open| open.delivery == delivery);
    let settled = open.flat_map(|open| open.owed.iter_mut().skip(usize::from(chunk)).take(chunks));
    settled.for_each(|owed| *owed = false);
}

/// Every session that is not done.
///
/// # Errors
/// Those of the store.
pub fn list(rows: &Rows<'_>) -> Result<Vec<(SessionId, OpenWork)>, Error> {
    let found = rows.rows(b"o")?;
    let session = |key: Vec<u8>| {
        let bytes: [u8; 16] = key.get(1..)?.try_into().ok()?;
        SessionId::of_stream(herm_schema::StreamId::from_bytes(bytes))
    };
    Ok(found.into_iter().filter_map(|(key, work)| Some((session(key)?, work))).collect())
}
