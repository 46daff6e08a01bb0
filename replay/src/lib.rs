//! What follows from what was said: the log, the reducer, the projections, the debugger.
//!
//! No network, no async runtime, no clock, no randomness: times and random numbers arrive inside
//! what is asked and what is recorded. In reading order: [`log`] (what is kept, and how it
//! survives), [`reducer`] (what a session's events mean and what they leave owed),
//! [`gateway`] (the same for the gateway's
//! own stream), [`memory`] (what a profile remembers), [`projections`] (what is looked up), [`inspect`] and [`export`] (what is looked at).

pub mod log;
pub mod reducer;

pub mod deliveries;
pub mod gateway;
pub mod memory;

pub mod projections;

pub mod export;
pub mod inspect;
