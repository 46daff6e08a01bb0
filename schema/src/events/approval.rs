//! Approvals: asked, judged, decided, granted for longer, used, revoked, refused by rule.

use super::{ChatRef, Sender};
use crate::{CallRef, Micros, SessionId, StreamPos};

payload! {
    /// A person is to be asked before a tool call runs.
    pub struct ApprovalRequested {
        pub call: CallRef,
        pub tool: String,
        /// What would run, redacted.
        pub subject: String,
        /// Why it is asked.
        pub reason: String,
        /// The rule that asks, a short name.
        pub rule: String,
        /// What a lasting yes would cover.
        pub pattern: String,
        /// What it would be done to, such as a path or a host, where that is one thing.
        pub target: Option<String>,
    }
}

payload! {
    /// A model was asked about a tool call before a person is, and this is what it thinks.
    pub struct ApprovalJudged {
        pub call: CallRef,
        pub verdict: JudgeVerdict,
        /// In its own words, redacted.
        pub why: String,
        pub provider: String,
        pub model: String,
    }
}

payload! {
    #[derive(Copy)]
    pub enum JudgeVerdict {
        /// It runs without a question.
        Safe,
        /// A person is asked, and told so.
        Dangerous,
        /// A person is asked.
        Unsure,
    }
}

payload! {
    /// The question has its answer. One that nobody answered stays open: it may be decided again.
    pub struct ApprovalDecided {
        pub call: CallRef,
        /// The `ApprovalRequested` it answers.
        pub request: StreamPos,
        pub decision: Decision,
        pub by: DecidedBy,
        /// Who answered and where, as the platform vouches for it; `None` at herm's own terminal and
        /// where no person did.
        pub answerer: Option<Answerer>,
    }
}

payload! {
    pub struct Answerer {
        pub chat: ChatRef,
        pub sender: Sender,
    }
}

payload! {
    #[derive(Copy)]
    pub enum Decision {
        Allowed { scope: GrantScope },
        Denied,
        /// Nobody answered; not a yes, and not a refusal.
        Expired,
    }
}

payload! {
    /// What a yes covers. All but `Once` cover every call of the same tool, pattern and target.
    #[derive(Copy)]
    pub enum GrantScope {
        /// The call that was asked about.
        Once,
        /// For the rest of the session.
        Session,
        /// For the profile, until it is revoked.
        Always,
        /// For the profile, until this time.
        Until { at: Micros },
        /// For the profile, this many calls, the one that was asked about included.
        Times { count: u32 },
    }
}

payload! {
    #[derive(Copy)]
    pub enum DecidedBy {
        Person,
        /// The time to answer ran out, or nobody could be asked.
        Silence,
        /// The question could not be brought to anybody.
        Undelivered,
        /// What is set for sessions that nobody attends.
        Preset,
    }
}

payload! {
    /// A rule forbids a tool call whatever anybody says.
    pub struct CommandBlocked {
        pub call: CallRef,
        pub rule: String,
        /// What would have run, redacted.
        pub subject: String,
    }
}

payload! {
    /// A lasting yes; in the stream of the profile it holds for, and named by its place there.
    pub struct ApprovalGranted {
        pub tool: String,
        pub pattern: String,
        /// Only for calls with this target; `None` for any.
        pub target: Option<String>,
        /// Until then; `None` for ever.
        pub until: Option<Micros>,
        /// For so many calls; `None` for any number.
        pub uses_max: Option<u32>,
        /// The question that it answers; `None` for one that was given without a question.
        pub origin: Option<GrantOrigin>,
    }
}

payload! {
    pub struct GrantOrigin {
        pub session: SessionId,
        /// The `ApprovalRequested` in the stream of that session.
        pub request: StreamPos,
    }
}

payload! {
    /// A lasting yes let a call run without a question. In the stream of the profile.
    pub struct ApprovalUsed {
        /// The `ApprovalGranted`.
        pub grant: StreamPos,
        pub session: SessionId,
        pub call: CallRef,
    }
}

payload! {
    /// A lasting yes holds no more. In the stream of the profile.
    pub struct ApprovalRevoked {
        /// The `ApprovalGranted`.
        pub grant: StreamPos,
    }
}
