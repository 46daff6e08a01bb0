//! What we do in the world: herm's effects, adapters and ways in.
//!
//! The way of a message: a way in ([`entry`]) turns what a person said into a command; a session
//! actor asks the reducer what it means, appends the answer to the log, folds it, and does what
//! is then owed; outcomes are appended and folded the same way until the turn has ended.
//!
//! Invariants: nothing here keeps conversational truth in a variable; an adapter cannot append
//! events; every effect has its intent in the log before it begins.

pub mod inbound;
pub mod runtime;

pub mod effects;

pub mod delivery;
pub mod platforms;

pub mod providers;

pub mod tools;

pub mod approval;
pub mod checkpoints;
pub mod environments;
pub mod hooks;
pub mod threats;

pub mod context;
pub mod memory;
pub mod skills;

pub mod api;
pub mod gateway;

pub mod entry;

pub mod config;
