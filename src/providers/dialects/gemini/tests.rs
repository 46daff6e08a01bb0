use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{AssistantMessage, FailureClass, Finish, ModelChoice, ModelFailure, Usage};
use serde_json::{Value, json};

use super::*;
use crate::providers::dialects::ReadAnswer;
use crate::providers::{Delta, Image, LoadedMessage, ToolDefinition};

const TEXT: &str = include_str!("fixtures/text.txt");
const CALLS: &str = include_str!("fixtures/thoughts_and_calls.txt");
const ERROR: &str = include_str!("fixtures/error.txt");
const CUT: &str = include_str!("fixtures/cut.txt");
const LENGTH: &str = include_str!("fixtures/length.txt");
const SAFETY: &str = include_str!("fixtures/safety.txt");
const BLOCKED: &str = include_str!("fixtures/blocked.txt");
const MALFORMED: &str = include_str!("fixtures/malformed_call.txt");
const USAGE_LATE: &str = include_str!("fixtures/usage_late.txt");
const WHOLE: &str = include_str!("fixtures/whole.txt");
const WHOLE_LIST: &str = include_str!("fixtures/whole_list.txt");
const ERROR_LIST: &str = include_str!("fixtures/error_list.txt");
const ALL: [&str; 12] =
    [TEXT, CALLS, ERROR, CUT, LENGTH, SAFETY, BLOCKED, MALFORMED, USAGE_LATE, WHOLE, WHOLE_LIST, ERROR_LIST];

fn request(messages: Vec<LoadedMessage>) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice::new("gemini", "gemini-3-flash", NAME),
        system: Some("be brief".into()),
        tools: vec![ToolDefinition {
            name: "read_file".into(),
            description: "reads".into(),
            parameters: json!({"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}),
        }],
        messages,
        output_tokens_max: 1_024,
        options: RequestOptions::default(),
    }
}

fn encode(request: &LoadedRequest) -> Value {
    serde_json::from_slice(&Gemini.encode(request).body).unwrap()
}

fn read_in(bytes: &[u8], size: usize) -> Result<(ReadAnswer, Vec<Delta>), ModelFailure> {
    let mut reader = Gemini.reader(&request(vec![]));
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

fn said(message: AssistantMessage) -> LoadedMessage {
    let calls = message.calls.into_iter();
    LoadedMessage::Assistant {
        text: message.text,
        calls: calls.map(|call| Call { id: call.id, name: call.name, arguments: call.arguments }).collect(),
        extras: message.extras,
    }
}

fn called(id: &str, arguments: &str) -> LoadedMessage {
    let call = Call { id: id.into(), name: "ls".into(), arguments: JsonText(arguments.into()) };
    LoadedMessage::Assistant { text: String::new(), calls: vec![call], extras: None }
}

const USAGE: Usage = Usage { input: 1_200, cached_read: 1_024, cached_write: 0, output: 80, reasoning: 64 };

#[test]
fn a_streamed_text_is_read_with_its_signature() {
    let (answer, deltas) = read_in(TEXT.as_bytes(), 5).unwrap();
    assert_eq!((answer.message.text.as_str(), answer.finish), ("Hello, wörld 你好", Finish::Stop));
    assert_eq!(answer.usage, Some(USAGE));
    assert_eq!(answer.response_id.as_deref(), Some("kqAsadj0Fp"));
    assert_eq!(deltas, [Delta::Text("Hel".into()), Delta::Text("lo, wörld 你好".into())]);
    let body =
        encode(&request(vec![LoadedMessage::user("x"), said(answer.message), LoadedMessage::user("y")]));
    let expected = json!([{"text":"Hello, wörld 你好"},{"text":"","thoughtSignature":"c2lnLXRleHQ="}]);
    assert_eq!(body["contents"][1]["parts"], expected);
}

#[test]
fn thoughts_and_calls_are_read_and_signatures_go_back_on_their_parts() {
    let (answer, deltas) = read_in(CALLS.as_bytes(), 100).unwrap();
    assert_eq!(answer.message.reasoning.as_deref(), Some("**Planning** the reads"));
    assert_eq!(answer.finish, Finish::ToolCalls);
    assert_eq!(deltas.iter().filter(|delta| matches!(delta, Delta::ToolCall { .. })).count(), 2);
    let history = vec![
        LoadedMessage::user("read both"),
        said(answer.message),
        LoadedMessage::tool("fc-7a1", "read_file", "a"),
        LoadedMessage::tool("fc-7a2", "read_file", ""),
    ];
    let mut next = request(history);
    let body = encode(&next);
    let sent = json!([
        {"text":"Looking."},
        {"functionCall":{"id":"fc-7a1","name":"read_file","args":{"path":"a.md"}},"thoughtSignature":"c2lnLUE="},
        {"functionCall":{"id":"fc-7a2","name":"read_file","args":{"path":"b.md"}}},
    ]);
    assert_eq!(body["contents"][1], json!({"role":"model","parts":sent}));
    let results = json!([
        {"functionResponse":{"name":"read_file","response":{"output":"a"},"id":"fc-7a1"}},
        {"functionResponse":{"name":"read_file","response":{"output":"(empty)"},"id":"fc-7a2"}},
    ]);
    assert_eq!(body["contents"][2], json!({"role":"user","parts":results}));
    next.choice.model = "gemini-3-pro-preview".into();
    let other = encode(&next).to_string();
    assert!(!other.contains("c2lnLUE=") && other.contains("skip_thought_signature_validator"), "{other}");
    next.choice.model = "gemini-2.5-flash".into();
    assert!(!encode(&next).to_string().contains("thoughtSignature"));
}

#[test]
fn a_signature_survives_the_log() {
    // Case `pair-gemini-o`.
    let bytes = format!(
        "data: {}\n\n",
        json!({"candidates":[{"content":{"role":"model","parts":[
            {"functionCall":{"name":"ls","args":{"p":"."}},"thoughtSignature":"c2lnLUE="}]},"finishReason":"STOP"}]})
    );
    let stored = serde_json::to_string(&read(&bytes).unwrap().message).unwrap();
    let message: AssistantMessage = serde_json::from_str(&stored).unwrap();
    let id = message.calls[0].id.clone();
    let body =
        encode(&request(vec![LoadedMessage::user("x"), said(message), LoadedMessage::tool(id, "ls", "r")]));
    let part = json!({"functionCall":{"name":"ls","args":{"p":"."}},"thoughtSignature":"c2lnLUE="});
    assert_eq!(body["contents"][1]["parts"], json!([part]));
}

#[test]
fn errors_and_cut_streams_are_failures() {
    // Case `stream-end-o`.
    assert_eq!(read(ERROR).unwrap_err().class, FailureClass::Overloaded);
    assert_eq!(read(CUT).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(read(MALFORMED).unwrap_err().class, FailureClass::ServerError);
    let limited = read(ERROR_LIST).unwrap_err();
    assert_eq!((limited.class, limited.status), (FailureClass::RateLimit, Some(429)));
    for text in ["", "data: {oops}\n\n", "{\"candidates\":[", "<html>", "[]", "{}"] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn what_ends_an_answer_early_is_told() {
    let length = read(LENGTH).unwrap();
    assert_eq!((length.finish, length.message.text.as_str()), (Finish::Length, "Partial"));
    let safety = read(SAFETY).unwrap();
    assert_eq!((safety.finish, safety.message.text.as_str()), (Finish::ContentFilter, "Par"));
    assert_eq!(read(BLOCKED).unwrap().finish, Finish::ContentFilter);
}

#[test]
fn usage_may_come_late_and_answers_whole() {
    assert_eq!(read(USAGE_LATE).unwrap().usage, Some(USAGE));
    let whole = read(WHOLE).unwrap();
    assert_eq!((whole.message.text.as_str(), whole.finish), ("Looking.", Finish::ToolCalls));
    assert_eq!(whole.message.calls[0].arguments.0, r#"{"path":"a.md"}"#);
    assert_eq!(read(WHOLE_LIST).unwrap().message.text, "Hello");
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
fn a_request_is_as_documented() {
    let mut asked = request(vec![LoadedMessage::user("hi")]);
    let wire = Gemini.encode(&asked);
    assert_eq!(wire.path, "models/gemini-3-flash:streamGenerateContent?alt=sse");
    let body = encode(&asked);
    assert_eq!(body["systemInstruction"], json!({"parts":[{"text":"be brief"}]}));
    let parameters = json!({"type":"OBJECT","properties":{"path":{"type":"STRING"}}});
    let declared = json!([{"name":"read_file","description":"reads","parameters":parameters}]);
    assert_eq!(body["tools"], json!([{"functionDeclarations":declared}]));
    let config = json!({"maxOutputTokens":1024,"thinkingConfig":{"includeThoughts":true}});
    assert_eq!(body["generationConfig"], config);
    assert_eq!(body.get("toolConfig"), None);
    assert_eq!(body["contents"], json!([{"role":"user","parts":[{"text":"hi"}]}]));
    asked.options.no_tool_calls = true;
    asked.choice.stream = false;
    asked.choice.model = "tunedModels/mine".into();
    assert_eq!(Gemini.encode(&asked).path, "tunedModels/mine:generateContent");
    assert_eq!(encode(&asked)["toolConfig"], json!({"functionCallingConfig":{"mode":"NONE"}}));
}

#[test]
fn images_go_where_they_are_taken() {
    let image = |media_type: &str| Image { media_type: media_type.into(), bytes: vec![1, 2, 3].into() };
    let shown =
        LoadedMessage::User { text: "what?".into(), images: vec![image("image/png"), image("image/gif")] };
    let result = LoadedMessage::Tool {
        id: "a".into(),
        name: "ls".into(),
        text: "r".into(),
        images: vec![image("image/webp")],
    };
    let body = encode(&request(vec![shown, called("a", "{}"), result, LoadedMessage::user("and?")]));
    let png = json!({"inlineData":{"mimeType":"image/png","data":"AQID"}});
    assert_eq!(body["contents"][0]["parts"][0], png);
    assert!(body["contents"][0]["parts"][1]["text"].as_str().unwrap().contains("image/gif"));
    let parts = &body["contents"][2]["parts"];
    assert!(parts[0].get("functionResponse").is_some());
    assert_eq!(parts[2]["inlineData"]["mimeType"], "image/webp");
    assert_eq!(parts[3], json!({"text":"and?"}));
}

#[test]
fn the_user_begins_and_ends() {
    let model = LoadedMessage::Assistant { text: "a".into(), calls: vec![], extras: None };
    let roles = |messages: Vec<LoadedMessage>| -> Vec<String> {
        let body = encode(&request(messages));
        body["contents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["role"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(roles(vec![model.clone()]), ["user", "model", "user"]);
    assert_eq!(roles(vec![]), ["user"]);
    assert_eq!(roles(vec![LoadedMessage::user("x"), model]), ["user", "model", "user"]);
}

#[test]
fn a_conversation_that_goes_on_shares_every_byte() {
    let answer = read(CALLS).unwrap();
    let history = [
        LoadedMessage::user("read both"),
        said(answer.message),
        LoadedMessage::tool("fc-7a1", "read_file", "a"),
        LoadedMessage::tool("fc-7a2", "read_file", "b"),
        LoadedMessage::Assistant { text: "done".into(), calls: vec![], extras: None },
        LoadedMessage::user("thanks"),
    ];
    let bytes = |end: usize| Gemini.encode(&request(history[..end].to_vec())).body;
    for (shorter, longer) in [(1, 4), (4, 6), (1, 6)] {
        let before = bytes(shorter);
        let open = before.strip_suffix(b"]}").unwrap();
        assert!(bytes(longer).starts_with(open));
    }
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
    }
}
