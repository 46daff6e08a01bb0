//! The fold: a state and an event to the next state. Total.

use herm_schema::{Event, Recorded};

use super::state::{GatewayState, PendingPairing, STARTS_KEPT, Start, place};
use crate::deliveries;
use crate::reducer::state::StreamHead;

/// Folds one event of the gateway's stream; others change nothing.
pub fn evolve(state: &mut GatewayState, recorded: &Recorded) {
    let envelope = &recorded.envelope;
    let (pos, position, now) = (envelope.stream_pos, envelope.position, envelope.recorded_at);
    match &recorded.event {
        Event::GatewayStarted(event) => {
            state.starts.push(Start { at: now, open_work: event.open_work, resumes: event.resumes });
            let surplus = state.starts.len().saturating_sub(STARTS_KEPT);
            state.starts.drain(..surplus);
        }
        Event::PairingRequested(event) => {
            let again = |known: &PendingPairing| {
                known.chat.platform == event.chat.platform && known.sender.id == event.sender.id
            };
            state.pending.retain(|known| !again(known) && known.expires_at > now);
            state.pending.push(PendingPairing {
                chat: event.chat.clone(),
                sender: event.sender.clone(),
                code: event.code,
                requested_at: now,
                expires_at: event.expires_at,
            });
        }
        Event::PairingApproved(event) => {
            state.missed.remove(&event.platform);
            state
                .pending
                .retain(|known| known.chat.platform != event.platform || known.sender.id != event.sender.id);
            state.paired.insert((event.platform.clone(), event.sender.id.clone()), event.sender.clone());
        }
        Event::PairingRevoked(event) => {
            state.paired.remove(&(event.platform.clone(), event.sender_id.clone()));
        }
        Event::PairingMissed(event) => state.missed.entry(event.platform.clone()).or_default().push(now),
        Event::CommandReceived(event) => drop(state.commands.insert(pos, event.clone())),
        Event::CommandAnswered(event) => drop(state.commands.remove(&event.command)),
        Event::ChatSeen(event) => drop(state.chats.insert(place(&event.chat), event.clone())),
        Event::HomeChosen(event) => {
            state.homes.insert(event.chat.platform.clone(), event.chat.clone());
        }
        Event::TargetDied(event) => drop(state.dead.insert(place(&event.target), event.clone())),
        Event::TargetRevived(event) => drop(state.dead.remove(&place(&event.target))),
        Event::CursorMoved(event) => {
            state.cursors.insert(event.platform.clone(), event.cursor.clone());
        }
        Event::DeliveryPlanned(event) => {
            deliveries::planned(&mut state.deliveries, (pos, position), event, None);
        }
        Event::DeliveryAttempted(event) => {
            deliveries::attempted(&mut state.deliveries, (pos, position), event);
        }
        Event::DeliveryConfirmed(event) => deliveries::confirmed(&mut state.deliveries, event),
        Event::DeliveryFailed(event) => deliveries::failed(&mut state.deliveries, event),
        Event::DeliveryDropped(event) => deliveries::dropped(&mut state.deliveries, event),
        _ => {}
    }
    state.head = StreamHead { stream_pos: pos, position, recorded_at: now };
}
