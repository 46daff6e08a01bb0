//! A command and a state to the events that follow, or a reason why none do.
//!
//! The only place that says no. What it returns is appended as one append; positions that events
//! of the same append give each other are counted on from the head of the stream.

mod advance;
mod auxiliary;
mod delivery;
mod inbound;
mod model;
mod remedy;
mod resume;
mod spending;
mod tool;

use herm_schema::events::*;
use herm_schema::{Event, NewEvent, Position};

use super::command::{Command, Stamp};
use super::rejection::Rejection;
use super::state::*;

pub use inbound::MESSAGE_BYTES_MAX;

/// The version of these decisions, recorded with each session's settings.
pub const REDUCER_VERSION: u32 = 5;

/// The events that follow from `command`; never none.
///
/// # Errors
/// The reason why nothing follows; the state stays as it is.
pub fn decide(state: &SessionState, command: Command, stamp: Stamp) -> Result<Vec<NewEvent>, Rejection> {
    match command {
        Command::Open(_) if state.opened.is_some() => return Err(Rejection::AlreadyOpen),
        Command::Open(opened) => return Ok(vec![Event::from(opened).into()]),
        _ if state.opened.is_none() => return Err(Rejection::NotOpen),
        _ => {}
    }
    let events = match command {
        Command::Open(_) => Err(Rejection::AlreadyOpen),
        Command::Configure(policy) => Ok(vec![SessionConfigured { policy }.into()]),
        Command::End(reason) => inbound::end(state, reason),
        Command::Receive { message, visible_text } => inbound::receive(state, message, visible_text),
        Command::Steer(steer) => inbound::steer(state, steer),
        Command::Interrupt { by, visible_text } => inbound::interrupt(state, by, visible_text),
        Command::Advance => advance::advance(state, &stamp),
        Command::Resume => resume::resume(state),
        Command::PromptBuilt { prompt, definitions, tools } => {
            advance::prompt_built(state, prompt, definitions, tools)
        }
        Command::ModelAnswered { intent, answer } => model::answered(state, intent, answer),
        Command::ModelFailed { intent, failure } => model::failed(state, intent, failure, &stamp),
        Command::Compressed { intent, result } => advance::compressed(state, intent, result),
        Command::CallPrepared { call, verdict } => tool::prepared(state, call, verdict),
        Command::AskAside { call, question } => tool::ask_aside(state, call, question),
        Command::ApprovalAnswered { request, decision, by, answerer } => {
            tool::approval(state, tool::Answer { request, decision, by, answerer })
        }
        Command::Notice(notice) => inbound::notice(state, notice),
        Command::Record(fact) => tool::fact(state, fact),
        Command::ToolFinished { intent, outcome } => tool::finished(state, intent, outcome),
        Command::ToolInDoubt { intent } => tool::in_doubt(state, intent, super::notices::IN_DOUBT),
        Command::DeliveryPrepared { chunks, keyed } => delivery::prepared(state, chunks, keyed),
        Command::Delivered { intent, platform_message_id } => {
            delivery::delivered(state, intent, platform_message_id)
        }
        Command::DeliveryFailed { intent, class, message, retry_at } => {
            delivery::failed(state, intent, class, message, retry_at)
        }
        Command::DeliveryUncertain { intent } => delivery::uncertain(state, intent),
        Command::Say(planned) => delivery::say(state, planned),
        Command::DropDelivery { delivery } => delivery::drop(state, delivery),
        Command::GiveHistory(history) => inbound::give(state, history),
        Command::Mirror(mirrored) => inbound::mirror(state, mirrored),
        Command::Title(title) => auxiliary::titled(&title),
        Command::BeginAuxiliary(call) => auxiliary::begin(state, call, &stamp.outlook),
        Command::EndAuxiliary(call) => auxiliary::end(state, call),
        Command::Fault { effect, message } => resume::fault(state, effect, message, &stamp),
    }?;
    Ok(place(state, events))
}

/// Says of each event which turn it belongs to and what caused it.
fn place(state: &SessionState, events: Vec<Event>) -> Vec<NewEvent> {
    let starts = events.iter().any(|event| matches!(event, Event::TurnStarted(_)));
    let turn = match &state.turn {
        Some(turn) => Some(turn.id),
        None if starts => Some(herm_schema::TurnId(state.turns.saturating_add(1))),
        None => None,
    };
    let cause = cause(state);
    events.into_iter().map(|event| NewEvent { event, cause, turn }).collect()
}

/// The event that led here: the intent under way, or the last event of the stream.
fn cause(state: &SessionState) -> Option<Position> {
    let last = (state.head.position > Position(0)).then_some(state.head.position);
    match state.turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::Calling(intent)) => Some(intent.position),
        Some(Phase::Compressing { position, .. }) => Some(*position),
        _ => last,
    }
}
