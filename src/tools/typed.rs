//! Tools whose arguments are a Rust type: the JSON schema comes from the type, the arguments are read
//! into it, and what cannot be read is told. A tool is then its type and what it does.
//!
//! The schema is what a model is sent with every request, so it is made terse: no titles, no formats,
//! nothing that says what leaving a member out says already. Members that the type does not know are
//! refused where the type says `deny_unknown_fields`, and not in the schema.

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Recovered, Tool, ToolContext, ToolResult, outcome};
use crate::providers::BoxFuture;

/// A tool with a type for its arguments; it is a [`Tool`] by that.
pub trait Typed: Send + Sync {
    /// What it is given. Doc comments of members go to the model: only where the name does not say it.
    type Args: DeserializeOwned + JsonSchema + Send;

    fn facts(&self) -> ToolFacts;

    /// One or two terse sentences for the model.
    fn description(&self) -> &str;

    /// Whether it can work here and now; if not, what is missing and how to have it.
    ///
    /// # Errors
    /// A sentence for a person.
    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    /// Runs it.
    fn call<'a>(&'a self, args: Self::Args, context: &'a ToolContext) -> BoxFuture<'a, ToolResult>;

    /// As [`Tool::recover`].
    fn found_out<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        let _ = (arguments, context);
        Box::pin(async { Recovered::Unknown })
    }
}

impl<T: Typed> Tool for T {
    fn facts(&self) -> ToolFacts {
        Typed::facts(self)
    }

    fn description(&self) -> &str {
        Typed::description(self)
    }

    fn parameters(&self) -> Value {
        schema::<T::Args>()
    }

    fn available(&self) -> Result<(), String> {
        Typed::available(self)
    }

    fn run<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        match outcome::read_arguments(arguments) {
            Ok(args) => self.call(args, context),
            Err(result) => Box::pin(async move { result }),
        }
    }

    fn recover<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        self.found_out(arguments, context)
    }
}

/// Facts of a tool that only looks, and may look at several things at once.
pub(crate) fn reading(name: &str) -> ToolFacts {
    ToolFacts {
        name: name.into(),
        effect: EffectClass::Repeatable,
        concurrency: Concurrency::Parallel,
        refunds_iteration: false,
        judged: false,
    }
}

/// As [`reading`], for one that runs alone.
pub(crate) fn alone(name: &str) -> ToolFacts {
    ToolFacts { concurrency: Concurrency::Serial, ..reading(name) }
}

/// The terse JSON schema of a type.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>().to_value();
    let mut schema = terse(schema);
    if let Some(object) = schema.as_object_mut() {
        // The tool's own description says it.
        object.shift_remove("description");
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Keywords that tell a model nothing.
const NOISE: &[&str] = &["$schema", "title", "format", "additionalProperties"];

fn terse(schema: Value) -> Value {
    let Value::Object(mut object) = schema else { return schema };
    for key in NOISE {
        object.shift_remove(*key);
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.shift_remove("default");
    }
    // That of every unsigned number.
    if object.get("minimum").and_then(Value::as_u64) == Some(0) {
        object.shift_remove("minimum");
    }
    if let Some(Value::Array(kinds)) = object.get("type") {
        let kinds: Vec<Value> = kinds.iter().filter(|kind| **kind != "null").cloned().collect();
        let only = <[Value; 1]>::try_from(kinds);
        match only {
            Ok([kind]) => object.insert("type".into(), kind),
            Err(kinds) => object.insert("type".into(), Value::Array(kinds)),
        };
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(branches) = object.get("anyOf").and_then(Value::as_array) {
        let real: Vec<&Value> =
            branches.iter().filter(|branch| branch.get("type") != Some(&"null".into())).collect();
        if let [Value::Object(only)] = real.as_slice() {
            let only = only.clone();
            object.shift_remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    let terse_in = |value: Value| match value {
        Value::Array(items) => items.into_iter().map(terse).collect(),
        other => terse(other),
    };
    let object = object.into_iter().map(|(key, value)| match key.as_str() {
        "properties" => match value {
            Value::Object(members) => {
                (key, Value::Object(members.into_iter().map(|(name, value)| (name, terse(value))).collect()))
            }
            other => (key, other),
        },
        "items" | "anyOf" | "oneOf" | "allOf" | "prefixItems" => (key, terse_in(value)),
        _ => (key, value),
    });
    Value::Object(object.collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Fast,
        Slow,
    }

    /// Not for the model.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Args {
        path: String,
        /// lines
        limit: Option<u64>,
        #[serde(default)]
        deep: bool,
        mode: Option<Mode>,
        parts: Option<Vec<Part>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Part {
        id: i64,
    }

    #[test]
    fn a_schema_says_what_a_model_must_know_and_no_more() {
        let expected = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer", "description": "lines"},
                "deep": {"type": "boolean", "default": false},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "parts": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
                },
            },
            "required": ["path"],
        });
        assert_eq!(schema::<Args>(), expected);
    }
}
