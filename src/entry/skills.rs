//! `herm skills`: what skills there are, who wrote which, and taking a write back.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use herm_schema::Micros;
use herm_schema::events::{Author, SkillAction};
use serde_json::{Value, json};

use super::time::Clockface;
use super::{Exit, Failure, Out, Start, engine, gateway, kept, store};
use crate::effects::profile_stream;
use crate::gateway::control::Request;
use crate::gateway::errands::Errand;
use crate::skills::{Found, Skill, Write, loads, name, writes};

/// See skills, who wrote which, and take a write back.
#[derive(Args, Debug)]
pub struct SkillsCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List skills, and folders that would be some and cannot be read.
    #[command(after_help = "\
Examples:
  herm skills list
  herm skills list --json | jq -r .name")]
    List {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Show a skill as the model reads it, or a file of it.
    #[command(after_help = "\
Examples:
  herm skills show deploy-to-staging
  herm skills show deploy-to-staging references/hosts.md")]
    Show {
        /// Its name, or category/name.
        skill: String,
        /// A file below its folder.
        file: Option<String>,
    },
    /// List every write by way of herm.
    #[command(after_help = "\
Examples:
  herm skills log
  herm skills log --json")]
    Log {
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Take a write back; that is a write itself, and can be taken back.
    #[command(after_help = "\
Examples:
  herm skills undo
  herm skills undo s12")]
    Undo {
        /// Its name, as `herm skills log` shows it; the last one if there is none.
        write: Option<String>,
    },
}

pub fn run(arguments: &SkillsCommand, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List { json } => list(*json, start, out)?,
        Action::Show { skill, file } => {
            let library = kept::library(&start.load(&[])?);
            let viewed = library.view(skill, file.as_deref(), None);
            let viewed = viewed.map_err(|why| Failure::message(Exit::Usage, why).hint("herm skills list"))?;
            viewed.content.lines().try_for_each(|line| out.line(line))?;
        }
        Action::Log { json } => log(*json, start, out)?,
        Action::Undo { write } => undo(write.as_deref().unwrap_or_default(), start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn list(json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let Found { skills, broken } = kept::library(&start.load(&[])?).found();
    let loads = match engine::has_log(&start.home) {
        true => loads(&*store::log(&start.home)?, profile_stream(start.home.profile_name()))?,
        false => BTreeMap::new(),
    };
    for skill in &skills {
        let loads = loads.get(&skill.name).copied().unwrap_or_default();
        match json {
            true => out.json(&as_json(skill, loads))?,
            false => out.line(&in_words(skill, loads))?,
        }
    }
    for broken in &broken {
        let path = broken.path.display().to_string();
        match json {
            true => out.json(&json!({ "broken": path, "why": broken.why }))?,
            false => out.line(&format!("! {path}: {}", broken.why))?,
        }
    }
    Ok(())
}

fn as_json(skill: &Skill, (loads, last): (u64, Micros)) -> Value {
    json!({
        "loads": loads, "last_loaded_us": (loads > 0).then_some(last.0),
        "name": skill.name, "category": skill.category, "description": skill.frontmatter.description,
        "version": skill.frontmatter.version, "tags": skill.frontmatter.tags, "own": skill.own,
        "path": skill.folder.display().to_string(), "note": skill.slip,
    })
}

fn in_words(skill: &Skill, (loads, _): (u64, Micros)) -> String {
    let category = skill.category.as_deref().unwrap_or("-");
    let description = skill.frontmatter.description.as_deref().unwrap_or("(no description)");
    let slip = skill.slip.as_ref().map(|slip| format!(" [{slip}]")).unwrap_or_default();
    let read = if loads == 1 { "read once".to_owned() } else { format!("read {loads} times") };
    format!("{:<28} {category:<20} {read:<16} {description}{slip}", skill.name)
}

fn log(json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let log = store::log(&start.home)?;
    let face = Clockface::of(start);
    for write in writes(&*log, profile_stream(start.home.profile_name()))? {
        match json {
            true => out.json(&json!({
                "write": name(write.at), "at_us": write.time.0, "turn": write.turn, "written": write.written,
                "undone": write.undone,
            }))?,
            false => out.line(&in_line(&write, &face))?,
        }
    }
    Ok(())
}

fn in_line(write: &Write, face: &Clockface) -> String {
    let written = &write.written;
    let files: Vec<&str> = written.files.iter().map(|file| file.path.as_str()).collect();
    let who = match &written.author {
        Author::Model { session, .. } => format!("the model, session {session}"),
        Author::Files => "by hand".to_owned(),
        Author::Person { .. } => "a person".to_owned(),
    };
    let what = match (written.action, written.undoes) {
        (SkillAction::Undo, Some(undoes)) => format!("takes {} back", name(undoes)),
        (action, _) => format!("{action:?}"),
    };
    let undone = if write.undone { ", taken back" } else { "" };
    let at = face.minute(write.time);
    format!("{}  {at}  {}: {what} {} ({who}{undone})", name(write.at), written.name, files.join(", "))
}

/// By the gateway that runs, else on the log itself.
fn undo(write: &str, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let profile = start.home.profile_name().to_owned();
    let errand = Errand::SkillUndo { profile, write: write.to_owned() };
    let done = match gateway::ask(start, &Request::Errand(errand))? {
        Some(done) => done,
        None => {
            store::exists(&start.home)?;
            let loaded = start.load(&[])?;
            let log = engine::open_log(&loaded)?;
            let undone = kept::workshop(&loaded, &log).undo(write, None);
            let failed = |why| Failure::message(Exit::Failed, why).hint("herm skills log");
            undone.map_err(failed)?.as_json()
        }
    };
    let said = done.get("said").and_then(Value::as_str).unwrap_or_default();
    Ok(out.line(said)?)
}
