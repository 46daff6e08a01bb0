use std::sync::Arc;

use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{
    CacheTtl, FailureClass, Finish, ModelChoice, ModelFailure, ProviderExtras, ReasoningEffort, Usage,
};
use serde_json::{Value, json};

use super::*;
use crate::providers::dialects::ReadAnswer;
use crate::providers::{Delta, Image, LoadedMessage, ToolDefinition};

const MODEL: &str = "us.anthropic.claude-opus-4-6-v1";

fn request(messages: Vec<LoadedMessage>) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice { output_tokens_max: 8_192, ..ModelChoice::new("bedrock", MODEL, NAME) },
        system: Some("be brief".into()),
        tools: vec![ToolDefinition {
            name: "f".into(),
            description: "does f".into(),
            parameters: json!({"type":"object","properties":{}}),
        }],
        messages,
        output_tokens_max: 4_096,
        options: RequestOptions::default(),
    }
}

fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: "f".into(), arguments: JsonText(arguments.into()) }
}

fn called(calls: Vec<Call>, extras: Option<ProviderExtras>) -> LoadedMessage {
    LoadedMessage::Assistant { text: String::new(), calls, extras }
}

fn result(id: &str, text: &str) -> LoadedMessage {
    LoadedMessage::tool(id, "f", text)
}

fn body_text(request: &LoadedRequest) -> String {
    String::from_utf8(BedrockConverse::default().encode(request).body).unwrap()
}

fn body(request: &LoadedRequest) -> Value {
    serde_json::from_str(&body_text(request)).unwrap()
}

#[test]
fn the_body_is_as_documented_and_its_keys_stand_in_order() {
    let history = vec![
        LoadedMessage::user("hi"),
        called(vec![call("a", "{\"y\":1,\"x\":\"é\"}")], None),
        result("a", ""),
    ];
    let mut request = request(history);
    request.choice.cache_ttl = CacheTtl::OneHour;
    request.choice.effort = Some(ReasoningEffort::High);
    let point = r#"{"cachePoint":{"type":"default","ttl":"1h"}}"#;
    let expected = [
        r#"{"inferenceConfig":{"maxTokens":4096},"#,
        r#""additionalModelRequestFields":{"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}},"#,
        r#""toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"does f","#,
        r#""inputSchema":{"json":{"type":"object","properties":{}}}}}]},"#,
        &format!(r#""system":[{{"text":"be brief"}},{point}],"#),
        &format!(r#""messages":[{{"role":"user","content":[{{"text":"hi"}},{point}]}},"#),
        r#"{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","#,
        &format!(r#""input":{{"x":"é","y":1}}}}}},{point}]}},"#),
        r#"{"role":"user","content":[{"toolResult":{"toolUseId":"a","#,
        &format!(r#""content":[{{"text":"(empty)"}}]}}}},{point}]}}]}}"#),
    ];
    assert_eq!(body_text(&request), expected.concat());
}

#[test]
fn the_model_is_one_segment_of_the_path() {
    let mut request = request(vec![LoadedMessage::user("hi")]);
    request.choice.model = "arn:aws:bedrock:us-east-1:1:inference-profile/us.x-v1:0".into();
    let dialect = BedrockConverse::default();
    let encoded = "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x-v1%3A0";
    assert_eq!(dialect.encode(&request).path, format!("model/{encoded}/converse-stream"));
    request.choice.stream = false;
    assert_eq!(dialect.encode(&request).path, format!("model/{encoded}/converse"));
    assert_eq!((dialect.base_path(), dialect.models_path()), ("", None));
}

#[test]
fn models_that_know_no_cache_points_or_thinking_get_none() {
    let mut request = request(vec![LoadedMessage::user("hi")]);
    request.choice.effort = Some(ReasoningEffort::High);
    request.choice.model = "meta.llama4-maverick-17b-instruct-v1:0".into();
    let found = body_text(&request);
    assert!(!found.contains("cachePoint") && !found.contains("additionalModelRequestFields"), "{found}");
    request.choice.model = "openai.gpt-oss-120b-1:0".into();
    assert_eq!(body(&request)["additionalModelRequestFields"], json!({"reasoning_effort": "high"}));
    request.choice.model = "amazon.nova-pro-v1:0".into();
    let found = body(&request);
    assert_eq!(found["system"][1], json!({"cachePoint": {"type": "default"}}));
    assert_eq!(found["messages"][0]["content"].as_array().unwrap().len(), 1);
    request.choice.cache_ttl = CacheTtl::Off;
    request.choice.model = MODEL.into();
    assert!(!body_text(&request).contains("cachePoint"));
}

#[test]
fn tools_stay_while_the_history_has_calls_and_no_calls_is_said_in_words() {
    let mut request =
        request(vec![LoadedMessage::user("x"), called(vec![call("a", "{}")], None), result("a", "r")]);
    request.options.no_tool_calls = true;
    let found = body(&request);
    assert_eq!(found["toolConfig"]["tools"][0]["toolSpec"]["name"], "f");
    assert_eq!(found["messages"][2]["content"][1]["text"], NO_TOOLS_TEXT);
    request.tools.clear();
    let spec = body(&request)["toolConfig"]["tools"][0]["toolSpec"].clone();
    assert_eq!((&spec["name"], &spec["description"]), (&json!("f"), &json!("f")));
}

const NO_TOOLS_TEXT: &str = "(No tool can be called now: answer in words.)";

#[test]
fn images_go_where_the_model_takes_them() {
    let image = || Image { media_type: "image/jpeg".into(), bytes: Arc::from(*b"\xff\xd8") };
    let shot =
        LoadedMessage::Tool { id: "a".into(), name: "f".into(), text: "r".into(), images: vec![image()] };
    let user = LoadedMessage::User { text: "see".into(), images: vec![image()] };
    let mut request = request(vec![user, called(vec![call("a", "{}")], None), shot]);
    let block = json!({"image": {"format": "jpeg", "source": {"bytes": "/9g="}}});
    let in_result = |found: &Value| found["messages"][2]["content"][0]["toolResult"]["content"][0].clone();
    let found = body(&request);
    assert_eq!((&found["messages"][0]["content"][0], in_result(&found)), (&block, block.clone()));
    request.choice.model = "mistral.pixtral-large-2502-v1:0".into();
    let found = body(&request);
    assert_eq!(found["messages"][0]["content"][0], block);
    assert_eq!(in_result(&found)["text"], "[an image of type `image/jpeg` cannot be shown]");
}

#[test]
fn pair_missing_o() {
    let calls = vec![call("A", "{}"), call("B", "{}"), call("C", "{}")];
    let history = vec![
        LoadedMessage::user("go"),
        called(calls, None),
        result("B", "b"),
        LoadedMessage::user("and now?"),
    ];
    let content = body(&request(history))["messages"][2]["content"].clone();
    let ids: Vec<&str> = content
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|b| b.pointer("/toolResult/toolUseId")?.as_str())
        .collect();
    assert_eq!(ids, ["A", "B", "C"]);
    assert_eq!(content[1]["toolResult"]["content"][0]["text"], "b");
    assert_eq!(content[3]["text"], "and now?");
}

#[test]
fn two_following_requests_share_every_byte_up_to_the_new_message() {
    let history = [
        LoadedMessage::user("one"),
        called(vec![call("a", "{}"), call("b", "{\"q\":[1,2]}")], None),
        result("a", "ra"),
        result("b", "rb"),
        LoadedMessage::Assistant { text: "done".into(), calls: vec![], extras: None },
        LoadedMessage::user("two"),
    ];
    let of = |end: usize| {
        body_text(&request(history[..end].to_vec())).replace(r#",{"cachePoint":{"type":"default"}}"#, "")
    };
    let sent: Vec<String> = [1, 4, 6].into_iter().map(of).collect();
    for pair in sent.windows(2) {
        let shared = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(&format!("{shared},")), "{}\n{}", pair[0], pair[1]);
    }
}

/// A frame, built from the specification and not by the crate that reads it.
fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut named = Vec::new();
    for (name, value) in headers {
        named.push(u8::try_from(name.len()).unwrap());
        named.extend(name.as_bytes());
        named.push(7);
        named.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        named.extend(value.as_bytes());
    }
    let mut out = u32::try_from(16 + named.len() + payload.len()).unwrap().to_be_bytes().to_vec();
    out.extend(u32::try_from(named.len()).unwrap().to_be_bytes());
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out.extend(named);
    out.extend(payload);
    out.extend(crc32fast::hash(&out).to_be_bytes());
    out
}

/// A recorded stream: a line `event NAME JSON` or `exception NAME JSON` for each frame.
fn framed(fixture: &str) -> Vec<u8> {
    let of = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (kind, name, payload) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let named = if kind == "event" { ":event-type" } else { ":exception-type" };
        let headers = [(named, name), (":content-type", "application/json"), (":message-type", kind)];
        frame(&headers, payload.as_bytes())
    };
    fixture.lines().flat_map(of).collect()
}

/// Reads `bytes`, cut in pieces of `size`.
fn read_in(bytes: &[u8], size: usize) -> Result<(ReadAnswer, Vec<Delta>), ModelFailure> {
    let mut reader = BedrockConverse::default().reader(&request(vec![]));
    let mut deltas = Vec::new();
    for chunk in bytes.chunks(size) {
        deltas.extend(reader.feed(chunk)?.deltas);
    }
    let (answer, progress) = reader.finish()?;
    deltas.extend(progress.deltas);
    Ok((answer, deltas))
}

fn read(bytes: &[u8]) -> Result<ReadAnswer, ModelFailure> {
    let whole = read_in(bytes, bytes.len().max(1));
    assert_eq!(whole, read_in(bytes, 1));
    whole.map(|(answer, _)| answer)
}

const CALLS: &str = include_str!("fixtures/reasoning_and_calls.txt");

#[test]
fn text_streams_with_its_usage() {
    let answer = read(&framed(include_str!("fixtures/text.txt"))).unwrap();
    assert_eq!((answer.message.text.as_str(), answer.finish), ("Héllo 你好", Finish::Stop));
    let usage = Usage { input: 1_087, cached_read: 1_000, cached_write: 40, output: 20, reasoning: 0 };
    assert_eq!(answer.usage, Some(usage));
}

#[test]
fn parallel_calls_come_with_reasoning_and_go_back_in_their_order() {
    let answer = read(&framed(CALLS)).unwrap();
    assert_eq!((answer.finish, answer.message.text.as_str()), (Finish::ToolCalls, "Let me look."));
    assert_eq!(answer.message.reasoning.as_deref(), Some("Two files, both at once."));
    let calls: Vec<_> =
        answer.message.calls.iter().map(|c| (c.name.as_str(), c.arguments.0.as_str())).collect();
    assert_eq!(calls, [("read_file", "{\"path\": \"a.md\"}"), ("list", "{}")]);
    let sent = answer.message.calls.iter();
    let said = LoadedMessage::Assistant {
        text: answer.message.text.clone(),
        calls: sent
            .map(|c| Call { id: c.id.clone(), name: c.name.clone(), arguments: c.arguments.clone() })
            .collect(),
        extras: answer.message.extras.clone(),
    };
    let mut next = request(vec![LoadedMessage::user("x"), said]);
    let content = body(&next)["messages"][1]["content"].clone();
    let signature = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk==";
    let reasoning = json!({"reasoningText": {"text": "Two files, both at once.", "signature": signature}});
    assert_eq!(content[0], json!({"reasoningContent": reasoning}));
    assert_eq!(content[1], json!({"text": "Let me look."}));
    assert_eq!(content[2], json!({"reasoningContent": {"redactedContent": "ZW5jcnlwdGVk"}}));
    assert_eq!(content[3]["toolUse"]["name"], "read_file");
    next.choice.model = "another".into();
    assert!(!body_text(&next).contains("reasoningContent"));
}

#[test]
fn a_whole_body_is_read_whatever_was_asked_for() {
    let answer = read(include_str!("fixtures/whole.txt").as_bytes()).unwrap();
    assert_eq!((answer.finish, answer.message.text.as_str()), (Finish::ToolCalls, "Looking."));
    assert_eq!(answer.message.calls[0].arguments.0, "{\"b\":[1],\"a\":\"é\"}");
    assert!(answer.message.extras.unwrap().json.0.contains("sig=="));
}

#[test]
fn ends_that_are_no_answer_are_failures_and_cut_ones_are_told() {
    let of = |fixture: &str| read(&framed(fixture));
    assert_eq!(of(include_str!("fixtures/throttled.txt")).unwrap_err().class, FailureClass::RateLimit);
    assert_eq!(of(include_str!("fixtures/model_error.txt")).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(of(include_str!("fixtures/cut.txt")).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(of("").unwrap_err().class, FailureClass::ServerError);
    let length = of(include_str!("fixtures/length.txt")).unwrap();
    assert_eq!((length.finish, length.message.calls.len()), (Finish::Length, 1));
    assert_eq!(of(include_str!("fixtures/guardrail.txt")).unwrap().finish, Finish::ContentFilter);
    let (before, _) = CALLS.split_once("event metadata").unwrap();
    assert_eq!(of(before).unwrap().finish, Finish::ToolCalls, "a stop reason is an end");
    let malformed = CALLS.replace("\"tool_use\"", "\"malformed_tool_use\"");
    assert_eq!(of(&malformed).unwrap_err().class, FailureClass::ServerError);
}

#[test]
fn errors_without_an_event_are_told_by_their_headers() {
    let headers =
        [(":message-type", "error"), (":error-code", "InternalServerException"), (":error-message", "oh")];
    let failure = read(&frame(&headers, b"")).unwrap_err();
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::ServerError, "oh"));
    assert_eq!(
        read(b"{\"message\":\"Input is too long for requested model.\"}").unwrap_err().class,
        FailureClass::ContextOverflow
    );
    assert_eq!(read(b"<html>hello</html>").unwrap_err().class, FailureClass::ServerError);
}

#[test]
fn damaged_frames_and_lengths_out_of_bounds_are_refused() {
    let mut bytes = framed(include_str!("fixtures/text.txt"));
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    assert_eq!(read(&bytes).unwrap_err().class, FailureClass::ServerError);
    for length in [0_u32, 15, 1 << 24 | 1] {
        let bytes = [&length.to_be_bytes()[..], &[0; 12]].concat();
        assert_eq!(read(&bytes).unwrap_err().class, FailureClass::ServerError);
    }
}

proptest::proptest! {
    #[test]
    fn any_cut_gives_the_same_answer(size in 1_usize..500) {
        let bytes = framed(CALLS);
        proptest::prop_assert_eq!(read_in(&bytes, size), read_in(&bytes, bytes.len()));
    }

    #[test]
    fn no_bytes_panic(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        text in ".{0,100}",
        size in 1_usize..40,
    ) {
        let _ = read_in(&bytes, size);
        let _ = read_in(&[&[0][..], &bytes].concat(), size);
        let delta = frame(&[(":event-type", "contentBlockDelta")], text.as_bytes());
        let _ = read_in(&delta, size);
    }
}
