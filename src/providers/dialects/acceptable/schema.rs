//! PURE: schemas of tools' arguments in forms that more servers take.
//!
//! Sources: OpenAI's guide "Function calling"; llama.cpp's `json-schema-to-grammar` and its table
//! of what it does not support. Keywords are told from properties that only bear their names.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

/// Keywords whose value is a map of schemas by name.
const MAPS: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
/// Keywords whose value is a schema, or a list of them.
const SCHEMAS: [&str; 11] = [
    "items",
    "prefixItems",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
];
/// What a grammar converter trips over, or does nothing with.
const NOT_PLAIN: [&str; 11] = [
    "pattern",
    "format",
    "patternProperties",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "not",
    "if",
    "then",
    "else",
    "contains",
];
/// Bounds that become repetitions in a grammar.
const REPETITIONS: [&str; 4] = ["minLength", "maxLength", "minItems", "maxItems"];
/// Most repetitions that llama.cpp's grammars are sure to take.
const REPETITIONS_MAX: u64 = 1_000;
/// What may not stand at the top of a tool's schema.
const REFUSED: [&str; 6] = ["anyOf", "oneOf", "allOf", "enum", "not", "const"];
/// Keywords of which one must stand in a schema that is not empty.
const DECIDING: [&str; 9] =
    ["type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties", "additionalProperties"];

/// What a tool takes: an object; with `plain`, without what some servers cannot do.
pub fn tool(parameters: &Value, plainly: bool) -> Cow<'_, Value> {
    let object = object(parameters);
    if plainly { Cow::Owned(plain(&object)) } else { object }
}

/// `schema` as an object's, which is all that a tool may take: with `type` and `properties`, and
/// without alternatives at its top.
fn object(schema: &Value) -> Cow<'_, Value> {
    let is_typed = |map: &Map<String, Value>| map.get("type").and_then(Value::as_str) == Some("object");
    let has_properties = |map: &Map<String, Value>| map.get("properties").is_some_and(Value::is_object);
    let fits = |map: &Map<String, Value>| {
        is_typed(map) && has_properties(map) && !REFUSED.iter().any(|refused| map.contains_key(*refused))
    };
    if schema.as_object().is_some_and(fits) {
        return Cow::Borrowed(schema);
    }
    let mut map = schema.as_object().cloned().unwrap_or_default();
    for refused in REFUSED {
        map.shift_remove(refused);
    }
    if !is_typed(&map) {
        map.insert("type".into(), "object".into());
    }
    if !has_properties(&map) {
        map.insert("properties".into(), json!({}));
    }
    Cow::Owned(Value::Object(map))
}

/// `schema` without `pattern`, `format` and what else grammar converters cannot do.
fn plain(schema: &Value) -> Value {
    let Value::Object(map) = schema else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in map {
        let too_many =
            REPETITIONS.contains(&key.as_str()) && value.as_u64().is_none_or(|n| n > REPETITIONS_MAX);
        let foreign = key == "$ref" && !value.as_str().is_some_and(|to| to.starts_with("#/"));
        if NOT_PLAIN.contains(&key.as_str()) || too_many || foreign {
            continue;
        }
        out.insert(key.clone(), inner(key, value));
    }
    if !out.is_empty() && !DECIDING.iter().any(|keyword| out.contains_key(*keyword)) {
        out.insert("type".into(), json!(["string", "number", "boolean", "object", "array", "null"]));
    }
    Value::Object(out)
}

fn inner(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(map) if MAPS.contains(&key) => {
            Value::Object(map.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect())
        }
        Value::Array(list) if SCHEMAS.contains(&key) => Value::Array(list.iter().map(plain).collect()),
        _ if SCHEMAS.contains(&key) => plain(value),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_go_and_properties_of_their_names_stay() {
        let schema = json!({"type":"object","properties":{
            "pattern":{"type":"string","pattern":"^a","format":"uri"},
            "format":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},
            "list":{"type":"array","items":{"type":"string","pattern":"x"},"maxItems":5000,"minItems":1}},
            "required":["pattern"],"patternProperties":{"a":{}}});
        let expected = json!({"type":"object","properties":{
            "pattern":{"type":"string"},
            "format":{"anyOf":[{"type":"string"},{"type":"null"}]},
            "list":{"type":"array","items":{"type":"string"},"minItems":1}},
            "required":["pattern"]});
        assert_eq!(plain(&schema), expected);
        assert_eq!(plain(&expected), expected);
    }

    #[test]
    fn a_schema_that_decides_nothing_takes_anything() {
        let found = plain(&json!({"description":"any","pattern":"a"}));
        assert_eq!(found["type"][0], "string");
        assert_eq!(plain(&json!({})), json!({}));
        assert_eq!(plain(&json!({"$ref":"https://example.org/a"})), json!({}));
    }

    #[test]
    fn a_tool_takes_an_object() {
        let empty = json!({"type":"object","properties":{}});
        assert_eq!(*object(&json!({})), empty);
        assert_eq!(*object(&json!(null)), empty);
        assert_eq!(*object(&json!({"type":"object","anyOf":[{"required":["a"]}]})), empty);
    }
}
