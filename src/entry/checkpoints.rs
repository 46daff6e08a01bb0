//! `herm checkpoints`: what is kept of directories, and the way back without a conversation.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::time::Clockface;
use super::{Exit, Failure, Out, Start, engine};
use crate::checkpoints::{Checkpoints, Error};
use crate::runtime::{Clock, SystemClock};

/// Show, restore and remove what was kept of directories before they were changed.
#[derive(Args, Debug)]
pub struct CheckpointsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Say which directories have checkpoints, and what all of them take.
    #[command(after_help = "\
Examples:
  herm checkpoints status
  herm checkpoints status --json")]
    Status {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// List the checkpoints of a directory, the newest first.
    #[command(after_help = "\
Examples:
  herm checkpoints list
  herm checkpoints list ~/project --json")]
    List {
        /// The directory; where herm is started, if none is named.
        directory: Option<PathBuf>,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Put a directory back to a checkpoint; what is there now is kept first.
    #[command(after_help = "\
Examples:
  herm checkpoints restore 3f9a2c
  herm checkpoints restore 3f9a2c ~/project")]
    Restore {
        /// The checkpoint, or the beginning of its name.
        checkpoint: String,
        /// The directory; where herm is started, if none is named.
        directory: Option<PathBuf>,
    },
    /// Remove checkpoints that are older than some days, and what only they held.
    #[command(after_help = "\
Examples:
  herm checkpoints prune
  herm checkpoints prune --days 0")]
    Prune {
        /// Days that are kept.
        #[arg(long, default_value_t = 7)]
        days: u32,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::NoGit => Some("install git"),
            Error::Unknown { .. } => Some("herm checkpoints list"),
            _ => None,
        };
        let failure = Self::new(Exit::Failed, error);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

pub fn run(arguments: &CheckpointsCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let loaded = start.load(&[])?;
    let kept = engine::checkpoints(&loaded).ok_or_else(|| {
        Failure::message(Exit::Config, "no checkpoints are kept")
            .hint("herm config set checkpoints.enabled true")
    })?;
    let here = |directory: &Option<PathBuf>| -> Result<PathBuf, Failure> {
        Ok(std::path::absolute(directory.as_deref().unwrap_or(std::path::Path::new(".")))?)
    };
    match &arguments.action {
        Action::Status { json } => status(&kept, *json, out)?,
        Action::List { directory, json } => {
            list(&kept, &here(directory)?, *json, &Clockface::of(start), out)?
        }
        Action::Restore { checkpoint, directory } => {
            let directory = here(directory)?;
            let (before, files) = kept.restore(&directory, checkpoint, SystemClock.now())?;
            out.line(&format!(
                "{files} files put back; `herm checkpoints restore {}` undoes that",
                before.id
            ))?;
        }
        Action::Prune { days } => {
            let age_us = i64::from(*days) * 86_400_000_000;
            let oldest = herm_schema::Micros(SystemClock.now().0.saturating_sub(age_us));
            out.line(&format!("{} checkpoints removed", kept.prune(oldest)?))?;
        }
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn status(kept: &Checkpoints, json: bool, out: &mut Out) -> Result<(), Failure> {
    let (directories, bytes) = kept.status()?;
    for (directory, count) in &directories {
        match json {
            true => out.json(&json!({"directory": directory, "checkpoints": count}))?,
            false => out.line(&format!("{count:>4}  {}", directory.display()))?,
        }
    }
    match json {
        true => out.json(&json!({"directories": directories.len(), "bytes": bytes}))?,
        false => out.line(&format!("{} directories, {} KiB", directories.len(), bytes.div_ceil(1024)))?,
    }
    Ok(())
}

fn list(
    kept: &Checkpoints,
    directory: &std::path::Path,
    json: bool,
    clock: &Clockface,
    out: &mut Out,
) -> Result<(), Failure> {
    for known in kept.list(directory)? {
        match json {
            true => out.json(&json!({
                "checkpoint": known.id, "directory": known.directory, "taken_at_us": known.taken_at.0,
                "files": known.files,
            }))?,
            false => {
                out.line(&format!("{}  {}  {} files", known.id, clock.minute(known.taken_at), known.files))?
            }
        }
    }
    Ok(())
}
