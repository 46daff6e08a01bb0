//! `herm export`: events and trajectories for other programs.

use clap::Args;
use herm_replay::export::cli;

use super::{Exit, Failure, Out, Start, store};

/// Write events or trajectories for other programs.
#[derive(Args, Debug)]
pub struct Export {
    #[command(subcommand)]
    what: cli::Command,
}

pub fn run(arguments: Export, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let log = store::log(&start.home)?;
    cli::run(arguments.what, log.as_ref(), out.writer())?;
    out.end()?;
    Ok(Exit::Ok)
}
