use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{FailureClass, Finish, ModelChoice, ModelFailure, Usage};
use serde_json::{Value, json};

use super::*;
use crate::providers::dialects::ReadAnswer;
use crate::providers::{Delta, LoadedMessage, ToolDefinition};

mod quirks;

fn request(messages: Vec<LoadedMessage>) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice {
            context_window_tokens: 8_192,
            output_tokens_max: 1_024,
            ..ModelChoice::new("p", "m", NAME)
        },
        system: Some("be brief".into()),
        tools: vec![ToolDefinition {
            name: "f".into(),
            description: "does f".into(),
            parameters: json!({"type":"object","properties":{"b":{},"a":{}}}),
        }],
        messages,
        output_tokens_max: 1_024,
        options: RequestOptions::default(),
    }
}

fn user(text: &str) -> LoadedMessage {
    LoadedMessage::user(text)
}

fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: "f".into(), arguments: JsonText(arguments.into()) }
}

fn called(calls: Vec<Call>) -> LoadedMessage {
    LoadedMessage::Assistant { text: String::new(), calls, extras: None }
}

fn result(id: &str, text: &str) -> LoadedMessage {
    LoadedMessage::tool(id, "f", text)
}

fn body(dialect: &ChatCompletions, request: &LoadedRequest) -> String {
    String::from_utf8(dialect.encode(request).body).unwrap()
}

#[test]
fn the_body_is_as_documented_and_its_keys_stand_in_order() {
    let history =
        vec![user("hi"), called(vec![call("a", "{\"y\":1,\"x\":\"é\"}")]), result("a", ""), user("more")];
    let found = body(&ChatCompletions::default(), &request(history));
    let expected = concat!(
        r#"{"model":"m","max_tokens":1024,"stream":true,"stream_options":{"include_usage":true},"#,
        r#""tools":[{"type":"function","function":{"name":"f","description":"does f","#,
        r#""parameters":{"type":"object","properties":{"b":{},"a":{}}}}}],"#,
        r#""messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},"#,
        r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","#,
        r#""function":{"name":"f","arguments":"{\"x\":\"é\",\"y\":1}"}}]},"#,
        r#"{"role":"tool","name":"f","content":"(empty)","tool_call_id":"a"},"#,
        r#"{"role":"user","content":"more"}]}"#,
    );
    assert_eq!(found, expected);
}

#[test]
fn quirks_change_what_a_server_would_refuse() {
    let quirks = Quirks {
        output_limit: OutputLimitField::MaxCompletionTokens,
        stream_options: false,
        echo_reasoning: false,
        ..Quirks::USUAL
    };
    let mut request = request(vec![user("hi")]);
    request.tools.clear();
    request.system = None;
    let found = body(&ChatCompletions { quirks }, &request);
    let expected = r#"{"model":"m","max_completion_tokens":1024,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(found, expected);
}

#[test]
fn two_following_requests_share_every_byte_up_to_the_new_message() {
    let history = [
        user("one"),
        called(vec![call("a", "{}"), call("b", "{\"q\":[1,2]}")]),
        result("a", "ra"),
        result("b", "rb"),
        LoadedMessage::Assistant { text: "done".into(), calls: vec![], extras: None },
        user("two"),
        called(vec![call("a", "{}")]),
        result("a", "rc"),
    ];
    let dialect = ChatCompletions::default();
    // A request is sent after a user message or after all results of an answer.
    let sent: Vec<String> =
        [1, 4, 6, 8].iter().map(|end| body(&dialect, &request(history[..*end].to_vec()))).collect();
    for pair in sent.windows(2) {
        let shared = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(&format!("{shared},")), "{}\n{}", pair[0], pair[1]);
    }
    assert_eq!(sent[3], body(&dialect, &request(history.to_vec())));
}

/// Reads `bytes`, cut in pieces of `size`.
fn read_in(bytes: &str, size: usize, quirks: Quirks) -> Result<(ReadAnswer, Vec<Delta>), ModelFailure> {
    let mut reader = ChatCompletions { quirks }.reader(&request(vec![user("x")]));
    let mut deltas = Vec::new();
    for chunk in bytes.as_bytes().chunks(size) {
        deltas.extend(reader.feed(chunk)?.deltas);
    }
    let (answer, progress) = reader.finish()?;
    deltas.extend(progress.deltas);
    Ok((answer, deltas))
}

fn read(bytes: &str) -> Result<ReadAnswer, ModelFailure> {
    let whole = read_in(bytes, bytes.len().max(1), Quirks::USUAL);
    let single = read_in(bytes, 1, Quirks::USUAL);
    match (&whole, &single) {
        (Ok(whole), Ok(single)) => assert_eq!(whole.0, single.0),
        (whole, single) => assert_eq!(whole.is_err(), single.is_err()),
    }
    whole.map(|(answer, _)| answer)
}

fn stream(deltas: &[Value], finish: Option<&str>, end: &str) -> String {
    let chunk = |delta: &Value, reason: Option<&str>| {
        let value = json!({"id":"r1","object":"chat.completion.chunk","choices":[
            {"index":0,"delta":delta,"finish_reason":reason}]});
        format!("data: {value}\n\n")
    };
    let mut out: String = deltas.iter().map(|delta| chunk(delta, None)).collect();
    if finish.is_some() {
        out.push_str(&chunk(&json!({}), finish));
    }
    out + end
}

const DONE: &str = "data: [DONE]\n\n";

#[test]
fn text_streams_and_usage_may_come_late() {
    let usage = json!({"id":"r1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,
        "prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}});
    let deltas =
        [json!({"role":"assistant","content":""}), json!({"content":"Hé"}), json!({"content":"llo"})];
    let bytes = stream(&deltas, Some("stop"), &format!(": ping\n\ndata: {usage}\n\n{DONE}"));
    let answer = read(&bytes).unwrap();
    assert_eq!(answer.message.text, "Héllo");
    assert_eq!((answer.finish, answer.response_id.as_deref()), (Finish::Stop, Some("r1")));
    let usage = Usage { input: 10, cached_read: 4, cached_write: 0, output: 3, reasoning: 1 };
    assert_eq!(answer.usage, Some(usage));
}

#[test]
fn a_whole_body_is_read_whatever_was_asked_for() {
    let whole = json!({"id":"r2","choices":[{"index":0,"finish_reason":"tool_calls","message":{
        "role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
        {"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}}],
        "usage":{"prompt_tokens":1,"completion_tokens":2}});
    let answer = read(&whole.to_string()).unwrap();
    assert_eq!((answer.finish, answer.message.calls.len()), (Finish::ToolCalls, 1));
    assert_eq!(answer.message.reasoning.as_deref(), Some("hm"));
}

#[test]
fn reasoning_is_kept_apart_in_every_form() {
    let of = |deltas: &[Value]| {
        let (answer, deltas) = read_in(&stream(deltas, Some("stop"), DONE), 7, Quirks::USUAL).unwrap();
        let shown: String = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(shown, answer.message.text);
        (answer.message.reasoning.unwrap_or_default(), answer.message.text)
    };
    let expected = ("why".to_owned(), "so".to_owned());
    assert_eq!(of(&[json!({"reasoning_content":"why","content":null}), json!({"content":"so"})]), expected);
    assert_eq!(of(&[json!({"reasoning":"why"}), json!({"content":"so"})]), expected);
    assert_eq!(of(&[json!({"content":"<think>w"}), json!({"content":"hy</think>\n\nso"})]), expected);
}

#[test]
fn interleaved_calls_with_empty_deltas_are_put_together() {
    let deltas = [
        json!({"role":"assistant","content":null}),
        json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}),
        json!({"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{\"p\":"}}]}),
        json!({"tool_calls":null}),
        json!({"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":"1}"}}]}),
    ];
    let (answer, deltas) = read_in(&stream(&deltas, Some("tool_calls"), DONE), 9, Quirks::USUAL).unwrap();
    let calls: Vec<_> = answer
        .message
        .calls
        .iter()
        .map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.0.as_str()))
        .collect();
    assert_eq!(calls, [("a", "f", "{}"), ("b", "g", "{\"p\":1}")]);
    let begun = |name: &str| Delta::ToolCall { name: name.into() };
    assert_eq!(deltas, [begun("f"), begun("g")]);
    assert_eq!(answer.finish, Finish::ToolCalls);
}

#[test]
fn a_closed_socket_is_no_end_of_an_answer() {
    // Case `stream-end-o`.
    let cut = |bytes: &str| read(bytes).unwrap_err().class;
    assert_eq!(cut(&stream(&[json!({"content":"Par"})], None, "")), FailureClass::ServerError);
    let args =
        |text: &str| json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":text}}]});
    assert_eq!(cut(&stream(&[args("{\"cmd\":\"rm ")], None, "")), FailureClass::ServerError);
    assert_eq!(cut(&stream(&[json!({"content":"x"})], None, DONE)), FailureClass::ServerError);
    assert_eq!(cut(""), FailureClass::ServerError);
    let truncated = read(&stream(&[args("{\"a\":1}")], Some("length"), "")).unwrap();
    assert_eq!((truncated.finish, truncated.message.calls.len()), (Finish::Length, 1));
    let raw = read(&stream(&[args("{\"a\":")], Some("length"), "")).unwrap();
    assert_eq!(raw.message.calls[0].arguments.0, "{\"a\":");
    let complete = read(&stream(&[json!({"content":"ok"})], Some("stop"), "")).unwrap();
    assert_eq!((complete.message.text.as_str(), complete.finish), ("ok", Finish::Stop));
}

#[test]
fn a_last_event_without_its_blank_line_counts_unless_it_is_cut() {
    let bytes = stream(&[json!({"content":"ok"})], Some("stop"), "");
    assert!(read(bytes.trim_end()).is_ok());
    let cut: String = bytes.chars().take(bytes.chars().count() - 10).collect();
    assert!(read(&cut).is_err());
}

#[test]
fn errors_inside_of_a_success_are_failures() {
    let of = |bytes: &str| read(bytes).unwrap_err();
    let late = format!("data: {}\n\n", json!({"error":{"code":429,"message":"rate limit"}}));
    assert_eq!(of(&stream(&[json!({"content":"a"})], None, &late)).class, FailureClass::RateLimit);
    assert_eq!(of("event: error\ndata: {\"message\":\"overloaded\"}\n\n").class, FailureClass::Overloaded);
    let body = json!({"error":{"code":"context_length_exceeded","message":"too long"}});
    assert_eq!(of(&body.to_string()).class, FailureClass::ContextOverflow);
    assert_eq!(of("{\"detail\":\"model x not found\"}").class, FailureClass::ModelNotFound);
    assert_eq!(of("{\"id\":\"x\",\"choices\":[{\"mess").class, FailureClass::ServerError);
    assert_eq!(of("<html>hello</html>").class, FailureClass::ServerError);
    assert_eq!(of("data: {oops}\n\n").class, FailureClass::ServerError);
    assert_eq!(of("hello there\n\n").class, FailureClass::ServerError);
}

#[test]
fn refusals_and_filters_are_told() {
    let refused = read(&stream(&[json!({"refusal":"I can"}), json!({"refusal":"not"})], Some("stop"), DONE));
    let refused = refused.unwrap();
    assert_eq!((refused.message.text.as_str(), refused.finish), ("I cannot", Finish::ContentFilter));
    let filtered = read(&stream(&[json!({"content":"a"})], Some("content_filter"), DONE)).unwrap();
    assert_eq!(filtered.finish, Finish::ContentFilter);
}

#[test]
fn keep_alives_and_role_chunks_are_no_content() {
    let mut reader = ChatCompletions::default().reader(&request(vec![user("x")]));
    let role = stream(&[json!({"role":"assistant","content":""})], None, ": keep-alive\n\n");
    assert!(!reader.feed(role.as_bytes()).unwrap().content);
    assert!(reader.feed(stream(&[json!({"content":"a"})], None, "").as_bytes()).unwrap().content);
    assert!(!reader.is_complete());
}

#[test]
fn what_a_server_wants_back_goes_back_to_it_alone() {
    let quirks = Quirks { echo_reasoning: true, ..Quirks::USUAL };
    let deltas = [
        json!({"reasoning_content":"because"}),
        json!({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},
            "extra_content":{"google":{"thought_signature":"c2ln"}}}]}),
    ];
    let (answer, _) = read_in(&stream(&deltas, Some("tool_calls"), DONE), 50, quirks.clone()).unwrap();
    let said = LoadedMessage::Assistant {
        text: String::new(),
        calls: vec![call("a", "{}")],
        extras: answer.message.extras,
    };
    let mut next = request(vec![user("x"), said, result("a", "r")]);
    let dialect = ChatCompletions { quirks };
    let own: Value = serde_json::from_str(&body(&dialect, &next)).unwrap();
    let sent = &own["messages"][2];
    assert_eq!(sent["reasoning_content"], "because");
    assert_eq!(sent["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "c2ln");
    next.choice.provider = "another".into();
    let other: Value = serde_json::from_str(&body(&dialect, &next)).unwrap();
    assert_eq!(other["messages"][2].get("reasoning_content"), None);
    assert_eq!(other["messages"][2]["tool_calls"][0].get("extra_content"), None);
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(text in ".{0,200}", size in 1usize..40) {
        let _ = read_in(&text, size, Quirks::USUAL);
        let _ = read_in(&format!("data: {text}\n\n"), size, Quirks::USUAL);
        let delta = json!({"content": text.clone(), "tool_calls": [{"id": text, "function": {"arguments": text}}]});
        let _ = read_in(&stream(&[delta.clone(), delta], Some("stop"), ""), size, Quirks::USUAL);
    }
}
