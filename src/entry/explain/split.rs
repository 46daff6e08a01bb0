//! `herm explain split`: an answer in the messages that a platform would be sent.

use clap::Args;
use serde_json::{Value, json};

use crate::delivery::{Unit, formats, measure, plan, render};
use crate::entry::{Exit, Failure, Out};

/// Print an answer from stdin as a platform would be sent it: in parts, each in its markup.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm explain split --platform telegram < answer.md
  herm explain split --platform discord --json < answer.md | jq '.[].measured'")]
pub struct Split {
    /// Such as `telegram`; whether it is set up makes no difference.
    #[arg(long, value_name = "NAME")]
    platform: String,
    /// One JSON array: `part`, `text`, `plain`, `measured`, `limit` and `unit` of each part.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Split, text: &[u8], out: &mut Out) -> Result<(), Failure> {
    let Some(format) = formats::of(&arguments.platform) else {
        return Err(unknown(&arguments.platform));
    };
    let text = String::from_utf8_lossy(text);
    let parts = plan::parts(&text, &format);
    let unit = format.limit.map_or(Unit::Chars, |limit| limit.unit);
    let mut rows: Vec<Value> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let written = render(part, &format);
        let measured = measure(&written.text, unit);
        if arguments.json {
            rows.push(json!({
                "part": part,
                "text": written.text,
                "plain": written.plain,
                "measured": measured,
                "limit": format.limit.map(|limit| limit.max),
                "unit": unit.key(),
            }));
            continue;
        }
        let of = format.limit.map(|limit| format!(" of {}", grouped(limit.max))).unwrap_or_default();
        let head = format!("── {}/{} · {}{of} {}", index + 1, parts.len(), grouped(measured), unit.name());
        out.line(&head)?;
        for line in written.text.lines() {
            out.line(line)?;
        }
    }
    if arguments.json {
        out.json(&rows)?;
    }
    Ok(())
}

fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = formats::FORMATS.iter().map(|(name, _)| *name).collect();
    let near = known
        .iter()
        .max_by(|one, two| strsim::jaro_winkler(name, one).total_cmp(&strsim::jaro_winkler(name, two)));
    let message = format!("there is no platform `{name}`; there are {}", known.join(", "));
    let failure = Failure::message(Exit::Usage, message);
    match near {
        Some(near) => failure.hint(format!("herm explain split --platform {near}")),
        None => failure,
    }
}

/// With a comma after each three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
