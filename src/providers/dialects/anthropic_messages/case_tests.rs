//! The open cases that touch this dialect, by name.

use herm_schema::JsonText;
use herm_schema::events::{FailureClass, Finish, ProviderExtras};
use serde_json::{Value, json};

use super::tests::{CALLS, MODEL, body, call, called, read, request, result};
use crate::providers::LoadedMessage;
use crate::providers::classify;

fn content(body: &Value, at: usize) -> Vec<Value> {
    body["messages"][at]["content"].as_array().unwrap().clone()
}

#[test]
fn pair_missing_o() {
    let history = vec![
        LoadedMessage::user("go"),
        called(vec![call("A", "{}"), call("B", "{}"), call("C", "{}")], None),
        result("B", "b"),
        LoadedMessage::user("and now?"),
    ];
    let body = body(&request(history));
    let answers = content(&body, 2);
    assert_eq!(body["messages"].as_array().unwrap().len(), 3);
    let ids: Vec<&str> = answers.iter().filter_map(|block| block["tool_use_id"].as_str()).collect();
    assert_eq!(ids, ["A", "B", "C"]);
    assert_eq!(answers[1]["content"][0]["text"], "b");
    for at in [0, 2] {
        assert!(answers[at]["content"][0]["text"].as_str().unwrap().contains("unknown"));
    }
    assert_eq!(answers[3]["text"], "and now?");
}

#[test]
fn pair_dupid_o() {
    let history = vec![
        LoadedMessage::user("1"),
        called(vec![call("exec_0", "{}"), call("exec_1", "{}")], None),
        result("exec_0", "r1"),
        result("exec_1", "r2"),
        called(vec![call("exec_0", "{}")], None),
        result("exec_0", "r3"),
        LoadedMessage::user("2"),
    ];
    let body = body(&request(history));
    let calls: Vec<Value> =
        [1, 3].iter().flat_map(|at| content(&body, *at)).map(|b| b["id"].clone()).collect();
    let results: Vec<Value> = [2, 4].iter().flat_map(|at| content(&body, *at)).collect();
    let texts: Vec<&str> = results.iter().filter_map(|b| b["content"][0]["text"].as_str()).collect();
    let answered: Vec<Value> =
        results.iter().filter(|b| b["type"] == "tool_result").map(|b| b["tool_use_id"].clone()).collect();
    assert_eq!(texts, ["r1", "r2", "r3"]);
    assert_eq!(answered, calls);
    assert_ne!(calls[0], calls[2]);
}

#[test]
fn pair_parallel_o() {
    let history = vec![
        called(vec![call("A", "{}")], None),
        called(vec![call("B", "{}")], None),
        result("A", "a"),
        result("B", "b"),
    ];
    let body = body(&request(history));
    assert_eq!(body["messages"][0]["role"], "user", "a conversation begins with a person");
    let of = |at: usize, name: &str| -> Vec<Value> {
        content(&body, at).iter().map(|b| b[name].clone()).collect()
    };
    assert_eq!(of(1, "id"), ["A", "B"]);
    assert_eq!(of(2, "tool_use_id"), ["A", "B"]);
}

#[test]
fn pair_thinking_o() {
    let own = |json: Value| {
        let json = JsonText(json!({"order": json}).to_string());
        Some(ProviderExtras { family: format!("anthropic:{MODEL}"), json })
    };
    let thinking =
        |signature: &str| json!({"type": "thinking", "thinking": "why  \"é\"", "signature": signature});
    let said = |text: &str, extras| LoadedMessage::Assistant { text: text.into(), calls: vec![], extras };
    let text = |chars: usize| json!({"text": {"chars": chars, "apart": false}});
    let history = vec![
        LoadedMessage::user("x"),
        called(vec![call("A", "{}")], own(json!([{"own": thinking("S1")}, "call"]))),
        result("A", "a"),
        // Thinking at the end is never sent; in front of the text it is.
        said("two", own(json!([{"own": thinking("S2")}, text(3), {"own": thinking("S3")}]))),
        LoadedMessage::user("y"),
        said("three", own(json!([{"own": thinking("")}, text(5)]))),
        LoadedMessage::user("z"),
        said(
            "four",
            Some(ProviderExtras { family: "another:model".into(), json: JsonText("{\"order\":[]}".into()) }),
        ),
        LoadedMessage::user("?"),
    ];
    let body = body(&request(history));
    assert_eq!(content(&body, 1)[0], thinking("S1"), "byte for byte");
    let second = content(&body, 3);
    assert_eq!((&second[0], &second[1]["text"], second.len()), (&thinking("S2"), &json!("two"), 2));
    assert_eq!(content(&body, 5).len(), 1, "unsigned thinking is not sent");
    assert_eq!(content(&body, 7).len(), 1);
    for message in body["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            assert!(block["type"] != "thinking" || block.get("cache_control").is_none());
        }
    }
    let refusal = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let refused = |message: &str| {
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        classify::response(400, &[], &body.to_string(), herm_schema::Micros(0)).class
    };
    assert_eq!(refused(refusal), FailureClass::ThinkingSignature);
    let changed = "messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant \
                   message cannot be modified.";
    assert_eq!(refused(changed), FailureClass::ThinkingSignature);
}

#[test]
fn pair_alternation_o() {
    let sent = |history: Vec<LoadedMessage>| body(&request(history))["messages"].clone();
    let text = |value: &Value, at: usize| value[at]["content"][0]["text"].clone();
    let merged = sent(vec![LoadedMessage::user("first"), LoadedMessage::user("second")]);
    assert_eq!((text(&merged, 0), merged.as_array().unwrap().len()), (json!("first\n\nsecond"), 1));
    assert_eq!(text(&sent(vec![LoadedMessage::user(""), LoadedMessage::user("real")]), 0), "real");
}

#[test]
fn pair_badargs_o() {
    let calls = vec![call("c1", "{\"path\": \"a"), call("c2", "{\"path\":\"b\"}")];
    let body = body(&request(vec![
        LoadedMessage::user("x"),
        called(calls, None),
        result("c1", "x"),
        result("c2", "y"),
    ]));
    let inputs: Vec<Value> = content(&body, 1).iter().map(|block| block["input"].clone()).collect();
    assert_eq!(inputs, [json!({}), json!({"path": "b"})]);
    let first = content(&body, 2)[0]["content"][0]["text"].clone();
    assert!(first.as_str().unwrap().starts_with("[note: the stored arguments"));
}

#[test]
fn stream_index0_o() {
    let data = |value: Value| format!("data: {value}\n\n");
    let mut bytes = String::new();
    for (id, path) in [("c1", "a"), ("c2", "b"), ("c3", "c")] {
        let block = json!({"type": "tool_use", "id": id, "name": "write_file", "input": {}});
        bytes.push_str(&data(json!({"type": "content_block_start", "index": 0, "content_block": block})));
        let delta = json!({"type": "input_json_delta", "partial_json": format!("{{\"path\":\"{path}\"}}")});
        bytes.push_str(&data(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
    }
    bytes.push_str(&data(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})));
    let calls = read(&bytes).unwrap().message.calls;
    let found: Vec<_> = calls.iter().map(|call| (call.id.as_str(), call.arguments.0.as_str())).collect();
    assert_eq!(found, [("c1", "{\"path\":\"a\"}"), ("c2", "{\"path\":\"b\"}"), ("c3", "{\"path\":\"c\"}")]);
}

#[test]
fn stream_resend_o() {
    let start = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}});
    let delta = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}});
    let all = [start.clone(), delta(""), start.clone(), delta("{\"p\":"), start, delta("\"x\"}"), end];
    let bytes: String = all.iter().map(|value| format!("data: {value}\n\n")).collect();
    let calls = read(&bytes).unwrap().message.calls;
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].name.as_str(), calls[0].arguments.0.as_str()), ("read_file", "{\"p\":\"x\"}"));
}

#[test]
fn stream_end_o() {
    let (before, _) = CALLS.split_once("event: message_delta").unwrap();
    assert_eq!(read(before).unwrap_err().class, FailureClass::ServerError);
    let (until, _) = CALLS.split_once("event: message_stop").unwrap();
    assert_eq!(read(until).unwrap().finish, Finish::ToolCalls, "a stop reason is an end");
    let no_reason = format!("{before}event: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n");
    assert_eq!(read(&no_reason).unwrap_err().class, FailureClass::ServerError);
}
