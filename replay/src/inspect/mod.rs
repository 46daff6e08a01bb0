//! The debugger: what happened, what the state was, what the model saw, what would be decided now.
//!
//! Everything here reads a log and writes lines; nothing is ever appended. [`cli`] is the command
//! line, shared by `herm-replay` and `herm replay`. A line is for people, or, with `--json`, one
//! object.

pub mod cli;
mod describe;
mod diff;
mod lookup;
mod prompt;
mod report;
mod simulate;
mod timeline;
mod verify;

pub use diff::differences;
pub use lookup::{LookupError, moment_named as time_named, session_named, sessions};
pub use prompt::{Prompt, prompt};
pub use report::Report;
pub use simulate::{Difference, simulate};
pub use verify::{Problem, Verified, verify};
