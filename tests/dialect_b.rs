//! Requests in three wire formats against strict validators, written from the vendors' documents.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

#[path = "dialects/chat_completions.rs"]
mod chat_completions;
#[path = "dialects/gemini.rs"]
mod gemini;
#[path = "dialects/histories.rs"]
mod histories;
#[path = "dialects/responses.rs"]
mod responses;
#[path = "dialects/rules.rs"]
mod rules;
