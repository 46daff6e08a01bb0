//! A scripted answer as each vendor streams it, written from their documents.

use serde_json::{Value, json};

use super::reply::{Answer, split};

/// A wire format, as the path of a request tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    ChatCompletions,
    AnthropicMessages,
    Responses,
    BedrockConverse,
    Gemini,
}

impl Wire {
    pub const ALL: [Self; 5] = [
        Self::ChatCompletions,
        Self::AnthropicMessages,
        Self::Responses,
        Self::BedrockConverse,
        Self::Gemini,
    ];

    /// The name of the dialect.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::AnthropicMessages => "anthropic_messages",
            Self::Responses => "responses",
            Self::BedrockConverse => "bedrock_converse",
            Self::Gemini => "gemini",
        }
    }

    pub fn of_path(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or(path);
        // Vertex serves Claude at an address of its own.
        if path.ends_with("/messages") || path.ends_with(":streamRawPredict") {
            Self::AnthropicMessages
        } else if path.ends_with("/responses") {
            Self::Responses
        } else if path.ends_with("/converse-stream") || path.ends_with("/converse") {
            Self::BedrockConverse
        } else if path.contains(":streamGenerateContent") || path.contains(":generateContent") {
            Self::Gemini
        } else {
            Self::ChatCompletions
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::BedrockConverse => "application/vnd.amazon.eventstream",
            _ => "text/event-stream",
        }
    }

    /// The pieces of a streamed answer, an event each.
    pub fn stream(self, answer: &Answer) -> Vec<Vec<u8>> {
        match self {
            Self::ChatCompletions => answer.stream().into_iter().map(String::into_bytes).collect(),
            Self::AnthropicMessages => named(anthropic(answer)),
            Self::Responses => named(responses(answer)),
            Self::Gemini => unnamed(gemini(answer)),
            Self::BedrockConverse => {
                bedrock(answer).into_iter().map(|(name, payload)| frame(name, &payload)).collect()
            }
        }
    }

    /// A failure that comes in the middle of a stream.
    pub fn failure(self) -> Vec<u8> {
        let overloaded =
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        match self {
            Self::AnthropicMessages => format!("event: error\ndata: {overloaded}\n\n").into_bytes(),
            Self::Responses => {
                let failed =
                    json!({"type": "error", "code": "server_error", "message": "it broke", "param": null});
                format!("event: error\ndata: {failed}\n\n").into_bytes()
            }
            Self::BedrockConverse => exception("serviceUnavailableException", &json!({"message": "busy"})),
            Self::Gemini => {
                let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
                format!("data: {error}\n\n").into_bytes()
            }
            Self::ChatCompletions => {
                format!("data: {}\n\n", json!({"error": {"message": "it broke", "code": 500}})).into_bytes()
            }
        }
    }

    /// The body of a refusal with this status.
    pub fn refusal(self, status: u16) -> String {
        let (kind, message) = match status {
            401 => ("authentication_error", "invalid key"),
            402 => ("billing_error", "Your credit balance is too low"),
            429 => ("rate_limit_error", "Rate limit exceeded: 50 requests per minute"),
            529 => ("overloaded_error", "Overloaded"),
            _ => ("api_error", "Internal server error"),
        };
        match self {
            Self::AnthropicMessages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Gemini => json!([{"error": {"code": status, "message": message}}]),
            Self::BedrockConverse => json!({"message": message}),
            Self::ChatCompletions | Self::Responses => {
                json!({"error": {"message": message, "type": kind, "code": null}})
            }
        }
        .to_string()
    }
}

fn named(events: Vec<Value>) -> Vec<Vec<u8>> {
    let line =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(|event| line(event).into_bytes()).collect()
}

fn unnamed(events: Vec<Value>) -> Vec<Vec<u8>> {
    events.iter().map(|event| format!("data: {event}\r\n\r\n").into_bytes()).collect()
}

fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn anthropic(answer: &Answer) -> Vec<Value> {
    let (input, output) = answer.usage.unwrap_or((1, 1));
    let mut events = vec![
        json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "usage": {"input_tokens": input, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0, "output_tokens": 1}}}),
        json!({"type": "ping"}),
    ];
    let mut index = 0;
    let mut block = |begin: Value, deltas: Vec<Value>| {
        let mut out = vec![json!({"type": "content_block_start", "index": index, "content_block": begin})];
        out.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        out.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
        out
    };
    if !answer.text.is_empty() {
        let deltas = split(&answer.text, answer.pieces);
        let deltas = deltas.into_iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
        events.extend(block(json!({"type": "text", "text": ""}), deltas));
    }
    for (id, name, arguments) in &answer.calls {
        let parts = split(arguments, 2).into_iter();
        let deltas = parts.map(|part| json!({"type": "input_json_delta", "partial_json": part})).collect();
        events.extend(block(json!({"type": "tool_use", "id": id, "name": name, "input": {}}), deltas));
    }
    if let Some(finish) = &answer.finish {
        let reason = match finish.as_str() {
            "tool_calls" => "tool_use",
            "length" => "max_tokens",
            _ => "end_turn",
        };
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": {"output_tokens": output}}));
        events.push(json!({"type": "message_stop"}));
    }
    events
}

fn responses(answer: &Answer) -> Vec<Value> {
    let (input, output) = answer.usage.unwrap_or((1, 1));
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}),
    ];
    let mut items = Vec::new();
    if !answer.text.is_empty() {
        let at = items.len();
        let item = |text: &str, status: &str| {
            json!({"type": "message", "id": "msg_1", "role": "assistant",
            "status": status, "content": [{"type": "output_text", "text": text, "annotations": []}]})
        };
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": item("", "in_progress")}));
        events.extend(split(&answer.text, answer.pieces).into_iter().map(|delta| json!({
            "type": "response.output_text.delta", "output_index": at, "content_index": 0, "item_id": "msg_1", "delta": delta})));
        let done = item(&answer.text, "completed");
        events.push(json!({"type": "response.output_item.done", "output_index": at, "item": done}));
        items.push(done);
    }
    for (number, (id, name, arguments)) in answer.calls.iter().enumerate() {
        let (at, item_id) = (items.len(), format!("fc_{number}"));
        let item = |arguments: &str| {
            json!({"type": "function_call", "id": item_id, "call_id": id, "name": name,
            "arguments": arguments, "status": "completed"})
        };
        events.push(json!({"type": "response.output_item.added", "output_index": at, "item": item("")}));
        events.extend(split(arguments, 2).into_iter().map(|delta| json!({
            "type": "response.function_call_arguments.delta", "output_index": at, "item_id": item_id, "delta": delta})));
        events.push(
            json!({"type": "response.function_call_arguments.done", "output_index": at, "item_id": item_id,
            "arguments": arguments}),
        );
        events
            .push(json!({"type": "response.output_item.done", "output_index": at, "item": item(arguments)}));
        items.push(item(arguments));
    }
    if let Some(finish) = &answer.finish {
        let cut = finish == "length";
        let (name, status) =
            if cut { ("response.incomplete", "incomplete") } else { ("response.completed", "completed") };
        let details = if cut { json!({"reason": "max_output_tokens"}) } else { Value::Null };
        events.push(json!({"type": name, "response": {"id": "resp_1", "status": status, "incomplete_details": details,
            "output": items, "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + output}}}));
    }
    events
}

fn gemini(answer: &Answer) -> Vec<Value> {
    let (input, output) = answer.usage.unwrap_or((1, 1));
    let chunk = |parts: Vec<Value>| {
        json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "scripted", "responseId": "r"})
    };
    let mut events: Vec<Value> = split(&answer.text, answer.pieces)
        .into_iter()
        .map(|text| chunk(vec![json!({"text": text})]))
        .collect();
    let calls: Vec<Value> = answer
        .calls
        .iter()
        .map(|(_, name, text)| json!({"functionCall": {"name": name, "args": arguments(text)}, "thoughtSignature": "c2ln"}))
        .collect();
    if !calls.is_empty() {
        events.push(chunk(calls));
    }
    if let Some(finish) = &answer.finish {
        let reason = if finish == "length" { "MAX_TOKENS" } else { "STOP" };
        events.push(json!({"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason, "index": 0}],
            "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output}}));
    }
    events
}

fn bedrock(answer: &Answer) -> Vec<(&'static str, Value)> {
    let (input, output) = answer.usage.unwrap_or((1, 1));
    let mut events = vec![("messageStart", json!({"role": "assistant"}))];
    let mut index = 0;
    if !answer.text.is_empty() {
        events.extend(
            split(&answer.text, answer.pieces).into_iter().map(|text| {
                ("contentBlockDelta", json!({"contentBlockIndex": index, "delta": {"text": text}}))
            }),
        );
        events.push(("contentBlockStop", json!({"contentBlockIndex": index})));
        index += 1;
    }
    for (id, name, arguments) in &answer.calls {
        let start = json!({"toolUse": {"toolUseId": id, "name": name}});
        events.push(("contentBlockStart", json!({"contentBlockIndex": index, "start": start})));
        events.extend(split(arguments, 2).into_iter().map(|part| {
            ("contentBlockDelta", json!({"contentBlockIndex": index, "delta": {"toolUse": {"input": part}}}))
        }));
        events.push(("contentBlockStop", json!({"contentBlockIndex": index})));
        index += 1;
    }
    if let Some(finish) = &answer.finish {
        let reason = match finish.as_str() {
            "tool_calls" => "tool_use",
            "length" => "max_tokens",
            _ => "end_turn",
        };
        events.push(("messageStop", json!({"stopReason": reason})));
        events.push((
            "metadata",
            json!({"usage": {"inputTokens": input, "outputTokens": output,
            "totalTokens": input + output}, "metrics": {"latencyMs": 5}}),
        ));
    }
    events
}

/// An event of `application/vnd.amazon.eventstream`.
fn frame(event: &str, payload: &Value) -> Vec<u8> {
    message(
        &[(":event-type", event), (":content-type", "application/json"), (":message-type", "event")],
        payload,
    )
}

fn exception(kind: &str, payload: &Value) -> Vec<u8> {
    message(
        &[(":exception-type", kind), (":content-type", "application/json"), (":message-type", "exception")],
        payload,
    )
}

/// Lengths and their checksum, headers, payload, checksum of all.
fn message(headers: &[(&str, &str)], payload: &Value) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(name.len() as u8);
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&(value.len() as u16).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string();
    let total = (16 + head.len() + payload.len()) as u32;
    let mut bytes = total.to_be_bytes().to_vec();
    bytes.extend_from_slice(&(head.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(payload.as_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_be_bytes());
    bytes
}
