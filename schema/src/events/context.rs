//! What happens to the context: compression and pruning. The events it stands for stay in the log.

use crate::{CallRef, StreamPos};

payload! {
    /// Intent: the context is about to be compressed.
    pub struct CompressionStarted {
        pub trigger: CompressionTrigger,
        /// The how-manieth since a provider last showed that the context fits, from 1.
        pub attempt: u32,
        pub before_tokens: u64,
    }
}

payload! {
    #[derive(Copy)]
    pub enum CompressionTrigger {
        /// At the start of a turn.
        Preflight,
        /// Before a model call.
        BeforeModelCall,
        /// After a batch of tool calls.
        AfterTools,
        /// The provider said that the context does not fit.
        ProviderOverflow,
    }
}

payload! {
    /// Outcome: a summary stands for a part of the context.
    pub struct CompressionFinished {
        /// First message that the summary stands for, by the event that made it.
        pub first: StreamPos,
        /// Last one, inclusive.
        pub last: StreamPos,
        pub summary: String,
        /// Tool results outside that part that were shortened.
        pub pruned: Vec<PrunedResult>,
        pub before_tokens: u64,
        pub after_tokens: u64,
        pub engine: String,
    }
}

payload! {
    /// Outcome: nothing was gained; the context is as it was.
    pub struct CompressionFailed {
        pub reason: CompressionFailure,
        pub message: String,
    }
}

payload! {
    #[derive(Copy)]
    pub enum CompressionFailure {
        /// Everything is protected, or there is too little.
        NothingToCompress,
        /// It did not shrink by the share that counts.
        Ineffective,
        /// The engine failed.
        Engine,
        /// herm stopped while it ran.
        Crashed,
    }
}

payload! {
    /// Old tool results were shortened without a summary.
    pub struct ToolResultsPruned {
        pub pruned: Vec<PrunedResult>,
        pub before_tokens: u64,
        pub after_tokens: u64,
    }
}

payload! {
    pub struct PrunedResult {
        pub call: CallRef,
        /// What the model is shown from now on.
        pub shown: String,
    }
}
