//! What is owed to the world: imperative, as data.

use herm_schema::events::*;
use herm_schema::{CallRef, Micros, Position, StreamPos};

/// Something that is owed. Two folds of the same events owe the same effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The reducer can go on by itself: ask it to advance.
    Advance,
    /// Ask it to advance, not before this time.
    Wait {
        until: Micros,
    },
    /// The system prompt and the tools have to be put together.
    BuildPrompt {
        reason: PromptReason,
    },
    CallModel {
        intent: StreamPos,
        position: Position,
        purpose: ModelPurpose,
    },
    Compress {
        intent: StreamPos,
        position: Position,
    },
    /// Arguments have to be read and the approval policy asked.
    PrepareCall {
        call: CallRef,
        approved: bool,
    },
    AskApproval {
        request: StreamPos,
        position: Position,
        call: CallRef,
    },
    RunTool {
        intent: StreamPos,
        position: Position,
        call: CallRef,
        /// It is to end now, with what it has.
        stop: bool,
    },
    /// The session wants a title.
    Title,
    /// The last word has to be cut to the platform's limit.
    PlanDelivery {
        kind: DeliveryKind,
        text: String,
    },
    Deliver {
        intent: StreamPos,
        position: Position,
        delivery: StreamPos,
        chunk: u16,
    },
}

/// Names an effect for as long as it is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectId {
    Advance,
    Wait(Micros),
    BuildPrompt,
    CallModel(StreamPos),
    Compress(StreamPos),
    PrepareCall(CallRef, bool),
    AskApproval(StreamPos),
    RunTool(StreamPos),
    Title,
    PlanDelivery,
    Deliver(StreamPos),
}

impl Effect {
    pub fn id(&self) -> EffectId {
        match self {
            Self::Advance => EffectId::Advance,
            Self::Wait { until } => EffectId::Wait(*until),
            Self::BuildPrompt { .. } => EffectId::BuildPrompt,
            Self::CallModel { intent, .. } => EffectId::CallModel(*intent),
            Self::Compress { intent, .. } => EffectId::Compress(*intent),
            Self::PrepareCall { call, approved } => EffectId::PrepareCall(*call, *approved),
            Self::AskApproval { request, .. } => EffectId::AskApproval(*request),
            Self::RunTool { intent, .. } => EffectId::RunTool(*intent),
            Self::Title => EffectId::Title,
            Self::PlanDelivery { .. } => EffectId::PlanDelivery,
            Self::Deliver { intent, .. } => EffectId::Deliver(*intent),
        }
    }

    /// Position of the event that is its intent; `None` for what needs none.
    pub fn intent(&self) -> Option<Position> {
        match self {
            Self::CallModel { position, .. }
            | Self::Compress { position, .. }
            | Self::AskApproval { position, .. }
            | Self::RunTool { position, .. }
            | Self::Deliver { position, .. } => Some(*position),
            Self::Advance
            | Self::Wait { .. }
            | Self::BuildPrompt { .. }
            | Self::PrepareCall { .. }
            | Self::Title
            | Self::PlanDelivery { .. } => None,
        }
    }
}

impl EffectId {
    /// A short name, for `TurnFaulted`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Advance => "advance",
            Self::Wait(_) => "wait",
            Self::BuildPrompt => "build_prompt",
            Self::CallModel(_) => "call_model",
            Self::Compress(_) => "compress",
            Self::PrepareCall(..) => "prepare_call",
            Self::AskApproval(_) => "ask_approval",
            Self::RunTool(_) => "run_tool",
            Self::Title => "title",
            Self::PlanDelivery => "plan_delivery",
            Self::Deliver(_) => "deliver",
        }
    }
}
