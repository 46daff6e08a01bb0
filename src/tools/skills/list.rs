//! `skills_list`: a line for each skill.

use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{ToolContext, ToolResult, Typed, outcome, typed};
use super::{platform, workshop};
use crate::providers::BoxFuture;
use crate::skills::{Found, Skill};

/// The tool.
pub struct List;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    category: Option<String>,
}

impl Typed for List {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::reading("skills_list")
    }

    fn description(&self) -> &'static str {
        "List skills: name, category, description."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || match list(args.category.as_deref(), &context) {
            Ok(shown) => outcome::succeeded(&shown),
            Err(error) => outcome::failed(error),
        }))
    }
}

fn list(category: Option<&str>, context: &ToolContext) -> Result<Value, String> {
    let Found { skills, broken } = workshop(context)?.library.found();
    let platform = platform(context);
    let own = |skill: &&Skill| category.is_none_or(|wanted| skill.category.as_deref() == Some(wanted));
    let here = || skills.iter().filter(|skill| skill.frontmatter.suits(&platform));
    let mut categories: Vec<&str> = here().filter_map(|skill| skill.category.as_deref()).collect();
    categories.sort_unstable();
    categories.dedup();
    let row = |skill: &Skill| {
        json!({
            "name": skill.name, "category": skill.category, "description": skill.frontmatter.description,
            "note": skill.slip,
        })
    };
    let broken =
        broken.iter().map(|broken| json!({ "path": broken.path.display().to_string(), "why": broken.why }));
    Ok(json!({
        "success": true,
        "skills": here().filter(own).map(row).collect::<Vec<_>>(),
        "categories": categories,
        "broken": broken.collect::<Vec<_>>(),
    }))
}
