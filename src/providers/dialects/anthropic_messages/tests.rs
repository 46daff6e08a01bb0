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

pub(super) const MODEL: &str = "claude-opus-4-6";

pub(super) fn request(messages: Vec<LoadedMessage>) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice { output_tokens_max: 8_192, ..ModelChoice::new("anthropic", MODEL, NAME) },
        system: Some("be brief".into()),
        tools: vec![ToolDefinition {
            name: "f".into(),
            description: "does f".into(),
            parameters: json!({"type":"object","properties":{"b":{"type":"string","format":"uri"}}}),
        }],
        messages,
        output_tokens_max: 4_096,
        options: RequestOptions::default(),
    }
}

pub(super) fn call(id: &str, arguments: &str) -> Call {
    Call { id: id.into(), name: "f".into(), arguments: JsonText(arguments.into()) }
}

pub(super) fn called(calls: Vec<Call>, extras: Option<ProviderExtras>) -> LoadedMessage {
    LoadedMessage::Assistant { text: String::new(), calls, extras }
}

pub(super) fn result(id: &str, text: &str) -> LoadedMessage {
    LoadedMessage::tool(id, "f", text)
}

fn body_text(dialect: &AnthropicMessages, request: &LoadedRequest) -> String {
    String::from_utf8(dialect.encode(request).body).unwrap()
}

pub(super) fn body(request: &LoadedRequest) -> Value {
    serde_json::from_str(&body_text(&AnthropicMessages::default(), request)).unwrap()
}

#[test]
fn the_body_is_as_documented_and_its_keys_stand_in_order() {
    let history = vec![
        LoadedMessage::user("hi"),
        called(vec![call("a.1", "{\"y\":1,\"x\":\"é\"}")], None),
        result("a.1", ""),
    ];
    let mut request = request(history);
    request.choice.cache_ttl = CacheTtl::OneHour;
    request.choice.effort = Some(ReasoningEffort::High);
    let id = CALL_IDS.fit("a.1");
    let cache = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
    let expected = [
        r#"{"model":"claude-opus-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"adaptive"},"#,
        r#""output_config":{"effort":"high"},"#,
        r#""tools":[{"name":"f","description":"does f","input_schema":{"type":"object","#,
        r#""properties":{"b":{"type":"string","format":"uri"}}}}],"#,
        &format!(r#""system":[{{"type":"text","text":"be brief",{cache}}}],"#),
        &format!(r#""messages":[{{"role":"user","content":[{{"type":"text","text":"hi",{cache}}}]}},"#),
        &format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"f","#),
        &format!(r#""input":{{"x":"é","y":1}},{cache}}}]}},"#),
        &format!(r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","#),
        &format!(r#""content":[{{"type":"text","text":"(empty)"}}],{cache}}}]}}]}}"#),
    ];
    assert_eq!(body_text(&AnthropicMessages::default(), &request), expected.concat());
}

#[test]
fn headers_and_paths_are_those_of_the_host() {
    let betas = vec!["context-1m-2025-08-07".to_owned(), BINDING_BETA.to_owned()];
    let mut quirks = Quirks { betas, ..Quirks::default() };
    let mut request = request(vec![LoadedMessage::user("hi")]);
    let of_model = |model: &str| {
        let choice = ModelChoice { model: model.to_owned(), ..request.choice.clone() };
        AnthropicMessages { quirks: quirks.clone() }.betas(&LoadedRequest { choice, ..request.clone() })
    };
    let long = "context-1m-2025-08-07".to_owned();
    assert_eq!(of_model(MODEL), Some(long), "a model that does not know an opt-in is not told of it");
    request.choice.model = "claude-opus-5-5".to_owned();
    let sent = AnthropicMessages { quirks: quirks.clone() }.encode(&request);
    let header = |sent: &WireRequest, name: &str| {
        sent.headers.iter().find(|(found, _)| *found == name).map(|(_, value)| value.clone())
    };
    assert_eq!(sent.path, "messages");
    assert_eq!(header(&sent, "anthropic-version").as_deref(), Some("2023-06-01"));
    let both = format!("context-1m-2025-08-07,{BINDING_BETA}");
    assert_eq!(header(&sent, "anthropic-beta"), Some(both));
    request.options.no_long_context = true;
    quirks.host = Host::Vertex;
    let dialect = AnthropicMessages { quirks };
    let sent = dialect.encode(&request);
    assert_eq!(sent.path, "models/claude-opus-5-5:streamRawPredict");
    assert_eq!(header(&sent, "anthropic-version"), None);
    assert_eq!(header(&sent, "anthropic-beta").as_deref(), Some(BINDING_BETA));
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!((&body["anthropic_version"], body.get("model")), (&json!("vertex-2023-10-16"), None));
    request.choice.stream = false;
    assert_eq!(dialect.encode(&request).path, "models/claude-opus-5-5:rawPredict");
    assert_eq!(dialect.models_path(), None);
}

#[test]
fn quirks_are_read_from_data_and_unknown_ones_are_refused() {
    let quirks: Quirks =
        serde_json::from_value(json!({"betas": ["b"], "host": "vertex", "thinking": "absent"})).unwrap();
    assert_eq!((quirks.host, quirks.thinking), (Host::Vertex, ThinkingForm::Absent));
    assert!(serde_json::from_value::<Quirks>(json!({"beta": []})).is_err());
}

#[test]
fn options_change_the_request() {
    let mut request =
        request(vec![LoadedMessage::user("x"), called(vec![call("a", "{}")], None), result("a", "r")]);
    request.options.no_tool_calls = true;
    request.options.plain_schemas = true;
    request.choice.cache_ttl = CacheTtl::Off;
    let found = body(&request);
    assert_eq!(found["tool_choice"], json!({"type": "none"}));
    assert_eq!(found["tools"][0]["input_schema"]["properties"]["b"], json!({"type": "string"}));
    assert!(!found.to_string().contains("cache_control"));
    request.tools.clear();
    let found = body(&request);
    assert_eq!(found["tools"][0]["name"], "f", "a history with calls needs its tools");
    assert_eq!(found["tool_choice"], json!({"type": "none"}));
}

#[test]
fn without_a_system_prompt_the_tools_end_the_cached_prefix() {
    let mut request = request(vec![LoadedMessage::user("x")]);
    request.system = Some(" ".into());
    let found = body(&request);
    assert_eq!(found.get("system"), None);
    assert_eq!(found["tools"][0]["cache_control"], json!({"type": "ephemeral"}));
}

#[test]
fn images_are_blocks_also_in_results_and_what_cannot_be_shown_is_said() {
    let image = |kind: &str| Image { media_type: kind.into(), bytes: Arc::from(*b"\x89PNG") };
    let shown =
        LoadedMessage::User { text: "see".into(), images: vec![image("image/png"), image("image/tiff")] };
    let shot = LoadedMessage::Tool {
        id: "a".into(),
        name: "f".into(),
        text: String::new(),
        images: vec![image("image/webp")],
    };
    let found = body(&request(vec![shown, called(vec![call("a", "{}")], None), shot]));
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw=="});
    assert_eq!(found["messages"][0]["content"][0], json!({"type": "image", "source": source}));
    assert_eq!(found["messages"][0]["content"][1]["text"], "[an image of type `image/tiff` cannot be shown]");
    assert_eq!(found["messages"][2]["content"][0]["content"][0]["source"]["media_type"], "image/webp");
}

#[test]
fn a_budget_is_left_out_where_the_vendor_would_refuse_it() {
    let calls = vec![LoadedMessage::user("x"), called(vec![call("a", "{}")], None), result("a", "r")];
    let mut request = request(calls);
    request.choice.model = "claude-sonnet-4-5".into();
    request.choice.effort = Some(ReasoningEffort::Low);
    assert_eq!(body(&request).get("thinking"), None);
    request.messages.truncate(1);
    assert_eq!(body(&request)["thinking"], json!({"type": "enabled", "budget_tokens": 3_072}));
}

/// `text` without cache breakpoints, which move.
fn without_breakpoints(text: &str) -> String {
    text.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
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
        called(vec![call("a", "{}")], None),
        result("a", "rc"),
    ];
    let of = |end: usize| {
        without_breakpoints(&body_text(&AnthropicMessages::default(), &request(history[..end].to_vec())))
    };
    let sent: Vec<String> = [1, 4, 6, 8].into_iter().map(of).collect();
    for pair in sent.windows(2) {
        let shared = pair[0].strip_suffix("]}").unwrap();
        assert!(pair[1].starts_with(&format!("{shared},")), "{}\n{}", pair[0], pair[1]);
    }
}

/// Reads `bytes`, cut in pieces of `size`.
fn read_in(bytes: &[u8], size: usize) -> Result<(ReadAnswer, Vec<Delta>), ModelFailure> {
    let mut reader = AnthropicMessages::default().reader(&request(vec![LoadedMessage::user("x")]));
    let mut deltas = Vec::new();
    for chunk in bytes.chunks(size) {
        deltas.extend(reader.feed(chunk)?.deltas);
    }
    let (answer, progress) = reader.finish()?;
    deltas.extend(progress.deltas);
    Ok((answer, deltas))
}

pub(super) fn read(bytes: &str) -> Result<ReadAnswer, ModelFailure> {
    let whole = read_in(bytes.as_bytes(), bytes.len().max(1));
    let single = read_in(bytes.as_bytes(), 1);
    assert_eq!(whole, single);
    let (answer, deltas) = whole?;
    let shown = deltas.iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(shown.collect::<String>(), answer.message.text, "what is shown is what is kept");
    Ok(answer)
}

pub(super) const CALLS: &str = include_str!("fixtures/thinking_and_calls.txt");

#[test]
fn text_streams_with_its_usage() {
    let answer = read(include_str!("fixtures/text.txt")).unwrap();
    assert_eq!((answer.message.text.as_str(), answer.finish), ("Héllo 你好!", Finish::Stop));
    let usage = Usage { input: 1_065, cached_read: 1_000, cached_write: 40, output: 15, reasoning: 0 };
    assert_eq!(answer.usage, Some(usage));
    assert_eq!(answer.response_id.as_deref(), Some("msg_01XFDUDYJgAACzvnptvVoYEL"));
    assert_eq!(answer.message.extras, None);
}

#[test]
fn parallel_calls_come_with_thinking_and_go_back_in_their_order() {
    let answer = read(CALLS).unwrap();
    assert_eq!(answer.finish, Finish::ToolCalls);
    assert_eq!(answer.message.text, "Let me look.\n\nBoth.");
    assert_eq!(answer.message.reasoning.as_deref(), Some("Two files, both at once."));
    let calls: Vec<_> =
        answer.message.calls.iter().map(|call| (call.name.as_str(), call.arguments.0.as_str())).collect();
    assert_eq!(calls, [("read_file", "{\"path\": \"a.md\"}"), ("list", "{}")]);
    let kinds = |request: &LoadedRequest| -> Vec<String> {
        let content = body(request)["messages"][1]["content"].clone();
        content.as_array().unwrap().iter().map(|block| block["type"].as_str().unwrap().to_owned()).collect()
    };
    let said = LoadedMessage::Assistant {
        text: answer.message.text.clone(),
        calls: answer
            .message
            .calls
            .iter()
            .map(|c| Call { id: c.id.clone(), name: c.name.clone(), arguments: c.arguments.clone() })
            .collect(),
        extras: answer.message.extras,
    };
    let mut next = request(vec![LoadedMessage::user("x"), said]);
    assert_eq!(kinds(&next), ["thinking", "text", "redacted_thinking", "text", "tool_use", "tool_use"]);
    next.choice.model = "claude-opus-4-5".into();
    assert_eq!(kinds(&next), ["text", "tool_use", "tool_use"], "foreign thinking stays at home");
}

#[test]
fn thinking_that_is_not_shown_is_kept_by_its_signature() {
    let answer = read(include_str!("fixtures/omitted_thinking.txt")).unwrap();
    assert_eq!(answer.message.reasoning, None);
    assert!(answer.message.extras.unwrap().json.0.contains("EosnCkYICxIMMb3LzNrMu"));
}

#[test]
fn a_whole_body_is_read_whatever_was_asked_for() {
    let answer = read(include_str!("fixtures/whole.txt")).unwrap();
    assert_eq!((answer.finish, answer.message.calls.len()), (Finish::ToolCalls, 1));
    assert_eq!(answer.message.calls[0].arguments.0, "{\"b\":[1],\"a\":\"é\"}");
    assert_eq!(answer.message.reasoning.as_deref(), Some("hm"));
}

#[test]
fn ends_that_are_no_answer_are_failures_and_cut_ones_are_told() {
    assert_eq!(read(include_str!("fixtures/overloaded.txt")).unwrap_err().class, FailureClass::Overloaded);
    assert_eq!(read(include_str!("fixtures/cut.txt")).unwrap_err().class, FailureClass::ServerError);
    assert_eq!(read("").unwrap_err().class, FailureClass::ServerError);
    let length = read(include_str!("fixtures/length.txt")).unwrap();
    assert_eq!(length.finish, Finish::Length);
    assert_eq!(length.message.calls[0].arguments.0, "{\"path\":\"a\",\"content\":\"lor");
    let refusal = read(include_str!("fixtures/refusal.txt")).unwrap();
    let declined = ("This request was declined.", Finish::ContentFilter);
    assert_eq!((refusal.message.text.as_str(), refusal.finish), declined);
    let of = |reason: &str| {
        let text = include_str!("fixtures/text.txt").replace("\"end_turn\"", &format!("\"{reason}\""));
        read(&text).unwrap().finish
    };
    assert_eq!(of("model_context_window_exceeded"), Finish::Length);
    assert_eq!(of("pause_turn"), Finish::Length);
    assert_eq!(of("stop_sequence"), Finish::Stop);
    assert_eq!(of("tool_use"), Finish::Stop, "there is no call");
}

#[test]
fn what_is_shown_is_kept_in_the_order_in_which_it_was_shown() {
    // Found by fuzzing: a block that was gone back to was kept before what was shown before it.
    let delta = |index: u64, text: &str| {
        let delta = json!({"type": "text_delta", "text": text});
        format!("data: {}\n\n", json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let bytes = [delta(1, "a"), delta(2, "b"), delta(1, "c"), format!("data: {end}\n\n")].concat();
    assert_eq!(read(&bytes).unwrap().message.text, "abc");
    // And white space in front was kept or not, by where the bytes were cut.
    assert_eq!(read("\u{c}[]").unwrap_err().class, read("[]").unwrap_err().class);
}

#[test]
fn errors_inside_of_a_success_are_failures() {
    let of = |body: &str| read(body).unwrap_err().class;
    let error = json!({"type":"error","error":{"type":"rate_limit_error","message":"slow down"}});
    assert_eq!(of(&error.to_string()), FailureClass::RateLimit);
    assert_eq!(of("<html>hello</html>"), FailureClass::ServerError);
    assert_eq!(of("data: {oops}\n\n"), FailureClass::ServerError);
    let unbegun = json!({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{"}});
    assert_eq!(of(&format!("data: {unbegun}\n\n")), FailureClass::ServerError);
}

#[test]
fn counts_may_come_late_and_pings_are_no_content() {
    let answer = read(include_str!("fixtures/late_usage.txt")).unwrap();
    let usage = Usage { input: 10, cached_read: 3, cached_write: 0, output: 2, reasoning: 1 };
    assert_eq!(answer.usage, Some(usage));
    let mut reader = AnthropicMessages::default().reader(&request(vec![]));
    assert!(!reader.feed(b"event: ping\ndata: {\"type\": \"ping\"}\n\n").unwrap().content);
}

#[test]
fn names_that_were_changed_come_back_as_they_were() {
    let mut request = request(vec![LoadedMessage::user("x")]);
    request.tools[0].name = "mcp.server/tool".into();
    let sent = body(&request)["tools"][0]["name"].as_str().unwrap().to_owned();
    assert_ne!(sent, "mcp.server/tool");
    let mut reader = AnthropicMessages::default().reader(&request);
    reader.feed(CALLS.replace("\"read_file\"", &format!("\"{sent}\"")).as_bytes()).unwrap();
    let (answer, _) = reader.finish().unwrap();
    assert_eq!(answer.message.calls[0].name, "mcp.server/tool");
}

#[test]
fn the_vendors_list_of_models_is_read() {
    let list = json!({"data": [{"type": "model", "id": "claude-opus-4-6", "max_input_tokens": 200_000,
        "max_tokens": 64_000, "capabilities": {"image_input": {"supported": true}}}], "has_more": false});
    let models = AnthropicMessages::default().read_models(&list).unwrap();
    let expected = ListedModel {
        name: "claude-opus-4-6".into(),
        context_window_tokens: Some(200_000),
        output_tokens_max: Some(64_000),
        images: Some(true),
    };
    assert_eq!(models, [expected]);
}

proptest::proptest! {
    #[test]
    fn any_cut_gives_the_same_answer(sizes in proptest::collection::vec(1_usize..60, 1..200)) {
        let mut reader = AnthropicMessages::default().reader(&request(vec![]));
        let mut rest = CALLS.as_bytes();
        for size in sizes.iter().cycle() {
            let (head, tail) = rest.split_at((*size).min(rest.len()));
            reader.feed(head).unwrap();
            rest = tail;
            if rest.is_empty() { break; }
        }
        proptest::prop_assert_eq!(reader.finish().unwrap().0, read_in(CALLS.as_bytes(), 1).unwrap().0);
    }

    #[test]
    fn no_bytes_panic(text in ".{0,200}", size in 1_usize..40) {
        let _ = read_in(text.as_bytes(), size);
        let _ = read_in(format!("data: {text}\n\n").as_bytes(), size);
        let cut: String = CALLS.chars().take(text.len() * 10).collect();
        let _ = read_in((cut + text.as_str()).as_bytes(), size);
    }
}
