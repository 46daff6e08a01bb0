//! A command and a state to the events that follow, or a reason why none do.

use herm_schema::events::*;
use herm_schema::{Digest, Event, Micros, NewEvent, StreamPos};

use super::state::{GatewayState, PendingPairing, place};
use crate::deliveries::{self, Doubt, Failure};

/// Starts with open work in a row, each within [`LOOP_GAP_US`] of the one before, after which the
/// next does not go on with it.
const LOOP_STARTS: usize = 3;
/// Longest time between two such starts.
const LOOP_GAP_US: u64 = 300_000_000;
/// Codes that may be open at a time, a platform.
const PENDING_MAX: usize = 3;
/// Wrong codes, after which none is taken for [`LOCKED_US`].
const MISSES_MAX: usize = 5;
const LOCKED_US: u64 = 3_600_000_000;
/// How often the same person is given a code.
const ASK_AGAIN_US: u64 = 600_000_000;
/// Longest cursor, in bytes.
const CURSOR_BYTES_MAX: usize = 4_096;

/// What the gateway is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Start {
        herm_version: String,
        open_work: u32,
    },
    Drained {
        reason: DrainReason,
        unfinished: u32,
    },
    Reloaded(ConfigurationReloaded),
    /// A stranger wants to speak to herm; told so by `answer`.
    AskPairing {
        asked: PairingRequested,
        answer: DeliveryPlanned,
    },
    /// An owner has a code.
    ApprovePairing {
        platform: String,
        code: Digest,
    },
    RevokePairing {
        platform: String,
        sender_id: String,
    },
    Receive(CommandReceived),
    /// A command has been done; `answer` is what there is to say about it.
    Answer {
        command: StreamPos,
        answer: Option<DeliveryPlanned>,
    },
    Say(DeliveryPlanned),
    Refuse(MessageRefused),
    See(ChatSeen),
    ChooseHome {
        chat: ChatRef,
    },
    Die(TargetDied),
    Revive {
        target: ChatRef,
    },
    MoveCursor(CursorMoved),
    /// Begin the next attempt that is due.
    Advance,
    Delivered {
        intent: StreamPos,
        platform_message_id: Option<String>,
    },
    NotDelivered {
        intent: StreamPos,
        class: DeliveryFailure,
        message: String,
        retry_at: Option<Micros>,
    },
    /// herm failed while sending.
    Faulted {
        intent: StreamPos,
    },
    /// An attempt before a restart, whose outcome nobody knows.
    Uncertain {
        intent: StreamPos,
    },
    DropDelivery {
        delivery: StreamPos,
    },
}

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("nothing follows from it")]
    NothingDue,
    #[error("{platform} has {PENDING_MAX} open codes already")]
    TooManyCodes { platform: String },
    #[error("no such code, or it has expired")]
    NoSuchCode,
    #[error("too many wrong codes on {platform}: none is taken until {until}", until = .until.0)]
    Locked { platform: String, until: Micros },
    #[error("`{sender_id}` is not paired on {platform}")]
    NotPaired { platform: String, sender_id: String },
    #[error("a cursor of {found} bytes exceeds the limit of {CURSOR_BYTES_MAX} bytes")]
    CursorTooLong { found: usize },
}

/// The events that follow from `command`; never none.
///
/// # Errors
/// The reason why nothing follows.
pub fn decide(state: &GatewayState, command: Command, now: Micros) -> Result<Vec<NewEvent>, Rejection> {
    let events: Vec<Event> = match command {
        Command::Start { herm_version, open_work } => {
            let resumes = open_work == 0 || !loops(state, now);
            vec![GatewayStarted { herm_version, open_work, resumes }.into()]
        }
        Command::Drained { reason, unfinished } => vec![GatewayDrained { reason, unfinished }.into()],
        Command::Reloaded(reloaded) => vec![reloaded.into()],
        Command::AskPairing { asked, answer } => ask_pairing(state, asked, answer, now)?,
        Command::ApprovePairing { platform, code } => approve_pairing(state, platform, code, now)?,
        Command::RevokePairing { platform, sender_id } => {
            let known = state.paired.contains_key(&(platform.clone(), sender_id.clone()));
            if !known {
                return Err(Rejection::NotPaired { platform, sender_id });
            }
            vec![PairingRevoked { platform, sender_id }.into()]
        }
        Command::Receive(received) => vec![received.into()],
        Command::Answer { command, .. } if !state.commands.contains_key(&command) => {
            return Err(Rejection::NothingDue);
        }
        Command::Answer { command, answer } => {
            let answered: Event = CommandAnswered { command }.into();
            let at = state.next_pos().next();
            let said = answer.map(|answer| deliveries::plan(&state.deliveries, at, answer));
            std::iter::once(answered).chain(said.into_iter().flatten()).collect()
        }
        Command::Say(planned) => deliveries::plan(&state.deliveries, state.next_pos(), planned),
        Command::Refuse(refused) => vec![refused.into()],
        Command::See(seen) if state.chats.get(&place(&seen.chat)) == Some(&seen) => {
            return Err(Rejection::NothingDue);
        }
        Command::See(seen) => vec![seen.into()],
        Command::ChooseHome { chat } => vec![HomeChosen { chat }.into()],
        Command::Die(died) if state.dead(&died.target).is_some() => return Err(Rejection::NothingDue),
        Command::Die(died) => vec![died.into()],
        Command::Revive { target } if state.dead(&target).is_none() => return Err(Rejection::NothingDue),
        Command::Revive { target } => vec![TargetRevived { target }.into()],
        Command::MoveCursor(moved) => move_cursor(state, moved)?,
        Command::Advance => one(deliveries::next_attempt(&state.deliveries, now))?,
        Command::Delivered { intent, platform_message_id } => {
            one(deliveries::confirm(&state.deliveries, intent, platform_message_id))?
        }
        Command::NotDelivered { intent, class, message, retry_at } => {
            fail(state, intent, Failure { class, message, retry_at })?
        }
        Command::Faulted { intent } => fail(state, intent, Failure::of_herm(now))?,
        Command::Uncertain { intent } => {
            match deliveries::doubt(&state.deliveries, DeliveryPolicy::AtLeastOnce, intent) {
                Doubt::Event(event) => vec![*event],
                Doubt::Stale | Doubt::SameAttempt => return Err(Rejection::NothingDue),
            }
        }
        Command::DropDelivery { delivery } if state.deliveries.contains_key(&delivery) => {
            vec![DeliveryDropped { delivery }.into()]
        }
        Command::DropDelivery { .. } => return Err(Rejection::NothingDue),
    };
    Ok(events.into_iter().map(NewEvent::from).collect())
}

fn one(event: Option<Event>) -> Result<Vec<Event>, Rejection> {
    event.map(|event| vec![event]).ok_or(Rejection::NothingDue)
}

fn fail(state: &GatewayState, intent: StreamPos, failure: Failure) -> Result<Vec<Event>, Rejection> {
    one(deliveries::fail(&state.deliveries, DeliveryPolicy::AtLeastOnce, intent, failure))
}

/// Whether this start would be one more in a row that each found work open and went on with it.
fn loops(state: &GatewayState, now: Micros) -> bool {
    let mut next = now;
    let chained = state.starts.iter().rev().take_while(|start| {
        let close = next.since(start.at) <= LOOP_GAP_US;
        next = start.at;
        close && start.open_work > 0 && start.resumes
    });
    chained.count().saturating_add(1) >= LOOP_STARTS
}

fn ask_pairing(
    state: &GatewayState,
    asked: PairingRequested,
    answer: DeliveryPlanned,
    now: Micros,
) -> Result<Vec<Event>, Rejection> {
    let platform = &asked.chat.platform;
    let open = |known: &&PendingPairing| known.chat.platform == *platform && known.expires_at > now;
    let mut known = state.pending.iter().filter(open);
    if known
        .clone()
        .any(|known| known.sender.id == asked.sender.id && now.since(known.requested_at) < ASK_AGAIN_US)
    {
        return Err(Rejection::NothingDue);
    }
    let others = known.by_ref().filter(|known| known.sender.id != asked.sender.id).count();
    if others >= PENDING_MAX {
        return Err(Rejection::TooManyCodes { platform: platform.clone() });
    }
    let at = state.next_pos().next();
    let said = deliveries::plan(&state.deliveries, at, answer);
    Ok(std::iter::once(Event::from(asked)).chain(said).collect())
}

fn approve_pairing(
    state: &GatewayState,
    platform: String,
    code: Digest,
    now: Micros,
) -> Result<Vec<Event>, Rejection> {
    let missed = state.missed.get(&platform).map(Vec::as_slice).unwrap_or_default();
    let recent: Vec<_> = missed.iter().filter(|at| now.since(**at) < LOCKED_US).collect();
    if let (true, Some(last)) = (recent.len() >= MISSES_MAX, recent.last()) {
        return Err(Rejection::Locked { platform, until: last.plus(LOCKED_US) });
    }
    let found = state
        .pending
        .iter()
        .find(|known| known.chat.platform == platform && known.code == code && known.expires_at > now);
    Ok(vec![match found {
        Some(known) => PairingApproved { platform, sender: known.sender.clone() }.into(),
        None => PairingMissed { platform }.into(),
    }])
}

fn move_cursor(state: &GatewayState, moved: CursorMoved) -> Result<Vec<Event>, Rejection> {
    if moved.cursor.len() > CURSOR_BYTES_MAX {
        return Err(Rejection::CursorTooLong { found: moved.cursor.len() });
    }
    if state.cursors.get(&moved.platform) == Some(&moved.cursor) {
        return Err(Rejection::NothingDue);
    }
    Ok(vec![moved.into()])
}
