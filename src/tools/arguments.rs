//! What the model wrote as arguments, made into what the tool takes, or refused with the reason.
//!
//! [`prepare`] is the whole way: parse, correct by the schema, check. Correction is modest and
//! never blind: it only turns a value into what the schema asks for where the text is
//! unmistakably that, and a string stays a string wherever a string is allowed first.
//! [`canonical`] is the form that is recorded, compared and sent again.

use serde_json::{Map, Number, Value};

use super::{sanitize, text};

/// The same value as text is the same bytes on every machine: keys sorted, no spaces.
pub use herm_replay::reducer::canonical::to_string as canonical;

/// Characters of a wrong value that an error quotes, at most.
const QUOTED_CHARS_MAX: usize = 80;
/// Mistakes that one error lists, at most.
const MISTAKES_MAX: usize = 5;
/// Largest whole number that a float holds exactly.
const FLOAT_EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Arguments that fit `schema`, from the text that the model wrote.
///
/// # Errors
/// A text for the model that names each wrong argument, what was expected and what was found.
pub fn prepare(schema: &Value, raw: &str) -> Result<Value, String> {
    read(schema, raw).map_err(|error| sanitize::sanitize(&error))
}

fn read(schema: &Value, raw: &str) -> Result<Value, String> {
    let mut value = parse(raw)?;
    if let Value::String(inner) = &value {
        value = parse(inner)?;
    }
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    if !value.is_object() {
        return Err(format!("expected an object with arguments, found {}", found(&value)));
    }
    let value = correct(value, schema);
    let mut mistakes = Vec::new();
    check_object(&value, schema, "", &mut mistakes);
    if mistakes.is_empty() {
        return Ok(value);
    }
    mistakes.truncate(MISTAKES_MAX);
    Err(mistakes.join("; "))
}

/// `value` with everything turned into what `schema` asks for that unmistakably is that.
pub fn correct(value: Value, schema: &Value) -> Value {
    let types = types(schema);
    let value = match value {
        Value::String(text) => correct_string(text, &types),
        Value::Number(number) => correct_number(number, &types),
        other => other,
    };
    match value {
        single if wants_array(&single, &types) => wrapped(single, schema),
        Value::Object(object) => Value::Object(correct_members(object, schema)),
        Value::Array(items) => match schema.get("items") {
            Some(each) => items.into_iter().map(|item| correct(item, each)).collect(),
            None => Value::Array(items),
        },
        other => other,
    }
}

fn parse(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    serde_json::from_str(raw).map_err(|source| {
        let cut = if source.is_eof() { "; they end in the middle, as if cut off" } else { "" };
        format!("the arguments are not valid JSON: {source}{cut}")
    })
}

/// The types that a schema allows, in the order in which it names them; empty allows all.
fn types(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    match schema.get("type") {
        Some(Value::String(name)) => found.push(name.as_str()),
        Some(Value::Array(names)) => found.extend(names.iter().filter_map(Value::as_str)),
        _ => {}
    }
    for key in ["anyOf", "oneOf"] {
        let branches = schema.get(key).and_then(Value::as_array);
        found.extend(branches.into_iter().flatten().flat_map(types));
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        found.push("null");
    }
    found
}

/// The first of the types that the text is; otherwise the text.
fn correct_string(text: String, types: &[&str]) -> Value {
    for kind in types {
        let read = match *kind {
            "string" => return Value::String(text),
            "null" => (text.trim() == "null").then_some(Value::Null),
            "boolean" => boolean(&text),
            "integer" => serde_json::from_str(&text).ok().filter(is_integer),
            "number" => serde_json::from_str(&text).ok().filter(Value::is_number),
            "array" => serde_json::from_str(&text).ok().filter(Value::is_array),
            "object" => serde_json::from_str(&text).ok().filter(Value::is_object),
            _ => None,
        };
        if let Some(value) = read {
            return value;
        }
    }
    Value::String(text)
}

fn boolean(text: &str) -> Option<Value> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    is("true").then_some(true).or_else(|| is("false").then_some(false)).map(Value::Bool)
}

/// `5.0` where only whole numbers are taken is five.
fn correct_number(number: Number, types: &[&str]) -> Value {
    let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < FLOAT_EXACT_MAX);
    match whole {
        Some(float) if number.is_f64() && types.contains(&"integer") && !types.contains(&"number") => {
            Value::from(float as i64)
        }
        _ => Value::Number(number),
    }
}

/// Members corrected, and `null` dropped where it says no more than leaving the member out.
fn correct_members(object: Map<String, Value>, schema: &Value) -> Map<String, Value> {
    let required = required(schema);
    let property = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    let mut corrected = Map::new();
    for (name, value) in object {
        let Some(schema) = property(&name) else {
            corrected.insert(name, value);
            continue;
        };
        let allowed = types(schema);
        let says_nothing = value.is_null() && !allowed.is_empty() && !allowed.contains(&"null");
        if !says_nothing || required.contains(&name.as_str()) {
            corrected.insert(name, correct(value, schema));
        }
    }
    corrected
}

/// A value that no type fits stands for a list of itself, unless it is the wreck of a list.
fn wants_array(value: &Value, types: &[&str]) -> bool {
    let wreck = value.as_str().is_some_and(|text| text.trim_start().starts_with(['[', '{']));
    types.contains(&"array") && !value.is_null() && !wreck && !types.iter().any(|kind| fits(value, kind))
}

fn wrapped(value: Value, schema: &Value) -> Value {
    let Some(each) = schema.get("items") else {
        return Value::Array(vec![value]);
    };
    let item = correct(value.clone(), each);
    let allowed = types(each);
    if allowed.is_empty() || allowed.iter().any(|kind| fits(&item, kind)) {
        return Value::Array(vec![item]);
    }
    value
}

fn check(value: &Value, schema: &Value, path: &str, mistakes: &mut Vec<String>) {
    let types = types(schema);
    if !types.is_empty() && !types.iter().any(|kind| fits(value, kind)) {
        mistakes.push(format!("`{path}`: expected {}, found {}", types.join(" or "), found(value)));
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let words: Vec<String> = allowed.iter().map(Value::to_string).collect();
        mistakes.push(format!("`{path}`: expected one of {}, found {}", words.join(", "), found(value)));
    }
    check_bounds(value, schema, path, mistakes);
    match value {
        Value::Object(_) => check_object(value, schema, path, mistakes),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(each) = schema.get("items") {
                    check(item, each, &format!("{path}[{index}]"), mistakes);
                }
            }
        }
        _ => {}
    }
}

fn check_bounds(value: &Value, schema: &Value, path: &str, mistakes: &mut Vec<String>) {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            mistakes.push(format!("`{path}`: expected at least {least}, found {value}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            mistakes.push(format!("`{path}`: expected at most {most}, found {value}"));
        }
    }
    if let (Some(items), Some(most)) = (value.as_array(), schema.get("maxItems").and_then(Value::as_u64))
        && items.len() as u64 > most
    {
        mistakes.push(format!("`{path}`: expected at most {most} items, found {}", items.len()));
    }
}

/// Members of an object. Unknown ones are refused in the arguments themselves, and deeper where
/// the schema is closed.
fn check_object(value: &Value, schema: &Value, path: &str, mistakes: &mut Vec<String>) {
    let (Some(object), Some(known)) =
        (value.as_object(), schema.get("properties").and_then(Value::as_object))
    else {
        return;
    };
    let full = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in required(schema).into_iter().filter(|name| object.get(*name).is_none_or(Value::is_null)) {
        let wanted = known.get(name).map(|schema| types(schema).join(" or ")).unwrap_or_default();
        mistakes.push(format!("`{}`: required ({wanted}), but missing", full(name)));
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        || (path.is_empty() && schema.get("additionalProperties").is_none());
    for (name, value) in object {
        match known.get(name) {
            Some(_) if value.is_null() && required(schema).contains(&name.as_str()) => {}
            Some(schema) => check(value, schema, &full(name), mistakes),
            None if closed => mistakes.push(unknown(&full(name), name, known)),
            None => {}
        }
    }
}

fn unknown(path: &str, name: &str, known: &Map<String, Value>) -> String {
    let nearest = known
        .keys()
        .map(|key| (strsim::jaro_winkler(key, name), key))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let advice = match nearest {
        Some((_, key)) => format!("did you mean `{key}`?"),
        None if names.is_empty() => "there are none".to_owned(),
        None => format!("known are {}", names.join(", ")),
    };
    format!("`{path}`: unknown argument; {advice}")
}

fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn fits(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => is_integer(value),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

fn found(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("{kind} `{}`", text::shortened(&value.to_string(), QUOTED_CHARS_MAX))
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
