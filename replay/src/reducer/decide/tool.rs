//! Tool calls: let through, asked about, refused, ended, in doubt.

use herm_schema::events::*;
use herm_schema::{CallRef, Event, StreamPos};

use crate::reducer::command::{Fact, Prepared, Question, ToolOutcome};
use crate::reducer::notices;
use crate::reducer::rejection::Rejection;
use crate::reducer::state::*;

fn calls(state: &SessionState) -> &[CallState] {
    match state.turn.as_ref().map(|turn| &turn.phase) {
        Some(Phase::Tools(batch)) => &batch.calls,
        _ => &[],
    }
}

fn skip(call: CallRef, reason: SkipReason, why: &str) -> Event {
    ToolCallSkipped { call, reason, shown: notices::skipped(why) }.into()
}

/// What the shell's look at a call leads to.
pub fn prepared(state: &SessionState, call: CallRef, verdict: Prepared) -> Result<Vec<Event>, Rejection> {
    let entry = state.call(call).ok_or(Rejection::Stale)?;
    let CallStatus::Ready { approved } = entry.status else {
        return Err(Rejection::Stale);
    };
    let mut events = Vec::new();
    let verdict = match verdict {
        Prepared::Judged { verdict, why, provider, model, then } => {
            events.push(ApprovalJudged { call, verdict, why, provider, model }.into());
            *then
        }
        verdict => verdict,
    };
    let name = entry.asked.name.clone();
    match verdict {
        Prepared::Run { arguments } => {
            let effect = state.tool(&name).map_or(EffectClass::Once, |tool| tool.effect);
            events.push(ToolCallStarted { call, name, arguments, effect }.into());
        }
        // A call that a person allowed is not asked about again.
        Prepared::Ask(_) | Prepared::Refuse(_) if approved => return Err(Rejection::Stale),
        Prepared::Ask(question) => events.push(asked(call, name, question).into()),
        Prepared::Refuse(question) => {
            let why = format!("Not run: it needs a yes ({}), and nobody is there to ask.", question.reason);
            let request = StreamPos(state.next_pos().0 + events.len() as u64);
            events.push(asked(call, name, question).into());
            let (decision, by) = (Decision::Denied, DecidedBy::Preset);
            events.push(ApprovalDecided { call, request, decision, by, answerer: None }.into());
            events.push(skip(call, SkipReason::Denied, &why));
        }
        Prepared::Block { rule, subject, shown } => {
            events.push(CommandBlocked { call, rule, subject }.into());
            events.push(skip(call, SkipReason::Blocked, &shown));
        }
        Prepared::Veto { why } => {
            let shown = notices::vetoed(&why);
            events.push(ToolCallSkipped { call, reason: SkipReason::Vetoed, shown }.into());
        }
        Prepared::Invalid { shown } => {
            events.push(ToolCallSkipped { call, reason: SkipReason::InvalidArguments, shown }.into());
        }
        Prepared::Judged { .. } => return Err(Rejection::Stale),
    }
    Ok(events)
}

fn asked(call: CallRef, tool: String, question: Question) -> ApprovalRequested {
    let Question { subject, reason, rule, pattern, target } = question;
    ApprovalRequested { call, tool, subject, reason, rule, pattern, target }
}

/// A question of a program: its call runs, and goes on running.
pub fn ask_aside(state: &SessionState, call: CallRef, question: Question) -> Result<Vec<Event>, Rejection> {
    let entry = state.call(call).ok_or(Rejection::Stale)?;
    match entry.status {
        CallStatus::Started { .. } => Ok(vec![asked(call, entry.asked.name.clone(), question).into()]),
        _ => Err(Rejection::Stale),
    }
}

/// An open question is answered, or one that nobody answered while its turn waited. Silence is not a
/// yes and not a refusal: the call is parked, and its question stays open.
pub fn approval(state: &SessionState, answer: Answer) -> Result<Vec<Event>, Rejection> {
    let Answer { request, decision, by, answerer } = answer;
    if let (Some(answerer), Some(opened)) = (&answerer, &state.opened)
        && answerer.chat != opened.chat
    {
        return Err(Rejection::Elsewhere);
    }
    let open = calls(state)
        .iter()
        .find(|call| matches!(call.status, CallStatus::Asked { request: asked, .. } if asked == request));
    if let Some(aside) = state.asides.iter().find(|aside| aside.request == request) {
        let call = aside.call;
        return Ok(vec![ApprovalDecided { call, request, decision, by, answerer }.into()]);
    }
    let Some(call) = open.map(|call| call.call) else {
        return parked(state, Answer { request, decision, by, answerer });
    };
    let mut events: Vec<Event> = vec![ApprovalDecided { call, request, decision, by, answerer }.into()];
    match decision {
        Decision::Allowed { .. } => {}
        Decision::Denied => {
            events.push(skip(call, SkipReason::Denied, "The user refused this call. Do not repeat it."));
        }
        Decision::Expired => {
            let why = match by {
                DecidedBy::Undelivered => "the question whether it may run could not be brought to anybody",
                _ => "nobody has answered yet whether it may run",
            };
            let why = format!(
                "Not run: {why}. The question stays open: if the user allows it later, it runs then and you \
                 are shown the result. Say what you need it for; do not try another way."
            );
            events.push(skip(call, SkipReason::Parked, &why));
        }
    }
    Ok(events)
}

fn parked(state: &SessionState, answer: Answer) -> Result<Vec<Event>, Rejection> {
    let Answer { request, decision, by, answerer } = answer;
    let call = state.parked.iter().find(|parked| parked.request == request).ok_or(Rejection::Stale)?.call;
    match (state.ended, decision) {
        (Some(reason), _) => Err(Rejection::Ended { reason }),
        (None, Decision::Expired) => Err(Rejection::Stale),
        (None, Decision::Allowed { .. } | Decision::Denied) => {
            Ok(vec![ApprovalDecided { call, request, decision, by, answerer }.into()])
        }
    }
}

/// What came of a question to a person.
pub struct Answer {
    pub request: StreamPos,
    pub decision: Decision,
    pub by: DecidedBy,
    pub answerer: Option<Answerer>,
}

fn started(state: &SessionState, intent: StreamPos) -> Result<CallRef, Rejection> {
    let running =
        |call: &&CallState| matches!(call.status, CallStatus::Started { intent: at, .. } if at == intent);
    calls(state).iter().find(running).map(|call| call.call).ok_or(Rejection::Stale)
}

pub fn finished(
    state: &SessionState,
    intent: StreamPos,
    outcome: ToolOutcome,
) -> Result<Vec<Event>, Rejection> {
    let call = started(state, intent)?;
    let ToolOutcome { status, shown, images, full, recovered, elapsed_us } = outcome;
    Ok(vec![ToolCallFinished { call, status, shown, images, full, recovered, elapsed_us }.into()])
}

pub fn in_doubt(state: &SessionState, intent: StreamPos, shown: &str) -> Result<Vec<Event>, Rejection> {
    let call = started(state, intent)?;
    Ok(vec![ToolCallInDoubt { call, shown: shown.to_owned() }.into()])
}

/// What was done in the world; each is said once.
pub fn fact(state: &SessionState, fact: Fact) -> Result<Vec<Event>, Rejection> {
    let known = |name: &str| state.processes.iter().any(|process| process.name == name);
    match fact {
        // The model is told, which it cannot be in the middle of a turn.
        Fact::CheckpointRestored(_) if state.turn.is_some() => Err(Rejection::WorkOpen),
        Fact::ProcessStarted(event) if known(&event.process) => Err(Rejection::Stale),
        Fact::ProcessEnded(event) if !known(&event.process) => Err(Rejection::Stale),
        // Only while the turn runs whose answer takes its place.
        Fact::PreviewPosted(_) if state.turn.is_none() => Err(Rejection::Stale),
        Fact::PreviewPosted(event) => Ok(vec![event.into()]),
        Fact::CheckpointTaken(event) => Ok(vec![event.into()]),
        Fact::CheckpointRestored(event) => Ok(vec![event.into()]),
        Fact::ProcessStarted(event) => Ok(vec![event.into()]),
        Fact::ProcessEnded(event) => Ok(vec![event.into()]),
        Fact::CommandBlocked(event) => Ok(vec![event.into()]),
        Fact::ProgramCallStarted(event) => Ok(vec![event.into()]),
        Fact::ProgramCallFinished(event) => Ok(vec![event.into()]),
    }
}
