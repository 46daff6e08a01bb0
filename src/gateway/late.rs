//! Answers to questions that nobody waits for any more: their turn has gone on, and the call is parked.

use herm_replay::reducer::Command;
use herm_schema::events::Decision;
use herm_schema::{SessionId, StreamPos};

use super::profile::Profile;
use crate::effects::Answer;
use crate::runtime::{ApprovalQuestion, Clock, Error, SystemClock};

/// Gives the answer to the session; what there is to say about it.
///
/// # Errors
/// Those of the log.
pub async fn answer(
    profile: &Profile,
    session: SessionId,
    request: StreamPos,
    answer: Answer,
) -> Result<String, Error> {
    let handle = match profile.rooms.take_up(session).await {
        Ok(handle) => handle,
        Err(Error::NoSession { .. }) => return Ok("that session is not here".to_owned()),
        Err(error) => return Err(error),
    };
    let state = handle.state().await?;
    let Some(parked) = state.parked.iter().find(|parked| parked.request == request) else {
        return Ok("that question is not open any more".to_owned());
    };
    if let Decision::Allowed { scope } = answer.decision {
        let question = ApprovalQuestion::of(session, request, parked.question.clone());
        if let Some(granted) = question.granted(scope) {
            profile.engine.grants.grant(granted, SystemClock.now()).await?;
        }
    }
    let Answer { decision, by, answerer } = answer;
    match handle.send(Command::ApprovalAnswered { request, decision, by, answerer }, None).await {
        Ok(_) => Ok(match decision {
            Decision::Allowed { .. } => "allowed; it runs now".to_owned(),
            Decision::Denied | Decision::Expired => "denied".to_owned(),
        }),
        Err(Error::Rejected(why)) => Ok(why.to_string()),
        Err(error) => Err(error),
    }
}
