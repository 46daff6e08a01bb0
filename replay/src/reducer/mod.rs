//! PURE: what a session's events mean and what they leave owed.
//!
//! Three functions are the agent: `decide`, `evolve`, `owed`. None reads a clock, draws a random
//! number or does I/O. [`request`] is what the model sees, in neutral form.

pub mod failure;
pub mod request;
