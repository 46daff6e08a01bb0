//! A person is asked whether a tool call may run; a lasting yes is recorded for the profile.

use herm_replay::reducer::state::CallStatus;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::*;
use herm_schema::{CallRef, StreamId, StreamKind, StreamPos};

use super::{Outcome, Run, Task};
use crate::runtime::ApprovalQuestion;

pub fn run(request: StreamPos, call: CallRef, state: &SessionState, run: Run) -> Task {
    let Some(CallStatus::Asked { question, .. }) = state.call(call).map(|call| call.status.clone()) else {
        return Box::pin(async { Outcome::Cancelled });
    };
    let question = ApprovalQuestion::of(run.session, request, question);
    Box::pin(async move {
        let answer = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return Outcome::Cancelled,
            answer = run.ports.people.approve(&question) => answer,
        };
        if let Decision::Allowed { scope } = answer.decision
            && let Some(granted) = question.granted(scope)
            && let Err(error) = run.ports.grants.grant(granted, run.ports.clock.now()).await
        {
            return Outcome::Fault(error.to_string());
        }
        let Answer { decision, by, answerer } = answer;
        Outcome::Command(Command::ApprovalAnswered { request, decision, by, answerer })
    })
}

/// What came of a question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub decision: Decision,
    pub by: DecidedBy,
    /// Who answered and where; `None` at herm's own terminal, and where nobody did.
    pub answerer: Option<Answerer>,
}

impl Answer {
    /// A person at herm's own terminal has decided.
    pub fn here(decision: Decision) -> Self {
        Self { decision, by: DecidedBy::Person, answerer: None }
    }

    /// Nobody has answered.
    pub fn silence() -> Self {
        Self { decision: Decision::Expired, by: DecidedBy::Silence, answerer: None }
    }
}

/// The stream that holds what is true of a profile in all its sessions.
pub fn profile_stream(profile: &str) -> StreamId {
    StreamId::named(StreamKind::Profile, profile)
}
