//! PURE: JSON Schema reduced to the subset that Gemini documents as `Schema`.
//!
//! Source: "Schema" in the Gemini API reference (v1beta) and in Vertex's. There are no references,
//! no `allOf` or `oneOf`, no lists of types, no `const`; an enumeration is of strings; alternatives
//! stand alone. What cannot be said is left out, which makes a schema wider and never narrower.

use serde_json::{Map, Value, json};

/// Deepest nesting that is followed; references may go in circles.
const DEPTH_MAX: usize = 12;
/// Fields that mean the same on both sides, for every type.
const ANY_TYPE: [&str; 2] = ["description", "title"];
const NUMBERS: [&str; 2] = ["minimum", "maximum"];
const STRINGS: [&str; 2] = ["minLength", "maxLength"];
const ARRAYS: [&str; 2] = ["minItems", "maxItems"];

/// The parameters of a function; `None` for one that takes none, whose schema must be left out.
pub(super) fn parameters(schema: &Value, plain: bool) -> Option<Value> {
    let reducer = Reducer { root: schema, plain };
    let reduced = reducer.schema(schema, 0);
    let has_some = reduced.get("properties").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    (has_some && reduced.get("type") == Some(&json!("OBJECT"))).then_some(reduced)
}

struct Reducer<'a> {
    root: &'a Value,
    /// Without `pattern` and `format`.
    plain: bool,
}

impl Reducer<'_> {
    fn schema(&self, schema: &Value, depth: usize) -> Value {
        let Some(map) = self.resolved(schema).filter(|_| depth < DEPTH_MAX) else {
            return json!({"type":"STRING"});
        };
        let mut nullable = map.get("nullable") == Some(&Value::Bool(true));
        let (types, null) = types(&map);
        nullable |= null;
        if let Some(variants) = self.alternatives(&map, &types, depth, &mut nullable) {
            return with_null(variants, nullable);
        }
        let kind = types.first().copied().unwrap_or_else(|| implied(&map));
        with_null(self.typed(&map, kind, depth), nullable)
    }

    /// `schema` without a reference and without `allOf`.
    fn resolved(&self, schema: &Value) -> Option<Map<String, Value>> {
        let mut map = self.followed(schema)?;
        if let Some(Value::Array(all)) = map.shift_remove("allOf") {
            for one in all.iter().filter_map(|one| self.followed(one)) {
                merge(&mut map, one);
            }
        }
        Some(map)
    }

    fn followed(&self, schema: &Value) -> Option<Map<String, Value>> {
        let mut map = schema.as_object()?.clone();
        for _ in 0..DEPTH_MAX {
            let Some(to) = map.shift_remove("$ref") else { return Some(map) };
            let pointer = to.as_str().and_then(|to| to.strip_prefix('#')).unwrap_or("/ /");
            let target = self.root.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
            merge(&mut map, target);
        }
        map.shift_remove("$ref");
        Some(map)
    }

    /// The schema as alternatives, if it is some: by `anyOf`, `oneOf`, or by a list of types.
    fn alternatives(
        &self,
        map: &Map<String, Value>,
        types: &[&str],
        depth: usize,
        nullable: &mut bool,
    ) -> Option<Value> {
        let listed = ["anyOf", "oneOf"].iter().find_map(|name| map.get(*name)?.as_array());
        // An object that only says which of its properties go together is an object.
        if listed.is_none() && types.len() < 2 || map.contains_key("properties") {
            return None;
        }
        let is_null =
            |one: &Value| one.get("type") == Some(&json!("null")) || one.get("const") == Some(&Value::Null);
        let mut variants: Vec<Value> = match listed {
            Some(list) => {
                *nullable |= list.iter().any(is_null);
                list.iter().filter(|one| !is_null(one)).map(|one| self.schema(one, depth + 1)).collect()
            }
            None => types.iter().map(|kind| self.typed(map, kind, depth + 1)).collect(),
        };
        variants.dedup();
        // Alternatives stand alone, so what is said of all of them is said in the first.
        if let Some(first) = variants.first_mut().and_then(Value::as_object_mut)
            && let Some(said) = map.get("description").filter(|said| said.is_string())
            && !first.contains_key("anyOf")
        {
            first.insert("description".into(), said.clone());
        }
        match variants.len() {
            0 => None,
            1 => variants.pop(),
            _ => Some(json!({ "anyOf": variants })),
        }
    }

    fn typed(&self, map: &Map<String, Value>, kind: &str, depth: usize) -> Value {
        let mut out = Map::new();
        out.insert("type".into(), kind.to_ascii_uppercase().into());
        copy(map, &mut out, &ANY_TYPE, Value::is_string);
        match kind {
            "object" => self.object(map, &mut out, depth),
            "array" => {
                let one = map.get("items").filter(|it| it.is_object());
                let one = one.or_else(|| map.get("prefixItems").or_else(|| map.get("items"))?.get(0));
                let items = one.map_or_else(|| json!({"type":"STRING"}), |one| self.schema(one, depth + 1));
                copy(map, &mut out, &ARRAYS, Value::is_u64);
                out.insert("items".into(), items);
            }
            "integer" | "number" => {
                copy(map, &mut out, &NUMBERS, Value::is_number);
                describe_values(map, &mut out);
                let formats: &[&str] =
                    if kind == "integer" { &["int32", "int64"] } else { &["float", "double"] };
                self.format(map, &mut out, formats);
            }
            "string" => {
                copy(map, &mut out, &STRINGS, Value::is_u64);
                if !self.plain {
                    copy(map, &mut out, &["pattern"], Value::is_string);
                }
                let words = strings(map);
                if words.is_empty() {
                    self.format(map, &mut out, &["date-time"]);
                } else {
                    out.insert("format".into(), "enum".into());
                    out.insert("enum".into(), words.into());
                }
            }
            _ => {}
        }
        Value::Object(out)
    }

    fn object(&self, map: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
        let properties: Map<String, Value> = map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1)))
            .collect();
        if properties.is_empty() {
            return;
        }
        let listed = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: Vec<Value> = listed
            .filter(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
            .cloned()
            .collect();
        out.insert("properties".into(), Value::Object(properties));
        if !required.is_empty() {
            out.insert("required".into(), required.into());
        }
    }

    fn format(&self, map: &Map<String, Value>, out: &mut Map<String, Value>, known: &[&str]) {
        let format = map.get("format").and_then(Value::as_str);
        if let Some(format) = format.filter(|format| !self.plain && known.contains(format)) {
            out.insert("format".into(), format.into());
        }
    }
}

fn with_null(mut schema: Value, nullable: bool) -> Value {
    if nullable && let Some(map) = schema.as_object_mut().filter(|map| !map.contains_key("anyOf")) {
        map.insert("nullable".into(), true.into());
    }
    schema
}

/// What `more` says and `map` does not; properties and required names of both.
fn merge(map: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (map.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(value)) if key == "properties" => {
                for (name, schema) in value {
                    known.entry(name).or_insert(schema);
                }
            }
            (Some(Value::Array(known)), Value::Array(value)) if key == "required" => {
                known.extend(value);
                known.dedup();
            }
            (Some(_), _) => {}
            (None, value) => {
                map.insert(key, value);
            }
        }
    }
}

/// The types that are named, without `null`, and whether that was among them.
fn types(map: &Map<String, Value>) -> (Vec<&'static str>, bool) {
    let named: Vec<&str> = match map.get("type") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let types = named.iter().filter_map(|name| known(name)).collect();
    (types, named.iter().any(|name| name.eq_ignore_ascii_case("null")))
}

fn known(name: &str) -> Option<&'static str> {
    let all = ["object", "array", "string", "integer", "number", "boolean"];
    all.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// The type of a schema that names none.
fn implied(map: &Map<String, Value>) -> &'static str {
    let value = map.get("const").or_else(|| map.get("enum")?.get(0));
    match value {
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        Some(Value::Bool(_)) => "boolean",
        _ if map.contains_key("properties") || map.contains_key("additionalProperties") => "object",
        _ if map.contains_key("items") || map.contains_key("prefixItems") => "array",
        _ => "string",
    }
}

/// The strings of an enumeration, each once; an empty one is refused and left out.
fn strings(map: &Map<String, Value>) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let listed = map.get("enum").and_then(Value::as_array).into_iter().flatten().chain(map.get("const"));
    for value in listed {
        if value.as_str().is_some_and(|text| !text.is_empty()) && !out.contains(value) {
            out.push(value.clone());
        }
    }
    out
}

/// Numbers cannot be enumerated, so they are told in words.
fn describe_values(map: &Map<String, Value>, out: &mut Map<String, Value>) {
    let values = map.get("enum").cloned().or_else(|| Some(json!([map.get("const")?])));
    if let Some(values) = values {
        let before = out.get("description").and_then(Value::as_str).unwrap_or_default();
        let told = format!("{before} One of {values}.");
        out.insert("description".into(), told.trim().into());
    }
}

fn copy(map: &Map<String, Value>, out: &mut Map<String, Value>, names: &[&str], fits: fn(&Value) -> bool) {
    for name in names {
        if let Some(value) = map.get(*name).filter(|value| fits(value)) {
            out.insert((*name).to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(schema: &Value) -> Value {
        let object = json!({"type":"object","properties":{"p":schema},"$defs":{
            "node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"name":{"type":"string"}}},
            "word":{"enum":["a","b"],"description":"a word"}}});
        parameters(&object, false).unwrap()["properties"]["p"].clone()
    }

    #[test]
    fn what_is_not_in_the_subset_is_said_otherwise_or_left_out() {
        let cases = [
            (
                json!({"type":"string","format":"uri","default":"x","examples":["y"]}),
                json!({"type":"STRING"}),
            ),
            (json!({"type":["string","null"]}), json!({"type":"STRING","nullable":true})),
            (
                json!({"anyOf":[{"type":"integer"},{"type":"null"}]}),
                json!({"type":"INTEGER","nullable":true}),
            ),
            (
                json!({"oneOf":[{"type":"integer"},{"type":"string"}],"description":"d"}),
                json!({"anyOf":[{"type":"INTEGER","description":"d"},{"type":"STRING"}]}),
            ),
            (json!({"const":"x"}), json!({"type":"STRING","format":"enum","enum":["x"]})),
            (json!({"type":"integer","enum":[1,2]}), json!({"type":"INTEGER","description":"One of [1,2]."})),
            (json!({"type":"array"}), json!({"type":"ARRAY","items":{"type":"STRING"}})),
            (json!({"type":"object","additionalProperties":{"type":"string"}}), json!({"type":"OBJECT"})),
            (json!(true), json!({"type":"STRING"})),
            (
                json!({"$ref":"#/$defs/word"}),
                json!({"type":"STRING","description":"a word","format":"enum","enum":["a","b"]}),
            ),
            (
                json!({"allOf":[{"type":"object","properties":{"a":{"type":"boolean"}}},{"required":["a","b"]}]}),
                json!({"type":"OBJECT","properties":{"a":{"type":"BOOLEAN"}},"required":["a"]}),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(one(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let found = one(&json!({"$ref":"#/$defs/node"})).to_string();
        assert!(found.contains("\"name\"") && !found.contains("$ref"), "{found}");
    }

    #[test]
    fn a_function_without_parameters_has_no_schema() {
        for schema in
            [json!({}), json!({"type":"object","properties":{}}), json!(null), json!({"type":"string"})]
        {
            assert_eq!(parameters(&schema, false), None, "{schema}");
        }
    }
}
