//! Canonical JSON: the same value gives the same bytes, so that a prefix sent again is the same.

use serde_json::Value;

/// Compact JSON with sorted keys.
pub fn to_string(value: &Value) -> String {
    let mut out = Vec::with_capacity(128);
    write(value, &mut out);
    // What is written is UTF-8, all of it.
    String::from_utf8(out).unwrap_or_default()
}

/// Canonical form of a JSON object in text; `None` if it is not one.
pub fn object(text: &str) -> Option<String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = serde_json::from_str(text).ok()?;
    value.is_object().then(|| to_string(&value))
}

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push(b'{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                plain(key, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => plain(value, out),
    }
}

/// A value that holds no others. Writing into memory does not fail.
fn plain(value: &(impl serde::Serialize + ?Sized), out: &mut Vec<u8>) {
    drop(serde_json::to_writer(out, value));
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
