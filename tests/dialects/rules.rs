//! What the validators of several wire formats have in common.

use serde_json::{Map, Value};

/// Fails with `what` unless it holds.
pub fn ensure(holds: bool, what: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.into()) }
}

pub fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is no object: {value}"))
}

pub fn list<'a>(value: &'a Value, what: &str) -> Result<&'a Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("{what} is no list: {value}"))
}

pub fn text<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("{what} is no text: {value}"))
}

/// An object with all of `needed` and nothing but these and `allowed`.
pub fn fields<'a>(
    value: &'a Value,
    what: &str,
    needed: &[&str],
    allowed: &[&str],
) -> Result<&'a Map<String, Value>, String> {
    let map = object(value, what)?;
    for name in needed {
        ensure(map.contains_key(*name), format!("{what} lacks `{name}`: {value}"))?;
    }
    for name in map.keys() {
        let known = needed.contains(&name.as_str()) || allowed.contains(&name.as_str());
        ensure(known, format!("{what} has the unknown field `{name}`: {value}"))?;
    }
    Ok(map)
}

/// A word of 1 to `max` letters, digits, `_` and `-`.
pub fn word(text: &str, max: usize, what: &str) -> Result<(), String> {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    ensure(
        (1..=max).contains(&text.len()) && text.chars().all(fits),
        format!("{what} `{text}` is not allowed"),
    )
}

pub fn not_blank(text: &str, what: &str) -> Result<(), String> {
    ensure(!text.trim().is_empty(), format!("{what} is empty"))
}

/// No text anywhere holds control characters.
pub fn printable(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            let odd = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t');
            ensure(!text.contains(odd), format!("{text:?} holds control characters"))
        }
        Value::Array(items) => items.iter().try_for_each(printable),
        Value::Object(map) => map.values().try_for_each(printable),
        _ => Ok(()),
    }
}

/// `data:image/…;base64,…` of a type that is taken.
pub fn data_url(url: &str) -> Result<(), String> {
    let rest =
        url.strip_prefix("data:image/").ok_or_else(|| format!("`{url}` is no data URL of an image"))?;
    let (kind, data) = rest.split_once(";base64,").ok_or_else(|| format!("`{url}` is not in base64"))?;
    ensure(["png", "jpeg", "gif", "webp"].contains(&kind), format!("images of type `{kind}` are not taken"))?;
    base64(data)
}

pub fn base64(text: &str) -> Result<(), String> {
    let body = text.trim_end_matches('=');
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '+' | '/');
    let whole = text.len().is_multiple_of(4) && text.len() - body.len() <= 2;
    ensure(!body.is_empty() && whole && body.chars().all(fits), format!("`{text}` is not base64"))
}

/// A JSON object, written as a text.
pub fn arguments(value: &Value) -> Result<(), String> {
    let written = text(value, "arguments")?;
    let read: Value =
        serde_json::from_str(written).map_err(|error| format!("arguments `{written}`: {error}"))?;
    ensure(read.is_object(), format!("arguments `{written}` are no object"))
}

/// The schema of a function's parameters, as OpenAI demands it at its top.
pub fn parameters(value: &Value) -> Result<(), String> {
    let map = object(value, "parameters")?;
    ensure(map.get("type").and_then(Value::as_str) == Some("object"), "parameters are not of type object")?;
    ensure(map.get("properties").is_some_and(Value::is_object), "parameters have no properties")?;
    for name in ["anyOf", "oneOf", "allOf", "enum", "not"] {
        ensure(!map.contains_key(name), format!("parameters have `{name}` at their top"))?;
    }
    Ok(())
}
