//! `herm replay`: the debugger, the same code as the offline binary `herm-replay`.

use clap::Args;
use herm_replay::inspect::cli::{self, Source, Verdict};

use super::{Exit, Failure, Out, Start, store};

/// Look back: what happened, what the state was, what the model saw, what would be decided now.
#[derive(Args, Debug)]
pub struct Replay {
    #[command(subcommand)]
    what: cli::Command,

    /// One JSON object a line.
    #[arg(long, global = true)]
    json: bool,
}

pub fn run(arguments: Replay, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let log = store::log(&start.home)?;
    let views = Some(cli::views_of(&log, &start.home.index_dir()));
    let verdict = cli::run(arguments.what, &Source { log, views }, arguments.json, out.writer())?;
    out.end()?;
    Ok(match verdict {
        Verdict::Same => Exit::Ok,
        Verdict::Differs => Exit::Failed,
    })
}
