//! Which events the world waits for: the durability barriers of the architecture, in one place.

use herm_schema::Event;
use herm_schema::events::EffectClass;

use crate::log::Durability;

/// What waits until an event is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Barrier {
    Nothing,
    /// Whoever said it is told then; what follows from it may begin before.
    Acknowledgement,
    /// All that follows from it.
    Everything,
}

impl Barrier {
    /// What the next step of the same stream waits for.
    pub fn durability(self) -> Durability {
        if self == Self::Everything { Durability::Disk } else { Durability::Queued }
    }
}

/// What waits for `event`.
pub fn barrier(event: &Event) -> Barrier {
    match event {
        // The platform's offset moves after these.
        Event::MessageReceived(_) | Event::SteerReceived(_) | Event::RedirectReceived(_) => {
            Barrier::Acknowledgement
        }
        // What may happen only once must not be forgotten to have begun.
        Event::ToolCallStarted(started) => match started.effect {
            EffectClass::Once | EffectClass::Checkable => Barrier::Everything,
            EffectClass::Repeatable => Barrier::Nothing,
        },
        // What is sent must be known to be owed.
        Event::DeliveryPlanned(_) | Event::DeliveryAttempted(_) | Event::DeliveryDropped(_) => {
            Barrier::Everything
        }
        // What was asked of herm itself, and who may ask.
        Event::CommandReceived(_)
        | Event::PairingRequested(_)
        | Event::PairingApproved(_)
        | Event::PairingRevoked(_)
        | Event::MessageRefused(_)
        | Event::GatewayStarted(_)
        | Event::HistoryGiven(_)
        | Event::MessageMirrored(_) => Barrier::Everything,
        // A lasting yes, its use and its end; a key that was mended or exchanged.
        Event::ApprovalGranted(_)
        | Event::ApprovalUsed(_)
        | Event::ApprovalRevoked(_)
        | Event::CredentialReset(_)
        | Event::CredentialRefreshed(_) => Barrier::Everything,
        // What the model was told is kept for good.
        Event::MemoryWritten(_)
        | Event::MemoryProposed(_)
        | Event::MemoryDeclined(_)
        | Event::SkillWritten(_) => Barrier::Everything,
        // What herm itself will not say again; what can be undone only as long as it is known.
        Event::NoticeReceived(_)
        | Event::CheckpointTaken(_)
        | Event::CheckpointRestored(_)
        | Event::ProcessStarted(_)
        | Event::ProgramCallStarted(_) => Barrier::Everything,
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
        | Event::MemoryRefused(_)
        | Event::SkillLoaded(_)
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
        | Event::DeliveryFailed(_) => Barrier::Nothing,
    }
}

/// The strictest among those of `events`.
pub fn of_all<'a>(events: impl IntoIterator<Item = &'a Event>) -> Barrier {
    events.into_iter().map(barrier).max().unwrap_or(Barrier::Nothing)
}
