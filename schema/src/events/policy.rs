//! The settings that a session runs under, as a snapshot. The reducer reads nothing else.

payload! {
    /// Everything that [`crate::Event::SessionConfigured`] fixes for the turns that follow.
    pub struct Policy {
        pub model: ModelChoice,
        pub limits: Limits,
        pub compression: CompressionPolicy,
        pub guardrails: GuardrailPolicy,
        pub busy: BusyPolicy,
        pub approvals: ApprovalMode,
        pub delivery: DeliveryPolicy,
        /// Which decisions the reducer takes; raised when a change would decide old logs otherwise.
        pub reducer_version: u32,
    }
}

payload! {
    /// Which model is called, and how.
    pub struct ModelChoice {
        pub provider: String,
        pub model: String,
        /// Wire format, such as `chat_completions`.
        pub dialect: String,
        /// Without credentials; empty for a provider that has none.
        pub base_url: String,
        /// Fingerprint of the key, never the key.
        pub credential: Option<String>,
        pub context_window_tokens: u32,
        pub output_tokens_max: u32,
        pub stream: bool,
    }
}

payload! {
    /// What ends a turn that does not end by itself.
    pub struct Limits {
        /// Model calls of one turn.
        pub iterations_max: u32,
        /// Like `iterations_max`, but given back for iterations that only ran refunding tools.
        pub iteration_budget: u32,
        /// Wall-clock time of one turn; a reminder goes out at 80 %.
        pub run_budget_us: Option<u64>,
        /// Attempts at one model call, the first included.
        pub model_attempts_max: u32,
        /// Faults of herm's own in one turn.
        pub faults_max: u32,
        /// Restarts in a row that may resume one turn without progress.
        pub resumes_max: u32,
        /// First wait before another attempt; doubles each time.
        pub retry_base_us: u64,
        /// Longest wait before another attempt.
        pub retry_max_us: u64,
    }
}

payload! {
    pub struct CompressionPolicy {
        pub enabled: bool,
        /// Share of the context window, less the output limit, at which compression starts.
        pub threshold_percent: u8,
        /// Messages at the start that stay as they are; none after the first compression.
        pub protect_first: u32,
        /// Messages at the end that stay as they are.
        pub protect_last: u32,
        /// Compressions in a row without a count from the provider that shows they worked.
        pub attempts_max: u32,
        /// Context size above which old tool results are shortened without a summary; zero is off.
        pub prune_above_tokens: u32,
        /// What a pruning must save to be worth breaking the provider's cache.
        pub prune_reclaim_min_tokens: u32,
        /// Share by which a compression must shrink the context to count as one.
        pub shrink_min_percent: u8,
        /// Messages in the context above which a compression is due whatever their size.
        pub messages_max: u32,
    }
}

payload! {
    /// When a model that goes in circles is warned, and when it is stopped.
    pub struct GuardrailPolicy {
        pub warnings: bool,
        pub hard_stop: bool,
        /// The same call failing with the same arguments.
        pub exact_failure_warn: u32,
        pub exact_failure_stop: u32,
        /// The same tool failing, whatever its arguments.
        pub same_tool_failure_warn: u32,
        pub same_tool_failure_stop: u32,
        /// The same repeatable call returning the same result.
        pub no_progress_warn: u32,
        pub no_progress_stop: u32,
    }
}

payload! {
    /// What a message does that arrives during a turn.
    #[derive(Copy)]
    pub enum BusyPolicy {
        /// It waits for its own turn, first in, first out.
        Queue,
        /// It is put beside the newest tool result of this turn.
        Steer,
        /// It corrects the answer being written; where none is, it steers or ends the turn.
        Interrupt,
    }
}

payload! {
    /// Who decides about commands that are neither plainly harmless nor forbidden.
    #[derive(Copy)]
    pub enum ApprovalMode {
        /// A person is asked.
        Manual,
        /// Nobody is asked; what is forbidden stays forbidden.
        Off,
    }
}

payload! {
    /// What happens to a chunk whose sending has no known outcome, on a platform without a key.
    #[derive(Copy)]
    pub enum DeliveryPolicy {
        /// Sent again, marked as a possible repeat.
        AtLeastOnce,
        /// Not sent again.
        AtMostOnce,
    }
}
