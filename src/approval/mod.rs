//! Approvals: reading a command line as the shell does, and judging what it would do.
//!
//! [`judge`] is pure. It says what is forbidden whatever anybody says, what is plainly harmless,
//! and that everything else is asked.

/// What the policy says of a tool call before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask {
        /// For the person: one sentence.
        reason: String,
        /// Short name of the rule that asks.
        rule: &'static str,
        /// What a lasting yes would cover; compared for equality with earlier grants.
        pattern: String,
    },
    /// It never runs.
    Block { rule: &'static str },
}
