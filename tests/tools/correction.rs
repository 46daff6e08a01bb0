//! `herm explain args`: rows of a fixture, each a schema, what the model wrote, and what the tool is given.

use serde_json::{Value, json};

use crate::fed;
use crate::stage::Stage;

fn explained(stage: &Stage, schema: &Value, arguments: &str) -> Value {
    let path = stage.path("schema.json");
    std::fs::write(&path, schema.to_string()).unwrap();
    let run = fed(stage, &["explain", "args", "--schema", path.to_str().unwrap()], arguments);
    assert_eq!(run.exit, 0, "{run:?}");
    serde_json::from_str(&run.out).unwrap()
}

/// All values of the fixture as members of one object, so that the binary starts once.
#[test]
fn values_become_what_the_schema_asks_for_and_no_more() {
    let stage = Stage::new();
    let rows: Value = serde_json::from_str(include_str!("correction.json")).unwrap();
    let rows = rows.as_array().unwrap();
    let (mut properties, mut given) = (json!({}), String::from("{"));
    for (index, row) in rows.iter().enumerate() {
        let schema =
            if row["schema"].is_string() { json!({"type": row["schema"]}) } else { row["schema"].clone() };
        properties[format!("v{index:03}")] = schema;
        let comma = if index == 0 { "" } else { "," };
        given.push_str(&format!("{comma}\"v{index:03}\":{}", row["given"]));
    }
    given.push('}');
    let told = explained(&stage, &json!({"type": "object", "properties": properties}), &given);
    for (index, row) in rows.iter().enumerate() {
        let name = format!("v{index:03}");
        let found = &told["arguments"][&name];
        assert_eq!(found.to_string(), row["becomes"].to_string(), "{row}");
        let corrections = told["corrections"].as_array().unwrap();
        let corrected = corrections.iter().any(|one| one["path"].as_str().unwrap().starts_with(&name));
        let text = |value: &Value| value.to_string();
        assert_eq!(corrected, text(&row["given"]) != text(&row["becomes"]), "{row}");
    }
}

#[test]
fn a_schema_may_be_of_one_value_alone() {
    let stage = Stage::new();
    assert_eq!(explained(&stage, &json!({"type": "integer"}), "\"42\"")["arguments"], 42);
    assert_eq!(explained(&stage, &json!("boolean"), "\"True\"")["arguments"], true);
    let told = explained(&stage, &json!("integer"), "\"3.14\"");
    assert_eq!((&told["arguments"], &told["fits"]), (&json!("3.14"), &json!(false)));
}

#[test]
fn a_correction_is_told_with_its_place() {
    let stage = Stage::new();
    let schema = json!({"type": "object", "properties": {
        "items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        "limit": {"type": "integer"},
    }});
    let told = explained(
        &stage,
        &schema,
        r#"{"items": "[{\"id\": \"7\", \"more\": 1}]", "limit": null, "other": "1"}"#,
    );
    assert_eq!(
        told["arguments"],
        json!({"items": [{"id": 7, "more": 1}], "other": "1"}),
        "what is not known is kept"
    );
    assert_eq!((&told["fits"], &told["error"]), (&json!(true), &Value::Null));
    let corrections = told["corrections"].as_array().unwrap();
    assert_eq!(corrections[0]["path"], "items");
    assert_eq!(corrections[1], json!({"path": "limit", "from": null, "left_out": true}));
    let told = explained(&stage, &schema, r#"{"items": [{"id": "7"}, {"id": "x"}]}"#);
    assert_eq!(told["corrections"], json!([{"path": "items[0].id", "from": "7", "to": 7}]));
    assert_eq!(told["error"], "`items[1].id`: expected integer, found string `\"x\"`");
}

#[test]
fn the_tools_own_schemas_are_used_and_their_names_are_known() {
    let stage = Stage::new();
    let run = fed(&stage, &["explain", "args", "--tool", "read_file"], r#"{"path": "1.20", "limit": "20"}"#);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(told["arguments"], json!({"path": "1.20", "limit": 20}));
    let run = fed(&stage, &["explain", "args", "--tool", "read_file"], r#"{"pth": "x"}"#);
    let told: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        told["error"],
        "`path`: required (string), but missing; `pth`: unknown argument; did you mean `path`?"
    );
    let run = fed(&stage, &["explain", "args", "--tool", "read_fil"], "{}");
    assert_eq!(run.exit, 2);
    assert!(run.err.contains("there is no tool `read_fil`; did you mean `read_file`?"), "{run:?}");
    let run = fed(&stage, &["explain", "args", "--tool", "read_file"], "{\"path\": ");
    assert!(run.out.contains("not valid JSON") && run.out.contains("cut off"), "{run:?}");
}
