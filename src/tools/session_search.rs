//! `session_search`: what was said in past sessions. The search itself is a projection of the log;
//! this only hands the question on.

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolResult, outcome};
use crate::providers::BoxFuture;

/// The tool.
pub struct SessionSearch;

impl Tool for SessionSearch {
    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: "session_search".into(),
            effect: EffectClass::Repeatable,
            concurrency: Concurrency::Parallel,
            refunds_iteration: false,
            judged: false,
        }
    }

    fn description(&self) -> &'static str {
        "Search past sessions. With query: find; with session_id: read it, or scroll around a message; \
         with neither: list the latest."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "default": 3},
                "sort": {"type": "string", "enum": ["newest", "oldest"]},
                "session_id": {"type": "string"},
                "around_message_id": {"type": "integer"},
                "window": {"type": "integer", "description": "messages on each side", "default": 5},
                "role_filter": {"type": "string", "description": "such as `user,assistant`"},
                "profile": {"type": "string"},
            },
        })
    }

    fn run<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let (arguments, context) = (arguments.clone(), context.clone());
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
