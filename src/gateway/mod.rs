//! The gateway: one process, many chats, several profiles.
//!
//! [`daemon`] starts and ends it; [`hub`] is what its parts share; [`pipeline`] is the way of a message, step by
//! step; [`desk`] writes the gateway's own stream; [`switchboard`] is where deliveries leave. Nothing here keeps
//! conversational truth: a session is its log, and everything of the gateway is a fold of its stream.
//! Start reading at [`pipeline`].

pub mod commands;
pub mod control;
pub mod daemon;
pub mod desk;
pub mod errands;
pub mod feed;
mod history_commands;
pub mod hooks;
pub mod hub;
pub mod late;
mod media;
pub mod metrics;
mod news;
mod pages;
pub mod past;
pub mod pipeline;
pub mod previews;
pub mod profile;
pub mod questions;
mod resume;
pub mod rooms;
pub mod sections;
pub mod status;
pub mod supervise;
pub mod switchboard;
mod telemetry;
