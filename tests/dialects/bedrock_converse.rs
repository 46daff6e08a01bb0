//! What Amazon Bedrock's Converse refuses, from its API reference (data types `ContentBlock`,
//! `ToolConfiguration`, `ToolSpecification`, `ToolUseBlock`, `CachePointBlock`, …) and the user
//! guide, as of November 2026.

use std::collections::BTreeSet;

use herm::providers::dialects::WireRequest;
use serde_json::Value;

const CACHE_POINTS_MAX: usize = 4;
const FORMATS: [&str; 4] = ["png", "jpeg", "gif", "webp"];

macro_rules! ensure {
    ($holds:expr, $($why:tt)+) => { if !$holds { return Err(format!($($why)+)); } };
}

/// Whether the vendor would take `request`.
pub fn check(request: &WireRequest) -> Result<(), String> {
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let segments: Vec<&str> = request.path.split('/').collect();
    ensure!(
        matches!(segments.as_slice(), ["model", _, "converse" | "converse-stream"]),
        "path {}",
        request.path
    );
    let known = ["messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields"];
    for key in body.as_object().ok_or("the body is no object")?.keys() {
        ensure!(known.contains(&key.as_str()), "{key} is no field of Converse");
    }
    let max_tokens = body["inferenceConfig"]["maxTokens"].as_u64().filter(|it| *it > 0).ok_or("maxTokens")?;
    let fields = &body["additionalModelRequestFields"];
    if let Some(budget) = fields["thinking"]["budget_tokens"].as_u64() {
        ensure!((1_024..max_tokens).contains(&budget), "budget {budget} of {max_tokens}");
    }
    let mut points = 0;
    let has_tools = tools(&body, &mut points)?;
    if let Some(system) = body.get("system") {
        for (at, block) in list(system)?.iter().enumerate() {
            match union(block)? {
                ("text", inner) => text(inner)?,
                ("cachePoint", inner) => cache_point(inner, at, &mut points)?,
                (kind, _) => return Err(format!("{kind} in the system prompt")),
            }
        }
    }
    messages(&body, has_tools, &mut points)?;
    ensure!(points <= CACHE_POINTS_MAX, "{points} cache points");
    Ok(())
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().filter(|list| !list.is_empty()).ok_or_else(|| format!("an empty list: {value}"))
}

/// The one member of a union.
fn union(value: &Value) -> Result<(&str, &Value), String> {
    let map = value.as_object().filter(|map| map.len() == 1);
    let entry = map.and_then(|map| map.iter().next());
    entry.map(|(name, inner)| (name.as_str(), inner)).ok_or_else(|| format!("not one member: {value}"))
}

fn text(inner: &Value) -> Result<(), String> {
    let text = inner.as_str().ok_or("a text that is none")?;
    ensure!(!text.trim().is_empty(), "the text field is blank");
    ensure!(!text.contains('\0'), "NUL in a text");
    Ok(())
}

fn cache_point(inner: &Value, at: usize, points: &mut usize) -> Result<(), String> {
    *points += 1;
    ensure!(at > 0, "a cache point with nothing before it");
    ensure!(inner["type"] == "default", "cache point {inner}");
    ensure!(matches!(inner.get("ttl").map(Value::as_str), None | Some(Some("5m" | "1h"))), "ttl {inner}");
    Ok(())
}

fn fits(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !text.is_empty() && text.len() <= 64 && text.chars().all(allowed)
}

fn tools(body: &Value, points: &mut usize) -> Result<bool, String> {
    let Some(config) = body.get("toolConfig") else { return Ok(false) };
    let mut names = BTreeSet::new();
    for (at, tool) in list(&config["tools"])?.iter().enumerate() {
        let (kind, inner) = union(tool)?;
        if kind == "cachePoint" {
            cache_point(inner, at, points)?;
            continue;
        }
        ensure!(kind == "toolSpec", "a tool of kind {kind}");
        let name = inner["name"].as_str().unwrap_or_default();
        ensure!(fits(name), "toolSpec.name `{name}`");
        ensure!(names.insert(name.to_owned()), "two tools are called `{name}`");
        ensure!(inner["description"].as_str().is_some_and(|it| !it.is_empty()), "description of `{name}`");
        ensure!(inner["inputSchema"]["json"]["type"] == "object", "inputSchema of `{name}`");
    }
    Ok(true)
}

fn messages(body: &Value, has_tools: bool, points: &mut usize) -> Result<(), String> {
    let messages = list(&body["messages"])?;
    let mut ids = BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = ["user", "assistant"][at % 2];
        ensure!(message["role"] == role, "messages.{at}: a conversation alternates, from the user");
        let content = list(&message["content"])?;
        let mut calls = Vec::new();
        for (place, block) in content.iter().enumerate() {
            match (role, union(block)?) {
                (_, ("text", inner)) => text(inner)?,
                (_, ("cachePoint", inner)) => cache_point(inner, place, points)?,
                ("user", ("image", inner)) => image(inner)?,
                ("user", ("toolResult", inner)) => {
                    let id = inner["toolUseId"].as_str().unwrap_or_default();
                    ensure!(open.first().is_some_and(|next| next == id), "unexpected toolUseId `{id}`");
                    open.remove(0);
                    ensure!(
                        place == 0 || content[place - 1].get("toolResult").is_some(),
                        "results come first"
                    );
                    for part in list(&inner["content"])? {
                        match union(part)? {
                            ("text", inner) => text(inner)?,
                            ("image", inner) => image(inner)?,
                            (kind, _) => return Err(format!("{kind} in a result")),
                        }
                    }
                }
                ("assistant", ("toolUse", inner)) => {
                    ensure!(has_tools, "toolConfig must be given while there are tool blocks");
                    let id = inner["toolUseId"].as_str().unwrap_or_default();
                    ensure!(fits(id), "toolUseId `{id}`");
                    ensure!(ids.insert(id.to_owned()), "toolUseId `{id}` twice");
                    ensure!(fits(inner["name"].as_str().unwrap_or_default()), "toolUse.name {inner}");
                    ensure!(inner["input"].is_object(), "toolUse.input is no object");
                    calls.push(id.to_owned());
                }
                ("assistant", ("reasoningContent", inner)) => {
                    let last = content.iter().skip(place + 1).all(|it| it.get("cachePoint").is_some());
                    ensure!(!last, "the final block cannot be reasoning");
                    let signed = |path: &str| {
                        inner.pointer(path).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
                    };
                    ensure!(
                        signed("/reasoningText/signature") || signed("/redactedContent"),
                        "unsigned {inner}"
                    );
                }
                (role, (kind, _)) => return Err(format!("{kind} from the {role}")),
            }
        }
        ensure!(open.is_empty(), "toolUse without toolResult right after: {open:?}");
        open = calls;
    }
    ensure!(open.is_empty(), "calls without results at the end: {open:?}");
    ensure!(messages.len() % 2 == 1, "a conversation must end with a user message");
    Ok(())
}

fn image(inner: &Value) -> Result<(), String> {
    ensure!(FORMATS.contains(&inner["format"].as_str().unwrap_or_default()), "format {}", inner["format"]);
    let bytes = inner["source"]["bytes"].as_str().unwrap_or_default();
    ensure!(!bytes.is_empty() && bytes.len().is_multiple_of(4), "image bytes");
    Ok(())
}
