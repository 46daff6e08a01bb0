//! A strict validator of requests in Chat Completions, and requests that must pass it.
//!
//! Written from OpenAI's reference, "Create chat completion", and from what the servers that copied
//! it refuse: roles that do not alternate, calls that are not answered at once, empty content.

use std::collections::BTreeSet;

use herm::providers::dialects::chat_completions::{
    CallIds, ChatCompletions, EffortField, NAME, OutputLimitField, Quirks,
};
use herm::providers::dialects::{Dialect, WireRequest};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::histories::{self, FOREIGN};
use super::rules::{arguments, data_url, ensure, fields, list, not_blank, parameters, printable, text, word};

const NAME_CHARS_MAX: usize = 64;
const CALL_ID_CHARS_MAX: usize = 40;
const BREAKPOINTS_MAX: usize = 4;

/// Whether a strict server takes `request`; why not.
pub fn check(request: &WireRequest) -> Result<(), String> {
    let path = request.path.split('?').next().unwrap_or_default();
    let deployment = path.starts_with("deployments/") && path.ends_with("/chat/completions");
    ensure(path == "chat/completions" || deployment, format!("the path is `{path}`"))?;
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let allowed = [
        "max_tokens",
        "max_completion_tokens",
        "stream_options",
        "reasoning_effort",
        "reasoning",
        "tool_choice",
        "tools",
    ];
    fields(&body, "the body", &["model", "stream", "messages"], &allowed)?;
    printable(&body)?;
    not_blank(text(&body["model"], "model")?, "model")?;
    settings(&body)?;
    let tools = body.get("tools").map_or(Ok(&Vec::new()), |tools| list(tools, "tools")).cloned()?;
    ensure(body.get("tools").is_none() || !tools.is_empty(), "the list of tools is empty")?;
    let mut names = BTreeSet::new();
    for tool in &tools {
        fields(tool, "tool", &["type", "function"], &[])?;
        let function = &tool["function"];
        fields(function, "function", &["name", "description", "parameters"], &[])?;
        let name = text(&function["name"], "name of a tool")?;
        word(name, NAME_CHARS_MAX, "name of a tool")?;
        ensure(names.insert(name), format!("two tools are named `{name}`"))?;
        parameters(&function["parameters"])?;
    }
    ensure(body.get("tool_choice").is_none_or(|it| it == "none" && !tools.is_empty()), "tool_choice")?;
    let marks = body.to_string().matches("\"cache_control\"").count();
    ensure(marks <= BREAKPOINTS_MAX, format!("{marks} breakpoints"))?;
    messages(list(&body["messages"], "messages")?)
}

fn settings(body: &Value) -> Result<(), String> {
    let streams = body["stream"].as_bool().ok_or("stream is no truth value")?;
    ensure(streams || body.get("stream_options").is_none(), "stream_options without a stream")?;
    for name in ["max_tokens", "max_completion_tokens"] {
        let limit = body.get(name);
        ensure(limit.is_none_or(|it| it.as_u64().is_some_and(|it| it > 0)), format!("{name} is {limit:?}"))?;
    }
    let effort = body.get("reasoning_effort").or_else(|| body.pointer("/reasoning/effort"));
    let efforts = ["none", "minimal", "low", "medium", "high", "xhigh"];
    ensure(effort.is_none_or(|it| efforts.iter().any(|known| it == known)), format!("effort is {effort:?}"))
}

fn messages(messages: &[Value]) -> Result<(), String> {
    let (mut open, mut ids) = (BTreeSet::new(), BTreeSet::new());
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = text(&message["role"], "role")?;
        ensure(open.is_empty() || role == "tool", "a call is not answered at once")?;
        ensure(role != before || role == "tool", format!("two messages of `{role}` in a row"))?;
        match role {
            "system" | "developer" => {
                ensure(at == 0, "the system prompt does not stand first")?;
                fields(message, role, &["role", "content"], &[])?;
                texts(&message["content"])?;
            }
            "user" => {
                fields(message, role, &["role", "content"], &[])?;
                user(&message["content"])?;
            }
            "assistant" => {
                fields(message, role, &["role", "content"], &["tool_calls", "reasoning_content"])?;
                let calls = message.get("tool_calls");
                let calls = calls.map_or(Ok(&Vec::new()), |calls| list(calls, "tool_calls")).cloned()?;
                for it in &calls {
                    let id = call(it)?;
                    ensure(ids.insert(id.to_owned()), format!("the call id `{id}` is used twice"))?;
                    open.insert(id.to_owned());
                }
                if calls.is_empty() {
                    texts(&message["content"])?;
                }
            }
            "tool" => {
                fields(message, role, &["role", "content", "tool_call_id"], &["name"])?;
                let id = text(&message["tool_call_id"], "tool_call_id")?;
                ensure(open.remove(id), format!("the result `{id}` has no call"))?;
                texts(&message["content"])?;
            }
            other => return Err(format!("a message of `{other}`")),
        }
        before = role;
    }
    ensure(!matches!(before, "" | "system" | "developer"), "nobody has said anything")?;
    ensure(open.is_empty(), format!("calls without a result: {open:?}"))
}

/// A text, or a list of texts.
fn texts(content: &Value) -> Result<(), String> {
    let Value::Array(parts) = content else { return not_empty(content) };
    ensure(!parts.is_empty(), "a content is empty")?;
    parts.iter().try_for_each(|part| {
        fields(part, "part", &["type", "text"], &["cache_control"])?;
        ensure(part["type"] == "text", format!("a part {part}"))?;
        not_empty(&part["text"])
    })
}

fn not_empty(value: &Value) -> Result<(), String> {
    ensure(!text(value, "content")?.is_empty(), "a text is empty")
}

fn user(content: &Value) -> Result<(), String> {
    let Value::Array(parts) = content else {
        return not_blank(text(content, "content")?, "what the user said");
    };
    ensure(!parts.is_empty(), "a content is empty")?;
    for part in parts {
        if part["type"] == "image_url" {
            fields(part, "part", &["type", "image_url"], &[])?;
            fields(&part["image_url"], "image_url", &["url"], &["detail"])?;
            data_url(text(&part["image_url"]["url"], "url")?)?;
        } else {
            texts(&json!([part]))?;
        }
    }
    Ok(())
}

fn call(call: &Value) -> Result<&str, String> {
    fields(call, "call", &["id", "type", "function"], &["extra_content"])?;
    fields(&call["function"], "function", &["name", "arguments"], &[])?;
    ensure(call["type"] == "function", "a call is of no function")?;
    word(text(&call["function"]["name"], "name")?, NAME_CHARS_MAX, "name of a call")?;
    arguments(&call["function"]["arguments"])?;
    let id = text(&call["id"], "id")?;
    word(id, CALL_ID_CHARS_MAX, "id of a call")?;
    Ok(id)
}

const MODELS: &[&str] = &["gpt-4.1", "o3", "anthropic/claude-sonnet-4.5", "local"];

fn own_extras(_: &str, calls: usize) -> String {
    let extra = json!({"google":{"thought_signature":"c2ln"}});
    json!({"message":{"reasoning_content":"c2ln"},"calls":vec![extra; calls]}).to_string()
}

fn quirks() -> [Quirks; 3] {
    [
        Quirks::USUAL,
        Quirks {
            output_limit: OutputLimitField::MaxCompletionTokens,
            effort: EffortField::ReasoningEffort,
            developer_role: true,
            call_ids: CallIds::NineAlphanumeric,
            api_version: Some("2024-10-21".into()),
            ..Quirks::USUAL
        },
        Quirks {
            effort: EffortField::Reasoning,
            cache_control: true,
            stream_options: false,
            ..Quirks::USUAL
        },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_request_is_taken(request in histories::requests(NAME, MODELS, own_extras)) {
        for quirks in quirks() {
            let dialect = ChatCompletions { quirks };
            let wire = dialect.encode(&request);
            let body = String::from_utf8_lossy(&wire.body).into_owned();
            prop_assert_eq!(check(&wire), Ok(()), "{}", body);
            prop_assert!(!body.contains(FOREIGN), "{}", body);
            prop_assert_eq!(&wire, &dialect.encode(&request));
        }
    }

    #[test]
    fn a_request_begins_with_the_one_before(steps in proptest::collection::vec(0u8..3, 1..8)) {
        let (messages, sent) = histories::conversation(&steps);
        for (quirks, model) in quirks().into_iter().zip(MODELS.iter().copied().cycle()) {
            let dialect = ChatCompletions { quirks };
            let text = |end: usize| {
                let body = dialect.encode(&histories::request(NAME, model, &messages[..end])).body;
                // Breakpoints move, which is all that may differ.
                String::from_utf8(body).unwrap().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
            };
            for pair in sent.windows(2) {
                prop_assert!(histories::goes_on_from(text(pair[1]).as_bytes(), text(pair[0]).as_bytes()));
            }
        }
    }
}

#[test]
fn the_validator_refuses_what_servers_refuse() {
    let with = |messages: Value| {
        let body = json!({"model":"m","stream":true,"messages":messages});
        check(&WireRequest {
            path: "chat/completions".into(),
            headers: vec![],
            body: body.to_string().into_bytes(),
        })
    };
    let user = json!({"role":"user","content":"x"});
    let call = json!({"id":"a","type":"function","function":{"name":"f","arguments":"{}"}});
    let called = json!({"role":"assistant","content":"","tool_calls":[call]});
    let result = json!({"role":"tool","tool_call_id":"a","content":"r"});
    assert_eq!(with(json!([user, called, result, user])), Ok(()));
    for refused in [
        json!([]),
        json!([user, user]),
        json!([user, called]),
        json!([user, called, user]),
        json!([user, result]),
        json!([user, called, result, result]),
        json!([user, {"role":"assistant","content":""}]),
        json!([{"role":"user","content":""}]),
        json!([user, {"role":"system","content":"s"}]),
    ] {
        assert!(with(refused.clone()).is_err(), "{refused}");
    }
}
