//! `clarify`: a question to the person of this session.

use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{ToolContext, ToolResult, Typed, outcome, typed};
use crate::providers::BoxFuture;

/// The tool.
pub struct Clarify;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    question: String,
    #[schemars(length(max = 4))]
    choices: Option<Vec<String>>,
}

impl Typed for Clarify {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::alone("clarify")
    }

    fn description(&self) -> &'static str {
        "Ask the user a question where only they can decide; they may always answer in their own words."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(ask(args, context))
    }
}

async fn ask(arguments: Arguments, context: &ToolContext) -> ToolResult {
    let (question, choices) = (arguments.question, arguments.choices.unwrap_or_default());
    if question.trim().is_empty() {
        return outcome::failed("the question is empty");
    }
    let answer = tokio::select! {
        biased;
        () = context.cancel.cancelled() => return outcome::interrupted(),
        answer = context.services.ask(context.session, &question, &choices) => answer,
    };
    let mut shown = json!({"question": question, "choices_offered": choices, "user_response": answer});
    if let (None, Some(object)) = (answer, shown.as_object_mut()) {
        let note = "Nobody answered. Go on as you judge best, and say what you assumed.";
        object.insert("note".into(), json!(note));
    }
    outcome::succeeded(&shown)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::tools::testing::place;
    use herm_schema::events::ToolStatus;

    #[test]
    fn the_answer_comes_back() {
        let place = place();
        *place.services.answer.lock().unwrap() = Some("blue".into());
        let shown = place.succeeds(&Clarify, json!({"question": "Which?", "choices": ["red", "blue"]}));
        assert_eq!(shown["user_response"], "blue");
        let asked = place.services.asked.lock().unwrap().clone();
        assert_eq!(asked, [("Which?".to_owned(), vec!["red".to_owned(), "blue".to_owned()])]);
    }

    #[test]
    fn silence_is_said_to_be_silence() {
        let place = place();
        let shown = place.succeeds(&Clarify, json!({"question": "Which?"}));
        assert_eq!(shown["user_response"], Value::Null);
        assert!(shown["note"].as_str().unwrap().starts_with("Nobody answered"));
    }

    #[test]
    fn an_interrupt_ends_the_waiting() {
        let place = place();
        *place.services.never_answers.lock().unwrap() = true;
        place.context.cancel.cancel();
        let (status, _) = place.run(&Clarify, json!({"question": "Which?"}));
        assert_eq!(status, ToolStatus::Interrupted);
    }

    #[test]
    fn an_empty_question_is_not_asked() {
        let place = place();
        assert_eq!(place.fails(&Clarify, json!({"question": " "})), "the question is empty");
        assert!(place.services.asked.lock().unwrap().is_empty());
    }
}
