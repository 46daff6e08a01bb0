//! Tool calls: begun, ended, left out, in doubt.

use super::Attachment;
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
        /// Shown beside the text to models that take images.
        pub images: Vec<Attachment>,
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
        /// Nobody has answered yet; it runs when somebody says yes.
        Parked,
        /// A hook forbade it.
        Vetoed,
    }
}

payload! {
    /// Outcome: it was begun before a restart, and nobody knows whether it took effect.
    pub struct ToolCallInDoubt {
        pub call: CallRef,
        pub shown: String,
    }
}

payload! {
    /// Before the first change of a turn, what a directory held was kept.
    pub struct CheckpointTaken {
        /// The call that was about to change it.
        pub call: CallRef,
        /// Absolute.
        pub directory: String,
        /// Names the snapshot in the private store.
        pub checkpoint: String,
        pub files: u32,
        pub bytes: u64,
    }
}

payload! {
    /// A directory was put back to what a checkpoint holds.
    pub struct CheckpointRestored {
        pub directory: String,
        pub checkpoint: String,
        /// The snapshot of what was there before, so that this can be undone too.
        pub before: String,
        pub files: u32,
    }
}

payload! {
    /// A command line was left running in the background.
    pub struct ProcessStarted {
        pub call: CallRef,
        /// Such as `proc_41a2`.
        pub process: String,
        /// Redacted.
        pub command: String,
        pub pid: Option<u32>,
        /// The session hears of its end.
        pub notify: bool,
    }
}

payload! {
    /// A background process has ended.
    pub struct ProcessEnded {
        pub process: String,
        /// `None` if it is not known.
        pub exit_code: Option<i32>,
    }
}

payload! {
    /// A program that the model wrote, run by `execute_code`, is about to call a tool.
    pub struct ProgramCallStarted {
        /// The call of `execute_code`.
        pub call: CallRef,
        /// Of the calls of this program, from 1.
        pub nth: u32,
        pub name: String,
        /// As they are executed, redacted.
        pub arguments: JsonText,
    }
}

payload! {
    /// It ran, or was refused.
    pub struct ProgramCallFinished {
        pub call: CallRef,
        pub nth: u32,
        pub status: ToolStatus,
        /// What the program was given.
        pub shown: Text,
        pub elapsed_us: u64,
    }
}
