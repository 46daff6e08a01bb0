//! `herm log`: what lies on the disk, whether it is sound, and what is being added.

use std::io::{self, Read};
use std::time::Duration;

use clap::{Args, Subcommand};
use herm_replay::log::exercise::{check_exercise, exercise};
use herm_replay::log::{Log, repair, verify};
use herm_schema::{Position, Recorded};
use serde_json::json;

use super::time::Clockface;
use super::{Exit, Failure, Out, Start, store};

/// How long a follower waits before it looks whether it is still wanted.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Look at the log: figures, soundness, the newest events.
#[derive(Args, Debug)]
pub struct LogCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Figures about the log.
    #[command(after_help = "\
Examples:
  herm log stats
  herm log stats --json")]
    Stats {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Read everything and say what is damaged or does not add up.
    #[command(after_help = "\
Examples:
  herm log verify
  herm log verify --json

Exit status: 0 sound, 7 damaged.")]
    Verify {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show the newest events, and with --follow those that are added.
    #[command(after_help = "\
Examples:
  herm log tail
  herm log tail --lines 100 --json
  herm log tail --follow")]
    Tail {
        /// How many of those that are there.
        #[arg(short = 'n', long, default_value_t = 10, value_name = "COUNT")]
        lines: u64,
        /// Go on with what is added, until Ctrl-C.
        #[arg(short, long)]
        follow: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Make a damaged log one that opens again. Shows what would be done; does it with --yes.
    #[command(after_help = "\
Examples:
  herm log repair
  herm log repair --yes

Nothing is deleted: what is cut out is kept inside the log's folder.")]
    Repair {
        /// Do it.
        #[arg(long)]
        yes: bool,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Append events until it is killed and print what is acknowledged; for tests that kill it.
    #[command(
        hide = true,
        after_help = "\
Examples:
  herm log exercise --seed 7 > acknowledged
  herm log exercise --check < acknowledged"
    )]
    Exercise {
        /// Decides what is written.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print only what was acknowledged as being on the disk.
        #[arg(long)]
        disk_only: bool,
        /// Check the log against what was printed, on stdin.
        #[arg(long, conflicts_with = "disk_only")]
        check: bool,
    },
}

pub fn run(arguments: &LogCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let exit = match &arguments.action {
        Action::Stats { json } => stats(*json, start, out)?,
        Action::Verify { json } => verified(*json, start, out)?,
        Action::Tail { lines, follow, json } => tail(*lines, *follow, *json, start, out)?,
        Action::Repair { yes, json } => repaired(*yes, *json, start, out)?,
        Action::Exercise { check: true, .. } => checked(start, out)?,
        Action::Exercise { seed, disk_only, .. } => {
            let done = exercise(&start.home.log_dir(), *seed, *disk_only, io::stdout().lock());
            done.map_err(|why| Failure::message(Exit::Failed, why))?;
            Exit::Ok
        }
    };
    out.end()?;
    Ok(exit)
}

fn stats(json: bool, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let log = store::segments(&start.home)?;
    let stats = log.stats();
    if json {
        out.json(&stats)?;
    } else {
        let lost =
            if stats.lost_events > 0 { format!(", {} given up", stats.lost_events) } else { String::new() };
        out.line(&format!("events    {}{lost}", stats.events))?;
        out.line(&format!("last      {}", stats.last))?;
        out.line(&format!("on disk   {} bytes in {} segments", stats.bytes, stats.segments))?;
        out.line(&format!("free      {} MiB", stats.disk_free_bytes >> 20))?;
    }
    match log.damage() {
        None => Ok(Exit::Ok),
        Some(damage) => Err(damage.into()),
    }
}

fn verified(json: bool, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    store::exists(&start.home)?;
    let report = verify::verify(&start.home.log_dir())?;
    if json {
        out.json(&json!({"sound": report.is_sound(), "report": report}))?;
    } else {
        out.line(report.to_string().trim_end())?;
        out.line(if report.is_sound() { "sound" } else { "damaged" })?;
    }
    out.end()?;
    if report.is_sound() {
        return Ok(Exit::Ok);
    }
    let count = report.findings.len();
    Err(Failure::message(Exit::LogDamaged, format!("the log is damaged in {count} places"))
        .hint("herm log repair"))
}

fn repaired(yes: bool, json: bool, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    store::exists(&start.home)?;
    let plan = repair::plan(&start.home.log_dir())?;
    if json {
        out.json(&json!({"done": yes && !plan.is_empty(), "plan": plan}))?;
    } else {
        out.line(plan.to_string().trim_end())?;
    }
    out.end()?;
    if plan.is_empty() {
        return Ok(Exit::Ok);
    }
    if !yes {
        let message = "the log needs a repair, and nothing has been done yet";
        return Err(Failure::message(Exit::LogDamaged, message).hint("herm log repair --yes"));
    }
    repair::apply(&plan)?;
    if !json {
        out.line("done")?;
    }
    Ok(Exit::Ok)
}

fn checked(start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let mut acknowledged = String::new();
    io::stdin().lock().read_to_string(&mut acknowledged)?;
    let events = check_exercise(&start.home.log_dir(), &acknowledged)
        .map_err(|why| Failure::message(Exit::LogDamaged, why))?;
    out.line(&format!("{events} events, every acknowledged one among them"))?;
    Ok(Exit::Ok)
}

fn tail(lines: u64, follow: bool, json: bool, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let log = store::segments(&start.home)?;
    let clock = Clockface::of(start);
    let mut past = Position(log.tail().last.0.saturating_sub(lines));
    loop {
        for recorded in log.read_all(past.next()) {
            let recorded = recorded?;
            past = recorded.envelope.position;
            if json { out.json(&recorded)? } else { out.line(&line(&recorded, &clock))? }
        }
        out.end()?;
        if !follow {
            return Ok(Exit::Ok);
        }
        log.wait(past, LOOK_AGAIN);
    }
}

fn line(recorded: &Recorded, clock: &Clockface) -> String {
    let envelope = &recorded.envelope;
    let turn = envelope.turn.map(|turn| format!("  turn {turn}")).unwrap_or_default();
    format!(
        "{:>8}  {}  {} {:>5}  {}{turn}",
        envelope.position,
        clock.exact(envelope.recorded_at),
        envelope.stream,
        envelope.stream_pos,
        recorded.event.name()
    )
}
