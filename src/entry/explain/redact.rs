//! `herm explain redact`: a text as it is recorded, sent and shown.

use clap::Args;
use serde_json::json;

use crate::config::REDACTED;
use crate::entry::{Failure, Out, Start};

/// Print a text from stdin as it would be recorded, sent and shown: without its secrets.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm explain redact < deploy.log
  echo 'export API_TOKEN=abc' | herm explain redact --json")]
pub struct Redact {
    /// One JSON object: `text`, `changed` and `masked`, how many places were.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Redact, text: &[u8], start: &Start, out: &mut Out) -> Result<(), Failure> {
    let redactor = start.load(&[])?.redactor;
    let text = String::from_utf8_lossy(text);
    let redacted = redactor.redact(&text);
    if !arguments.json {
        return Ok(out.raw(&redacted)?);
    }
    let count = |text: &str| text.matches(REDACTED).count();
    out.json(&json!({
        "text": redacted,
        "changed": redacted != text,
        "masked": count(&redacted).saturating_sub(count(&text)),
    }))?;
    Ok(())
}
