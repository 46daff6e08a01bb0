//! What changed between two JSON values, path by path.

use serde_json::{Value, json};

/// Places where two values differ: path, before, after. A value that is not there is `None`.
pub fn differences(before: &Value, after: &Value) -> Vec<(String, Option<Value>, Option<Value>)> {
    let mut found = Vec::new();
    walk("", Some(before), Some(after), &mut found);
    found
}

fn walk(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<(String, Option<Value>, Option<Value>)>,
) {
    match (before, after) {
        (Some(before), Some(after)) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            for (name, value) in before {
                walk(&format!("{path}.{name}"), Some(value), after.get(name), found);
            }
            for (name, value) in after.iter().filter(|(name, _)| !before.contains_key(*name)) {
                walk(&format!("{path}.{name}"), None, Some(value), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for at in 0..before.len().max(after.len()) {
                walk(&format!("{path}[{at}]"), before.get(at), after.get(at), found);
            }
        }
        (before, after) => {
            let path = path.strip_prefix('.').unwrap_or(path).to_owned();
            found.push((path, before.cloned(), after.cloned()));
        }
    }
}

/// A difference as a line of JSON.
pub fn object(path: &str, before: Option<&Value>, after: Option<&Value>) -> Value {
    json!({ "path": path, "before": before, "after": after, "added": before.is_none(), "removed": after.is_none() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named_by_their_paths() {
        let before = json!({ "a": 1, "b": { "c": [1, 2] }, "gone": true });
        let after = json!({ "a": 1, "b": { "c": [1, 3, 4] }, "new": "x" });
        let found = differences(&before, &after);
        let expected = [
            ("b.c[1]", Some(json!(2)), Some(json!(3))),
            ("b.c[2]", None, Some(json!(4))),
            ("gone", Some(json!(true)), None),
            ("new", None, Some(json!("x"))),
        ];
        let expected: Vec<_> = expected.into_iter().map(|(path, b, a)| (path.to_owned(), b, a)).collect();
        assert_eq!(found, expected);
        assert!(differences(&before, &before).is_empty());
    }
}
