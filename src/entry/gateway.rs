//! `herm gateway`: the process that serves the chat platforms and the API.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Exit, Failure, Out, Start, gateway_setup, service};
use crate::gateway::control::{self, Reply, Request};
use crate::gateway::daemon::{self, Ended};

/// Run the gateway: chat platforms, webhooks, the API.
#[derive(Args, Debug)]
pub struct Gateway {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Run it here, until Ctrl-C.
    #[command(after_help = "\
Example:
  herm gateway run

What is set in `.env` or the environment is served: `TELEGRAM_BOT_TOKEN`, `API_SERVER_KEY` and so on;
`herm platforms` lists them.")]
    Run,
    /// Start it in the background: the installed unit, or a process of its own.
    #[command(after_help = "Example:\n  herm gateway start")]
    Start,
    /// Stop it: it finishes what runs first.
    #[command(after_help = "Example:\n  herm gateway stop")]
    Stop,
    /// Finish what runs, then start again with the configuration of now.
    #[command(after_help = "Example:\n  herm gateway restart")]
    Restart,
    /// Read the configuration again: who may speak to herm, and which profile answers where.
    #[command(after_help = "Example:\n  herm gateway reload")]
    Reload,
    /// How it is doing.
    #[command(after_help = "\
Examples:
  herm gateway status
  herm gateway status --json")]
    Status {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Have the system start it: a systemd unit, or a launchd agent.
    #[command(after_help = "\
Examples:
  herm gateway install
  herm gateway install --system --user herm")]
    Install {
        /// For the whole machine instead of this user; needs root.
        #[arg(long)]
        system: bool,
        /// The user that it runs as, with `--system`.
        #[arg(long, value_name = "NAME", requires = "system")]
        user: Option<String>,
        /// Only show what would be written.
        #[arg(long)]
        dry_run: bool,
    },
    /// Take that back.
    #[command(after_help = "Example:\n  herm gateway uninstall")]
    Uninstall {
        /// For the whole machine instead of this user; needs root.
        #[arg(long)]
        system: bool,
    },
    /// Set up a platform, step by step.
    #[command(after_help = "\
Examples:
  herm gateway setup
  herm gateway setup telegram")]
    Setup {
        /// Which; asked if it is not given.
        platform: Option<String>,
    },
}

pub fn run(arguments: &Gateway, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Run => return here(start),
        Action::Start => service::start(start, out)?,
        Action::Stop => told(start, Request::Stop, "stopping; it finishes what runs", out)?,
        Action::Restart => told(start, Request::Restart, "finishing what runs, then starting again", out)?,
        Action::Reload => told(start, Request::Reload, "the configuration is read again", out)?,
        Action::Status { json } => status(start, *json, out)?,
        Action::Install { system, user, dry_run } => {
            service::install(start, (*system, user.as_deref()), *dry_run, out)?;
        }
        Action::Uninstall { system } => service::uninstall(*system, out)?,
        Action::Setup { platform } => gateway_setup::run(platform.as_deref(), start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn here(start: &Start) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(daemon::run(start))?;
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    if ended == Ended::Restart {
        return Err(again());
    }
    Ok(Exit::Ok)
}

/// This process becomes a new one of the same command line; returns only if that fails.
fn again() -> Failure {
    use std::os::unix::process::CommandExt;
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("herm"));
    let error = std::process::Command::new(program).args(std::env::args_os().skip(1)).exec();
    Failure::new(Exit::Failed, error).hint("herm gateway run")
}

/// Asks the gateway that runs; `None` if none does.
///
/// # Errors
/// The conversation broke, or it says no.
pub fn ask(start: &Start, request: &Request) -> Result<Option<Value>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(control::ask(&start.home.gateway_socket(), request))? {
        None => Ok(None),
        Some(Reply::Done(value)) => Ok(Some(value)),
        Some(Reply::Refused(why)) => Err(Failure::message(Exit::Failed, why)),
    }
}

/// There is none.
pub fn none_runs(start: &Start) -> Failure {
    let message = format!("no gateway runs for `{}`", start.home.root().display());
    Failure::message(Exit::Failed, message).hint("herm gateway run")
}

fn told(start: &Start, request: Request, said: &str, out: &mut Out) -> Result<(), Failure> {
    ask(start, &request)?.ok_or_else(|| none_runs(start))?;
    Ok(out.line(said)?)
}

fn status(start: &Start, json: bool, out: &mut Out) -> Result<(), Failure> {
    let status = ask(start, &Request::Status)?.ok_or_else(|| none_runs(start))?;
    if json {
        return Ok(out.json(&status)?);
    }
    let number = |name: &str| status.get(name).and_then(Value::as_u64).unwrap_or(0);
    out.line(&format!(
        "herm {} runs since {} s, process {}, {} MiB",
        text(&status, "version"),
        number("up_seconds"),
        number("pid"),
        number("memory_bytes") >> 20
    ))?;
    if let Some(why) = status.get("why_not").and_then(Value::as_str) {
        out.line(&format!("takes nothing: {why}"))?;
    }
    for (name, health) in status.get("platforms").and_then(Value::as_object).into_iter().flatten() {
        let health =
            serde_json::from_value(health.clone()).map(|health| crate::gateway::status::in_words(&health));
        out.line(&format!("{name:<12} {}", health.unwrap_or_default()))?;
    }
    for profile in status.get("profiles").and_then(Value::as_array).into_iter().flatten() {
        let sessions = profile.get("sessions_in_memory").and_then(Value::as_u64).unwrap_or(0);
        let (name, model, provider) =
            (text(profile, "name"), text(profile, "model"), text(profile, "provider"));
        out.line(&format!("profile {name}: {model} of {provider}, {sessions} sessions in memory"))?;
    }
    let (paired, dead) = (number("paired"), number("dead_targets"));
    Ok(out.line(&format!("{paired} people are paired, {dead} targets are dead"))?)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
