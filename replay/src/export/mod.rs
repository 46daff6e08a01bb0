//! Exports: events and trajectories, from the log alone, a line at a time.

pub mod cli;
pub mod events;
pub mod openai;
pub mod sharegpt;
pub mod trajectories;
