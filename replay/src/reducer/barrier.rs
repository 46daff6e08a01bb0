//! Which events the world waits for: the durability barriers of the architecture, in one place.

use herm_schema::Event;
use herm_schema::events::EffectClass;

use crate::log::Durability;

/// What the acknowledgement of `event` has to wait for before what follows may happen.
pub fn durability(event: &Event) -> Durability {
    match event {
        // The platform's offset moves after these.
        Event::MessageReceived(_) | Event::SteerReceived(_) | Event::RedirectReceived(_) => Durability::Disk,
        // What may happen only once must not be forgotten to have begun.
        Event::ToolCallStarted(started) => match started.effect {
            EffectClass::Once | EffectClass::Checkable => Durability::Disk,
            EffectClass::Repeatable => Durability::Queued,
        },
        // What is sent must be known to be owed.
        Event::DeliveryPlanned(_) | Event::DeliveryAttempted(_) | Event::DeliveryDropped(_) => {
            Durability::Disk
        }
        // What was asked of herm itself, and who may ask.
        Event::CommandReceived(_)
        | Event::PairingRequested(_)
        | Event::PairingApproved(_)
        | Event::PairingRevoked(_)
        | Event::MessageRefused(_)
        | Event::GatewayStarted(_)
        | Event::HistoryGiven(_)
        | Event::MessageMirrored(_) => Durability::Disk,
        // A lasting yes, its use and its end; a key that was mended or exchanged.
        Event::ApprovalGranted(_)
        | Event::ApprovalUsed(_)
        | Event::ApprovalRevoked(_)
        | Event::CredentialReset(_)
        | Event::CredentialRefreshed(_) => Durability::Disk,
        // What herm itself will not say again; what can be undone only as long as it is known.
        Event::NoticeReceived(_)
        | Event::CheckpointTaken(_)
        | Event::CheckpointRestored(_)
        | Event::ProcessStarted(_)
        | Event::ProgramCallStarted(_) => Durability::Disk,
        Event::SessionOpened(_)
        | Event::SessionConfigured(_)
        | Event::SystemPromptBuilt(_)
        | Event::ToolsOffered(_)
        | Event::SessionEnded(_)
        | Event::InterruptRequested(_)
        | Event::TurnStarted(_)
        | Event::TurnEnded(_)
        | Event::BudgetWarned(_)
        | Event::TurnFaulted(_)
        | Event::TurnResumed(_)
        | Event::ModelCallStarted(_)
        | Event::ModelCallSucceeded(_)
        | Event::ModelCallFailed(_)
        | Event::ModelCallAborted(_)
        | Event::AuxiliaryCallStarted(_)
        | Event::AuxiliaryCallFinished(_)
        | Event::CredentialRested(_)
        | Event::SessionTitled(_)
        | Event::SpendingWarned(_)
        | Event::SpendingStopped(_)
        | Event::ToolCallFinished(_)
        | Event::ToolCallSkipped(_)
        | Event::ToolCallInDoubt(_)
        | Event::ProcessEnded(_)
        | Event::ProgramCallFinished(_)
        | Event::ApprovalRequested(_)
        | Event::ApprovalJudged(_)
        | Event::ApprovalDecided(_)
        | Event::CommandBlocked(_)
        | Event::CompressionStarted(_)
        | Event::CompressionFinished(_)
        | Event::CompressionFailed(_)
        | Event::ToolResultsPruned(_)
        | Event::DeliveryConfirmed(_)
        | Event::PreviewPosted(_)
        | Event::GatewayDrained(_)
        | Event::ConfigurationReloaded(_)
        | Event::PairingMissed(_)
        | Event::CommandAnswered(_)
        | Event::ChatSeen(_)
        | Event::HomeChosen(_)
        | Event::TargetDied(_)
        | Event::TargetRevived(_)
        | Event::CursorMoved(_)
        | Event::DeliveryFailed(_) => Durability::Queued,
    }
}

/// The strictest durability among `events`.
pub fn of_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Durability {
    events.into_iter().map(durability).max().unwrap_or(Durability::Queued)
}
