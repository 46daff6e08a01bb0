//! What follows from what was said: the log, the reducer, the projections, the debugger.
//!
//! No network, no async runtime, no clock, no randomness: times and random numbers arrive inside
//! what is asked and what is recorded. Reading order: [`log`] (what is kept, and how it survives),
//! [`reducer`] (what a session's events mean and what they leave owed).

pub mod log;
pub mod reducer;
