//! `skill_manage`: what the model has learned to do, written down for later sessions.

use herm_schema::events::{EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{Recovered, ToolContext, ToolResult, Typed, outcome, typed};
use super::workshop;
use crate::providers::BoxFuture;
use crate::skills::{Change, Edit, Refused, Written, name};

/// The tool.
pub struct Manage;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    action: Action,
    name: String,
    /// create, edit: whole SKILL.md, frontmatter with name and description first
    content: Option<String>,
    category: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    /// below references/, templates/, scripts/ or assets/
    file_path: Option<String>,
    file_content: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    Patch,
    Edit,
    Delete,
    WriteFile,
    RemoveFile,
}

impl Typed for Manage {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        ToolFacts { effect: EffectClass::Checkable, ..typed::alone("skill_manage") }
    }

    fn description(&self) -> &'static str {
        "Write skills: how a kind of task is done here, for later sessions. After hard work or a correction, patch the \
         skill you used or create one for the whole kind of task."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || match manage(args, &context) {
            Ok(done) => shown(done),
            Err(error) => outcome::failed(error),
        }))
    }

    fn found_out<'a>(&'a self, _: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        let context = context.clone();
        Box::pin(async move {
            let found = move || {
                let Ok(workshop) = workshop(&context) else { return Recovered::Unknown };
                match workshop.found_out(context.session, context.call) {
                    Some(done) => Recovered::Finished(shown(done)),
                    None => Recovered::NotDone,
                }
            };
            tokio::task::spawn_blocking(found).await.unwrap_or(Recovered::Unknown)
        })
    }
}

fn manage(args: Arguments, context: &ToolContext) -> Result<Result<Written, Refused>, String> {
    let workshop = workshop(context)?;
    // What stands in a skill is followed in every session, also in those of others.
    if !context.services.owned(context.session) {
        return Err("only the owners of this profile teach it skills; memory is this user's own".to_owned());
    }
    let edit = Edit { name: args.name.clone(), change: change(args)? };
    Ok(workshop.change(edit, context.session, context.call))
}

fn change(args: Arguments) -> Result<Change, String> {
    let Arguments {
        action,
        content,
        category,
        old_string,
        new_string,
        replace_all,
        file_path,
        file_content,
        ..
    } = args;
    let needed = |value: Option<String>, name: &str| value.ok_or_else(|| format!("`{name}` is missing"));
    Ok(match action {
        Action::Create => Change::Create { category, content: needed(content, "content")? },
        Action::Edit => Change::Edit { content: needed(content, "content")? },
        Action::Patch => Change::Patch {
            file: file_path,
            old: needed(old_string, "old_string")?,
            new: needed(new_string, "new_string")?,
            all: replace_all,
        },
        Action::Delete => Change::Delete,
        Action::WriteFile => Change::WriteFile {
            file: needed(file_path, "file_path")?,
            content: needed(file_content, "file_content")?,
        },
        Action::RemoveFile => Change::RemoveFile { file: needed(file_path, "file_path")? },
    })
}

fn shown(done: Result<Written, Refused>) -> ToolResult {
    match done {
        Ok(Written { at, event, folder }) => outcome::succeeded(&json!({
            "success": true,
            "message": format!("{:?} of `{}` is done ({})", event.action, event.name, name(at)),
            "path": folder.display().to_string(),
            "files": event.files.iter().map(|file| &file.path).collect::<Vec<_>>(),
        })),
        Err(Refused(why)) => outcome::failed(why),
    }
}
