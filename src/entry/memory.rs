//! `herm memory`: what is remembered, who wrote it and why, and taking a write back.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use herm_replay::log::Log;
use herm_replay::memory::{changed, chars, list};
use herm_schema::events::{Author, MemorySpace, MemoryTarget};
use serde_json::{Value, json};

use super::time::Clockface;
use super::{Exit, Failure, Out, Start, engine, gateway, kept, store};
use crate::effects::profile_stream;
use crate::gateway::control::Request;
use crate::gateway::errands::Errand;
use crate::memory::{Files, Write, Writes, name, why};

/// See what is remembered across sessions, who wrote it and why; take a write back.
#[derive(Args, Debug)]
pub struct MemoryCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show what is remembered.
    #[command(after_help = "\
Examples:
  herm memory show
  herm memory show --json | jq -r '.entries[]'")]
    Show {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// List every write, with who made it and what was said before it.
    #[command(after_help = "\
Examples:
  herm memory log
  herm memory log --refused --json")]
    Log {
        /// After that what was not kept, and why.
        #[arg(long)]
        refused: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Take a write back; that is a write itself, and can be taken back.
    #[command(after_help = "\
Examples:
  herm memory undo
  herm memory undo m12")]
    Undo {
        /// Its name, as `herm memory log` shows it; the last one if there is none.
        write: Option<String>,
    },
}

pub fn run(arguments: &MemoryCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Show { json } => show(*json, start, out)?,
        Action::Log { refused, json } => log(*refused, *json, start, out)?,
        Action::Undo { write } => undo(write.as_deref().unwrap_or_default(), start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn writes(start: &Start, log: &dyn Log) -> Result<Writes, Failure> {
    Ok(Writes::of(log, profile_stream(start.home.profile_name()))?)
}

fn show(json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let log = store::log(&start.home)?;
    let writes = writes(start, &*log)?;
    let files = Files::of(start.home.root());
    let mut lists: BTreeSet<(MemorySpace, MemoryTarget)> =
        writes.memories.lists().map(|(space, target, _)| (space.clone(), target)).collect();
    // Somebody may have put files there before anything was remembered.
    lists.extend([MemoryTarget::Memory, MemoryTarget::User].map(|target| (MemorySpace::Profile, target)));
    for (space, target) in &lists {
        let target = *target;
        let entries = writes.memories.entries(space, target);
        let edited = files.is_edited(space, target, entries);
        if entries.is_empty() && !edited {
            continue;
        }
        if json {
            out.json(&json!({
                "space": space, "target": target, "entries": entries, "chars": chars(entries), "edited": edited,
            }))?;
            continue;
        }
        let note = if edited { "; its file was changed since, which the next session takes in" } else { "" };
        out.line(&format!("{}, {} characters{note}:", list(space, target), chars(entries)))?;
        for entry in entries {
            out.line(&format!("  {}", entry.replace('\n', "\n    ")))?;
        }
    }
    Ok(())
}

fn log(refused: bool, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let log = store::log(&start.home)?;
    let face = Clockface::of(start);
    let writes = writes(start, &*log)?;
    for write in &writes.all {
        match json {
            true => out.json(&as_json(write, &*log))?,
            false => out.line(&in_words(write, &*log, &face))?,
        }
    }
    for (at, time, event) in writes.refused.iter().filter(|_| refused) {
        let (name, what) = (name(*at), list(&event.space, event.target));
        match json {
            true => out.json(&json!({ "refused": name, "at_us": time.0, "event": event }))?,
            false => out.line(&format!(
                "{name}  {}  {what}: {:?}: {}",
                face.minute(*time),
                event.why,
                event.message
            ))?,
        }
    }
    Ok(())
}

fn as_json(write: &Write, log: &dyn Log) -> Value {
    let (session, call) = write.call().unzip();
    json!({
        "write": name(write.at), "at_us": write.time.0, "space": write.written.space,
        "target": write.written.target, "changes": write.written.changes, "author": write.written.author,
        "session": session.map(|session| session.to_string()), "call": call.map(|call| call.to_string()),
        "turn": write.turn, "cause": write.cause, "why": why(log, write),
        "undoes": write.written.undoes.map(name), "proposal": write.written.proposal.map(name),
        "undone": write.undone,
    })
}

/// A write in one line.
fn in_words(write: &Write, log: &dyn Log, face: &Clockface) -> String {
    let written = &write.written;
    let who = match (&written.author, written.undoes, written.proposal) {
        (_, Some(undoes), _) => format!("takes {} back", name(undoes)),
        (_, _, Some(proposal)) => format!("the model, approved as {}", name(proposal)),
        (Author::Model { .. }, ..) => "the model".to_owned(),
        (Author::Files, ..) => "by hand, in the file".to_owned(),
        (Author::Person { .. }, ..) => "a person".to_owned(),
    };
    let session = write.call().map(|(session, _)| format!(", session {session}")).unwrap_or_default();
    let why = why(log, write).map(|said| format!(", after “{said}”")).unwrap_or_default();
    let undone = if write.undone { ", taken back" } else { "" };
    let changes = changed(&written.space, written.target, &written.changes);
    format!("{}  {}  {changes} ({who}{session}{why}{undone})", name(write.at), face.minute(write.time))
}

/// By the gateway that runs, else on the log itself.
fn undo(write: &str, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let profile = start.home.profile_name().to_owned();
    let errand = Errand::MemoryUndo { profile, write: write.to_owned() };
    let done = match gateway::ask(start, &Request::Errand(errand))? {
        Some(done) => done,
        None => {
            store::exists(&start.home)?;
            let loaded = start.load(&[])?;
            let log = engine::open_log(&loaded)?;
            let off = || Failure::message(Exit::Config, "memory is switched off");
            let notes = kept::memory(&loaded, &log).ok_or_else(off)?;
            let every = |_: &MemorySpace| true;
            let undone = notes.undo(write, None, every);
            undone
                .map(|undone| undone.as_json())
                .map_err(|why| Failure::message(Exit::Failed, why).hint("herm memory log"))?
        }
    };
    let said = done.get("said").and_then(Value::as_str).unwrap_or_default();
    Ok(out.line(said)?)
}
