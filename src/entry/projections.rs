//! `herm projections`: how far what is looked up follows the log, and building it anew.

use std::sync::Arc;

use clap::{Args, Subcommand};
use herm_replay::projections::{Status, Views};

use super::{Exit, Failure, Out, Start, store};

/// See how far what is looked up follows the log, or build it anew.
#[derive(Args, Debug)]
pub struct Projections {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// How far each has come, and what keeps it.
    #[command(after_help = "\
Examples:
  herm projections status
  herm projections status --json")]
    Status {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Build one anew from the log, or all of them. Nothing is lost: the log is the truth.
    #[command(after_help = "\
Examples:
  herm projections rebuild
  herm projections rebuild search")]
    Rebuild {
        /// Only this one.
        name: Option<String>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &Projections, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    // Not the log's owner: another herm may be that, and then the stores say that they are in use.
    let views = Views::open(Arc::new(store::segments(&start.home)?), &start.home.index_dir());
    let json = match &arguments.action {
        Action::Status { json } => *json,
        Action::Rebuild { name, json } => {
            views.rebuild(name.as_deref())?;
            *json
        }
    };
    let mut exit = Exit::Ok;
    for status in views.status() {
        if status.error.is_some() {
            exit = Exit::Failed;
        }
        if json { out.json(&status)? } else { out.line(&line(&status))? }
    }
    out.end()?;
    Ok(exit)
}

fn line(status: &Status) -> String {
    let standing = match (&status.error, status.lag) {
        (Some(error), _) => format!("PROBLEM  {error}"),
        (None, 0) => "up to date".to_owned(),
        (None, lag) => format!("{lag} events behind"),
    };
    format!("{:10} at {} of {}  {standing}", status.name, status.checkpoint, status.tail)
}

#[cfg(test)]
mod tests {
    use herm_schema::Position;

    use super::*;

    #[test]
    fn lag_and_errors_are_told() {
        let status = |lag, error: Option<&str>| Status {
            name: "search",
            schema: 1,
            checkpoint: Position(10 - lag),
            tail: Position(10),
            lag,
            error: error.map(str::to_owned),
        };
        assert_eq!(line(&status(0, None)), "search     at 10 of 10  up to date");
        assert_eq!(line(&status(3, None)), "search     at 7 of 10  3 events behind");
        assert!(line(&status(3, Some("damaged"))).ends_with("PROBLEM  damaged"));
    }
}
