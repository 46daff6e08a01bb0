//! An event in a few words, on one line.

use herm_schema::events::{AuxiliaryOutcome, ChatRef, Part};
use herm_schema::{Event, Text};

use crate::memory;
use crate::projections::messages::cut;
use crate::reducer::notices::dollars;

/// Length of a description in characters, at most.
const DESCRIPTION_CHARS_MAX: usize = 100;

/// What the event says, cut to a line that a terminal can show.
pub fn describe(event: &Event) -> String {
    let said = words(event);
    let visible: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: String =
        visible.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect();
    cut(&plain, DESCRIPTION_CHARS_MAX)
}

fn words(event: &Event) -> String {
    match event {
        Event::SessionOpened(e) => {
            format!("{}:{} profile {} in {}", e.chat.platform, e.chat.chat, e.profile, e.cwd)
        }
        Event::SessionConfigured(e) => format!("{} {}", e.policy.model.provider, e.policy.model.model),
        Event::SystemPromptBuilt(e) => {
            format!("{:?}, {} bytes, {}", e.reason, e.prompt.bytes, e.prompt.hash.short())
        }
        Event::ToolsOffered(e) => {
            e.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", ")
        }
        Event::SessionTitled(e) => format!("{} (by {:?})", e.title, e.by),
        Event::SessionEnded(e) => format!("{:?}", e.reason),
        Event::MessageReceived(e) => {
            format!("{}: {}", e.sender.name.as_ref().unwrap_or(&e.sender.id), e.text)
        }
        Event::SteerReceived(e) => e.text.clone(),
        Event::RedirectReceived(e) => e.text.clone(),
        Event::InterruptRequested(e) => format!("{:?}", e.by),
        Event::TurnStarted(e) => {
            format!("answers {}", e.inbound.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        Event::TurnEnded(e) => format!(
            "{:?}: {} model calls, {} tool calls, {} ms",
            e.reason,
            e.totals.model_calls,
            e.totals.tool_calls,
            e.totals.elapsed_us / 1_000
        ),
        Event::BudgetWarned(e) => format!("{} of {} ms", e.elapsed_us / 1_000, e.budget_us / 1_000),
        Event::SpendingWarned(e) => {
            format!("{:?}: {} % of {}", e.scope, e.percent, dollars(e.limit))
        }
        Event::SpendingStopped(e) => {
            format!("{:?}: {} of {}", e.scope, dollars(e.spent), dollars(e.limit))
        }
        Event::TurnFaulted(e) => format!("during {}: {}", e.during, e.message),
        Event::TurnResumed(e) => format!("attempt {}", e.attempt),
        Event::ModelCallStarted(e) => format!(
            "call {}.{} to {} {}, {} tokens, {}",
            e.call,
            e.attempt,
            e.provider,
            e.model,
            e.estimated_tokens,
            e.request_digest.short()
        ),
        Event::ModelCallSucceeded(e) => {
            let calls: Vec<_> = e.message.calls.iter().map(|call| format!("{}()", call.name)).collect();
            format!("{:?}: {} {}", e.finish, calls.join(" "), e.message.text)
        }
        Event::ModelCallFailed(e) => {
            format!("{:?}: {} -> {:?}", e.failure.class, e.failure.message, e.action)
        }
        Event::ModelCallAborted(e) => format!("{:?}: {}", e.reason, e.visible_text),
        Event::AuxiliaryCallStarted(e) => {
            format!("{:?} attempt {} to {} {}", e.task, e.attempt, e.provider, e.model)
        }
        Event::AuxiliaryCallFinished(e) => match &e.outcome {
            AuxiliaryOutcome::Answered { text, .. } => format!("{}: {text}", e.started),
            AuxiliaryOutcome::Failed { failure } => {
                format!("{} {:?}: {}", e.started, failure.class, failure.message)
            }
            AuxiliaryOutcome::Cancelled => format!("{} cancelled", e.started),
        },
        Event::CredentialRested(e) => {
            format!("{} {} {:?} until {}", e.provider, e.credential, e.class, e.until.0)
        }
        Event::CredentialReset(e) => format!("{} {}", e.provider, e.credential.as_deref().unwrap_or("all")),
        Event::CredentialRefreshed(e) => format!("{} {} became {}", e.provider, e.before, e.now),
        Event::MemoryWritten(e) => memory::changed(&e.space, e.target, &e.changes),
        Event::MemoryProposed(e) => memory::changed(&e.space, e.target, &e.changes),
        Event::MemoryDeclined(e) => format!("{}", e.proposal),
        Event::MemoryRefused(e) => {
            format!("{} {:?}: {}", memory::list(&e.space, e.target), e.why, e.message)
        }
        Event::SkillWritten(e) => {
            let files: Vec<&str> = e.files.iter().map(|file| file.path.as_str()).collect();
            format!("{:?} {}: {}", e.action, e.name, files.join(", "))
        }
        Event::SkillLoaded(e) => format!("{} {}", e.name, e.file.as_deref().unwrap_or_default()),
        Event::ToolCallStarted(e) => format!("{} {}{}", e.call, e.name, e.arguments.0),
        Event::ToolCallFinished(e) => format!("{} {:?}: {}", e.call, e.status, text(&e.shown)),
        Event::ToolCallSkipped(e) => format!("{} {:?}: {}", e.call, e.reason, e.shown),
        Event::ToolCallInDoubt(e) => format!("{} {}", e.call, e.shown),
        Event::ApprovalRequested(e) => format!("{} {}: {}", e.call, e.tool, e.subject),
        Event::ApprovalDecided(e) => format!("{} {:?} by {:?}", e.call, e.decision, e.by),
        Event::CommandBlocked(e) => format!("{} {}: {}", e.call, e.rule, e.subject),
        Event::ApprovalGranted(e) => {
            let target = e.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
            format!("{}: {}{target}", e.tool, e.pattern)
        }
        Event::ApprovalJudged(e) => format!("{} {:?} by {}: {}", e.call, e.verdict, e.model, e.why),
        Event::ApprovalUsed(e) => format!("grant {} for {} in {}", e.grant, e.call, e.session),
        Event::ApprovalRevoked(e) => format!("grant {}", e.grant),
        Event::NoticeReceived(e) => format!("{:?} {}: {}", e.source, e.about, e.text),
        Event::CheckpointTaken(e) => {
            format!("{} {} of {}, {} files", e.call, e.checkpoint, e.directory, e.files)
        }
        Event::CheckpointRestored(e) => format!("{} of {}, {} files", e.checkpoint, e.directory, e.files),
        Event::ProgramCallStarted(e) => format!("{} #{} {}{}", e.call, e.nth, e.name, e.arguments.0),
        Event::ProgramCallFinished(e) => format!("{} #{} {:?}: {}", e.call, e.nth, e.status, text(&e.shown)),
        Event::ProcessStarted(e) => format!("{} {}: {}", e.call, e.process, e.command),
        Event::ProcessEnded(e) => match e.exit_code {
            Some(code) => format!("{} exited with {code}", e.process),
            None => format!("{} ended, nobody knows how", e.process),
        },
        Event::PreviewPosted(e) => e.platform_message_id.clone(),
        Event::DeliveryDropped(e) => format!("{}", e.delivery),
        Event::HistoryGiven(e) => format!("{} messages from elsewhere", e.messages.len()),
        Event::MessageMirrored(e) => format!("from {}: {}", e.from, e.text),
        Event::GatewayStarted(e) => {
            let goes_on = if e.resumes { "goes on" } else { "does not go on" };
            format!("herm {}, {goes_on} with {} sessions", e.herm_version, e.open_work)
        }
        Event::GatewayDrained(e) => format!("{:?}, {} sessions unfinished", e.reason, e.unfinished),
        Event::ConfigurationReloaded(e) => {
            format!("{}; after a restart: {}", e.changed.join(", "), e.after_restart.join(", "))
        }
        Event::PairingRequested(e) => format!("{} by {}", place(&e.chat), e.sender.id),
        Event::PairingApproved(e) => format!("{} on {}", e.sender.id, e.platform),
        Event::PairingRevoked(e) => format!("{} on {}", e.sender_id, e.platform),
        Event::PairingMissed(e) => e.platform.clone(),
        Event::CommandReceived(e) => {
            format!("{} by {}: /{} {}", place(&e.chat), e.sender.id, e.name, e.arguments)
        }
        Event::CommandAnswered(e) => format!("{}", e.command),
        Event::MessageRefused(e) => format!("{} by {}: {}", place(&e.chat), e.sender.id, e.why),
        Event::ChatSeen(e) => {
            format!("{} {:?} {}", place(&e.chat), e.kind, e.title.as_deref().unwrap_or_default())
        }
        Event::HomeChosen(e) => place(&e.chat),
        Event::TargetDied(e) => format!("{}: {}", place(&e.target), e.why),
        Event::TargetRevived(e) => place(&e.target),
        Event::CursorMoved(e) => format!("{} {}", e.platform, e.cursor),
        Event::CompressionStarted(e) => {
            format!("{:?}, attempt {}, {} tokens", e.trigger, e.attempt, e.before_tokens)
        }
        Event::CompressionFinished(e) => {
            format!("{} to {}: {} tokens became {}", e.first, e.last, e.before_tokens, e.after_tokens)
        }
        Event::CompressionFailed(e) => format!("{:?}: {}", e.reason, e.message),
        Event::ToolResultsPruned(e) => {
            format!("{} results: {} tokens became {}", e.pruned.len(), e.before_tokens, e.after_tokens)
        }
        Event::DeliveryPlanned(e) => {
            format!(
                "{:?} to {} in {}: {}",
                e.kind,
                place(&e.target),
                e.chunks.len(),
                e.chunks.iter().map(part).collect::<String>()
            )
        }
        Event::DeliveryAttempted(e) => format!("{} chunk {} attempt {}", e.delivery, e.chunk, e.attempt),
        Event::DeliveryConfirmed(e) => format!("{} chunk {}", e.delivery, e.chunk),
        Event::DeliveryFailed(e) => format!("{} chunk {} {:?}: {}", e.delivery, e.chunk, e.class, e.message),
    }
}

fn text(text: &Text) -> String {
    match text {
        Text::Inline(text) => text.clone(),
        Text::Stored(blob) => format!("({} bytes, {})", blob.bytes, blob.hash.short()),
    }
}

/// A chat, for people.
fn place(chat: &ChatRef) -> String {
    let thread = chat.thread.as_ref().map(|thread| format!(":{thread}")).unwrap_or_default();
    format!("{}:{}{thread}", chat.platform, chat.chat)
}

/// What one message holds, for people.
fn part(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::File(file) => format!("[{}]", file.name),
    }
}
