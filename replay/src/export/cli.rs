//! The command line of the exports, as `herm-replay export` and `herm export` share it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Subcommand, ValueEnum};

use super::events::{self, Events};
use super::trajectories::{self, Format, Trajectories};
use crate::inspect::{session_named, time_named};
use crate::log::Log;

/// What can be exported.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Every event as a line that explains itself.
    #[command(after_help = "Example:\n  herm-replay export events > events.jsonl\n  \
                            herm-replay export events --session last --with-blobs --output session.jsonl")]
    Events {
        #[arg(long, value_enum, default_value = "jsonl")]
        format: EventsFormat,
        /// Only this session: an identifier, the beginning of one, or `last`.
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Not before this day or time (UTC).
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// With the texts that the events only name.
        #[arg(long)]
        with_blobs: bool,
        /// Written there rather than to the standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// A conversation a line, for training and evaluation.
    #[command(after_help = "Example:\n  herm-replay export trajectories --format sharegpt > train.jsonl\n  \
                            herm-replay export trajectories --format openai --completed-only --since 2026-11-01")]
    Trajectories {
        #[arg(long, value_enum, default_value = "sharegpt")]
        format: Format,
        /// Only this session: an identifier, the beginning of one, or `last`.
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Only sessions that were active at or after this day or time (UTC).
        #[arg(long, value_name = "TIME")]
        since: Option<String>,
        /// Only conversations whose last turn ended with an answer.
        #[arg(long)]
        completed_only: bool,
        /// Written there rather than to the standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventsFormat {
    /// One object a line.
    Jsonl,
}

/// Writes what is asked to `out`, or to the file that is named.
///
/// # Errors
/// When what is named is not there, the log cannot be read, or the output not written.
pub fn run(command: Command, log: &dyn Log, out: &mut dyn Write) -> anyhow::Result<()> {
    let session = |name: Option<String>| name.as_deref().map(|name| session_named(log, name)).transpose();
    let time = |text: Option<String>| text.as_deref().map(time_named).transpose();
    match command {
        Command::Events { format: EventsFormat::Jsonl, session: name, since, with_blobs, output } => {
            let chosen = Events { session: session(name)?, since: time(since)?, with_blobs };
            into(output, out, |out| events::write(log, &chosen, out))
        }
        Command::Trajectories { format, session: name, since, completed_only, output } => {
            let chosen =
                Trajectories { format, session: session(name)?, since: time(since)?, completed_only };
            into(output, out, |out| trajectories::write(log, &chosen, out))
        }
    }
}

/// A file is complete when it bears its name: it is written beside it first.
fn into(
    output: Option<PathBuf>,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some(path) = output else {
        write(out)?;
        return Ok(out.flush()?);
    };
    let mut partial = path.clone().into_os_string();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let file = File::create(&partial).with_context(|| format!("create `{}`", partial.display()))?;
    let mut writer = BufWriter::new(file);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(|error| error.into_error());
    let file = file.with_context(|| format!("write `{}`", partial.display()))?;
    file.sync_all().with_context(|| format!("write `{}` to the disk", partial.display()))?;
    std::fs::rename(&partial, &path).with_context(|| format!("rename to `{}`", path.display()))
}
