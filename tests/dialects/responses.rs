//! A strict validator of requests to OpenAI's Responses API, and requests that must pass it.
//!
//! Written from the API reference, "Create a model response" (v1), the guides "Reasoning models" and
//! "Function calling", and the refusals that the API documents: items without their partners, empty
//! content, ids and names outside of their alphabets.

use std::collections::BTreeSet;

use herm::providers::dialects::responses::{NAME, Quirks, Responses};
use herm::providers::dialects::{Dialect, WireRequest};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::histories::{self, FOREIGN};
use super::rules::{arguments, data_url, ensure, fields, list, not_blank, parameters, printable, text, word};

const NAME_CHARS_MAX: usize = 64;
const CALL_ID_CHARS_MAX: usize = 64;
const OUTPUT_TOKENS_MIN: u64 = 16;

/// Whether the API takes `request`; why not.
pub fn check(request: &WireRequest) -> Result<(), String> {
    ensure(request.path == "responses", format!("the path is `{}`", request.path))?;
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let allowed = [
        "include",
        "reasoning",
        "max_output_tokens",
        "prompt_cache_key",
        "tool_choice",
        "tools",
        "instructions",
    ];
    fields(&body, "the body", &["model", "store", "stream", "input"], &allowed)?;
    printable(&body)?;
    not_blank(text(&body["model"], "model")?, "model")?;
    ensure(body["store"] == json!(false) && body["stream"].is_boolean(), "store or stream is wrong")?;
    settings(&body)?;
    let tools = body.get("tools").map_or(Ok(&Vec::new()), |tools| list(tools, "tools")).cloned()?;
    let mut names = BTreeSet::new();
    for it in &tools {
        let name = tool(it)?;
        ensure(names.insert(name.to_owned()), format!("two tools are named `{name}`"))?;
    }
    if let Some(choice) = body.get("tool_choice") {
        ensure(
            !tools.is_empty() && ["none", "auto", "required"].iter().any(|it| choice == it),
            "tool_choice",
        )?;
    }
    input(list(&body["input"], "input")?)
}

fn settings(body: &Value) -> Result<(), String> {
    if let Some(include) = body.get("include") {
        ensure(*include == json!(["reasoning.encrypted_content"]), format!("include is {include}"))?;
    }
    if let Some(reasoning) = body.get("reasoning") {
        fields(reasoning, "reasoning", &[], &["effort", "summary"])?;
        let effort = reasoning.get("effort").and_then(Value::as_str).unwrap_or("low");
        let efforts = ["none", "minimal", "low", "medium", "high", "xhigh"];
        ensure(efforts.contains(&effort), format!("effort is `{effort}`"))?;
        ensure(reasoning.get("summary").is_none_or(|it| it == "auto"), "summary")?;
    }
    if let Some(limit) = body.get("max_output_tokens") {
        ensure(limit.as_u64().is_some_and(|limit| limit >= OUTPUT_TOKENS_MIN), format!("limit {limit}"))?;
    }
    if let Some(key) = body.get("prompt_cache_key") {
        ensure((1..=64).contains(&text(key, "cache key")?.len()), "cache key")?;
    }
    body.get("instructions").map_or(Ok(()), |it| not_blank(text(it, "instructions")?, "instructions"))
}

fn tool(tool: &Value) -> Result<&str, String> {
    fields(tool, "tool", &["type", "name", "parameters"], &["description", "strict"])?;
    ensure(tool["type"] == "function" && tool["strict"] == json!(false), "a tool is no plain function")?;
    let name = text(&tool["name"], "name of a tool")?;
    word(name, NAME_CHARS_MAX, "name of a tool")?;
    parameters(&tool["parameters"])?;
    Ok(name)
}

/// The items, each beside the partners that it demands.
fn input(items: &[Value]) -> Result<(), String> {
    ensure(!items.is_empty(), "the input is empty")?;
    let (mut open, mut ids) = (BTreeSet::new(), BTreeSet::new());
    let (mut answering, mut reasoned) = (false, false);
    for item in items {
        let kind = text(&item["type"], "type of an item")?;
        let of_model = match kind {
            "message" => message(item)? == "assistant",
            "reasoning" => reasoning(item)?,
            "function_call" => {
                fields(item, kind, &["type", "call_id", "name", "arguments"], &[])?;
                word(text(&item["name"], "name")?, NAME_CHARS_MAX, "name of a call")?;
                arguments(&item["arguments"])?;
                let id = text(&item["call_id"], "call_id")?;
                word(id, CALL_ID_CHARS_MAX, "call_id")?;
                ensure(ids.insert(id.to_owned()), format!("the call id `{id}` is used twice"))?;
                ensure(!answering, "a call stands between results")?;
                open.insert(id.to_owned());
                true
            }
            "function_call_output" => {
                let id = result(item)?;
                ensure(open.remove(id), format!("the result `{id}` has no call"))?;
                answering = !open.is_empty();
                false
            }
            other => return Err(format!("an item of type `{other}`")),
        };
        ensure(of_model || !reasoned, "a reasoning item is not followed by what it led to")?;
        ensure(
            of_model || kind == "function_call_output" || open.is_empty(),
            "a call is not answered at once",
        )?;
        ensure(!(of_model && answering), "something stands between results")?;
        reasoned = kind == "reasoning";
    }
    ensure(!reasoned, "a reasoning item stands last")?;
    ensure(open.is_empty(), format!("calls without a result: {open:?}"))
}

fn message(item: &Value) -> Result<&str, String> {
    fields(item, "message", &["type", "role", "content"], &["phase"])?;
    let role = text(&item["role"], "role")?;
    let parts = list(&item["content"], "content")?;
    ensure(!parts.is_empty(), "a message is empty")?;
    match role {
        "user" => {
            ensure(item.get("phase").is_none(), "a user's message has a phase")?;
            parts.iter().try_for_each(said_to_the_model)?;
        }
        "assistant" => {
            let phases = ["commentary", "final_answer"];
            ensure(item.get("phase").is_none_or(|it| phases.iter().any(|phase| it == phase)), "phase")?;
            for part in parts {
                fields(part, "part", &["type", "text"], &[])?;
                ensure(part["type"] == "output_text", format!("the model said {part}"))?;
                not_blank(text(&part["text"], "text")?, "a text of the model")?;
            }
        }
        other => return Err(format!("a message of `{other}`")),
    }
    Ok(role)
}

fn said_to_the_model(part: &Value) -> Result<(), String> {
    match part["type"].as_str() {
        Some("input_text") => {
            fields(part, "part", &["type", "text"], &[])?;
            not_blank(text(&part["text"], "text")?, "a text")
        }
        Some("input_image") => {
            fields(part, "part", &["type", "image_url", "detail"], &[])?;
            ensure(part["detail"] == "auto", "detail")?;
            data_url(text(&part["image_url"], "image_url")?)
        }
        _ => Err(format!("a part {part}")),
    }
}

fn reasoning(item: &Value) -> Result<bool, String> {
    fields(item, "reasoning", &["type", "summary", "encrypted_content"], &[])?;
    not_blank(text(&item["encrypted_content"], "encrypted_content")?, "encrypted_content")?;
    for part in list(&item["summary"], "summary")? {
        fields(part, "summary", &["type", "text"], &[])?;
        ensure(part["type"] == "summary_text", format!("a summary {part}"))?;
    }
    Ok(true)
}

fn result(item: &Value) -> Result<&str, String> {
    fields(item, "result", &["type", "call_id", "output"], &[])?;
    match &item["output"] {
        Value::String(text) => not_blank(text, "a result")?,
        Value::Array(parts) => {
            ensure(!parts.is_empty(), "a result is empty")?;
            parts.iter().try_for_each(said_to_the_model)?;
        }
        other => return Err(format!("a result {other}")),
    }
    text(&item["call_id"], "call_id")
}

const MODELS: &[&str] = &["gpt-5.2", "gpt-5", "o3", "gpt-4.1", "grok-4"];

fn own_extras(text: &str, calls: usize) -> String {
    let reasoning =
        json!({"reasoning":{"encrypted_content":"c2ln","summary":[{"type":"summary_text","text":"s"}]}});
    let mut parts = vec![reasoning.clone()];
    parts.push(json!({"text":{"chars":text.chars().count(),"phase":"commentary"}}));
    parts.extend([reasoning.clone(), reasoning.clone()]);
    parts.extend(std::iter::repeat_n(json!("call"), calls));
    parts.push(reasoning);
    json!({ "parts": parts }).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_request_is_taken(request in histories::requests(NAME, MODELS, own_extras)) {
        for quirks in [Quirks::USUAL, Quirks::CODEX, Quirks::XAI] {
            let wire = Responses { quirks }.encode(&request);
            let body = String::from_utf8_lossy(&wire.body).into_owned();
            prop_assert_eq!(check(&wire), Ok(()), "{}", body);
            prop_assert!(!body.contains(FOREIGN), "{}", body);
            prop_assert_eq!(&wire, &Responses { quirks }.encode(&request));
        }
    }

    #[test]
    fn a_request_begins_with_the_one_before(steps in proptest::collection::vec(0u8..3, 1..8)) {
        let (messages, sent) = histories::conversation(&steps);
        let bytes = |end: usize| Responses::default().encode(&histories::request(NAME, "gpt-5.2", &messages[..end])).body;
        for pair in sent.windows(2) {
            prop_assert!(histories::goes_on_from(&bytes(pair[1]), &bytes(pair[0])));
        }
    }
}

#[test]
fn the_validator_refuses_what_the_api_refuses() {
    let with = |input: Value| {
        let body = json!({"model":"m","store":false,"stream":true,"input":input});
        check(&WireRequest { path: "responses".into(), headers: vec![], body: body.to_string().into_bytes() })
    };
    let user = json!({"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]});
    let call = json!({"type":"function_call","call_id":"a","name":"f","arguments":"{}"});
    let result = json!({"type":"function_call_output","call_id":"a","output":"r"});
    let reasoning = json!({"type":"reasoning","summary":[],"encrypted_content":"e"});
    assert_eq!(with(json!([user, reasoning, call, result])), Ok(()));
    for refused in [
        json!([]),
        json!([user, call]),
        json!([user, result]),
        json!([user, reasoning, user]),
        json!([user, reasoning]),
        json!([user, call, user, result]),
        json!([user, call, result, result]),
        json!([{"type":"message","role":"user","content":[]}]),
        json!([{"type":"message","role":"assistant","content":[{"type":"output_text","text":""}]}]),
    ] {
        assert!(with(refused.clone()).is_err(), "{refused}");
    }
}
