//! `herm explain args`: what a tool is given for the arguments that a model wrote, and why.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::entry::tools::{self, toolbox};
use crate::entry::{Exit, Failure, Out, Start};
use crate::tools::arguments;

/// Say what a tool is given for the arguments that a model wrote, and why.
///
/// The arguments come on stdin, as JSON. `arguments` is what the tool is given, `corrections` what was
/// turned into something else, `error` what the model is told instead where they do not fit.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  echo '{\"path\": \"notes.md\", \"limit\": \"20\"}' | herm explain args --tool read_file
  herm explain args --schema schema.json < args.json")]
pub struct Arguments {
    /// The tool that is called.
    #[arg(long, value_name = "NAME", required_unless_present = "schema", conflicts_with = "schema")]
    tool: Option<String>,

    /// A file with a JSON schema, instead of a tool.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

pub fn run(arguments: &Arguments, text: &[u8], start: &Start, out: &mut Out) -> Result<(), Failure> {
    let schema = schema(arguments, start)?;
    let read = arguments::read(&schema, &String::from_utf8_lossy(text));
    let corrections: Vec<Value> = read
        .corrections
        .iter()
        .map(|one| match &one.to {
            Some(to) => json!({"path": one.path, "from": one.from, "to": to}),
            None => json!({"path": one.path, "from": one.from, "left_out": true}),
        })
        .collect();
    out.json(&json!({
        "tool": arguments.tool,
        "fits": read.error.is_none(),
        "arguments": read.arguments,
        "corrections": corrections,
        "error": read.error,
    }))?;
    Ok(())
}

fn schema(arguments: &Arguments, start: &Start) -> Result<Value, Failure> {
    if let Some(path) = &arguments.schema {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::message(Exit::Usage, format!("cannot read `{}`: {error}", path.display()))
        })?;
        let schema = serde_json::from_str(&text).map_err(|error| {
            Failure::message(Exit::Usage, format!("`{}` is no JSON schema: {error}", path.display()))
        })?;
        return Ok(arguments::schema_of(schema));
    }
    let name = arguments.tool.as_deref().unwrap_or_default();
    let all = toolbox::tools(&start.load(&[])?)?;
    let known: Vec<String> = all.iter().map(|tool| tool.facts().name).collect();
    match all.iter().find(|tool| tool.facts().name == name) {
        Some(tool) => Ok(tool.parameters()),
        None => Err(tools::unknown("tool", name, known.iter().map(String::as_str))),
    }
}
