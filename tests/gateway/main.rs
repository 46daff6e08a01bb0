//! The gateway as people run it: the real binary, a scripted model, doubles of the platforms.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

mod api;
mod chaos;
mod clients;
mod command_line;
#[path = "../platforms/doubles/mod.rs"]
mod doubles;
mod gateway;
mod memory;
mod observed;
mod profiles;
#[path = "../binary/stage.rs"]
#[allow(dead_code, reason = "each test binary uses its own part of it")]
mod stage;
#[path = "../support/mod.rs"]
mod support;
mod telegram;
mod webhooks;
