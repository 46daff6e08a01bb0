//! Tools of every effect class, whose effects are counted outside of herm.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herm::providers::BoxFuture;
use herm::tools::{Recovered, Tool, ToolContext, ToolResult};
use herm_schema::events::*;
use serde_json::{Value, json};

use super::Ground;

/// A tool whose calls say themselves how they go.
pub struct ScriptedTool {
    name: &'static str,
    effect: EffectClass,
    concurrency: Concurrency,
    ground: Arc<Mutex<Ground>>,
}

/// `look` and `post` run beside anything, `save` beside other paths, `send` alone. What became of
/// a `post` can be found out later if it took effect; of a `send`, never.
pub fn all(ground: &Arc<Mutex<Ground>>) -> Vec<Arc<dyn Tool>> {
    let tool = |name, effect, concurrency| -> Arc<dyn Tool> {
        Arc::new(ScriptedTool { name, effect, concurrency, ground: ground.clone() })
    };
    let path = Concurrency::Paths { arguments: vec!["path".to_owned()], writes: true };
    vec![
        tool("look", EffectClass::Repeatable, Concurrency::Parallel),
        tool("post", EffectClass::Once, Concurrency::Parallel),
        tool("save", EffectClass::Checkable, path),
        tool("send", EffectClass::Once, Concurrency::Serial),
    ]
}

impl ScriptedTool {
    fn result(&self, arguments: &Value) -> ToolResult {
        let size = arguments.get("size").and_then(Value::as_u64).unwrap_or(0) as usize;
        let shown = json!({"done": self.name, "n": arguments.get("n"), "output": "x".repeat(size)});
        let failed = word(arguments) == "fail";
        let status = if failed { ToolStatus::Failed } else { ToolStatus::Succeeded };
        ToolResult::text(status, shown.to_string())
    }

    fn take_effect(&self, context: &ToolContext) {
        let mut ground = self.ground.lock().unwrap_or_else(PoisonError::into_inner);
        *ground.effects.entry(context.call).or_default() += 1;
    }
}

fn word(arguments: &Value) -> &str {
    arguments.get("goes").and_then(Value::as_str).unwrap_or("well")
}

impl Tool for ScriptedTool {
    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: self.name.into(),
            effect: self.effect,
            concurrency: self.concurrency.clone(),
            refunds_iteration: false,
            judged: true,
        }
    }

    fn description(&self) -> &'static str {
        "Does what its arguments say."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {
            "n": {"type": "integer"},
            "path": {"type": "string"},
            "size": {"type": "integer"},
            "takes_ms": {"type": "integer"},
            "goes": {"type": "string", "enum": ["well", "fail", "panic", "stuck"]},
            "judge": {"type": "string"},
        }})
    }

    /// Half of the time passes before it takes effect, half of it after. An interrupt ends it.
    fn run<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let takes_ms = arguments.get("takes_ms").and_then(Value::as_u64).unwrap_or(1_000);
            let half = Duration::from_millis(takes_ms / 2);
            let interrupted = |shown: &str| {
                ToolResult::text(ToolStatus::Interrupted, json!({ "error": shown }).to_string())
            };
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return interrupted("nothing was done"),
                () = tokio::time::sleep(half) => {}
            }
            self.take_effect(context);
            match word(arguments) {
                "panic" => panic!("the tool panics"),
                "stuck" => std::future::pending().await,
                _ => {}
            }
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => interrupted("it was done"),
                () = tokio::time::sleep(half) => self.result(arguments),
            }
        })
    }

    fn recover<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        let done =
            self.ground.lock().unwrap_or_else(PoisonError::into_inner).effects.contains_key(&context.call);
        let recovered = match (self.effect, done) {
            (EffectClass::Checkable, true) => Recovered::Finished(self.result(arguments)),
            (EffectClass::Checkable, false) => Recovered::NotDone,
            // Its spool, as it were, kept the outcome.
            (EffectClass::Once, true) if self.name == "post" => Recovered::Finished(self.result(arguments)),
            _ => Recovered::Unknown,
        };
        Box::pin(async { recovered })
    }
}
