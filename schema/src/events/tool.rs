//! Tool calls: begun, ended, left out, in doubt.

use super::EffectClass;
use crate::{BlobRef, CallRef, JsonText, Text};

payload! {
    /// Intent: a tool is about to run.
    pub struct ToolCallStarted {
        pub call: CallRef,
        pub name: String,
        /// As they are executed: corrected by the schema, canonical.
        pub arguments: JsonText,
        pub effect: EffectClass,
    }
}

payload! {
    /// Outcome: it ran.
    pub struct ToolCallFinished {
        pub call: CallRef,
        pub status: ToolStatus,
        /// What the model is shown.
        pub shown: Text,
        /// The whole result, where what is shown is an excerpt.
        pub full: Option<BlobRef>,
        /// Found after a restart rather than awaited.
        pub recovered: bool,
        pub elapsed_us: u64,
    }
}

payload! {
    #[derive(Copy)]
    pub enum ToolStatus {
        Succeeded,
        Failed,
        /// Stopped by an interrupt; what is shown may be part of its output.
        Interrupted,
    }
}

payload! {
    /// Outcome: it did not run, and the model is told why.
    pub struct ToolCallSkipped {
        pub call: CallRef,
        pub reason: SkipReason,
        pub shown: String,
    }
}

payload! {
    #[derive(Copy)]
    pub enum SkipReason {
        /// The turn was interrupted before it began.
        Interrupted,
        /// The same call stands earlier in the same answer.
        Duplicate,
        /// No such tool is offered.
        UnknownTool,
        /// The arguments are not what the tool takes, or were cut.
        InvalidArguments,
        /// A rule forbids it.
        Blocked,
        /// A person said no.
        Denied,
        /// Nobody answered.
        Unanswered,
        /// herm's own code failed before it ran.
        Faulted,
    }
}

payload! {
    /// Outcome: it was begun before a restart, and nobody knows whether it took effect.
    pub struct ToolCallInDoubt {
        pub call: CallRef,
        pub shown: String,
    }
}
