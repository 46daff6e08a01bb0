//! What integration tests share. `mod support;` in a test brings it in.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of it")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

pub mod companion;
mod conversation;
pub mod model_server;
pub mod reply;
pub mod wires;

pub use model_server::{ModelServer, Recorded};
pub use reply::{Gate, Reply};
pub use wires::Wire;
