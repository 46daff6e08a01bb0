//! Conversations in the form of ShareGPT, as the reference writes them (its section 3.12).
//!
//! Turns are `{"from","value"}` with `from` one of system, human, gpt, tool. The system turn is a fixed
//! preamble with the tools as JSON in `<tools>`, not the prompt that was sent. A gpt turn begins with
//! `<think>`, empty where there was no reasoning; calls stand in `<tool_call>`, their results, joined
//! into one tool turn, in `<tool_response>`.

use serde_json::{Value, json};

use super::trajectories::{Answered, Conversation, Said};

/// Tells a model what the tags mean that the other turns use.
const PREAMBLE: &str = "You are an assistant that can call functions. Their signatures are given as JSON inside \
<tools></tools>. Call one or several of them when that helps with what the user asks, and answer in plain language \
when it does not. Do not invent values for their parameters. Write every call as a JSON object with the function's \
name and its arguments inside <tool_call></tool_call>:\n<tool_call>\n{\"name\": <function name>, \"arguments\": \
<object>}\n</tool_call>\nResults come back inside <tool_response></tool_response>. Here are the functions:";

/// The `conversations` of a line.
pub fn turns(conversation: &Conversation) -> Vec<Value> {
    let mut turns = vec![turn("system", &format!("{PREAMBLE}\n<tools>\n{}\n</tools>", tools(conversation)))];
    for said in &conversation.said {
        match said {
            Said::User(text) => turns.push(turn("human", text)),
            Said::Assistant { text, reasoning, calls, results } => {
                turns.push(turn("gpt", &spoken(text, reasoning.as_deref(), calls)));
                if !results.is_empty() {
                    let responses: Vec<String> = results.iter().map(response).collect();
                    turns.push(turn("tool", &responses.join("\n")));
                }
            }
        }
    }
    turns
}

fn turn(from: &str, value: &str) -> Value {
    json!({ "from": from, "value": value })
}

/// Definitions with the field `required` that the form has and nobody fills.
fn tools(conversation: &Conversation) -> String {
    let given: Value = serde_json::from_str(&conversation.tools).unwrap_or(json!([]));
    let tools = given.as_array().into_iter().flatten().map(|tool| {
        json!({
            "name": tool.get("name"),
            "description": tool.get("description").cloned().unwrap_or(json!("")),
            "parameters": tool.get("parameters").cloned().unwrap_or(json!({})),
            "required": Value::Null,
        })
    });
    Value::Array(tools.collect()).to_string()
}

fn spoken(text: &str, reasoning: Option<&str>, calls: &[super::trajectories::Called]) -> String {
    let thought = match reasoning.map(str::trim).filter(|reasoning| !reasoning.is_empty()) {
        Some(reasoning) => format!("<think>\n{reasoning}\n</think>\n"),
        None => "<think>\n</think>\n".to_owned(),
    };
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(text.trim().to_owned());
    }
    parts.extend(calls.iter().map(|call| {
        let arguments = parsed(&call.arguments).unwrap_or(json!({}));
        format!("<tool_call>\n{}\n</tool_call>", json!({ "name": call.name, "arguments": arguments }))
    }));
    thought + &parts.join("\n")
}

fn response(result: &Answered) -> String {
    let content = parsed(&result.content).unwrap_or_else(|| Value::String(result.content.clone()));
    let object = json!({ "tool_call_id": result.id, "name": result.name, "content": content });
    format!("<tool_response>\n{object}\n</tool_response>")
}

/// A text that is a JSON object or array, as that.
fn parsed(text: &str) -> Option<Value> {
    let value: Value =
        text.trim_start().starts_with(['{', '[']).then(|| serde_json::from_str(text).ok())??;
    (value.is_object() || value.is_array()).then_some(value)
}
