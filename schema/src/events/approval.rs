//! Approvals: asked, decided, granted for longer, refused by rule.

use crate::{CallRef, StreamPos};

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
    }
}

payload! {
    /// The question has its answer.
    pub struct ApprovalDecided {
        pub call: CallRef,
        /// The `ApprovalRequested` it answers.
        pub request: StreamPos,
        pub decision: Decision,
        pub by: DecidedBy,
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
    #[derive(Copy)]
    pub enum GrantScope {
        Once,
        Session,
        Always,
    }
}

payload! {
    #[derive(Copy)]
    pub enum DecidedBy {
        Person,
        /// The time to answer ran out, or nobody could be asked.
        Silence,
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
    /// A lasting yes; in the stream of the profile it holds for.
    pub struct ApprovalGranted {
        pub tool: String,
        pub pattern: String,
    }
}
