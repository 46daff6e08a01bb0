//! A turn: from the start of work on a message to its answer.

use crate::StreamPos;

payload! {
    /// Work begins. The turn's id is in the envelope.
    pub struct TurnStarted {
        /// The messages it answers, as stream positions of what received them.
        pub inbound: Vec<StreamPos>,
    }
}

payload! {
    /// Work has ended; its answer is delivered or owed by the outbox.
    pub struct TurnEnded {
        pub reason: ExitReason,
        pub totals: TurnTotals,
    }
}

payload! {
    #[derive(Copy, Default)]
    pub struct TurnTotals {
        pub iterations: u32,
        pub model_calls: u32,
        pub tool_calls: u32,
        pub compressions: u32,
        /// From `TurnStarted`, by the envelopes' times.
        pub elapsed_us: u64,
    }
}

payload! {
    /// Why a turn ended. One value a reason; the order is part of the bytes.
    #[derive(Copy, PartialOrd, Ord)]
    pub enum ExitReason {
        /// The model answered.
        Answered,
        /// Interrupted while tools ran or between steps.
        InterruptedByUser,
        /// Interrupted while a model call ran.
        InterruptedDuringModelCall,
        /// `limits.iterations_max` reached; a summary without tools was asked for.
        IterationLimit,
        /// `limits.iteration_budget` spent; a summary without tools was asked for.
        IterationBudgetSpent,
        /// `limits.run_budget_us` spent; a summary without tools was asked for.
        RunBudgetSpent,
        /// The input allowance of a background review was spent.
        ReviewInputBudgetSpent,
        /// Every attempt at a model call failed.
        RetriesExhausted,
        /// A model call failed in a way that no attempt mends.
        ModelFailed,
        /// The provider refused on grounds of content or policy.
        ModelRefused,
        /// The model said nothing, repeatedly.
        EmptyAnswer,
        /// The answer hit the output limit again and again.
        OutputTruncated,
        /// The model kept asking for tool calls that cannot be read.
        InvalidToolCalls,
        /// A loop guardrail stopped it.
        GuardrailStopped,
        /// The context does not fit, and compression does not help any more.
        ContextOverflow,
        /// An event could not be recorded.
        PersistenceFailed,
        /// herm's own code failed too often.
        RepeatedFaults,
        /// Restarts resumed it too often without progress.
        ResumesExhausted,
        /// What may be spent is spent.
        SpendingLimit,
    }
}

payload! {
    /// Half or four fifths of what may be spent is spent; said once each.
    pub struct SpendingWarned {
        pub scope: SpendingScope,
        /// 50 or 80.
        pub percent: u8,
        /// In micro-dollars.
        pub spent: u64,
        /// In micro-dollars.
        pub limit: u64,
    }
}

payload! {
    /// What may be spent is spent: the model is not called, and the turn ends.
    pub struct SpendingStopped {
        pub scope: SpendingScope,
        /// In micro-dollars.
        pub spent: u64,
        /// In micro-dollars.
        pub limit: u64,
    }
}

payload! {
    #[derive(Copy, PartialOrd, Ord)]
    pub enum SpendingScope {
        Session,
        Day,
    }
}

payload! {
    /// Most of the wall-clock budget is used; the model is reminded once, beside a tool result.
    pub struct BudgetWarned {
        pub elapsed_us: u64,
        pub budget_us: u64,
    }
}

payload! {
    /// herm's own code failed in this turn: a panic or an error that is nobody else's.
    pub struct TurnFaulted {
        /// Which effect was running, such as `run_tool`.
        pub during: String,
        pub message: String,
    }
}

payload! {
    /// A restart found this turn unfinished and goes on with it.
    pub struct TurnResumed {
        /// How many restarts in a row have done so without progress, this one included.
        pub attempt: u32,
    }
}
