//! A person is asked whether a tool call may run; a lasting yes is recorded for the profile.

use herm_replay::log::{Append, Durability, Error, Expect, Log};
use herm_replay::reducer::state::CallStatus;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::*;
use herm_schema::{CallRef, Event, IdempotencyKey, StreamId, StreamKind, StreamPos};
use tokio::sync::oneshot;

use super::{Outcome, Run, Task};
use crate::runtime::ApprovalQuestion;

pub fn run(request: StreamPos, call: CallRef, state: &SessionState, run: Run) -> Task {
    let profile = state.opened.as_ref().map(|opened| opened.profile.clone()).unwrap_or_default();
    let Some(CallStatus::Asked { tool, pattern, subject, reason, .. }) =
        state.call(call).map(|call| call.status.clone())
    else {
        return Box::pin(async { Outcome::Cancelled });
    };
    let question = ApprovalQuestion { session: run.session, tool, subject, reason, pattern };
    Box::pin(async move {
        let decision = tokio::select! {
            biased;
            () = run.cancel.cancelled() => return Outcome::Cancelled,
            decision = run.ports.people.approve(&question) => decision,
        };
        if decision == (Decision::Allowed { scope: GrantScope::Always })
            && let Err(error) = remember(&run, request, &profile, &question).await
        {
            return Outcome::Fault(error.to_string());
        }
        let by = if decision == Decision::Expired { DecidedBy::Silence } else { DecidedBy::Person };
        Outcome::Command(Command::ApprovalAnswered { request, decision, by })
    })
}

/// The stream that holds what is true of a profile in all its sessions.
pub fn profile_stream(profile: &str) -> StreamId {
    StreamId::named(StreamKind::Profile, profile)
}

/// Under a key: a restart before the answer is recorded asks again, and grants the same once.
async fn remember(
    run: &Run,
    request: StreamPos,
    profile: &str,
    question: &ApprovalQuestion,
) -> Result<(), Error> {
    let granted = ApprovalGranted { tool: question.tool.clone(), pattern: question.pattern.clone() };
    let append = Append {
        stream: profile_stream(profile),
        expect: Expect::Any,
        key: Some(IdempotencyKey::of(&["grant", &run.session.to_string(), &request.to_string()])),
        at: run.ports.clock.now(),
        durability: Durability::Disk,
        events: vec![Event::from(granted).into()],
    };
    let (done, wait) = oneshot::channel();
    Log::submit(&*run.ports.log, append, Box::new(move |result| drop(done.send(result))));
    wait.await.map_err(|_| Error::Closed)?.map(drop)
}
