//! `todo`: the session's list of steps. It is kept nowhere but in the log: the list that holds is
//! the one that the last finished call of this tool showed.

use std::collections::HashMap;

use herm_replay::log::{self, Log};
use herm_schema::events::{ToolFacts, ToolStatus};
use herm_schema::{CallRef, Event, StreamId, StreamPos, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ToolContext, ToolResult, Typed, outcome, typed};
use crate::providers::BoxFuture;

const NAME: &str = "todo";
/// Steps of a list, at most.
const STEPS_MAX: usize = 200;
/// Characters of a step, at most.
const STEP_CHARS_MAX: usize = 2_000;
/// Events that are read at a time, from the end backwards.
const EVENTS_A_READ: u64 = 256;

/// The tool.
pub struct Todo;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    todos: Option<Vec<Step>>,
    /// update steps by id instead of replacing the list
    #[serde(default)]
    merge: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct Step {
    id: String,
    content: String,
    status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl Typed for Todo {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::alone(NAME)
    }

    fn description(&self) -> &'static str {
        "Keep a list of steps for work of several steps. Gives the whole list back; without todos it only reads."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || update(args, &context).unwrap_or_else(outcome::failed)))
    }
}

fn update(arguments: Arguments, context: &ToolContext) -> Result<ToolResult, String> {
    let Arguments { todos, merge } = arguments;
    let list = match (todos, merge) {
        (Some(todos), false) => merged(Vec::new(), todos),
        (todos, _) => {
            let held =
                held(context).map_err(|source| format!("cannot read the list from the log: {source}"))?;
            merged(held, todos.unwrap_or_default())
        }
    };
    check(&list)?;
    Ok(outcome::succeeded(&shown(&list)))
}

/// `list` with the steps of `changes` in their places, new ones at the end.
fn merged(mut list: Vec<Step>, changes: Vec<Step>) -> Vec<Step> {
    for change in changes {
        match list.iter_mut().find(|step| step.id == change.id) {
            Some(step) => *step = change,
            None => list.push(change),
        }
    }
    list
}

fn check(list: &[Step]) -> Result<(), String> {
    if list.len() > STEPS_MAX {
        return Err(format!("the list would have {} steps; at most {STEPS_MAX} are kept", list.len()));
    }
    for step in list {
        if step.id.trim().is_empty() || step.content.trim().is_empty() {
            return Err("a step has no id or no content".to_owned());
        }
        if step.content.chars().count() > STEP_CHARS_MAX {
            return Err(format!("step `{}` is longer than {STEP_CHARS_MAX} characters", step.id));
        }
    }
    Ok(())
}

fn shown(list: &[Step]) -> Value {
    let count = |status| list.iter().filter(|step| step.status == status).count();
    json!({
        "todos": list,
        "summary": {
            "total": list.len(),
            "pending": count(Status::Pending),
            "in_progress": count(Status::InProgress),
            "completed": count(Status::Completed),
            "cancelled": count(Status::Cancelled),
        },
    })
}

/// The list that the last finished call showed; empty if there was none.
fn held(context: &ToolContext) -> Result<Vec<Step>, log::Error> {
    #[derive(Deserialize)]
    struct Shown {
        todos: Vec<Step>,
    }
    let log = context.services.log();
    let Some(text) = last_shown(log, context.session.stream())? else {
        return Ok(Vec::new());
    };
    let bytes = match text {
        Text::Inline(text) => text.into_bytes(),
        Text::Stored(blob) => log.blob(blob)?,
    };
    Ok(serde_json::from_slice::<Shown>(&bytes).map(|shown| shown.todos).unwrap_or_default())
}

/// What the last successful call of this tool showed. Read from the end backwards: an outcome is
/// kept until the intent before it says whose it is.
fn last_shown(log: &dyn Log, stream: StreamId) -> Result<Option<Text>, log::Error> {
    let Some(head) = log.head(stream)? else {
        return Ok(None);
    };
    let mut outcomes: HashMap<CallRef, Text> = HashMap::new();
    let mut end = head.stream_pos.0;
    while end > 0 {
        let start = end.saturating_sub(EVENTS_A_READ);
        let piece = log.read_stream(stream, StreamPos(start.saturating_add(1)));
        let piece: Vec<_> = piece.take((end - start) as usize).collect::<Result<_, _>>()?;
        for recorded in piece.into_iter().rev() {
            match recorded.event {
                Event::ToolCallFinished(finished) if finished.status == ToolStatus::Succeeded => {
                    outcomes.insert(finished.call, finished.shown);
                }
                Event::ToolCallStarted(started) => {
                    let shown = outcomes.remove(&started.call);
                    if started.name == NAME && shown.is_some() {
                        return Ok(shown);
                    }
                }
                _ => {}
            }
        }
        end = start;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Place, place};
    use herm_schema::events::{EffectClass, ToolCallFinished, ToolCallStarted};

    fn record(place: &Place, number: u64, name: &str, status: ToolStatus, shown: Text) {
        let call = CallRef { message: StreamPos(number), index: 0 };
        place.services.record(ToolCallStarted {
            call,
            name: name.into(),
            arguments: "{}".into(),
            effect: EffectClass::Repeatable,
        });
        place.services.record(ToolCallFinished {
            call,
            status,
            shown,
            images: Vec::new(),
            full: None,
            recovered: false,
            elapsed_us: 1,
        });
    }

    fn step(id: &str, status: &str) -> Value {
        json!({"id": id, "content": format!("do {id}"), "status": status})
    }

    #[test]
    fn the_list_comes_back_whole() {
        let place = place();
        let shown =
            place.succeeds(&Todo, json!({"todos": [step("a", "completed"), step("b", "in_progress")]}));
        assert_eq!(shown["todos"], json!([step("a", "completed"), step("b", "in_progress")]));
        let summary = json!({"total": 2, "pending": 0, "in_progress": 1, "completed": 1, "cancelled": 0});
        assert_eq!(shown["summary"], summary);
    }

    #[test]
    fn the_list_that_holds_is_the_last_in_the_log() {
        let place = place();
        assert_eq!(place.succeeds(&Todo, json!({}))["todos"], json!([]));
        let list = |id: &str| json!({"todos": [step(id, "pending")]}).to_string();
        record(&place, 1, "todo", ToolStatus::Succeeded, Text::Inline(list("old")));
        let blob = place.services.log.put_blob(list("held").as_bytes()).unwrap();
        record(&place, 2, "todo", ToolStatus::Succeeded, Text::Stored(blob));
        record(&place, 3, "todo", ToolStatus::Failed, Text::Inline("{\"error\": \"x\"}".into()));
        for number in 4..400 {
            record(&place, number, "read_file", ToolStatus::Succeeded, Text::Inline("{}".into()));
        }
        assert_eq!(place.succeeds(&Todo, json!({}))["todos"], json!([step("held", "pending")]));
        let merged = place.succeeds(
            &Todo,
            json!({"merge": true, "todos": [step("new", "pending"), step("held", "completed")]}),
        );
        assert_eq!(merged["todos"], json!([step("held", "completed"), step("new", "pending")]));
        let replaced = place.succeeds(&Todo, json!({"todos": []}));
        assert_eq!(replaced["todos"], json!([]));
    }

    #[test]
    fn steps_without_words_are_refused() {
        let place = place();
        let error = place.fails(&Todo, json!({"todos": [{"id": "a", "content": " ", "status": "pending"}]}));
        assert_eq!(error, "a step has no id or no content");
    }
}
