//! `memory`: what is to be known in later sessions. Kept by [`crate::memory`]; this only asks.

use herm_replay::memory::{Operation, chars};
use herm_schema::events::{EffectClass, MemoryTarget, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Recovered, ToolContext, ToolResult, Typed, outcome, typed};
use crate::memory::{Asked, Live, Outcome, Refused, name};
use crate::providers::BoxFuture;

/// Changes of one call, at most.
const OPERATIONS_MAX: usize = 50;

/// The tool.
pub struct Memory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// memory: your notes (environment, conventions, lessons); user: who the user is
    target: Target,
    action: Option<Action>,
    content: Option<String>,
    /// unique part of the entry meant
    old_text: Option<String>,
    /// several changes, all or none, instead of action
    operations: Option<Vec<Change>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Target {
    Memory,
    User,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Add,
    Replace,
    Remove,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    action: Action,
    content: Option<String>,
    old_text: Option<String>,
}

impl Typed for Memory {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        ToolFacts { effect: EffectClass::Checkable, ..typed::alone("memory") }
    }

    fn description(&self) -> &'static str {
        "Keep what later sessions must know: preferences, corrections, facts of the surroundings. Short entries; \
         no task progress, no secrets. Saved at once; your prompt shows it from the next session on."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || match write(args, &context) {
            Ok(done) => shown(done),
            Err(error) => outcome::failed(error),
        }))
    }

    fn found_out<'a>(&'a self, _: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        let context = context.clone();
        Box::pin(async move {
            let found = move || {
                let Some((memory, space)) = context.services.memory(context.session) else {
                    return Recovered::Unknown;
                };
                match memory.found_out(context.session, context.call, &space) {
                    Some(done) => Recovered::Finished(shown(done)),
                    None => Recovered::NotDone,
                }
            };
            tokio::task::spawn_blocking(found).await.unwrap_or(Recovered::Unknown)
        })
    }
}

fn write(args: Arguments, context: &ToolContext) -> Result<Result<Live, Refused>, String> {
    let Arguments { target, action, content, old_text, operations } = args;
    let changes = match (action, operations) {
        (Some(action), None) => vec![Change { action, content, old_text }],
        (None, Some(changes)) => changes,
        (Some(_), Some(_)) => return Err("give `action` or `operations`, not both".to_owned()),
        (None, None) => return Err("give an `action`: add, replace or remove".to_owned()),
    };
    if changes.len() > OPERATIONS_MAX {
        return Err(format!("{} operations; at most {OPERATIONS_MAX} at once", changes.len()));
    }
    let operations = changes.into_iter().map(operation).collect::<Result<_, _>>()?;
    let target = match target {
        Target::Memory => MemoryTarget::Memory,
        Target::User => MemoryTarget::User,
    };
    let (memory, space) = context
        .services
        .memory(context.session)
        .ok_or("nothing is remembered here: memory is switched off")?;
    let (session, call) = (context.session, context.call);
    Ok(memory.write(Asked { session, call, space, target, operations }))
}

fn operation(change: Change) -> Result<Operation, String> {
    let missing = |name: &str| format!("`{name}` is missing");
    let Change { action, content, old_text } = change;
    Ok(match action {
        Action::Add => Operation::Add { content: content.ok_or_else(|| missing("content"))? },
        Action::Replace => Operation::Replace {
            old_text: old_text.ok_or_else(|| missing("old_text"))?,
            content: content.ok_or_else(|| missing("content"))?,
        },
        Action::Remove => Operation::Remove { old_text: old_text.ok_or_else(|| missing("old_text"))? },
    })
}

fn shown(done: Result<Live, Refused>) -> ToolResult {
    let usage = |entries: &[String], limit: usize| format!("{}/{limit} chars", chars(entries));
    match done {
        Ok(Live { target, outcome, entries, limit_chars }) => {
            let target = match target {
                MemoryTarget::Memory => "memory",
                MemoryTarget::User => "user",
            };
            let usage = usage(&entries, limit_chars);
            let (pending, message) = match outcome {
                Outcome::Written(at) => (None, format!("kept ({})", name(at))),
                Outcome::Proposed(at) => {
                    let id = name(at);
                    let message = format!("not kept yet: the user is to say yes, by /memory approve {id}");
                    (Some(id), message)
                }
            };
            outcome::succeeded(&json!({
                "success": true, "target": target, "entries": entries, "usage": usage, "message": message,
                "pending": pending,
            }))
        }
        Err(Refused { message, entries, limit_chars }) => {
            let usage = usage(&entries, limit_chars);
            let more =
                [("success", json!(false)), ("current_entries", json!(entries)), ("usage", json!(usage))];
            outcome::failed_with(
                message,
                more.map(|(key, value)| (key.to_owned(), value)).into_iter().collect::<Map<_, _>>(),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use herm_replay::log::MemoryLog;
    use herm_replay::memory::Limits;

    use super::*;
    use crate::effects::profile_stream;
    use crate::memory::{MemoryConfig, Notes, Setting};
    use crate::runtime::SystemClock;
    use crate::tools::testing::{Place, place};

    fn remembering(approval: bool) -> Place {
        let place = place();
        let limits = Limits { memory_chars: 100, user_chars: 50 };
        let notes = Notes::new(Setting {
            log: Arc::new(MemoryLog::new()),
            profile: profile_stream("default"),
            home: &place.context.home,
            config: MemoryConfig { notes: true, users: true, approval, limits, apart: true },
            redact: Arc::new(str::to_owned),
            clock: Arc::new(SystemClock),
        });
        *place.services.memory.lock().unwrap() = Some(Arc::new(notes));
        place
    }

    /// Each call of a test is a call of its own.
    fn next(place: &mut Place) -> &Place {
        place.context.call.index += 1;
        place
    }

    #[test]
    fn the_answer_shows_what_is_kept_now() {
        let mut place = remembering(false);
        let add = json!({"target": "user", "action": "add", "content": "likes apples"});
        let shown = next(&mut place).succeeds(&Memory, add);
        let expected = json!({
            "success": true, "target": "user", "entries": ["likes apples"], "usage": "12/50 chars",
            "message": "kept (m1)", "pending": null,
        });
        assert_eq!(shown, expected);
        let several = json!({"target": "user", "operations": [
            {"action": "replace", "old_text": "apples", "content": "likes pears"},
            {"action": "add", "content": "is called Ann"},
        ]});
        let shown = next(&mut place).succeeds(&Memory, several);
        assert_eq!(shown["entries"], json!(["likes pears", "is called Ann"]));
        let memory = place.context.home.join("memories/USER.md");
        assert_eq!(std::fs::read_to_string(memory).unwrap(), "likes pears\n§\nis called Ann\n");
    }

    #[test]
    fn a_refusal_shows_what_there_is_so_that_the_next_try_can_be_right() {
        let mut place = remembering(false);
        let add = |content: &str| json!({"target": "user", "action": "add", "content": content});
        next(&mut place).succeeds(&Memory, add(&"a".repeat(40)));
        let (status, shown) = next(&mut place).run(&Memory, add(&"b".repeat(20)));
        assert_eq!(
            (status, &shown["current_entries"]),
            (herm_schema::events::ToolStatus::Failed, &json!(["a".repeat(40)]))
        );
        let error = shown["error"].as_str().unwrap();
        assert!(
            error.contains("40 of 50") && error.contains("63") && error.contains("at least 13"),
            "{error}"
        );
        assert_eq!(shown["usage"], "40/50 chars");
    }

    #[test]
    fn what_is_asked_has_to_make_sense() {
        let mut place = remembering(false);
        for (asked, why) in [
            (json!({"target": "user"}), "give an `action`"),
            (json!({"target": "user", "action": "add"}), "`content` is missing"),
            (json!({"target": "user", "action": "remove"}), "`old_text` is missing"),
            (json!({"target": "user", "action": "add", "content": "x", "operations": []}), "not both"),
            (json!({"target": "user", "operations": []}), "nothing is asked for"),
        ] {
            let error = next(&mut place).fails(&Memory, asked);
            assert!(error.contains(why), "{error}");
        }
        *place.services.memory.lock().unwrap() = None;
        let add = json!({"target": "user", "action": "add", "content": "x"});
        assert!(place.fails(&Memory, add).contains("switched off"));
    }

    #[test]
    fn what_waits_for_a_word_says_so() {
        let mut place = remembering(true);
        let add = json!({"target": "memory", "action": "add", "content": "x"});
        let shown = next(&mut place).succeeds(&Memory, add);
        assert_eq!((&shown["pending"], &shown["entries"]), (&json!("m1"), &json!([])));
        assert!(matches!(place.recovers(&Memory), Recovered::Finished(_)));
        assert_eq!(next(&mut place).recovers(&Memory), Recovered::NotDone);
    }
}
