//! `herm delivery`: what was to be sent and did not arrive, or nobody knows.

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{Exit, Failure, Out, Start, errand};
use crate::gateway::errands::Errand;

/// Show what did not arrive; send it again, or give it up.
#[derive(Args, Debug)]
pub struct Delivery {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Deliveries that are open, failed, or of which nobody knows whether they arrived.
    #[command(after_help = "\
Examples:
  herm delivery list
  herm delivery list --all --json")]
    List {
        /// Those that arrived as well.
        #[arg(long)]
        all: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Send what is left of one again; marked as a possible repeat where it may have arrived.
    #[command(after_help = "Example:\n  herm delivery retry default/gateway/17")]
    Retry {
        /// As `herm delivery list` names it.
        delivery: String,
    },
    /// Give up what is left of one.
    #[command(after_help = "Example:\n  herm delivery drop default/gateway/17")]
    Drop {
        /// As `herm delivery list` names it.
        delivery: String,
    },
}

pub fn run(arguments: &Delivery, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List { all, json } => {
            let found = errand::run(start, Errand::DeliveryList { all: *all })?;
            let rows = found.as_array().cloned().unwrap_or_default();
            for row in &rows {
                match json {
                    true => out.json(row)?,
                    false => out.line(&line(row))?,
                }
            }
            if rows.is_empty() && !json {
                out.line("everything has arrived")?;
            }
        }
        Action::Retry { delivery } => {
            let done = errand::run(start, Errand::DeliveryRetry { delivery: delivery.clone() })?;
            let marked = done.get("possible_repeat").and_then(Value::as_bool).unwrap_or(false);
            out.line(if marked { "sent again, marked as a possible repeat" } else { "sent again" })?;
        }
        Action::Drop { delivery } => {
            errand::run(start, Errand::DeliveryDrop { delivery: delivery.clone() })?;
            out.line("given up")?;
        }
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn line(row: &Value) -> String {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let chunks = row.get("chunks").and_then(Value::as_array).cloned().unwrap_or_default();
    let standing: Vec<String> = chunks.iter().map(|chunk| standing(chunk.get("standing"))).collect();
    format!("{}  {}  {}", text("delivery"), text("target"), standing.join(", "))
}

fn standing(value: Option<&Value>) -> String {
    let Some(value) = value else { return String::new() };
    match value.as_str() {
        Some("unknown") => return "nobody knows whether it arrived".to_owned(),
        Some(word) => return word.to_owned(),
        None => {}
    }
    let Some((name, facts)) = value.as_object().and_then(|object| object.iter().next()) else {
        return String::new();
    };
    let class = facts.get("class").and_then(Value::as_str);
    let message = facts.get("message").and_then(Value::as_str);
    match (class, message) {
        (Some(class), Some(message)) => format!("{name} ({class}): {message}"),
        (Some(class), None) => format!("{name} ({class})"),
        (None, _) => name.clone(),
    }
}
