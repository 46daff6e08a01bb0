//! How a process ends: the numbers that a script can go by.

use std::process::ExitCode;

use herm_schema::events::ExitReason;

/// The exit status. The numbers are a promise to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// Something went wrong that has no number of its own.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The turn was ended by a limit.
    LimitReached = 3,
    /// The model could not be reached, or made no sense.
    ModelFailed = 4,
    /// The provider refused, or a rule stopped the turn.
    Refused = 5,
    /// Another herm owns the home.
    HomeLocked = 6,
    /// The log is damaged.
    LogDamaged = 7,
    /// The configuration is wrong; the number is that of sysexits.h.
    Config = 78,
    /// Ctrl-C, as shells count it.
    Interrupted = 130,
}

impl Exit {
    /// How `herm chat -q` ends when its turn ended so.
    pub fn of_turn(reason: ExitReason) -> Self {
        match reason {
            ExitReason::Answered => Self::Ok,
            ExitReason::InterruptedByUser | ExitReason::InterruptedDuringModelCall => Self::Interrupted,
            ExitReason::IterationLimit
            | ExitReason::IterationBudgetSpent
            | ExitReason::RunBudgetSpent
            | ExitReason::ReviewInputBudgetSpent
            | ExitReason::ContextOverflow
            | ExitReason::SpendingLimit => Self::LimitReached,
            ExitReason::RetriesExhausted
            | ExitReason::ModelFailed
            | ExitReason::EmptyAnswer
            | ExitReason::OutputTruncated
            | ExitReason::InvalidToolCalls => Self::ModelFailed,
            ExitReason::ModelRefused | ExitReason::GuardrailStopped => Self::Refused,
            ExitReason::PersistenceFailed | ExitReason::RepeatedFaults | ExitReason::ResumesExhausted => {
                Self::Failed
            }
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
