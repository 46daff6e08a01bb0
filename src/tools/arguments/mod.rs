//! What the model wrote as arguments, made into what the tool takes, or refused with the reason.
//!
//! [`prepare`] is the whole way: parse, correct by the schema, check. Correction is modest and
//! never blind: it only turns a value into what the schema asks for where the text is
//! unmistakably that, and a string stays a string wherever a string is allowed first.
//! [`canonical`] is the form that is recorded, compared and sent again.
//!
//! [`schema`] reads a schema as the alternatives that it allows, [`fix`] corrects towards them,
//! [`check`] says what is wrong then. Numbers never pass through a float on the way.

mod check;
mod fix;
mod schema;
mod telling;

use serde_json::{Map, Value, json};

use super::{sanitize, text};
use schema::Schema;

/// The same value as text is the same bytes on every machine: keys sorted, no spaces.
pub use herm_replay::reducer::canonical::to_string as canonical;
pub use telling::telling;

/// Mistakes that one error lists, at most.
const MISTAKES_MAX: usize = 5;
/// Corrections that are told, at most.
const CORRECTIONS_MAX: usize = 100;

/// One value that was not what it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// Such as `items[0].id`; empty for the whole.
    pub path: String,
    pub from: Value,
    /// `None` where it was left out: a `null` that says no more than that.
    pub to: Option<Value>,
}

/// What became of arguments.
#[derive(Clone, Debug)]
pub struct Read {
    /// Corrected as far as they can be, whether they fit or not.
    pub arguments: Value,
    pub corrections: Vec<Correction>,
    /// What does not fit, for the model.
    pub error: Option<String>,
}

/// Arguments that fit `schema`, from the text that the model wrote.
///
/// # Errors
/// A text for the model that names each wrong argument, what was expected and what was found.
pub fn prepare(schema: &Value, raw: &str) -> Result<Value, String> {
    let read = read(schema, raw);
    match read.error {
        None => Ok(read.arguments),
        Some(error) => Err(sanitize::sanitize(&error)),
    }
}

/// As [`prepare`], with everything that there is to know.
pub fn read(schema: &Value, raw: &str) -> Read {
    match parsed(schema, raw) {
        Ok(value) => corrected(schema, value),
        Err(error) => Read { arguments: Value::Null, corrections: Vec::new(), error: Some(error) },
    }
}

/// The value as it was written. Arguments that were written as a JSON text in a JSON text, or as
/// nothing at all, are an object all the same.
fn parsed(schema: &Value, raw: &str) -> Result<Value, String> {
    let of_object = Schema::new(schema).root().takes("object");
    if of_object && raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let parse = |text: &str| {
        serde_json::from_str::<Value>(text).map_err(|source| {
            let cut = if source.is_eof() { "; they end in the middle, as if cut off" } else { "" };
            format!("the arguments are not valid JSON: {source}{cut}")
        })
    };
    let mut value = parse(raw)?;
    if !of_object {
        return Ok(value);
    }
    if let Value::String(inner) = &value {
        value = parse(inner)?;
    }
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    if !value.is_object() {
        return Err(format!("expected an object with arguments, found {}", check::found(&value)));
    }
    Ok(value)
}

fn corrected(schema: &Value, value: Value) -> Read {
    let arguments = correct(value.clone(), schema);
    let mut corrections = Vec::new();
    differences(&value, &arguments, String::new(), &mut corrections);
    corrections.truncate(CORRECTIONS_MAX);
    let mut mistakes = check::mistakes(&arguments, Schema::new(schema).root());
    mistakes.truncate(MISTAKES_MAX);
    let error = (!mistakes.is_empty()).then(|| mistakes.join("; "));
    Read { arguments, corrections, error }
}

/// `value` with everything turned into what `schema` asks for that unmistakably is that.
pub fn correct(value: Value, schema: &Value) -> Value {
    fix::fix(value, Schema::new(schema).root())
}

/// Where two values differ, as near to the leaves as they have the same shape.
fn differences(before: &Value, after: &Value, path: String, found: &mut Vec<Correction>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            for (name, value) in old {
                let path = member(&path, name);
                match new.get(name) {
                    Some(new) => differences(value, new, path, found),
                    None => found.push(Correction { path, from: value.clone(), to: None }),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                differences(old, new, format!("{path}[{index}]"), found);
            }
        }
        _ => found.push(Correction { path, from: before.clone(), to: Some(after.clone()) }),
    }
}

/// `a.b`
fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A schema from a person: a whole one, or the name of a type alone.
pub fn schema_of(value: Value) -> Value {
    if value.is_string() { json!({"type": value}) } else { value }
}

#[cfg(test)]
mod tests;
