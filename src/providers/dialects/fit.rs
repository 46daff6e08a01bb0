//! PURE: texts, names and schemas in the shape that a strict vendor demands.
//!
//! Everything here is a function of its input alone: the same name is always fitted the same way,
//! so that a call, its result and its tool still agree, and a prefix stays what it was.

use std::borrow::Cow;
use std::collections::BTreeMap;

use herm_schema::Digest;
use serde_json::{Map, Value, json};

use crate::providers::LoadedRequest;

/// An alphabet and a length for names or ids.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub chars_max: usize,
    /// Allowed besides ASCII letters and digits; must hold `_`.
    pub also: &'static str,
}

impl Shape {
    /// `text` itself where it fits. Otherwise a digest of it is part of what comes out, so that two
    /// texts do not become one.
    pub(super) fn fit(self, text: &str) -> Cow<'_, str> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || self.also.contains(c);
        if !text.is_empty() && text.len() <= self.chars_max && text.chars().all(allowed) {
            return Cow::Borrowed(text);
        }
        let digest = Digest::of(text.as_bytes()).short();
        let room = self.chars_max.saturating_sub(digest.len() + 1);
        let kept = text.chars().take(room).map(|c| if allowed(c) { c } else { '_' });
        Cow::Owned(kept.chain(['_']).chain(digest.chars()).collect())
    }

    /// For the answer: the names of `request`'s tools that were changed, by what they became.
    pub(super) fn renamed(self, request: &LoadedRequest) -> BTreeMap<String, String> {
        let names = request.tools.iter().map(|tool| (self.fit(&tool.name).into_owned(), tool.name.clone()));
        names.filter(|(sent, own)| sent != own).collect()
    }
}

/// `text` without the control characters that no text needs; some vendors refuse NUL.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.contains(is_odd) {
        Cow::Owned(text.chars().filter(|c| !is_odd(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Arguments as the object that they are; they are canonical already.
pub(super) fn arguments(text: &str) -> Value {
    let value = serde_json::from_str(text).ok().filter(Value::is_object);
    value.map_or_else(|| json!({}), printable_in)
}

fn printable_in(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(printable_in).collect(),
        Value::Object(map) => {
            let fields = map.into_iter();
            Value::Object(fields.map(|(k, v)| (printable(&k).into_owned(), printable_in(v))).collect())
        }
        other => other,
    }
}

/// A tool's schema as an object at its top, which is what vendors insist on; with `plain`, without
/// the regular expressions and formats that some grammars cannot express.
pub(super) fn tool_schema(parameters: &Value, plain: bool) -> Value {
    let Value::Object(schema) = parameters else { return json!({"type": "object", "properties": {}}) };
    let mut out: Map<String, Value> = Map::new();
    out.insert("type".to_owned(), "object".into());
    let kept = schema.iter().filter(|(key, _)| !matches!(key.as_str(), "type" | "oneOf" | "anyOf" | "allOf"));
    out.extend(kept.map(|(key, value)| (key.clone(), value.clone())));
    if !out.get("properties").is_some_and(Value::is_object) {
        out.insert("properties".to_owned(), json!({}));
    }
    if plain { plain_schema(&Value::Object(out)) } else { Value::Object(out) }
}

/// Keys whose value maps names to schemas: what they hold are names, not words of the schema.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Keys whose value is data.
const DATA: [&str; 4] = ["enum", "const", "default", "examples"];

fn plain_schema(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(plain_schema).collect(),
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| !matches!(key.as_str(), "pattern" | "format"));
            Value::Object(kept.map(|(key, value)| (key.clone(), plain_value(key, value))).collect())
        }
        other => other.clone(),
    }
}

fn plain_value(key: &str, value: &Value) -> Value {
    match value {
        _ if DATA.contains(&key) => value.clone(),
        Value::Object(named) if NAMED.contains(&key) => {
            Value::Object(named.iter().map(|(name, schema)| (name.clone(), plain_schema(schema))).collect())
        }
        other => plain_schema(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { chars_max: 16, also: "_-" };

    #[test]
    fn what_fits_stays_and_what_does_not_stays_apart() {
        assert_eq!(SHAPE.fit("call_1-A"), "call_1-A");
        let (a, b) = (SHAPE.fit("call.1"), SHAPE.fit("call:1"));
        assert_ne!(a, b);
        assert!(a.starts_with("call_1_"), "{a}");
        for text in ["", "é", "functions.x:0", "0123456789abcdefgh"] {
            let fitted = SHAPE.fit(text);
            assert!(!fitted.is_empty() && fitted.len() <= 16, "{fitted}");
            assert_eq!(SHAPE.fit(&fitted), fitted, "fitting twice changes nothing");
        }
    }

    #[test]
    fn texts_lose_control_characters_and_keep_lines() {
        assert_eq!(printable("a\u{0}b\u{1b}[1m\n\tc"), "ab[1m\n\tc");
        assert_eq!(arguments("{\"a\":[\"x\\u0000y\"]}"), json!({"a": ["xy"]}));
        assert_eq!(arguments("[1]"), json!({}));
    }

    #[test]
    fn schemas_are_objects_and_plain_where_asked() {
        let schema = json!({"anyOf": [{}], "properties": {
            "pattern": {"type": "string", "pattern": "^a", "format": "date", "default": {"format": 1}},
            "list": {"type": "array", "items": {"anyOf": [{"type": "string", "format": "uri"}]}}}, "required": ["pattern"]});
        let plain = json!({"type": "object", "properties": {
            "pattern": {"type": "string", "default": {"format": 1}},
            "list": {"type": "array", "items": {"anyOf": [{"type": "string"}]}}}, "required": ["pattern"]});
        assert_eq!(tool_schema(&schema, true), plain);
        assert_eq!(tool_schema(&schema, false)["properties"]["pattern"]["pattern"], "^a");
        assert_eq!(tool_schema(&json!(true), false), json!({"type": "object", "properties": {}}));
        assert_eq!(tool_schema(&json!({"type": "string"}), false)["type"], "object");
    }
}
