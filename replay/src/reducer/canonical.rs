//! Canonical JSON: the same value gives the same bytes, so that a prefix sent again is the same.

use serde_json::Value;

/// Compact JSON with sorted keys.
pub fn to_string(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Canonical form of a JSON object in text; `None` if it is not one.
pub fn object(text: &str) -> Option<String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = serde_json::from_str(text).ok()?;
    value.is_object().then(|| to_string(&value))
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        assert_eq!(
            object(r#"{ "b": [ {"z":1,"a":2} ], "a": "é" }"#).unwrap(),
            r#"{"a":"é","b":[{"a":2,"z":1}]}"#
        );
    }

    #[test]
    fn what_is_no_object_is_none_and_nothing_is_the_empty_one() {
        assert_eq!(object(r#"{"path": "a"#), None);
        assert_eq!(object("[1]"), None);
        assert_eq!(object(" ").as_deref(), Some("{}"));
    }

    #[test]
    fn sixty_four_bit_integers_stay_exact() {
        let text = r#"{"n":18446744073709551615}"#;
        assert_eq!(object(text).as_deref(), Some(text));
    }
}
