use super::*;
use proptest::prelude::*;
use serde_json::json;

fn corrected(value: Value, schema: Value) -> Value {
    let schema = if schema.is_string() { json!({"type": schema}) } else { schema };
    correct(value, &schema)
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "deep": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "names": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["path"],
    })
}

#[test]
fn numbers_are_read_without_loss() {
    assert_eq!(corrected(json!("1234567890123456789"), json!("integer")), json!(1234567890123456789_i64));
    assert_eq!(corrected(json!("42"), json!("integer")), json!(42));
    assert_eq!(corrected(json!("3.14"), json!("integer")), json!("3.14"));
    assert_eq!(corrected(json!("3.14"), json!("number")).to_string(), "3.14");
    assert_eq!(corrected(json!("1.20"), json!("string")), json!("1.20"));
    assert_eq!(corrected(json!("nan"), json!("number")), json!("nan"));
    assert_eq!(corrected(json!(5.0), json!("integer")), json!(5));
    assert_eq!(corrected(json!("007"), json!("integer")), json!("007"));
}

#[test]
fn unions_decide_by_declared_order() {
    assert_eq!(corrected(json!("007"), json!({"type": ["string", "integer"]})), json!("007"));
    assert_eq!(corrected(json!("42"), json!({"type": ["integer", "string"]})), json!(42));
    let either = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    assert_eq!(corrected(json!("42"), either), json!(42));
    assert_eq!(corrected(json!("null"), json!({"type": "array", "nullable": true})), Value::Null);
}

#[test]
fn shapes_are_read_or_left() {
    assert_eq!(corrected(json!("[\"a\",\"b\"]"), json!("array")), json!(["a", "b"]));
    assert_eq!(corrected(json!("https://a.example"), json!("array")), json!(["https://a.example"]));
    assert_eq!(corrected(json!("{\"k\":1}"), json!("object")), json!({"k": 1}));
    assert_eq!(corrected(json!("not-json"), json!("object")), json!("not-json"));
    assert_eq!(corrected(json!("True"), json!("boolean")), json!(true));
    assert_eq!(corrected(json!("yes"), json!("boolean")), json!("yes"));
    assert_eq!(corrected(json!("[\"a\", \"b"), json!("array")), json!("[\"a\", \"b"));
    let of_objects = json!({"type": "array", "items": {"type": "object"}});
    assert_eq!(corrected(json!("words"), of_objects.clone()), json!("words"));
    assert_eq!(corrected(json!({"k": "1"}), of_objects), json!([{"k": "1"}]));
}

#[test]
fn arguments_are_prepared() {
    let raw = r#"{"path": "1.20", "limit": "7", "deep": "false", "mode": null, "names": "one"}"#;
    assert_eq!(
        prepare(&schema(), raw).unwrap(),
        json!({"path": "1.20", "limit": 7, "deep": false, "names": ["one"]})
    );
    let nothing_required = json!({"type": "object", "properties": {}});
    assert_eq!(prepare(&nothing_required, " ").unwrap(), json!({}));
    assert_eq!(prepare(&nothing_required, "null").unwrap(), json!({}));
    assert_eq!(prepare(&schema(), r#""{\"path\": \"x\"}""#).unwrap(), json!({"path": "x"}));
}

#[test]
fn large_integers_survive() {
    let any = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    let prepared = prepare(&any, r#"{"id": 18446744073709551615}"#).unwrap();
    assert_eq!(canonical(&prepared), r#"{"id":18446744073709551615}"#);
    let error = read(&any, r#"{"id": 18446744073709551616}"#).error.unwrap();
    assert!(error.starts_with("`id`: expected integer, found number"), "{error}");
}

#[test]
fn mistakes_name_argument_expectation_and_finding() {
    let wrong = |raw: &str| read(&schema(), raw).error.unwrap();
    assert_eq!(wrong("{}"), "`path`: required (string), but missing");
    assert_eq!(wrong(r#"{"path": null}"#), "`path`: required (string), but missing");
    assert_eq!(wrong(r#"{"path": 3}"#), "`path`: expected string, found number `3`");
    assert_eq!(wrong(r#"{"path": "x", "limt": 3}"#), "`limt`: unknown argument; did you mean `limit`?");
    assert_eq!(wrong(r#"{"path": "x", "limit": 0}"#), "`limit`: expected at least 1, found 0");
    assert_eq!(
        wrong(r#"{"path": "x", "mode": "c"}"#),
        "`mode`: expected one of \"a\", \"b\", found string `\"c\"`"
    );
    assert_eq!(
        wrong(r#"{"path": "x", "names": ["a", "b", "c"]}"#),
        "`names`: expected at most 2 items, found 3"
    );
    assert_eq!(wrong(r#"{"path": "x", "names": ["a", 1]}"#), "`names[1]`: expected string, found number `1`");
    assert_eq!(wrong("[1]"), "expected an object with arguments, found array `[1]`");
    assert!(wrong(r#"{"path": "a"#).contains("as if cut off"));
    assert!(wrong("{path: 1}").contains("not valid JSON"));
}

#[test]
fn canonical_text_does_not_depend_on_the_order_of_keys() {
    let one: Value = serde_json::from_str(r#"{"b": [{"y": 1, "x": 2}], "a": "é"}"#).unwrap();
    let two: Value = serde_json::from_str(r#"{"a": "é", "b": [{"x": 2, "y": 1}]}"#).unwrap();
    assert_eq!(canonical(&one), r#"{"a":"é","b":[{"x":2,"y":1}]}"#);
    assert_eq!(canonical(&one), canonical(&two));
}

proptest! {
    #[test]
    fn a_string_stays_a_string_where_one_is_wanted(text in ".*") {
        let raw = json!({"path": text}).to_string();
        prop_assert_eq!(prepare(&schema(), &raw).unwrap(), json!({"path": text}));
    }

    #[test]
    fn no_text_breaks_it(raw in ".*") {
        let _ = prepare(&schema(), &raw);
    }

    #[test]
    fn whole_numbers_pass_unchanged(number in any::<i64>()) {
        prop_assert_eq!(corrected(json!(number.to_string()), json!("integer")), json!(number));
    }
}
