//! The fold: a state and an event to the next state. Total; a replay is nothing but this.
//!
//! An event that does not fit the state (which no `decide` would have let through) changes as
//! little as it can: a log that another version wrote must still open.

mod auxiliary;
mod context;
mod delivery;
mod model;
mod spending;
mod tool;
mod turn;

use herm_schema::events::*;
use herm_schema::{Event, Recorded, SessionId, StreamPos};

use super::notices;
use super::state::*;
use crate::deliveries;

/// Folds one event into the state.
pub fn evolve(state: &mut SessionState, recorded: &Recorded) {
    let at = Placed::of(recorded);
    match &recorded.event {
        Event::SessionOpened(event) => {
            state.session = SessionId::of_stream(recorded.envelope.stream);
            state.opened = Some(event.clone());
            state.prompt_due = Some(PromptReason::SessionStart);
        }
        Event::SessionConfigured(event) => configured(state, &event.policy),
        Event::SystemPromptBuilt(event) => {
            state.prompt = Some(event.prompt);
            state.prompt_due = None;
        }
        Event::ToolsOffered(event) => {
            state.offer = Some(Offer { definitions: event.definitions, tools: event.tools.clone() });
        }
        Event::SessionEnded(event) => state.ended = Some(event.reason),
        Event::SessionTitled(event) => state.title = Some(event.title.clone()),
        Event::MessageReceived(event) => {
            let what = Waiting::Message {
                text: said(state, event),
                attachments: event.attachments.clone(),
                message_id: event.message_id.clone(),
                by: event.sender.id.clone(),
            };
            state.queue.push_back(Queued { at: at.pos, said_at: at.time, what });
        }
        Event::NoticeReceived(event) => {
            state.queue.push_back(Queued::text(at.pos, notices::notice(event)));
        }
        Event::SteerReceived(event) => turn::steered(state, at, &event.text),
        Event::RedirectReceived(event) => turn::redirected(state, at, &event.text),
        Event::InterruptRequested(_) => turn::interrupted(state),
        Event::TurnStarted(event) => turn::started(state, at, event),
        Event::TurnEnded(event) => turn::ended(state, at, event),
        Event::BudgetWarned(event) => turn::budget_warned(state, at, event),
        Event::TurnFaulted(_) => turn::faulted(state),
        Event::TurnResumed(event) => turn::resumed(state, event),
        Event::ModelCallStarted(event) => model::started(state, at, event),
        Event::ModelCallSucceeded(event) => model::succeeded(state, at, event),
        Event::ModelCallFailed(event) => model::failed(state, at, event),
        Event::ModelCallAborted(event) => model::aborted(state, at, event),
        Event::AuxiliaryCallStarted(event) => auxiliary::started(state, at, event),
        Event::AuxiliaryCallFinished(event) => auxiliary::finished(state, event),
        Event::SpendingWarned(event) => spending::warned(state, event),
        Event::SpendingStopped(event) => spending::stopped(state, event),
        // In the stream of the profile; a session has none.
        Event::CredentialRested(_) | Event::CredentialReset(_) | Event::CredentialRefreshed(_) => {}
        Event::MemoryWritten(_)
        | Event::MemoryRefused(_)
        | Event::MemoryProposed(_)
        | Event::MemoryDeclined(_)
        | Event::SkillWritten(_)
        | Event::SkillLoaded(_) => {}
        Event::ToolCallStarted(event) => tool::started(state, at, event),
        Event::ToolCallFinished(event) => tool::finished(state, at, event),
        Event::ToolCallSkipped(event) => tool::skipped(state, at, event),
        Event::ToolCallInDoubt(event) => tool::in_doubt(state, at, event),
        Event::ApprovalRequested(event) => tool::asked(state, at, event),
        Event::ApprovalDecided(event) => tool::decided(state, at, event),
        Event::CommandBlocked(_) | Event::ApprovalJudged(_) => {}
        // In the stream of the profile; a session has none.
        Event::ApprovalGranted(_) | Event::ApprovalUsed(_) | Event::ApprovalRevoked(_) => {}
        Event::CheckpointTaken(event) => {
            if let Some(turn) = &mut state.turn {
                turn.checkpoints.push(event.directory.clone());
            }
        }
        Event::CheckpointRestored(event) => {
            let (text, attachments) = (notices::restored(event), Vec::new());
            state.view.push(Entry { at: at.pos, body: Body::User { text, attachments } });
        }
        // The program is given its results; the model sees what the program prints.
        Event::ProgramCallStarted(_) | Event::ProgramCallFinished(_) => {}
        Event::ProcessStarted(event) => tool::process_started(state, event),
        Event::ProcessEnded(event) => state.processes.retain(|process| process.name != event.process),
        Event::CompressionStarted(event) => context::started(state, at, event),
        Event::CompressionFinished(event) => context::finished(state, at, event),
        Event::CompressionFailed(event) => context::failed(state, at.time, event),
        Event::ToolResultsPruned(event) => context::pruned(state, event),
        Event::DeliveryPlanned(event) => delivery::planned(state, at, event),
        Event::DeliveryAttempted(event) => delivery::attempted(state, at, event),
        Event::DeliveryConfirmed(event) => deliveries::confirmed(&mut state.deliveries, event),
        Event::DeliveryFailed(event) => deliveries::failed(&mut state.deliveries, event),
        Event::DeliveryDropped(event) => deliveries::dropped(&mut state.deliveries, event),
        Event::PreviewPosted(event) => delivery::previewed(state, event),
        Event::HistoryGiven(event) => given(state, at, event),
        Event::MessageMirrored(event) => {
            let (text, attachments) = (notices::mirrored(event), Vec::new());
            state.view.push(Entry { at: at.pos, body: Body::User { text, attachments } });
        }
        // In the stream of the gateway; a session has none.
        Event::GatewayStarted(_)
        | Event::GatewayDrained(_)
        | Event::ConfigurationReloaded(_)
        | Event::PairingRequested(_)
        | Event::PairingApproved(_)
        | Event::PairingRevoked(_)
        | Event::PairingMissed(_)
        | Event::CommandReceived(_)
        | Event::CommandAnswered(_)
        | Event::MessageRefused(_)
        | Event::ChatSeen(_)
        | Event::HomeChosen(_)
        | Event::TargetDied(_)
        | Event::TargetRevived(_)
        | Event::CursorMoved(_) => {}
    }
    state.head = StreamHead { stream_pos: at.pos, position: at.position, recorded_at: at.time };
    turn::settle(state);
}

/// A message as the model reads it: who says it where several speak, and what the platform adds.
fn said(state: &SessionState, event: &MessageReceived) -> String {
    let shared = state.opened.as_ref().is_some_and(|opened| opened.shared);
    let name = event.sender.name.as_deref().unwrap_or(&event.sender.id);
    let text = match shared {
        true => format!("{name}: {}", event.text),
        false => event.text.clone(),
    };
    match &event.context {
        Some(context) => format!("[{context}]\n{text}"),
        None => text,
    }
}

/// A conversation that was had elsewhere.
fn given(state: &mut SessionState, at: Placed, event: &HistoryGiven) {
    state.client_system = event.system.clone();
    let bodies = event.messages.iter().map(|message| {
        let (text, attachments) = (message.text.clone(), message.attachments.clone());
        match message.by {
            GivenBy::Person => Body::User { text, attachments },
            GivenBy::Model => Body::Assistant {
                message: AssistantMessage { text, ..AssistantMessage::default() },
                cut: false,
            },
        }
    });
    state.view.extend(bodies.map(|body| Entry { at: at.pos, body }));
}

/// Where an event stands.
#[derive(Clone, Copy)]
struct Placed {
    pos: StreamPos,
    position: herm_schema::Position,
    time: herm_schema::Micros,
    turn: Option<herm_schema::TurnId>,
}

impl Placed {
    fn of(recorded: &Recorded) -> Self {
        let envelope = &recorded.envelope;
        Self {
            pos: envelope.stream_pos,
            position: envelope.position,
            time: envelope.recorded_at,
            turn: envelope.turn,
        }
    }
}

/// Another model reads the conversation anew: the prompt names it, and its counts are its own.
fn configured(state: &mut SessionState, policy: &Policy) {
    let changed = state.policy.as_ref().is_some_and(|old| {
        (&old.model.provider, &old.model.model) != (&policy.model.provider, &policy.model.model)
    });
    if changed && state.prompt.is_some() {
        state.prompt_due = Some(PromptReason::ConfigurationChanged);
        state.context.reported = None;
    }
    state.policy = Some(policy.clone());
}

/// The state as `event` would leave it, as far as its size is concerned.
pub fn after_compression(state: &SessionState, event: &CompressionFinished) -> SessionState {
    let mut after = state.clone();
    let at = Placed {
        pos: state.next_pos(),
        position: state.head.position.next(),
        time: state.head.recorded_at,
        turn: None,
    };
    context::finished(&mut after, at, event);
    after
}
