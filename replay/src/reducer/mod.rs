//! PURE: what a session's events mean and what they leave owed.
//!
//! Three functions are the agent. None reads a clock, draws a random number or does I/O:
//!
//! * [`decide`]: a command and a state to the events that follow, or a reason why none do; the
//!   only place that says no.
//! * [`evolve`]: a state and an event to the next state; never fails. A replay is nothing else.
//! * [`owed`]: a state to what is owed to the world, as data. After a crash the same things are
//!   owed again.
//!
//! Start at [`state`], then `decide/mod.rs`. [`transcript`] builds what the model sees.

pub mod barrier;
pub mod canonical;
pub mod command;
pub mod compaction;
pub mod cost;
pub mod decide;
pub mod effect;
mod estimate;
pub mod evolve;
pub mod failure;
pub mod guardrails;
pub mod notices;
mod owed;
pub mod rejection;
pub mod repair;
pub mod request;
mod segments;
pub mod state;
mod title;
pub mod transcript;

pub use command::{Command, Outlook, Route, Stamp};
pub use decide::decide;
pub use effect::{Effect, EffectId};
pub use evolve::evolve;
pub use owed::owed;
pub use rejection::Rejection;
pub use state::SessionState;
