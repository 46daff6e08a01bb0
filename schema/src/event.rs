//! The table of contents: every event that can be said, a line each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::*;

/// Declares the enum, the numbers and the names in one place, so that they cannot drift apart.
macro_rules! events {
    ($($kind:literal $version:literal $name:ident,)*) => {
        /// Everything that can happen. Past tense; what it means is said at each payload.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Event {
            $($name($name),)*
        }

        impl Event {
            /// The number of the type: given once, never used again.
            pub fn kind(&self) -> u16 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// The version of the type that this build writes.
            pub fn version(&self) -> u16 {
                match self { $(Self::$name(_) => $version,)* }
            }

            /// The name of the type, such as `TurnStarted`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name),)* }
            }

            /// Name, number and current version of every type, in the order of the numbers.
            pub const KINDS: &[(&'static str, u16, u16)] = &[$((stringify!($name), $kind, $version),)*];

            pub(crate) fn encode_payload(&self, out: &mut Vec<u8>) -> Result<(), bincode::error::EncodeError> {
                match self { $(Self::$name(payload) => crate::codec::encode_into(payload, out),)* }
            }

            /// Decodes the current version of `kind`; `None` for a kind or version it does not know.
            pub(crate) fn decode_current(kind: u16, version: u16, bytes: &[u8]) -> Option<Result<Self, crate::CodecError>> {
                match (kind, version) {
                    $(($kind, $version) => Some(crate::codec::decode_exact::<$name>(bytes).map(Self::$name)),)*
                    _ => None,
                }
            }
        }

        $(impl From<$name> for Event {
            fn from(payload: $name) -> Self {
                Self::$name(payload)
            }
        })*
    };
}

events! {
    100 3 SessionOpened,
    101 4 SessionConfigured,
    102 1 SystemPromptBuilt,
    103 1 ToolsOffered,
    104 1 SessionEnded,
    105 1 SessionTitled,
    106 1 HistoryGiven,

    200 3 MessageReceived,
    201 1 SteerReceived,
    202 1 RedirectReceived,
    203 1 InterruptRequested,
    204 1 NoticeReceived,
    205 1 MessageMirrored,

    300 1 TurnStarted,
    301 2 TurnEnded,
    302 1 BudgetWarned,
    303 1 TurnFaulted,
    304 1 TurnResumed,
    305 1 SpendingWarned,
    306 1 SpendingStopped,

    400 2 ModelCallStarted,
    401 1 ModelCallSucceeded,
    402 2 ModelCallFailed,
    403 1 ModelCallAborted,
    404 1 AuxiliaryCallStarted,
    405 1 AuxiliaryCallFinished,
    450 1 CredentialRested,
    451 1 CredentialReset,
    452 1 CredentialRefreshed,

    500 1 ToolCallStarted,
    501 2 ToolCallFinished,
    502 2 ToolCallSkipped,
    503 1 ToolCallInDoubt,
    510 1 CheckpointTaken,
    511 1 CheckpointRestored,
    520 1 ProcessStarted,
    521 1 ProcessEnded,
    530 1 ProgramCallStarted,
    531 1 ProgramCallFinished,

    600 2 ApprovalRequested,
    601 2 ApprovalDecided,
    602 1 CommandBlocked,
    603 2 ApprovalGranted,
    604 1 ApprovalJudged,
    605 1 ApprovalRevoked,
    606 1 ApprovalUsed,

    700 1 CompressionStarted,
    701 1 CompressionFinished,
    702 1 CompressionFailed,
    703 1 ToolResultsPruned,

    800 2 DeliveryPlanned,
    801 1 DeliveryAttempted,
    802 1 DeliveryConfirmed,
    803 1 DeliveryFailed,
    804 1 PreviewPosted,
    805 1 DeliveryDropped,

    900 1 GatewayStarted,
    901 1 GatewayDrained,
    902 1 ConfigurationReloaded,
    910 1 PairingRequested,
    911 1 PairingApproved,
    912 1 PairingRevoked,
    913 1 PairingMissed,
    920 1 CommandReceived,
    921 1 CommandAnswered,
    922 1 MessageRefused,
    930 1 ChatSeen,
    931 1 HomeChosen,
    932 1 TargetDied,
    933 1 TargetRevived,
    934 1 CursorMoved,

    1000 1 MemoryWritten,
    1001 1 MemoryRefused,
    1002 1 MemoryProposed,
    1003 1 MemoryDeclined,
    1050 1 SkillWritten,
    1051 1 SkillLoaded,
}

/// A kind with this bit may be passed over by a build that does not know it; any other unknown
/// kind means that the log was written by a newer herm.
pub const IGNORABLE: u16 = 0x8000;
