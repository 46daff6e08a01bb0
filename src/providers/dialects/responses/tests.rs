use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{
    AssistantMessage, FailureClass, Finish, ModelChoice, ModelFailure, ProviderExtras, ReasoningEffort, Usage,
};
use serde_json::{Value, json};

use super::*;
use crate::providers::dialects::ReadAnswer;
use crate::providers::{Delta, Image, LoadedMessage, ToolDefinition};

const TEXT: &str = include_str!("fixtures/text.txt");
const CALLS: &str = include_str!("fixtures/reasoning_and_calls.txt");
const CODEX: &str = include_str!("fixtures/codex.txt");
const ERROR: &str = include_str!("fixtures/error.txt");
const FAILED: &str = include_str!("fixtures/failed.txt");
const CUT: &str = include_str!("fixtures/cut.txt");
const CUT_CALL: &str = include_str!("fixtures/cut_call.txt");
const LENGTH: &str = include_str!("fixtures/length.txt");
const FILTERED: &str = include_str!("fixtures/filtered.txt");
const REFUSAL: &str = include_str!("fixtures/refusal.txt");
const WHOLE: &str = include_str!("fixtures/whole.txt");
const WHOLE_ERROR: &str = include_str!("fixtures/whole_error.txt");
const ALL: [&str; 12] =
    [TEXT, CALLS, CODEX, ERROR, FAILED, CUT, CUT_CALL, LENGTH, FILTERED, REFUSAL, WHOLE, WHOLE_ERROR];

fn request(messages: Vec<LoadedMessage>) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice::new("openai", "gpt-5.2", NAME),
        system: Some("be brief".into()),
        tools: vec![ToolDefinition {
            name: "read_file".into(),
            description: "reads".into(),
            parameters: json!({"type":"object","properties":{"path":{"type":"string","pattern":"^a"}}}),
        }],
        messages,
        output_tokens_max: 1_024,
        options: RequestOptions::default(),
    }
}

fn encode_with(quirks: Quirks, request: &LoadedRequest) -> Value {
    serde_json::from_slice(&Responses { quirks }.encode(request).body).unwrap()
}

fn encode(request: &LoadedRequest) -> Value {
    encode_with(Quirks::USUAL, request)
}

fn read_in(bytes: &[u8], size: usize) -> Result<(ReadAnswer, Vec<Delta>), ModelFailure> {
    let mut reader = Responses::default().reader(&request(vec![]));
    let mut deltas = Vec::new();
    for chunk in bytes.chunks(size.max(1)) {
        deltas.extend(reader.feed(chunk)?.deltas);
    }
    let (answer, progress) = reader.finish()?;
    deltas.extend(progress.deltas);
    Ok((answer, deltas))
}

fn read(text: &str) -> Result<ReadAnswer, ModelFailure> {
    read_in(text.as_bytes(), 64).map(|(answer, _)| answer)
}

fn shown(deltas: &[Delta]) -> (String, String) {
    let mut both = (String::new(), String::new());
    for delta in deltas {
        match delta {
            Delta::Text(text) => both.0.push_str(text),
            Delta::Reasoning(text) => both.1.push_str(text),
            Delta::ToolCall { .. } => {}
        }
    }
    both
}

fn said(message: AssistantMessage) -> LoadedMessage {
    let calls = message.calls.into_iter();
    LoadedMessage::Assistant {
        text: message.text,
        calls: calls.map(|call| Call { id: call.id, name: call.name, arguments: call.arguments }).collect(),
        extras: message.extras,
    }
}

fn called(id: &str, name: &str) -> LoadedMessage {
    let call = Call { id: id.into(), name: name.into(), arguments: JsonText("{}".into()) };
    LoadedMessage::Assistant { text: String::new(), calls: vec![call], extras: None }
}

fn types(body: &Value) -> Vec<&str> {
    body["input"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

#[test]
fn a_streamed_text_is_read() {
    let (answer, deltas) = read_in(TEXT.as_bytes(), 5).unwrap();
    assert_eq!(answer.message.text, "Hello, wörld 你好");
    assert_eq!(shown(&deltas).0, answer.message.text);
    assert_eq!((answer.finish, answer.message.extras), (Finish::Stop, None));
    let usage = Usage { input: 1_200, cached_read: 1_024, cached_write: 0, output: 80, reasoning: 64 };
    assert_eq!(answer.usage, Some(usage));
    assert_eq!(answer.response_id.as_deref(), Some("resp_68a1c0ffee"));
}

#[test]
fn reasoning_and_interleaved_calls_are_read() {
    let (answer, deltas) = read_in(CALLS.as_bytes(), 100).unwrap();
    let message = &answer.message;
    assert_eq!(message.text, "Looking.");
    assert_eq!(message.reasoning.as_deref(), Some("**Planning**\n\nThen doing"));
    assert_eq!(shown(&deltas), ("Looking.".into(), "**Planning**\n\nThen doing".into()));
    let calls: Vec<_> = message.calls.iter().map(|c| (c.id.as_str(), c.arguments.0.as_str())).collect();
    assert_eq!(calls, [("call_AAA", r#"{"path":"a.md"}"#), ("call_BBB", r#"{"path":"b.md"}"#)]);
    assert_eq!(answer.finish, Finish::ToolCalls);
    let begun =
        deltas.iter().filter(|delta| matches!(delta, Delta::ToolCall { name } if name == "read_file"));
    assert_eq!(begun.count(), 2);
}

#[test]
fn a_final_response_without_its_output_takes_nothing_away() {
    assert_eq!(read(CODEX).unwrap().message.text, "Looking.");
}

#[test]
fn a_whole_answer_is_read_as_its_stream_is() {
    let answer = read(WHOLE).unwrap();
    assert_eq!(answer.message.reasoning.as_deref(), Some("**Planning**\n\nThen doing"));
    assert_eq!((answer.message.text.as_str(), answer.finish), ("Looking.", Finish::ToolCalls));
    assert!(answer.message.extras.unwrap().json.0.contains("gAAAAABencrypted1"));
    assert_eq!(read(WHOLE_ERROR).unwrap_err().class, FailureClass::ContextOverflow);
    assert_eq!(read("{\"id\":\"x\",\"output\":[").unwrap_err().class, FailureClass::ServerError);
}

#[test]
fn errors_and_cut_streams_are_failures() {
    // Case `stream-end-o`.
    let late = read(ERROR).unwrap_err();
    assert_eq!((late.class, late.retry_after_us), (FailureClass::RateLimit, Some(7_500_000)));
    assert_eq!(read(FAILED).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(read(CUT).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(read(CUT_CALL).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(read("").unwrap_err().class, FailureClass::ServerError);
    assert_eq!(read("data: {oops}\n\n").unwrap_err().class, FailureClass::ServerError);
}

#[test]
fn what_ends_an_answer_early_is_told() {
    let length = read(LENGTH).unwrap();
    assert_eq!((length.finish, length.message.calls.len()), (Finish::Length, 1));
    assert_eq!(length.message.calls[0].arguments.0, "{\"command\":\"rm ");
    let filtered = read(FILTERED).unwrap();
    assert_eq!((filtered.finish, filtered.message.text.as_str()), (Finish::ContentFilter, "Partial"));
    let refused = read(REFUSAL).unwrap();
    assert_eq!(
        (refused.finish, refused.message.text.as_str()),
        (Finish::ContentFilter, "I can't help with that.")
    );
}

#[test]
fn chunk_borders_do_not_matter() {
    for fixture in ALL {
        let whole = read_in(fixture.as_bytes(), usize::MAX);
        for size in [1, 2, 3, 7, 19, 64, 501] {
            assert_eq!(read_in(fixture.as_bytes(), size), whole, "{size}");
        }
    }
}

#[test]
fn a_stream_is_over_with_its_last_event_and_not_before() {
    let mut reader = Responses::default().reader(&request(vec![]));
    let before = TEXT.find("event: response.completed").unwrap();
    reader.feed(&TEXT.as_bytes()[..before]).unwrap();
    assert!(!reader.is_complete() && !reader.is_over());
    reader.feed(&TEXT.as_bytes()[before..]).unwrap();
    assert!(reader.is_complete() && reader.is_over());
    let mut reader = Responses::default().reader(&request(vec![]));
    let begun = TEXT.find("event: response.output_item.added").unwrap();
    assert!(!reader.feed(&TEXT.as_bytes()[..begun]).unwrap().content);
}

#[test]
fn reasoning_goes_back_before_what_it_led_to_and_to_its_family_alone() {
    let answer = read(CALLS).unwrap();
    let history = vec![
        LoadedMessage::user("read both"),
        said(answer.message),
        LoadedMessage::tool("call_AAA", "read_file", "a"),
        LoadedMessage::tool("call_BBB", "read_file", "b"),
    ];
    let mut next = request(history);
    let own = encode(&next);
    let expected = [
        "message",
        "reasoning",
        "message",
        "reasoning",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ];
    assert_eq!(types(&own), expected);
    assert_eq!(own["input"][1]["encrypted_content"], "gAAAAABencrypted1");
    assert_eq!(own["input"][1]["summary"][1]["text"], "Then doing");
    assert_eq!(own["input"][2]["phase"], "commentary");
    assert_eq!(own["input"][1].get("id"), None);
    next.choice.provider = "xai".into();
    let other = encode(&next);
    let plain = ["message", "message", "function_call", "function_call"];
    assert_eq!(types(&other)[..4], plain);
    assert!(!other.to_string().contains("encrypted1"));
}

#[test]
fn reasoning_whose_message_was_changed_is_left_out() {
    let mut answer = read(CALLS).unwrap();
    answer.message.text.push_str(" [redacted]");
    let body = encode(&request(vec![LoadedMessage::user("x"), said(answer.message)]));
    assert_eq!(types(&body)[..3], ["message", "message", "function_call"]);
    let bad = ProviderExtras { family: "responses:openai:gpt-5.2".into(), json: JsonText("[oops".into()) };
    let message = LoadedMessage::Assistant { text: "a".into(), calls: vec![], extras: Some(bad) };
    assert_eq!(types(&encode(&request(vec![message]))), ["message"]);
}

#[test]
fn a_request_is_as_documented() {
    let mut asked = request(vec![LoadedMessage::user("hi")]);
    asked.choice.effort = Some(ReasoningEffort::High);
    let body = encode(&asked);
    assert_eq!(body["instructions"], "be brief");
    assert_eq!((&body["store"], &body["stream"]), (&json!(false), &json!(true)));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(body["reasoning"], json!({"effort":"high","summary":"auto"}));
    assert_eq!(body["max_output_tokens"], 1_024);
    assert_eq!(body["tools"][0]["strict"], false);
    assert_eq!(body["tools"][0]["name"], "read_file");
    assert_eq!(body.get("tool_choice"), None);
    asked.options = RequestOptions { no_tool_calls: true, plain_schemas: true, ..RequestOptions::default() };
    let body = encode(&asked);
    assert_eq!(body["tool_choice"], "none");
    assert_eq!(body["tools"][0]["parameters"]["properties"]["path"], json!({"type":"string"}));
    asked.choice.model = "gpt-4.1".into();
    let plain = encode(&asked);
    assert_eq!((plain.get("reasoning"), plain.get("include")), (None, None));
}

#[test]
fn codex_and_xai_are_sent_what_they_take() {
    let image = Image { media_type: "image/png".into(), bytes: vec![1, 2, 3].into() };
    let result =
        LoadedMessage::Tool { id: "a".into(), name: "shot".into(), text: String::new(), images: vec![image] };
    let mut asked = request(vec![LoadedMessage::user("hi"), called("a", "shot"), result]);
    asked.system = None;
    asked.choice.stream = false;
    let codex = encode_with(Quirks::CODEX, &asked);
    assert_eq!((codex.get("max_output_tokens"), &codex["stream"]), (None, &json!(true)));
    assert!(codex["instructions"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(codex["input"][2]["output"][1]["image_url"], "data:image/png;base64,AQID");
    let xai = encode_with(Quirks::XAI, &asked);
    assert!(xai["input"][2]["output"].is_string());
    assert_eq!(xai["input"][3]["content"][1]["type"], "input_image");
    assert_eq!(xai.get("instructions"), None);
}

#[test]
fn ids_names_and_texts_are_made_acceptable() {
    let id = "x".repeat(70);
    let asked = request(vec![
        LoadedMessage::user("a\u{0}b"),
        called(&id, "no such.tool"),
        LoadedMessage::tool(&id, "f", ""),
    ]);
    let body = encode(&asked);
    assert_eq!(body["input"][0]["content"][0]["text"], "ab");
    assert_eq!(body["input"][1]["call_id"], body["input"][2]["call_id"]);
    assert!(body["input"][1]["name"].as_str().unwrap().starts_with("no_such_tool_"));
    assert_eq!(body["input"][2]["output"], "(empty)");
    assert_eq!(types(&encode(&request(vec![]))), ["message"]);
}

#[test]
fn the_name_of_a_tool_comes_back_as_it_is() {
    let mut asked = request(vec![]);
    asked.tools[0].name = "read.file".into();
    let sent = encode(&asked)["tools"][0]["name"].as_str().unwrap().to_owned();
    let mut reader = Responses::default().reader(&asked);
    reader.feed(CALLS.replace("\"name\":\"read_file\"", &format!("\"name\":\"{sent}\"")).as_bytes()).unwrap();
    assert_eq!(reader.finish().unwrap().0.message.calls[0].name, "read.file");
}

#[test]
fn a_conversation_that_goes_on_shares_every_byte() {
    let answer = read(CALLS).unwrap();
    let history = [
        LoadedMessage::user("read both"),
        said(answer.message),
        LoadedMessage::tool("call_AAA", "read_file", "a"),
        LoadedMessage::tool("call_BBB", "read_file", "b"),
        LoadedMessage::Assistant { text: "done".into(), calls: vec![], extras: None },
        LoadedMessage::user("thanks"),
    ];
    let bytes = |end: usize| Responses::default().encode(&request(history[..end].to_vec())).body;
    for (shorter, longer) in [(1, 4), (4, 6), (1, 6)] {
        let before = bytes(shorter);
        let open = before.strip_suffix(b"]}").unwrap();
        assert!(bytes(longer).starts_with(open));
        assert_eq!(bytes(longer), bytes(longer));
    }
    let key = |end: usize| encode(&request(history[..end].to_vec()))["prompt_cache_key"].clone();
    assert_eq!(key(1), key(6));
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(
        text in ".{0,200}",
        fixture in 0usize..ALL.len(),
        cut in 0usize..4_000,
        size in 1usize..60,
    ) {
        let _ = read_in(text.as_bytes(), size);
        let bytes: Vec<u8> = ALL[fixture].bytes().take(cut).chain(text.bytes()).collect();
        let _ = read_in(&bytes, size);
        let delta = json!({"type":"response.output_item.done","item":{"type":text.clone(),"arguments":text}});
        let _ = read_in(format!("data: {delta}\n\n").as_bytes(), size);
    }
}
