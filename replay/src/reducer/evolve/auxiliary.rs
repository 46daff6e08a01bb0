//! Calls that are no part of the conversation: begun, ended. Only what they cost matters here.

use herm_schema::events::*;

use super::{Placed, spending};
use crate::reducer::state::*;

pub fn started(state: &mut SessionState, at: Placed, event: &AuxiliaryCallStarted) {
    state.auxiliary.push(Auxiliary {
        at: at.pos,
        task: event.task,
        provider: event.provider.clone(),
        credential: event.credential.clone(),
        prices: event.prices.clone(),
    });
    if event.task == AuxiliaryTask::Title {
        state.title_attempts = state.title_attempts.saturating_add(1);
    }
}

pub fn finished(state: &mut SessionState, event: &AuxiliaryCallFinished) {
    let Some(index) = state.auxiliary.iter().position(|call| call.at == event.started) else {
        return;
    };
    let call = state.auxiliary.swap_remove(index);
    if let AuxiliaryOutcome::Answered { usage, .. } = &event.outcome {
        spending::spend(state, *usage, call.prices.as_ref());
    }
}
