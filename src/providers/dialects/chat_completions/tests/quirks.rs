//! What goes out to servers that differ.

use herm_schema::events::{CacheTtl, ReasoningEffort};

use super::*;
use crate::providers::Image;

fn value(dialect: &ChatCompletions, request: &LoadedRequest) -> Value {
    serde_json::from_slice(&dialect.encode(request).body).unwrap()
}

fn with(quirks: Quirks) -> ChatCompletions {
    ChatCompletions { quirks }
}

fn image() -> Image {
    Image { media_type: "image/png".into(), bytes: vec![1, 2, 3].into() }
}

#[test]
fn images_are_parts_and_those_of_results_follow_the_results() {
    let shown = LoadedMessage::User { text: "what?".into(), images: vec![image()] };
    let shot = |id: &str| LoadedMessage::Tool {
        id: id.into(),
        name: "f".into(),
        text: "taken".into(),
        images: vec![image()],
    };
    let history = vec![shown, called(vec![call("a", "{}"), call("b", "{}")]), shot("a"), result("b", "r")];
    let found = value(&ChatCompletions::default(), &request(history));
    let url = json!({"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}});
    assert_eq!(found["messages"][1]["content"], json!([{"type":"text","text":"what?"}, url]));
    assert!(found["messages"][3]["content"].as_str().unwrap().starts_with("taken\n[1 image"));
    assert_eq!(found["messages"][4]["tool_call_id"], "b");
    assert_eq!((&found["messages"][5]["role"], &found["messages"][5]["content"][1]), (&json!("user"), &url));
}

#[test]
fn the_options_of_a_request_are_kept() {
    let mut asked = request(vec![user("x")]);
    asked.tools[0].parameters =
        json!({"type":"object","properties":{"format":{"type":"string","format":"uri"}}});
    asked.options = RequestOptions { no_tool_calls: true, plain_schemas: true, ..RequestOptions::default() };
    let found = value(&ChatCompletions::default(), &asked);
    assert_eq!(found["tool_choice"], "none");
    let parameters = json!({"type":"object","properties":{"format":{"type":"string"}}});
    assert_eq!(found["tools"][0]["function"]["parameters"], parameters);
}

#[test]
fn effort_goes_where_the_server_takes_it() {
    let mut asked = request(vec![user("x")]);
    asked.choice.effort = Some(ReasoningEffort::XHigh);
    asked.choice.model = "gpt-5".into();
    let in_field = |effort, asked: &LoadedRequest| value(&with(Quirks { effort, ..Quirks::USUAL }), asked);
    let none = in_field(EffortField::None, &asked);
    assert_eq!((none.get("reasoning_effort"), none.get("reasoning")), (None, None));
    assert_eq!(in_field(EffortField::ReasoningEffort, &asked)["reasoning_effort"], "high");
    assert_eq!(in_field(EffortField::Reasoning, &asked)["reasoning"], json!({"effort":"xhigh"}));
    asked.choice.model = "gpt-4.1".into();
    assert_eq!(in_field(EffortField::ReasoningEffort, &asked).get("reasoning_effort"), None);
}

#[test]
fn the_system_prompt_of_a_reasoning_model_is_the_developer_s() {
    let dialect = with(Quirks { developer_role: true, ..Quirks::USUAL });
    let mut asked = request(vec![user("x")]);
    assert_eq!(value(&dialect, &asked)["messages"][0]["role"], "system");
    asked.choice.model = "o3".into();
    assert_eq!(value(&dialect, &asked)["messages"][0]["role"], "developer");
}

#[test]
fn claude_is_told_where_to_cache_and_nobody_else_is() {
    let dialect = with(Quirks { cache_control: true, ..Quirks::USUAL });
    let history = [
        user("one"),
        called(vec![call("a", "{}")]),
        result("a", "r"),
        LoadedMessage::Assistant { text: "t".into(), calls: vec![], extras: None },
        user("two"),
    ];
    let mut asked = request(history.to_vec());
    assert!(!body(&dialect, &asked).contains("cache_control"));
    asked.choice.model = "anthropic/claude-sonnet-4.5".into();
    asked.choice.cache_ttl = CacheTtl::OneHour;
    let mark = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;
    let whole = body(&dialect, &asked);
    assert_eq!(whole.matches(mark).count(), 4);
    let found: Value = serde_json::from_str(&whole).unwrap();
    let marked = |at: usize| found["messages"][at]["content"][0].get("cache_control").is_some();
    assert_eq!([0, 1, 2, 3, 4, 5].map(marked), [true, false, false, true, true, true]);
    asked.messages.truncate(1);
    let before = body(&dialect, &asked).replace(mark, "");
    assert!(whole.replace(mark, "").starts_with(before.strip_suffix("]}").unwrap()));
    asked.choice.cache_ttl = CacheTtl::Off;
    assert!(!body(&dialect, &asked).contains("cache_control"));
}

#[test]
fn azure_s_deployments_have_paths_of_their_own() {
    let dialect = with(Quirks { api_version: Some("2024-10-21".into()), ..Quirks::USUAL });
    let wire = dialect.encode(&request(vec![user("x")]));
    assert_eq!(wire.path, "deployments/m/chat/completions?api-version=2024-10-21");
    assert_eq!((dialect.base_path(), dialect.models_path()), ("/openai", None));
    assert_eq!(ChatCompletions::default().base_path(), "/v1");
}

#[test]
fn ids_and_names_are_made_acceptable_and_names_come_back() {
    let mut asked =
        request(vec![user("x"), called(vec![call("functions.f:0", "{}")]), result("functions.f:0", "r")]);
    asked.tools[0].name = "srv.f".into();
    let found = value(&ChatCompletions::default(), &asked);
    let id = found["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.starts_with("call_") && id.len() <= 40);
    assert_eq!(found["messages"][3]["tool_call_id"], id);
    let name = found["tools"][0]["function"]["name"].as_str().unwrap();
    let deltas = [json!({"tool_calls":[{"index":0,"id":"a","function":{"name":name,"arguments":"{}"}}]})];
    let mut reader = ChatCompletions::default().reader(&asked);
    reader.feed(stream(&deltas, Some("tool_calls"), DONE).as_bytes()).unwrap();
    assert_eq!(reader.finish().unwrap().0.message.calls[0].name, "srv.f");
    let mistral = value(&with(Quirks { call_ids: CallIds::NineAlphanumeric, ..Quirks::USUAL }), &asked);
    assert_eq!(mistral["messages"][3]["tool_call_id"].as_str().unwrap().len(), 9);
}

#[test]
fn quirks_are_read_from_data_in_either_spelling() {
    let read = |value: Value| serde_json::from_value::<Quirks>(value);
    assert_eq!(read(json!({})).unwrap(), Quirks::USUAL);
    let expected = Quirks {
        output_limit: OutputLimitField::MaxCompletionTokens,
        effort: EffortField::ReasoningEffort,
        api_version: Some("v".into()),
        ..Quirks::USUAL
    };
    let snake = json!({"output_limit":"max_completion_tokens","effort":"reasoning_effort","api_version":"v"});
    let kebab = json!({"output-limit":"max-completion-tokens","effort":"reasoning-effort","api-version":"v"});
    assert_eq!((read(snake).unwrap(), read(kebab).unwrap()), (expected.clone(), expected));
    assert!(read(json!({"unknown":true})).is_err());
}
