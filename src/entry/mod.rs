//! Ways in: the command line. Wiring and printing only.
//!
//! [`cli`] is the table of contents: a variant a subcommand, a file each, with its arguments, its
//! help and its `run`. Results go to stdout and everything else to stderr; what goes wrong is a
//! [`Failure`], printed as `error:`, `caused by:` and `hint:`; how a process ends is an [`Exit`].
//! What a subcommand does is done elsewhere; nothing here decides.

mod approvals;
pub mod asks;
mod auth;
pub mod chat;
mod checkpoints;
pub mod cli;
mod completions;
mod config;
mod delivery;
mod diagnostics;
mod doctor;
pub mod engine;
mod errand;
mod exit;
mod explain;
mod export;
mod failure;
mod gateway;
mod gateway_setup;
mod inner;
mod kept;
mod log;
mod memory;
mod model;
mod model_table;
mod out;
mod pairing;
mod platforms;
mod projections;
pub mod ready;
mod replay;
mod search;
mod send;
mod service;
pub mod service_unit;
mod sessions;
mod skills;
mod start;
mod store;
pub mod telling;
mod time;
mod tools;
mod usage;
mod witness;

pub use exit::Exit;
pub use failure::Failure;
pub use out::Out;
pub use start::Start;

use std::process::ExitCode;

use clap::Parser;

/// The whole program: reads the command line, does it, says how it went.
pub fn main() -> ExitCode {
    if let Some(exit) = inner::run() {
        return exit;
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version come this way too, and are no errors.
        Err(error) => {
            let shown = error.print();
            return if error.use_stderr() || shown.is_err() { Exit::Usage.into() } else { Exit::Ok.into() };
        }
    };
    diagnostics::begin();
    match cli::run(cli) {
        Ok(exit) => exit.into(),
        // Whoever read our output has seen enough.
        Err(failure) if failure.is_closed_pipe() => Exit::Ok.into(),
        Err(failure) => {
            failure.print(&mut std::io::stderr());
            failure.exit.into()
        }
    }
}
