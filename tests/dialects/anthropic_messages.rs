//! What Anthropic's Messages API refuses, from its documentation: the API reference ("Create a
//! Message"), "Tool use", "Thinking", "Prompt caching", "Vision", as of November 2026.

use std::collections::BTreeSet;

use herm::providers::dialects::WireRequest;
use serde_json::Value;

const BREAKPOINTS_MAX: usize = 4;
const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => { if !$holds { return Err(format!($($why)+)); } };
}

/// Whether the vendor would take `request`.
pub fn check(request: &WireRequest) -> Result<(), String> {
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let vertex = request.path != "messages";
    ensure!(!vertex || request.path.ends_with("awPredict"), "path {}", request.path);
    ensure!(body.get("model").is_some() != vertex, "the model stands in the body or in the path");
    let header = |name: &str| request.headers.iter().any(|(found, _)| *found == name);
    ensure!(header("anthropic-version") != vertex, "the version is a header");
    ensure!(body.get("anthropic_version").is_some() == vertex, "the version is in the body");
    let known = [
        "anthropic_version",
        "model",
        "max_tokens",
        "stream",
        "thinking",
        "output_config",
        "tool_choice",
        "tools",
        "system",
        "messages",
    ];
    for key in body.as_object().ok_or("the body is no object")?.keys() {
        ensure!(known.contains(&key.as_str()), "{key}: extra inputs are not permitted");
    }
    let max_tokens = body["max_tokens"].as_u64().filter(|tokens| *tokens > 0).ok_or("max_tokens")?;
    thinking(&body, max_tokens)?;
    let names = tools(&body)?;
    if let Some(system) = body.get("system") {
        blocks(system)?.iter().try_for_each(text)?;
    }
    messages(&body, &names)?;
    breakpoints(&body)
}

fn blocks(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().filter(|list| !list.is_empty()).ok_or_else(|| format!("content is empty: {value}"))
}

fn only(block: &Value, keys: &[&str]) -> Result<(), String> {
    let found = block.as_object().ok_or("a block is no object")?.keys();
    for key in found {
        ensure!(keys.contains(&key.as_str()) || key == "cache_control", "{key}: extra inputs in {block}");
    }
    Ok(())
}

fn text(block: &Value) -> Result<(), String> {
    only(block, &["type", "text"])?;
    let text = block["text"].as_str().ok_or("a text block without text")?;
    ensure!(!text.trim().is_empty(), "text content blocks must contain non-whitespace text");
    ensure!(!text.contains('\0'), "NUL in a text");
    Ok(())
}

fn thinking(body: &Value, max_tokens: u64) -> Result<(), String> {
    if let Some(effort) = body.get("output_config") {
        let levels = ["low", "medium", "high", "xhigh", "max"];
        ensure!(levels.contains(&effort["effort"].as_str().unwrap_or_default()), "effort {effort}");
    }
    let Some(thinking) = body.get("thinking") else { return Ok(()) };
    let kind = thinking["type"].as_str().unwrap_or_default();
    ensure!(["enabled", "adaptive", "disabled", "between_tools"].contains(&kind), "thinking {thinking}");
    if kind == "enabled" {
        let budget = thinking["budget_tokens"].as_u64().ok_or("no budget")?;
        ensure!((1_024..max_tokens).contains(&budget), "budget {budget} of {max_tokens}");
        ensure!(body.get("output_config").is_none(), "a budget and an effort");
        let messages = body["messages"].as_array().ok_or("no messages")?;
        if let [.., answer, results] = messages.as_slice()
            && results["content"]
                .as_array()
                .is_some_and(|list| list.iter().any(|it| it["type"] == "tool_result"))
        {
            ensure!(is_thinking(&answer["content"][0]), "expected `thinking`, but found another block");
        }
    } else {
        ensure!(thinking.get("budget_tokens").is_none(), "a budget with {kind}");
    }
    Ok(())
}

fn tools(body: &Value) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    let tools = body.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
    ensure!(body.get("tools").is_none() || !tools.is_empty(), "an empty list of tools");
    for tool in &tools {
        only(tool, &["name", "description", "input_schema"])?;
        let name = tool["name"].as_str().ok_or("a tool without a name")?;
        ensure!(fits(name, 128), "tools.name `{name}`");
        ensure!(names.insert(name.to_owned()), "tool names must be unique: `{name}`");
        let schema = &tool["input_schema"];
        ensure!(schema["type"] == "object", "input_schema.type must be `object`: {schema}");
        for key in ["oneOf", "allOf", "anyOf"] {
            ensure!(schema.get(key).is_none(), "input_schema does not support {key} at the top level");
        }
    }
    let choice = body.get("tool_choice");
    ensure!(choice.is_none() || !tools.is_empty(), "tool_choice without tools");
    Ok(names)
}

fn fits(text: &str, chars_max: usize) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.len() <= chars_max && text.chars().all(allowed)
}

fn messages(body: &Value, names: &BTreeSet<String>) -> Result<(), String> {
    let messages = blocks(&body["messages"])?;
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = ["user", "assistant"][at % 2];
        ensure!(message["role"] == role, "messages.{at}: roles must alternate, the first is the user's");
        let content = blocks(&message["content"])?;
        let mut calls = Vec::new();
        for (place, block) in content.iter().enumerate() {
            match (role, block["type"].as_str().unwrap_or_default()) {
                (_, "text") => text(block)?,
                ("user", "image") => image(block)?,
                ("user", "tool_result") => {
                    only(block, &["type", "tool_use_id", "content", "is_error"])?;
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    ensure!(open.first().is_some_and(|next| next == id), "unexpected tool_use_id `{id}`");
                    open.remove(0);
                    ensure!(place == 0 || content[place - 1]["type"] == "tool_result", "results come first");
                    for part in blocks(&block["content"])? {
                        if part["type"] == "image" { image(part)? } else { text(part)? }
                    }
                }
                ("assistant", "tool_use") => {
                    only(block, &["type", "id", "name", "input"])?;
                    let id = block["id"].as_str().unwrap_or_default();
                    ensure!(fits(id, 64), "tool_use.id `{id}`");
                    ensure!(ids.insert(id.to_owned()), "tool_use ids must be unique: `{id}`");
                    let name = block["name"].as_str().unwrap_or_default();
                    ensure!(fits(name, 128), "tool_use.name `{name}`");
                    ensure!(!names.is_empty(), "tools must be given while the history has calls");
                    ensure!(block["input"].is_object(), "tool_use.input is no object");
                    calls.push(id.to_owned());
                }
                ("assistant", "thinking" | "redacted_thinking") => {
                    ensure!(block.get("cache_control").is_none(), "cache_control on thinking");
                    ensure!(place + 1 < content.len(), "the final block cannot be thinking");
                    let signed = ["signature", "data"].iter().any(|name| {
                        block.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
                    });
                    ensure!(signed, "invalid `signature` in `thinking` block");
                }
                (role, kind) => return Err(format!("a block of type `{kind}` from the {role}")),
            }
        }
        ensure!(open.is_empty(), "`tool_use` ids without `tool_result` right after: {open:?}");
        open = calls;
    }
    ensure!(open.is_empty(), "calls without results at the end: {open:?}");
    ensure!(messages.len() % 2 == 1, "the conversation must end with a user message");
    Ok(())
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn image(block: &Value) -> Result<(), String> {
    only(block, &["type", "source"])?;
    let source = &block["source"];
    ensure!(source["type"] == "base64", "image source {source}");
    ensure!(IMAGE_TYPES.contains(&source["media_type"].as_str().unwrap_or_default()), "media_type");
    ensure!(
        source["data"].as_str().is_some_and(|data| !data.is_empty() && data.len().is_multiple_of(4)),
        "image data"
    );
    Ok(())
}

/// How many breakpoints there are, wherever they stand.
fn breakpoints(body: &Value) -> Result<(), String> {
    fn count(value: &Value, found: &mut Vec<Value>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("cache_control").cloned());
                map.iter()
                    .filter(|(key, _)| *key != "input" && *key != "input_schema")
                    .for_each(|(_, it)| count(it, found));
            }
            Value::Array(items) => items.iter().for_each(|it| count(it, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    count(body, &mut found);
    ensure!(
        found.len() <= BREAKPOINTS_MAX,
        "a maximum of 4 blocks with cache_control, found {}",
        found.len()
    );
    for control in &found {
        ensure!(control["type"] == "ephemeral", "cache_control {control}");
        let ttl = control.get("ttl").map_or(Some("5m"), Value::as_str);
        ensure!(matches!(ttl, Some("5m" | "1h")), "ttl {control}");
    }
    Ok(())
}
