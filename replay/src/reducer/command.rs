//! What the reducer is asked: imperative, with everything it may need to know.

use herm_schema::events::*;
use herm_schema::{BlobRef, CallRef, JsonText, Micros, StreamPos, Text};

/// Time, chance, and what else the shell knows when a command enters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub now: Micros,
    /// Spreads retries; any number.
    pub seed: u64,
    pub outlook: Outlook,
}

/// What other streams say that bears on a model call. What is decided by it is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// By route. One that is not listed is ready, with the first of its keys.
    pub routes: Vec<Route>,
    /// Spent today by the whole profile, this session included, in micro-dollars.
    pub spent_today: u64,
}

/// Whether a model can be asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// With these keys, the best first; none where none is needed.
    Ready { credentials: Vec<String> },
    /// All of its keys rest, the first of them until then.
    Resting { until: Micros },
}

/// What the reducer is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Open(SessionOpened),
    Configure(Policy),
    End(EndReason),
    /// A person said something; what it does depends on the busy policy.
    Receive {
        message: MessageReceived,
        /// What has been shown of the answer being written.
        visible_text: String,
    },
    /// A person said something that is to be seen in the running turn.
    Steer(SteerReceived),
    Interrupt {
        by: InterruptSource,
        visible_text: String,
    },
    /// Go on as far as nothing has to be waited for.
    Advance,
    /// This process has taken over a stream that another left; asked once, before all else.
    Resume,
    PromptBuilt {
        prompt: BlobRef,
        definitions: BlobRef,
        tools: Vec<ToolFacts>,
    },
    ModelAnswered {
        intent: StreamPos,
        answer: ModelCallSucceeded,
    },
    ModelFailed {
        intent: StreamPos,
        failure: ModelFailure,
    },
    Compressed {
        intent: StreamPos,
        result: Result<Compression, String>,
    },
    CallPrepared {
        call: CallRef,
        verdict: Prepared,
    },
    /// A program that runs as a call wants to do what a person is to be asked about.
    AskAside {
        call: CallRef,
        question: Question,
    },
    ApprovalAnswered {
        request: StreamPos,
        decision: Decision,
        by: DecidedBy,
        /// Who answered and where; `None` at herm's own terminal, and where no person did.
        answerer: Option<Answerer>,
    },
    ToolFinished {
        intent: StreamPos,
        outcome: ToolOutcome,
    },
    /// A tool call was begun before a restart, and its outcome cannot be known.
    ToolInDoubt {
        intent: StreamPos,
    },
    DeliveryPrepared {
        chunks: Vec<Part>,
        keyed: bool,
    },
    Delivered {
        intent: StreamPos,
        platform_message_id: Option<String>,
    },
    DeliveryFailed {
        intent: StreamPos,
        class: DeliveryFailure,
        message: String,
        retry_at: Option<Micros>,
    },
    /// A chunk was being sent before a restart, and its outcome cannot be known.
    DeliveryUncertain {
        intent: StreamPos,
    },
    /// Something is to be said in a chat besides the answers of turns.
    Say(DeliveryPlanned),
    /// A person gives up what is left of a delivery.
    DropDelivery {
        delivery: StreamPos,
    },
    /// A conversation that was had elsewhere goes on here.
    GiveHistory(HistoryGiven),
    /// herm said something in this chat from elsewhere.
    Mirror(MessageMirrored),
    /// herm has something to say that nobody asked for.
    Notice(NoticeReceived),
    /// Something was done in the world that the session has to know of.
    Record(Fact),
    /// A person calls the session so.
    Title(String),
    /// A model is about to be asked something besides the conversation.
    BeginAuxiliary(AuxiliaryCallStarted),
    EndAuxiliary(AuxiliaryCallFinished),
    /// herm's own code failed while an effect ran.
    Fault {
        effect: super::EffectId,
        message: String,
    },
}

/// What a context engine came up with; positions name entries of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    pub first: StreamPos,
    pub last: StreamPos,
    pub summary: String,
    pub pruned: Vec<PrunedResult>,
    pub engine: String,
}

/// What was done in the world beside the outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    CheckpointTaken(CheckpointTaken),
    CheckpointRestored(CheckpointRestored),
    ProcessStarted(ProcessStarted),
    ProcessEnded(ProcessEnded),
    /// A call of a program that runs, which a rule forbids.
    CommandBlocked(CommandBlocked),
    ProgramCallStarted(ProgramCallStarted),
    ProgramCallFinished(ProgramCallFinished),
    PreviewPosted(PreviewPosted),
}

/// What becomes of a tool call before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    Run {
        arguments: JsonText,
    },
    /// A person is to be asked.
    Ask(Question),
    /// It would be asked about, and nobody is there: refused by what is set for that.
    Refuse(Question),
    Block {
        rule: String,
        subject: String,
        /// What the model is told of it.
        shown: String,
    },
    /// A hook forbids it, for the reason given.
    Veto {
        why: String,
    },
    Invalid {
        shown: String,
    },
    /// A model was asked before it came to `then`.
    Judged {
        verdict: JudgeVerdict,
        why: String,
        provider: String,
        model: String,
        then: Box<Prepared>,
    },
}

/// A question to a person whether a tool call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What would run, redacted.
    pub subject: String,
    pub reason: String,
    pub rule: String,
    /// What a lasting yes would cover.
    pub pattern: String,
    pub target: Option<String>,
}

/// What a tool call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    pub status: ToolStatus,
    pub shown: Text,
    pub images: Vec<Attachment>,
    pub full: Option<BlobRef>,
    pub recovered: bool,
    pub elapsed_us: u64,
}
