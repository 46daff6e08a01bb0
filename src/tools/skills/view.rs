//! `skill_view`: a skill whole, or a file of it.

use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::{ToolContext, ToolResult, Typed, outcome, typed};
use super::workshop;
use crate::providers::BoxFuture;
use crate::skills::Viewed;

/// The tool.
pub struct View;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    name: String,
    /// a file of it, such as references/api.md
    file_path: Option<String>,
}

impl Typed for View {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::reading("skill_view")
    }

    fn description(&self) -> &'static str {
        "Read a skill whole, or a file of it."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || match view(&args, &context) {
            Ok(shown) => outcome::succeeded(&shown),
            Err(error) => outcome::failed(error),
        }))
    }
}

fn view(args: &Arguments, context: &ToolContext) -> Result<Value, String> {
    let workshop = workshop(context)?;
    let viewed = workshop.library.view(&args.name, args.file_path.as_deref(), Some(context.session))?;
    workshop.note_loaded(&viewed.skill, viewed.file.as_deref(), context.session, Some(context.call));
    Ok(shown(viewed))
}

/// What the model is shown; what there is nothing to say of is left out.
fn shown(viewed: Viewed) -> Value {
    let Viewed { skill, file, content, linked, missing_variables, missing_commands } = viewed;
    let head = &skill.frontmatter;
    let mut shown = Map::new();
    let mut put = |key: &str, value: Value| {
        let nothing = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(Map::is_empty);
        if !nothing {
            shown.insert(key.to_owned(), value);
        }
    };
    put("success", json!(true));
    put("name", json!(skill.name));
    put("skill_dir", json!(skill.folder.display().to_string()));
    put("file", json!(file));
    if file.is_none() {
        put("description", json!(head.description));
        put("version", json!(head.version));
        put("tags", json!(head.tags));
        put("related_skills", json!(head.related));
        put("linked_files", json!(linked));
        if !linked.is_empty() {
            put("usage_hint", json!("skill_view with file_path reads one of linked_files"));
        }
        put("note", json!(skill.slip));
        let names: Vec<&str> = missing_variables.iter().map(|(name, _)| name.as_str()).collect();
        let help: Map<String, Value> = missing_variables
            .iter()
            .filter_map(|(name, help)| Some((name.clone(), json!(help.as_ref()?))))
            .collect();
        put(
            "required_environment_variables",
            json!(head.variables.iter().map(|v| &v.name).collect::<Vec<_>>()),
        );
        put("missing_required_environment_variables", json!(names));
        put("setup_help", Value::Object(help));
        put("missing_required_commands", json!(missing_commands));
        let needed = !missing_variables.is_empty() || !missing_commands.is_empty();
        put("setup_needed", json!(needed));
        put("readiness_status", json!(if needed { "setup_needed" } else { "available" }));
    }
    put("content", json!(content));
    Value::Object(shown)
}
