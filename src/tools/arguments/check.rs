//! What is wrong with a value, in words for a model: the path, what was expected, what was found.

use serde_json::{Map, Value};

use super::schema::{Alternative, Node};
use super::{member, text};

/// Characters of a wrong value that an error quotes, at most.
const QUOTED_CHARS_MAX: usize = 80;

/// Everything that does not fit; nothing where all does.
pub fn mistakes(value: &Value, node: Node<'_, '_>) -> Vec<String> {
    let mut found = Vec::new();
    look(value, &node, "", &mut found);
    found
}

/// Whether the value is what this alternative allows.
pub fn fits(value: &Value, one: &Alternative<'_>, node: &Node<'_, '_>) -> bool {
    let mut found = Vec::new();
    is_of(value, one) && {
        look_at(value, one, node, "", &mut found);
        found.is_empty()
    }
}

/// Whether the value is of the type of that name.
pub fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn is_of(value: &Value, one: &Alternative<'_>) -> bool {
    one.kind.is_none_or(|kind| is(value, kind))
}

/// Adds what is wrong: of several alternatives, by the one that is nearest.
fn look(value: &Value, node: &Node<'_, '_>, path: &str, found: &mut Vec<String>) {
    if !node.step() {
        return;
    }
    let mut nearest: Option<Vec<String>> = None;
    for one in node.alternatives().iter().filter(|one| is_of(value, one)) {
        let mut mistakes = Vec::new();
        look_at(value, one, node, path, &mut mistakes);
        if mistakes.is_empty() {
            return;
        }
        if nearest.as_ref().is_none_or(|known| mistakes.len() < known.len()) {
            nearest = Some(mistakes);
        }
    }
    match nearest {
        Some(mistakes) => found.extend(mistakes),
        None => {
            let kinds = node.kinds();
            let wanted = if kinds.is_empty() { "another value".to_owned() } else { kinds.join(" or ") };
            found.push(format!("`{path}`: expected {wanted}, found {}", self::found(value)));
        }
    }
}

fn look_at(value: &Value, one: &Alternative<'_>, node: &Node<'_, '_>, path: &str, found: &mut Vec<String>) {
    if let Some(allowed) = one.values().filter(|allowed| !allowed.contains(&value)) {
        let words: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        found.push(format!("`{path}`: expected one of {}, found {}", words.join(", "), self::found(value)));
    }
    bounds(value, one, path, found);
    match value {
        Value::Object(object) => look_at_members(object, one, node, path, found),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(each) = node.item(one, index) {
                    look(item, &each, &format!("{path}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn bounds(value: &Value, one: &Alternative<'_>, path: &str, found: &mut Vec<String>) {
    let float = |key| one.each(key).find_map(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(least) = float("minimum").filter(|least| number < *least) {
            found.push(format!("`{path}`: expected at least {least}, found {value}"));
        }
        if let Some(most) = float("maximum").filter(|most| number > *most) {
            found.push(format!("`{path}`: expected at most {most}, found {value}"));
        }
    }
    let (size, unit, least, most) = match value {
        Value::Array(items) => (items.len(), "items", "minItems", "maxItems"),
        Value::String(text) => (text.chars().count(), "characters", "minLength", "maxLength"),
        _ => return,
    };
    let count = |key| one.each(key).find_map(Value::as_u64);
    if let Some(least) = count(least).filter(|least| (size as u64) < *least) {
        found.push(format!("`{path}`: expected at least {least} {unit}, found {size}"));
    }
    if let Some(most) = count(most).filter(|most| size as u64 > *most) {
        found.push(format!("`{path}`: expected at most {most} {unit}, found {size}"));
    }
}

/// Members of an object. Those that the schema does not know are let pass, unless it is closed or one
/// of them is a slip of the pen.
fn look_at_members(
    object: &Map<String, Value>,
    one: &Alternative<'_>,
    node: &Node<'_, '_>,
    path: &str,
    found: &mut Vec<String>,
) {
    let (required, known) = (one.required(), one.known());
    for name in required.iter().filter(|name| object.get(**name).is_none_or(Value::is_null)) {
        let member = node.member(one, name);
        if object.contains_key(*name) && member.as_ref().is_some_and(|member| member.takes("null")) {
            continue;
        }
        let wanted = member.map(|member| member.kinds().join(" or ")).unwrap_or_default();
        let wanted = if wanted.is_empty() { String::new() } else { format!(" ({wanted})") };
        found.push(format!("`{}`: required{wanted}, but missing", self::member(path, name)));
    }
    let closed = one.each("additionalProperties").any(|rest| *rest == Value::Bool(false));
    for (name, value) in object {
        match node.member(one, name) {
            Some(_) if value.is_null() && required.contains(&name.as_str()) => {}
            Some(member) => look(value, &member, &self::member(path, name), found),
            None => {
                let slip = known.iter().find(|known| !object.contains_key(**known) && is_slip(known, name));
                if let Some(meant) = slip {
                    let path = self::member(path, name);
                    found.push(format!("`{path}`: unknown argument; did you mean `{meant}`?"));
                } else if closed {
                    found.push(unknown(&self::member(path, name), name, &known));
                }
            }
        }
    }
}

/// Whether `name` is `known` but for one letter, or for two that stand in each other's place, or for
/// how its words are joined.
fn is_slip(known: &str, name: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let long = known.chars().count() >= 4;
    plain(known) == plain(name) || (long && strsim::osa_distance(known, name) <= 1)
}

fn unknown(path: &str, name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|key| (strsim::jaro_winkler(key, name), key))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let advice = match nearest {
        Some((_, key)) => format!("did you mean `{key}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("known are {}", known.join(", ")),
    };
    format!("`{path}`: unknown argument; {advice}")
}

pub fn found(value: &Value) -> String {
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
