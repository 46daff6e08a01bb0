//! `herm platforms`: which chat platforms there are, and which are switched on.

use clap::Args;
use serde_json::{Value, json};

use super::{Exit, Failure, Out, Start, gateway};
use crate::gateway::control::Request;
use crate::gateway::{sections, status};
use crate::platforms::table::PLATFORMS;

/// List chat platforms: what each needs, and how those that are switched on are doing.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm platforms
  herm platforms --json")]
pub struct Platforms {
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Platforms, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let loaded = start.load(&[])?;
    let running = gateway::ask(start, &Request::Status).ok().flatten();
    for row in PLATFORMS {
        let section = sections::section(&loaded, row);
        let on = sections::is_on(&loaded, row, &section);
        let health = running.as_ref().and_then(|status| status.get("platforms")?.get(row.name));
        let standing = match (health, on) {
            (Some(health), _) => serde_json::from_value(health.clone())
                .map(|health| status::in_words(&health))
                .unwrap_or_default(),
            (None, true) => "configured".to_owned(),
            (None, false) => format!("off; herm gateway setup {}", row.name),
        };
        if arguments.json {
            let fields = row.fields.iter().map(|field| {
                json!({ "name": field.name, "variable": field.env, "secret": field.secret, "about": field.doc,
                        "needed": row.needs.contains(&field.name) })
            });
            out.json(&json!({
                "name": row.name, "about": row.about, "on": on, "standing": standing,
                "fields": fields.collect::<Vec<Value>>(),
            }))?;
        } else {
            out.line(&format!("{:<12} {standing}", row.name))?;
            out.line(&format!("{:<12} {}", "", row.about))?;
        }
    }
    out.end()?;
    Ok(Exit::Ok)
}
