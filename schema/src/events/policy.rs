//! The settings that a session runs under, as a snapshot. The reducer reads nothing else.

payload! {
    /// Everything that [`crate::Event::SessionConfigured`] fixes for the turns that follow.
    pub struct Policy {
        pub model: ModelChoice,
        /// Called instead, in this order, while the model before cannot be had.
        pub fallbacks: Vec<ModelChoice>,
        pub limits: Limits,
        pub spending: SpendingPolicy,
        /// Whether the session gets a title from a model after its first turn.
        pub titles: bool,
        pub compression: CompressionPolicy,
        pub guardrails: GuardrailPolicy,
        pub busy: BusyPolicy,
        /// A message waits so long for more from the same person before its turn begins; they share one.
        pub debounce_us: u64,
        pub approvals: ApprovalMode,
        pub scene: Scene,
        pub delivery: DeliveryPolicy,
        /// What people of the session chose; new settings leave it as it is.
        pub chosen: Vec<Chosen>,
        /// Which decisions the reducer takes; raised when a change would decide old logs otherwise.
        pub reducer_version: u32,
    }
}

payload! {
    /// A setting that people of a session choose for it.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum Chosen {
        Model,
        Busy,
        Approvals,
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
        /// Fingerprints of the keys that may be used, never the keys; empty where none is needed.
        pub credentials: Vec<String>,
        pub context_window_tokens: u32,
        pub output_tokens_max: u32,
        pub stream: bool,
        /// How much it is to reason; `None` leaves that to the vendor.
        pub effort: Option<ReasoningEffort>,
        pub cache_ttl: CacheTtl,
        /// Whether it takes images; they are described in words otherwise.
        pub images: bool,
        /// What it costs; `None` if that is not known.
        pub prices: Option<Prices>,
    }
}

impl Policy {
    /// These settings, of which people of the session chose `chosen`.
    #[must_use]
    pub fn choosing(mut self, chosen: Chosen) -> Self {
        if !self.chosen.contains(&chosen) {
            self.chosen.push(chosen);
        }
        self
    }

    /// These settings, with what people of a session chose while it ran under `before`.
    #[must_use]
    pub fn keeping(mut self, before: &Self) -> Self {
        for chosen in &before.chosen {
            match chosen {
                Chosen::Model => {
                    self.model = before.model.clone();
                    self.fallbacks.clone_from(&before.fallbacks);
                }
                Chosen::Busy => self.busy = before.busy,
                Chosen::Approvals => self.approvals = before.approvals,
            }
        }
        self.chosen.clone_from(&before.chosen);
        self
    }

    /// The model of a route: 0 is the session's own, 1 the first fallback.
    pub fn route(&self, route: u32) -> Option<&ModelChoice> {
        match route.checked_sub(1) {
            None => Some(&self.model),
            Some(fallback) => self.fallbacks.get(usize::try_from(fallback).ok()?),
        }
    }
}

impl ModelChoice {
    /// `model` of `provider`, spoken to in `dialect`; all else as for a model of which nothing is known.
    pub fn new(provider: &str, model: &str, dialect: &str) -> Self {
        Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
            dialect: dialect.to_owned(),
            base_url: String::new(),
            credentials: Vec::new(),
            context_window_tokens: 32_768,
            output_tokens_max: 8_192,
            stream: true,
            effort: None,
            cache_ttl: CacheTtl::FiveMinutes,
            images: false,
            prices: None,
        }
    }
}

payload! {
    /// How much a model is to reason before it answers.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum ReasoningEffort {
        /// As little as the vendor allows.
        None,
        Minimal,
        Low,
        Medium,
        High,
        XHigh,
    }
}

payload! {
    /// How long a vendor with explicit prompt caching is asked to keep a prefix.
    #[derive(Copy, Default)]
    pub enum CacheTtl {
        Off,
        #[default]
        FiveMinutes,
        OneHour,
    }
}

payload! {
    /// Prices in micro-dollars (millionths of a US dollar) for a million tokens.
    pub struct Prices {
        pub input: u64,
        pub cached_read: u64,
        pub cached_write: u64,
        pub output: u64,
        /// Where they were read: `catalogue`, `config`, or the vendor's own list.
        pub source: String,
        /// The day on which they were right, `YYYY-MM-DD`.
        pub as_of: String,
    }
}

payload! {
    /// What may be spent, in micro-dollars; checked before each model call.
    #[derive(Copy, Default)]
    pub struct SpendingPolicy {
        /// By one session.
        pub session_max: Option<u64>,
        /// By the whole profile on one day, UTC.
        pub day_max: Option<u64>,
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
    /// Who decides about commands that are dangerous and not forbidden.
    #[derive(Copy)]
    pub enum ApprovalMode {
        /// A person is asked.
        Manual,
        /// Nobody is asked; what is forbidden stays forbidden.
        Off,
        /// A model is asked first; a person only where it does not find the call safe.
        Smart,
    }
}

payload! {
    /// Who is there to answer questions; never what is asked about.
    #[derive(Copy, Default)]
    pub enum Scene {
        /// A person at herm's own terminal.
        #[default]
        Terminal,
        /// A person in a chat.
        Chat,
        /// Nobody: one question, one answer.
        SingleQuery,
        /// Nobody: a job on a schedule.
        Cron,
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
