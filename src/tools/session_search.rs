//! `session_search`: what was said in past sessions. The search itself is a projection of the log;
//! this only hands the question on.

use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ToolContext, ToolResult, Typed, outcome, typed};
use crate::providers::BoxFuture;

/// The tool.
pub struct SessionSearch;

/// What is not given is not handed on.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(skip_serializing_if = "Option::is_none")]
    query: Option<String>,
    /// default 3
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sort: Option<Sort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    around_message_id: Option<i64>,
    /// messages on each side (default 5)
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<i64>,
    /// such as `user,assistant`
    #[serde(skip_serializing_if = "Option::is_none")]
    role_filter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Newest,
    Oldest,
}

impl Typed for SessionSearch {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::reading("session_search")
    }

    fn description(&self) -> &'static str {
        "Search past sessions. With query: find; with session_id: read it, or scroll around a message; \
         with neither: list the latest."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        let arguments = serde_json::to_value(&args).unwrap_or_default();
        Box::pin(outcome::blocking(move || {
            let shown = context.services.search_sessions(context.session, &arguments);
            match shown.get("error").filter(|error| !error.is_null()) {
                Some(Value::String(error)) => outcome::failed(error),
                Some(error) => outcome::failed(error),
                None => outcome::succeeded(&shown),
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::place;

    #[test]
    fn the_question_is_handed_on_as_it_is() {
        let place = place();
        let shown = place.succeeds(&SessionSearch, json!({"query": "rust \"log\"", "limit": "2"}));
        assert_eq!(shown["asked"], json!({"query": "rust \"log\"", "limit": 2}));
    }

    #[test]
    fn an_error_is_a_failure() {
        let place = place();
        assert_eq!(place.fails(&SessionSearch, json!({"session_id": "x"})), "no such session");
    }
}
