//! The API server: herm for programs and front ends, in the shapes of OpenAI.
//!
//! A request is a message to a session like any other; what is answered is read from the log and the feed
//! ([`turn`]), so that ids hold over restarts. [`server`] is the table of routes; each shape has a file.
//! Source of the shapes: OpenAI API reference (chat completions, responses), read 2026-11.

mod chat_completions;
mod input;
mod models;
mod responses;
mod runs;
pub mod server;
mod sessions;
pub mod settings;
mod sse;
mod talk;
pub mod turn;

pub use server::start;
