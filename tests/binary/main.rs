//! The real binary: killed, interrupted, locked out, and typed at.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod chat;
mod kill;
mod kill_often;
mod secrets;
mod stage;
mod story;
mod terminal;
mod tools;
