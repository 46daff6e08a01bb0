//! What is checked on every request: the conversation in it is well formed.

use std::collections::BTreeSet;

use serde_json::Value;

/// What is wrong with the messages of a chat-completions `body`; empty if nothing is.
pub fn problems(body: &Value) -> Vec<String> {
    let Some(messages) = body["messages"].as_array() else {
        return vec!["there are no messages".to_owned()];
    };
    let mut found = Vec::new();
    if messages.first().is_none_or(|first| first["role"] != "system") {
        found.push("the first message is not the system prompt".to_owned());
    }
    if messages.iter().skip(1).any(|message| message["role"] == "system") {
        found.push("a system message stands in the middle".to_owned());
    }
    found.extend(order(messages));
    found.extend(pairing(messages));
    found
}

fn order(messages: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    for pair in messages.windows(2) {
        let (before, role) = (&pair[0]["role"], &pair[1]["role"]);
        if before == role && role != "tool" {
            found.push(format!("two messages of role {role} in a row"));
        }
    }
    for message in messages {
        let empty = message["content"].as_str().is_none_or(str::is_empty);
        if empty && (message["role"] != "assistant" || message["tool_calls"].is_null()) {
            found.push(format!("an empty message: {message}"));
        }
    }
    let last = messages.last().map(|last| &last["role"]);
    if last.is_none_or(|role| role != "user" && role != "tool") {
        found.push("the last message is neither a person's nor a result".to_owned());
    }
    found
}

fn pairing(messages: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if waiting.first().is_some_and(|next| next == id) {
                waiting.remove(0);
            } else {
                found.push(format!("result `{id}` stands where {waiting:?} are waited for"));
            }
            continue;
        }
        if !waiting.is_empty() {
            found.push(format!("calls without results: {waiting:?}"));
        }
        waiting.clear();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            if id.is_empty() || !seen.insert(id.clone()) {
                found.push(format!("the call id `{id}` is not unique"));
            }
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object()) {
                found.push(format!("arguments that are no JSON object: `{arguments}`"));
            }
            waiting.push(id);
        }
    }
    if !waiting.is_empty() {
        found.push(format!("calls without results at the end: {waiting:?}"));
    }
    found
}
