//! Yesterday's outcomes, today's decisions.
//!
//! An append is what one command led to. From the events of each append the command is worked out
//! again, put to today's `decide` with the state and the time of then, and the answer compared with
//! what was recorded. Where an append could come from several commands, one that fits is enough. The
//! random part of a retry's waiting time was not recorded, and is not compared.

use herm_schema::events::*;
use herm_schema::{Event, Micros, Position, Recorded, SessionId, StreamPos};
use serde::Serialize;
use serde_json::Value;

use super::diff::differences;
use crate::log::{Error, Log};
use crate::reducer::command::{Compression, Fact, Prepared, Question, ToolOutcome};
use crate::reducer::state::{CallStatus, ChunkStatus, Phase};
use crate::reducer::{Command, Outlook, Route, SessionState, Stamp, decide, evolve, notices, owed};

/// A decision that comes out otherwise today.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Of the first event of the append.
    pub position: Position,
    pub stream_pos: StreamPos,
    pub session: SessionId,
    /// What was asked, in one word.
    pub command: &'static str,
    pub recorded: Vec<&'static str>,
    /// Empty if nothing is decided today.
    pub decided: Vec<&'static str>,
    /// Where the two differ, or why today's answer is no.
    pub detail: String,
}

/// Asks today's reducer everything that a session was asked; how many decisions there were, and
/// those that differ. The fold always goes on with what was recorded.
///
/// # Errors
/// Those of the log.
pub fn simulate(log: &dyn Log, session: SessionId) -> Result<(u64, Vec<Difference>), Error> {
    let mut state = SessionState::default();
    let (mut decisions, mut found) = (0, Vec::new());
    let mut append: Vec<Recorded> = Vec::new();
    for recorded in log.read_stream(session.stream(), StreamPos(1)) {
        append.push(recorded?);
        if append.last().is_some_and(|last| last.envelope.batch_left > 0) {
            continue;
        }
        decisions += 1;
        found.extend(replay(&state, &append, session));
        append.drain(..).for_each(|recorded| evolve(&mut state, &recorded));
    }
    Ok((decisions, found))
}

fn replay(state: &SessionState, append: &[Recorded], session: SessionId) -> Option<Difference> {
    let first = append.first()?;
    let stamp = Stamp { now: first.envelope.recorded_at, seed: 0, outlook: outlook(&first.event) };
    let recorded: Vec<Event> = append.iter().map(|recorded| comparable(recorded.event.clone())).collect();
    let names = |events: &[Event]| events.iter().map(Event::name).collect::<Vec<_>>();
    let mut difference = None;
    for command in commands(state, append) {
        let asked = command_name(&command);
        let decided = decide(state, command, stamp.clone())
            .map(|events| events.into_iter().map(|new| comparable(new.event)).collect::<Vec<_>>());
        let (decided, detail) = match decided {
            Ok(decided) if decided == recorded => return None,
            Ok(decided) => (names(&decided), first_difference(&recorded, &decided)),
            Err(rejection) => (Vec::new(), format!("refused: {rejection}")),
        };
        difference.get_or_insert(Difference {
            position: first.envelope.position,
            stream_pos: first.envelope.stream_pos,
            session,
            command: asked,
            recorded: names(&recorded),
            decided,
            detail,
        });
    }
    difference
}

/// What other streams must have said for this to be decided, as far as the event tells.
fn outlook(event: &Event) -> Outlook {
    let resting = |routes: u32| (0..routes).map(|_| Route::Resting { until: Micros(i64::MAX) });
    match event {
        Event::ModelCallStarted(e) => {
            let credentials = e.credential.iter().cloned().collect();
            let routes = resting(e.route).chain([Route::Ready { credentials }]).collect();
            Outlook { routes, spent_today: 0 }
        }
        Event::ModelCallFailed(ModelCallFailed { action: FailureAction::FallBack { route }, .. }) => {
            Outlook { routes: resting(*route).collect(), spent_today: 0 }
        }
        Event::SpendingWarned(SpendingWarned { scope: SpendingScope::Day, spent, .. })
        | Event::SpendingStopped(SpendingStopped { scope: SpendingScope::Day, spent, .. }) => {
            Outlook { routes: Vec::new(), spent_today: *spent }
        }
        _ => Outlook::default(),
    }
}

/// An event without what cannot be known again.
fn comparable(event: Event) -> Event {
    match event {
        Event::ModelCallFailed(ModelCallFailed { failure, action: FailureAction::Retry { .. } }) => {
            ModelCallFailed { failure, action: FailureAction::Retry { not_before: Micros(0) } }.into()
        }
        other => other,
    }
}

fn first_difference(recorded: &[Event], decided: &[Event]) -> String {
    let json = |events: &[Event]| serde_json::to_value(events).unwrap_or_default();
    let found = differences(&json(recorded), &json(decided));
    let shown = |value: Option<&Value>| {
        let text = value.map_or_else(|| "nothing".to_owned(), ToString::to_string);
        crate::projections::messages::cut(&text, 200)
    };
    found.first().map_or_else(
        || "they differ in their order".to_owned(),
        |(path, before, after)| {
            format!("{path}: {} became {}", shown(before.as_ref()), shown(after.as_ref()))
        },
    )
}

/// What may have been asked when these events followed, the likeliest first.
fn commands(state: &SessionState, append: &[Recorded]) -> Vec<Command> {
    let Some(first) = append.first() else {
        return Vec::new();
    };
    match &first.event {
        Event::SessionOpened(e) => vec![Command::Open(e.clone())],
        Event::SessionConfigured(e) => vec![Command::Configure(e.policy.clone())],
        Event::SessionEnded(e) => vec![Command::End(e.reason)],
        Event::MessageReceived(e) => vec![receive(e.clone(), append)],
        Event::SteerReceived(e) => vec![
            Command::Steer(e.clone()),
            receive(as_message(state, &e.message_id, &e.sender, &e.text), append),
        ],
        Event::RedirectReceived(e) => {
            vec![receive(as_message(state, &e.message_id, &e.sender, &e.text), append)]
        }
        Event::InterruptRequested(e) => {
            vec![Command::Interrupt { by: e.by, visible_text: visible_text(append) }]
        }
        Event::ModelCallAborted(_) => redirect(state, append),
        Event::SystemPromptBuilt(e) => vec![prompt_built(state, e, append)],
        Event::TurnResumed(_) => vec![Command::Resume],
        Event::SessionTitled(e) => vec![Command::Title(e.title.clone())],
        Event::AuxiliaryCallStarted(e) => vec![Command::BeginAuxiliary(e.clone())],
        Event::AuxiliaryCallFinished(e) => vec![Command::EndAuxiliary(e.clone()), Command::Resume],
        Event::TurnFaulted(e) => faults(state, e),
        Event::ModelCallSucceeded(e) => {
            with_intent(model_intent(state), |intent| Command::ModelAnswered { intent, answer: e.clone() })
        }
        Event::ModelCallFailed(e) => with_intent(model_intent(state), |intent| Command::ModelFailed {
            intent,
            failure: e.failure.clone(),
        }),
        Event::CompressionFinished(e) => compressed(state, Ok(compression(e))),
        Event::CompressionFailed(e) => compression_failed(state, e),
        Event::ApprovalRequested(e)
            if matches!(state.call(e.call).map(|call| &call.status), Some(CallStatus::Started { .. })) =>
        {
            vec![Command::AskAside { call: e.call, question: question(e) }]
        }
        Event::CommandBlocked(e)
            if matches!(state.call(e.call).map(|call| &call.status), Some(CallStatus::Started { .. })) =>
        {
            vec![Command::Record(Fact::CommandBlocked(e.clone()))]
        }
        Event::ToolCallStarted(ToolCallStarted { call, .. })
        | Event::ApprovalJudged(ApprovalJudged { call, .. })
        | Event::ApprovalRequested(ApprovalRequested { call, .. })
        | Event::CommandBlocked(CommandBlocked { call, .. }) => {
            let look = looked_at(append).map(|verdict| Command::CallPrepared { call: *call, verdict });
            look.into_iter().collect()
        }
        Event::ToolCallSkipped(e) => {
            let look = looked_at(append).map(|verdict| Command::CallPrepared { call: e.call, verdict });
            look.into_iter().chain([Command::Advance]).collect()
        }
        Event::ApprovalDecided(e) => {
            let (request, decision, by) = (e.request, e.decision, e.by);
            vec![Command::ApprovalAnswered { request, decision, by, answerer: e.answerer.clone() }]
        }
        Event::ToolCallFinished(e) => {
            with_intent(tool_intent(state, e.call), |intent| Command::ToolFinished {
                intent,
                outcome: ToolOutcome {
                    status: e.status,
                    shown: e.shown.clone(),
                    images: e.images.clone(),
                    full: e.full,
                    recovered: e.recovered,
                    elapsed_us: e.elapsed_us,
                },
            })
        }
        Event::ToolCallInDoubt(e) => {
            with_intent(tool_intent(state, e.call), |intent| Command::ToolInDoubt { intent })
        }
        Event::DeliveryPlanned(e) => {
            let closing = state.turn.as_ref().is_some_and(|turn| matches!(turn.phase, Phase::Closing { .. }));
            vec![match closing {
                true => Command::DeliveryPrepared { chunks: e.chunks.clone(), keyed: e.keyed },
                false => Command::Say(e.clone()),
            }]
        }
        Event::DeliveryAttempted(e) => {
            let uncertain =
                chunk_intent(state, e.delivery, e.chunk).map(|intent| Command::DeliveryUncertain { intent });
            std::iter::once(Command::Advance).chain(uncertain).collect()
        }
        Event::DeliveryConfirmed(e) => with_intent(chunk_intent(state, e.delivery, e.chunk), |intent| {
            Command::Delivered { intent, platform_message_id: e.platform_message_id.clone() }
        }),
        Event::DeliveryFailed(e) => delivery_failed(state, e),
        Event::NoticeReceived(e) => vec![Command::Notice(e.clone())],
        Event::CheckpointTaken(e) => vec![Command::Record(Fact::CheckpointTaken(e.clone()))],
        Event::CheckpointRestored(e) => vec![Command::Record(Fact::CheckpointRestored(e.clone()))],
        Event::ProgramCallStarted(e) => vec![Command::Record(Fact::ProgramCallStarted(e.clone()))],
        Event::ProgramCallFinished(e) => vec![Command::Record(Fact::ProgramCallFinished(e.clone()))],
        Event::ProcessStarted(e) => vec![Command::Record(Fact::ProcessStarted(e.clone()))],
        Event::ProcessEnded(e) => vec![Command::Record(Fact::ProcessEnded(e.clone()))],
        Event::PreviewPosted(e) => vec![Command::Record(Fact::PreviewPosted(e.clone()))],
        Event::HistoryGiven(e) => vec![Command::GiveHistory(e.clone())],
        Event::MessageMirrored(e) => vec![Command::Mirror(e.clone())],
        Event::DeliveryDropped(e) => vec![Command::DropDelivery { delivery: e.delivery }],
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
        | Event::CursorMoved(_) => Vec::new(),
        // In the stream of the profile; no session decides it.
        Event::ApprovalGranted(_)
        | Event::ApprovalUsed(_)
        | Event::ApprovalRevoked(_)
        | Event::CredentialRested(_)
        | Event::CredentialReset(_)
        | Event::CredentialRefreshed(_)
        | Event::MemoryWritten(_)
        | Event::MemoryRefused(_)
        | Event::MemoryProposed(_)
        | Event::MemoryDeclined(_)
        | Event::SkillWritten(_)
        | Event::SkillLoaded(_) => Vec::new(),
        Event::TurnStarted(_)
        | Event::TurnEnded(_)
        | Event::BudgetWarned(_)
        | Event::SpendingWarned(_)
        | Event::SpendingStopped(_)
        | Event::ModelCallStarted(_)
        | Event::CompressionStarted(_)
        | Event::ToolResultsPruned(_)
        | Event::ToolsOffered(_) => vec![Command::Advance],
    }
}

/// What the look at a call came to, by the events that followed from it.
fn looked_at(append: &[Recorded]) -> Option<Prepared> {
    let (first, rest) = append.split_first()?;
    Some(match &first.event {
        Event::ApprovalJudged(e) => Prepared::Judged {
            verdict: e.verdict,
            why: e.why.clone(),
            provider: e.provider.clone(),
            model: e.model.clone(),
            then: Box::new(looked_at(rest)?),
        },
        Event::ToolCallStarted(e) => Prepared::Run { arguments: e.arguments.clone() },
        Event::ApprovalRequested(e) => match rest.is_empty() {
            true => Prepared::Ask(question(e)),
            false => Prepared::Refuse(question(e)),
        },
        Event::CommandBlocked(e) => {
            let shown = rest.iter().find_map(|recorded| match &recorded.event {
                Event::ToolCallSkipped(e) => Some(notices::why_skipped(&e.shown)),
                _ => None,
            });
            let (rule, subject) = (e.rule.clone(), e.subject.clone());
            Prepared::Block { rule, subject, shown: shown.unwrap_or_default() }
        }
        Event::ToolCallSkipped(e) if e.reason == SkipReason::Vetoed => {
            Prepared::Veto { why: notices::why_vetoed(&e.shown) }
        }
        Event::ToolCallSkipped(e) => Prepared::Invalid { shown: e.shown.clone() },
        _ => return None,
    })
}

fn question(asked: &ApprovalRequested) -> Question {
    Question {
        subject: asked.subject.clone(),
        reason: asked.reason.clone(),
        rule: asked.rule.clone(),
        pattern: asked.pattern.clone(),
        target: asked.target.clone(),
    }
}

/// The command with the intent that is open; without one, an intent that nothing has.
fn with_intent(intent: Option<StreamPos>, command: impl FnOnce(StreamPos) -> Command) -> Vec<Command> {
    vec![command(intent.unwrap_or_default())]
}

fn receive(message: MessageReceived, append: &[Recorded]) -> Command {
    Command::Receive { message, visible_text: visible_text(append) }
}

fn as_message(state: &SessionState, message_id: &str, sender: &Sender, text: &str) -> MessageReceived {
    let nowhere = || ChatRef { platform: String::new(), chat: String::new(), thread: None };
    MessageReceived {
        message_id: message_id.to_owned(),
        chat: state.opened.as_ref().map_or_else(nowhere, |opened| opened.chat.clone()),
        sender: sender.clone(),
        text: text.to_owned(),
        attachments: Vec::new(),
        context: None,
    }
}

fn redirect(state: &SessionState, append: &[Recorded]) -> Vec<Command> {
    let redirected = append.iter().find_map(|recorded| match &recorded.event {
        Event::RedirectReceived(e) => Some(as_message(state, &e.message_id, &e.sender, &e.text)),
        _ => None,
    });
    redirected.map_or_else(|| vec![Command::Resume], |message| vec![receive(message, append)])
}

fn visible_text(append: &[Recorded]) -> String {
    let aborted = append.iter().find_map(|recorded| match &recorded.event {
        Event::ModelCallAborted(aborted) => Some(aborted.visible_text.clone()),
        _ => None,
    });
    aborted.unwrap_or_default()
}

/// Tools that stayed as they were are not recorded again.
fn prompt_built(state: &SessionState, built: &SystemPromptBuilt, append: &[Recorded]) -> Command {
    let offered = append.iter().find_map(|recorded| match &recorded.event {
        Event::ToolsOffered(offered) => Some((offered.definitions, offered.tools.clone())),
        _ => None,
    });
    let kept = || state.offer.as_ref().map(|offer| (offer.definitions, offer.tools.clone()));
    let (definitions, tools) = offered.or_else(kept).unwrap_or((built.prompt, Vec::new()));
    Command::PromptBuilt { prompt: built.prompt, definitions, tools }
}

/// Only the kind of effect that failed was recorded; it was one of those that were owed.
fn faults(state: &SessionState, faulted: &TurnFaulted) -> Vec<Command> {
    let effects = owed(state).into_iter().map(|effect| effect.id());
    let fitting = effects.filter(|effect| effect.name() == faulted.during);
    fitting.map(|effect| Command::Fault { effect, message: faulted.message.clone() }).collect()
}

fn model_intent(state: &SessionState) -> Option<StreamPos> {
    match &state.turn.as_ref()?.phase {
        Phase::Calling(intent) => Some(intent.at),
        _ => None,
    }
}

fn tool_intent(state: &SessionState, call: herm_schema::CallRef) -> Option<StreamPos> {
    match state.call(call)?.status {
        CallStatus::Started { intent, .. } => Some(intent),
        _ => None,
    }
}

fn chunk_intent(state: &SessionState, delivery: StreamPos, chunk: u16) -> Option<StreamPos> {
    match state.deliveries.get(&delivery)?.chunks.get(usize::from(chunk))?.status {
        ChunkStatus::Attempted { intent, .. } => Some(intent),
        _ => None,
    }
}

fn compression(finished: &CompressionFinished) -> Compression {
    Compression {
        first: finished.first,
        last: finished.last,
        summary: finished.summary.clone(),
        pruned: finished.pruned.clone(),
        engine: finished.engine.clone(),
    }
}

fn compressed(state: &SessionState, result: Result<Compression, String>) -> Vec<Command> {
    let intent = state.turn.as_ref().and_then(|turn| match turn.phase {
        Phase::Compressing { intent, .. } => Some(intent),
        _ => None,
    });
    with_intent(intent, |intent| Command::Compressed { intent, result })
}

/// A compression that shrank too little left nothing that could be tried again.
fn compression_failed(state: &SessionState, failed: &CompressionFailed) -> Vec<Command> {
    match failed.reason {
        CompressionFailure::NothingToCompress => compressed(state, Err(String::new())),
        CompressionFailure::Engine => compressed(state, Err(failed.message.clone())),
        CompressionFailure::Crashed => vec![Command::Resume],
        CompressionFailure::Ineffective => Vec::new(),
    }
}

fn delivery_failed(state: &SessionState, failed: &DeliveryFailed) -> Vec<Command> {
    let intent = chunk_intent(state, failed.delivery, failed.chunk).unwrap_or_default();
    vec![
        Command::DeliveryFailed {
            intent,
            class: failed.class,
            message: failed.message.clone(),
            retry_at: failed.retry_at,
        },
        Command::DeliveryUncertain { intent },
    ]
}

fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Open(_) => "Open",
        Command::Configure(_) => "Configure",
        Command::End(_) => "End",
        Command::Receive { .. } => "Receive",
        Command::Steer(_) => "Steer",
        Command::Interrupt { .. } => "Interrupt",
        Command::Advance => "Advance",
        Command::Resume => "Resume",
        Command::PromptBuilt { .. } => "PromptBuilt",
        Command::ModelAnswered { .. } => "ModelAnswered",
        Command::ModelFailed { .. } => "ModelFailed",
        Command::Compressed { .. } => "Compressed",
        Command::CallPrepared { .. } => "CallPrepared",
        Command::AskAside { .. } => "AskAside",
        Command::ApprovalAnswered { .. } => "ApprovalAnswered",
        Command::ToolFinished { .. } => "ToolFinished",
        Command::ToolInDoubt { .. } => "ToolInDoubt",
        Command::DeliveryPrepared { .. } => "DeliveryPrepared",
        Command::Delivered { .. } => "Delivered",
        Command::DeliveryFailed { .. } => "DeliveryFailed",
        Command::DeliveryUncertain { .. } => "DeliveryUncertain",
        Command::Say(_) => "Say",
        Command::DropDelivery { .. } => "DropDelivery",
        Command::GiveHistory(_) => "GiveHistory",
        Command::Mirror(_) => "Mirror",
        Command::Title(_) => "Title",
        Command::Notice(_) => "Notice",
        Command::Record(_) => "Record",
        Command::BeginAuxiliary(_) => "BeginAuxiliary",
        Command::EndAuxiliary(_) => "EndAuxiliary",
        Command::Fault { .. } => "Fault",
    }
}
