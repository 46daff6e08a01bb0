//! `herm pairing`: strangers that were given a code, and who may speak to herm since.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Exit, Failure, Out, Start, errand};
use crate::gateway::errands::Errand;

/// Let strangers speak to herm, and stop them.
#[derive(Args, Debug)]
pub struct Pairing {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Who is paired, and who waits with a code.
    #[command(after_help = "\
Examples:
  herm pairing list
  herm pairing list --json")]
    List {
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Let in the stranger that shows this code.
    #[command(after_help = "Example:\n  herm pairing approve telegram 7KQ2-M9XD")]
    Approve {
        /// Platform that the code was given on.
        platform: String,
        /// The code, as the stranger was told it.
        code: String,
    },
    /// Do not let somebody speak to herm any more.
    #[command(after_help = "Example:\n  herm pairing revoke telegram 123456789")]
    Revoke {
        /// Platform of the account.
        platform: String,
        /// Its id there, as `herm pairing list` shows it.
        user: String,
    },
}

pub fn run(arguments: &Pairing, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List { json } => {
            let found = errand::run(start, Errand::PairingList)?;
            if *json {
                out.json(&found)?;
            } else {
                list(&found, out)?;
            }
        }
        Action::Approve { platform, code } => {
            let (platform, code) = (platform.clone(), code.clone());
            let done = errand::run(start, Errand::PairingApprove { platform, code })?;
            out.line(&format!("{} may speak to herm on {} now", who(&done), text(&done, "platform")))?;
        }
        Action::Revoke { platform, user } => {
            let (platform, user) = (platform.clone(), user.clone());
            let done = errand::run(start, Errand::PairingRevoke { platform, user })?;
            out.line(&format!(
                "`{}` may not speak to herm on {} any more",
                text(&done, "user"),
                text(&done, "platform")
            ))?;
        }
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn list(found: &Value, out: &mut Out) -> Result<(), Failure> {
    let rows = |name: &str| found.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (paired, pending) = (rows("paired"), rows("pending"));
    for row in &paired {
        out.line(&format!("{:<12} {}", text(row, "platform"), who(row)))?;
    }
    for row in &pending {
        let minutes = row.get("asked_seconds_ago").and_then(Value::as_u64).unwrap_or(0) / 60;
        out.line(&format!(
            "{:<12} {}, waits with a code for {minutes} min",
            text(row, "platform"),
            who(row)
        ))?;
    }
    if paired.is_empty() && pending.is_empty() {
        out.line("nobody is paired, and nobody waits")?;
    }
    Ok(())
}

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn who(row: &Value) -> String {
    match row.get("name").and_then(Value::as_str) {
        Some(name) => format!("{name} (`{}`)", text(row, "user")),
        None => format!("`{}`", text(row, "user")),
    }
}
