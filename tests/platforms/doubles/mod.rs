//! Doubles of platforms: servers on loopback that speak the real wire protocols. Each is a module of
//! its own, with a thread and a runtime of its own, so that any test binary can bring them in by
//! `#[path = "../platforms/doubles/mod.rs"] mod doubles;` and run adapters or the real binary against it.

#![allow(dead_code, reason = "each test binary uses its own part of them")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

pub mod discord;
pub mod door;
pub mod email;
pub mod matrix;
pub mod slack;
pub mod telegram;
