//! `herm send`: says something in a chat.

use std::io::Read;

use clap::Args;
use serde_json::Value;

use super::{Exit, Failure, Out, Start, errand};
use crate::gateway::errands::Errand;

/// Say something in a chat, through the gateway that runs.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm send telegram:123456789 'the backup is done'
  herm send telegram 'to the home channel'
  herm send --list
  uptime | herm send discord:9876543210 -")]
pub struct Send {
    /// `PLATFORM:CHAT`, `PLATFORM:CHAT:THREAD`, or a platform for its home channel.
    #[arg(required_unless_present = "list")]
    target: Option<String>,
    /// Markdown; `-` reads it from standard input.
    #[arg(required_unless_present = "list")]
    text: Option<String>,
    /// The chats that herm has seen, as targets.
    #[arg(long, conflicts_with_all = ["target", "text"])]
    list: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Send, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    if arguments.list {
        return chats(arguments.json, start, out);
    }
    let mut text = arguments.text.clone().unwrap_or_default();
    if text == "-" {
        text.clear();
        std::io::stdin().read_to_string(&mut text)?;
    }
    if text.trim().is_empty() {
        return Err(Failure::message(Exit::Usage, "there is nothing to say").hint("herm send --help"));
    }
    let sent =
        errand::run(start, Errand::Send { target: arguments.target.clone().unwrap_or_default(), text })?;
    match arguments.json {
        true => out.json(&sent)?,
        false => out.line(&format!("sent to {}", word(&sent, "target")))?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn chats(json: bool, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let found = errand::run(start, Errand::Chats)?;
    for chat in found.as_array().into_iter().flatten() {
        let home = chat.get("home").and_then(Value::as_bool).unwrap_or(false);
        let home = if home { ", home" } else { "" };
        let dead =
            chat.get("dead").and_then(Value::as_str).map(|why| format!(", dead: {why}")).unwrap_or_default();
        match json {
            true => out.json(chat)?,
            false => out.line(&format!(
                "{}  {} {}{home}{dead}",
                word(chat, "target"),
                word(chat, "kind"),
                word(chat, "title")
            ))?,
        }
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
