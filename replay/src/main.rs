//! `herm-replay`: looks at a log on any machine, and cannot contact anyone.
//!
//! The same commands are in `herm replay`. The log is opened for reading only, beside its owner.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use herm_replay::inspect::cli::{self, Source, Verdict};
use herm_replay::log::{Log, SegmentLog};

/// Look at what herm did: verify it, show it, rebuild what the model saw, decide it again.
#[derive(Debug, Parser)]
#[command(name = "herm-replay", version, max_term_width = 100)]
struct Arguments {
    /// The home directory whose log is looked at; `$HERM_HOME`, else `~/.herm`.
    #[arg(long, value_name = "DIR", global = true)]
    home: Option<PathBuf>,
    /// One JSON object a line.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: cli::Command,
}

/// What the exit status says.
enum Exit {
    Same = 0,
    /// Something is not as it was recorded.
    Differs = 1,
    /// What was asked could not be done.
    Failed = 2,
}

fn main() -> ExitCode {
    let exit = match look(Arguments::parse()) {
        Ok(Verdict::Same) => Exit::Same,
        Ok(Verdict::Differs) => Exit::Differs,
        Err(error) if cli::is_broken_pipe(&error) => Exit::Same,
        Err(error) => {
            // Where even that cannot be written, the exit status still says it.
            let _ = complain(&error);
            Exit::Failed
        }
    };
    ExitCode::from(exit as u8)
}

fn look(arguments: Arguments) -> anyhow::Result<Verdict> {
    let home = arguments.home.or_else(default_home);
    let home = home.ok_or_else(|| anyhow::anyhow!("there is no home directory; name one with `--home`"))?;
    let log: Arc<dyn Log> = Arc::new(SegmentLog::open_read_only(home.join("log"))?);
    let views = Some(cli::views_of(&log, &home.join("index")));
    let mut out = BufWriter::new(io::stdout().lock());
    let verdict = cli::run(arguments.command, &Source { log, views }, arguments.json, &mut out)?;
    out.flush()?;
    Ok(verdict)
}

fn default_home() -> Option<PathBuf> {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("HERM_HOME").or_else(|| named("HOME").map(|home| home.join(".herm")))
}

fn complain(error: &anyhow::Error) -> io::Result<()> {
    let mut out = io::stderr().lock();
    writeln!(out, "error: {error}")?;
    error.chain().skip(1).try_for_each(|cause| writeln!(out, "caused by: {cause}"))
}
