//! PURE: a conversation in the shape that people write down, as a request that dialects take.
//!
//! `{system?, tools?, messages: [{role, content, tool_calls?, tool_call_id?, extras?}]}`, or the list
//! of messages alone. Lenient: calls as `{id, name, arguments}` or with `function`, arguments as a
//! text or an object, contents as a text or in parts, tools in OpenAI's or Anthropic's wrapping.

use std::sync::Arc;

use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{ModelChoice, ProviderExtras};
use serde_json::{Value, json};

use crate::providers::{Image, LoadedMessage, LoadedRequest, ToolDefinition};

/// Reads it; `choice` says who is asked.
///
/// # Errors
/// What is wrong with it.
pub fn read(value: &Value, choice: ModelChoice) -> Result<LoadedRequest, String> {
    let messages = value.get("messages").or_else(|| value.get("history")).unwrap_or(value);
    let messages = messages.as_array().ok_or("neither a list of messages nor an object with `messages`")?;
    let mut system: Vec<String> = value.get("system").map(text).into_iter().collect();
    let mut read = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let wrong = |reason: String| format!("message {index}: {reason}");
        match message.get("role").and_then(Value::as_str) {
            Some("system" | "developer") => system.push(content(message)),
            Some("user") => {
                read.push(LoadedMessage::User { text: content(message), images: images(message) })
            }
            Some("assistant") => read.push(assistant(message).map_err(wrong)?),
            Some("tool") => read.push(tool_result(message)),
            Some(role) => return Err(wrong(format!("there is no role `{role}`"))),
            None => return Err(wrong("it has no `role`".to_owned())),
        }
    }
    let tools = value.get("tools").and_then(Value::as_array).into_iter().flatten();
    let options = RequestOptions {
        no_tool_calls: value.get("no_tool_calls").and_then(Value::as_bool).unwrap_or(false),
        plain_schemas: value.get("plain_schemas").and_then(Value::as_bool).unwrap_or(false),
        ..RequestOptions::default()
    };
    Ok(LoadedRequest {
        output_tokens_max: choice.output_tokens_max,
        choice,
        system: Some(system.join("\n\n")).filter(|text| !text.is_empty()),
        tools: tools.map(tool).collect::<Result<_, _>>()?,
        messages: read,
        options,
    })
}

/// A text, or the texts of its parts.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part =
                |part: &Value| part.get("text").or(Some(part)).and_then(Value::as_str).map(str::to_owned);
            parts.iter().filter_map(part).collect()
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn content(message: &Value) -> String {
    message.get("content").map(text).unwrap_or_default()
}

fn assistant(message: &Value) -> Result<LoadedMessage, String> {
    let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let extras = message.get("extras").filter(|extras| !extras.is_null());
    let extras = extras.map(|extras| {
        let family = extras.get("family").and_then(Value::as_str).ok_or("`extras` has no `family`")?;
        let json = extras.get("json").cloned().unwrap_or_default();
        let json = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
        Ok::<_, String>(ProviderExtras { family: family.to_owned(), json: JsonText(json) })
    });
    Ok(LoadedMessage::Assistant {
        text: content(message),
        calls: calls.map(call).collect(),
        extras: extras.transpose()?,
    })
}

fn call(call: &Value) -> Call {
    let function = call.get("function").unwrap_or(call);
    let field = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments =
        function.get("arguments").or_else(|| function.get("input")).or_else(|| function.get("args"));
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => "{}".to_owned(),
        Some(value) => value.to_string(),
    };
    Call { id: field(call, "id"), name: field(function, "name"), arguments: JsonText(arguments) }
}

fn tool_result(message: &Value) -> LoadedMessage {
    let field = |name: &str| message.get(name).and_then(Value::as_str).map(str::to_owned);
    LoadedMessage::Tool {
        id: field("tool_call_id").or_else(|| field("id")).unwrap_or_default(),
        name: field("name").unwrap_or_default(),
        text: content(message),
        images: images(message),
    }
}

fn tool(tool: &Value) -> Result<ToolDefinition, String> {
    let inner = tool.get("function").unwrap_or(tool);
    let name = inner.get("name").and_then(Value::as_str).ok_or("a tool has no `name`")?;
    let schema = inner.get("parameters").or_else(|| inner.get("input_schema"));
    Ok(ToolDefinition {
        name: name.to_owned(),
        description: inner.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        parameters: schema.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}})),
    })
}

/// `{"type":"image_url","image_url":{"url":"data:image/png;base64,…"}}`, or `{"type":"image",
/// "media_type", "data"}`; anything else is no image.
fn images(message: &Value) -> Vec<Image> {
    let image = |part: &Value| {
        let url = part.pointer("/image_url/url").and_then(Value::as_str);
        let (media_type, data) = match url {
            Some(url) => url.strip_prefix("data:")?.split_once(";base64,")?,
            None => (part.get("media_type")?.as_str()?, part.get("data")?.as_str()?),
        };
        Some(Image { media_type: media_type.to_owned(), bytes: Arc::from(base64(data)?) })
    };
    message.get("content").and_then(Value::as_array).into_iter().flatten().filter_map(image).collect()
}

/// RFC 4648, section 4; `None` for what is not that.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(value: Value) -> Vec<LoadedMessage> {
        read(&value, ModelChoice::new("custom", "m", "chat_completions")).unwrap().messages
    }

    #[test]
    fn the_ways_in_which_people_write_a_conversation_are_read() {
        let call = |arguments: &str| Call {
            id: "A".into(),
            name: "f".into(),
            arguments: JsonText(arguments.into()),
        };
        let both = messages(json!([
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "tool_calls": [{"id": "A", "name": "f", "arguments": "{\"p\": \"a"}]},
            {"role": "assistant", "content": null,
             "tool_calls": [{"id": "A", "function": {"name": "f", "arguments": {"p": 1}}}]},
            {"role": "tool", "tool_call_id": "A", "content": "x"},
        ]));
        assert_eq!(both[0], LoadedMessage::user("ab"));
        let assistant = |arguments: &str| LoadedMessage::Assistant {
            text: String::new(),
            calls: vec![call(arguments)],
            extras: None,
        };
        assert_eq!(both[1], assistant("{\"p\": \"a"));
        assert_eq!(both[2], assistant("{\"p\":1}"));
        assert_eq!(both[3], LoadedMessage::tool("A", "", "x"));
    }

    #[test]
    fn system_tools_extras_and_images_are_read() {
        let request = json!({
            "system": "be brief",
            "tools": [{"name": "a"}, {"type": "function", "function": {"name": "b", "parameters": {"x": 1}}}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID/w=="}}]},
                {"role": "assistant", "content": "t", "extras": {"family": "f", "json": {"k": 1}}}]});
        let read = read(&request, ModelChoice::new("custom", "m", "d")).unwrap();
        assert_eq!(read.system.as_deref(), Some("be brief"));
        assert_eq!((read.tools[0].name.as_str(), &read.tools[1].parameters), ("a", &json!({"x": 1})));
        let LoadedMessage::User { images, .. } = &read.messages[0] else { panic!() };
        assert_eq!(&*images[0].bytes, [1, 2, 3, 255]);
        let LoadedMessage::Assistant { extras: Some(extras), .. } = &read.messages[1] else { panic!() };
        assert_eq!((extras.family.as_str(), extras.json.0.as_str()), ("f", "{\"k\":1}"));
    }

    #[test]
    fn what_is_no_conversation_is_refused() {
        let refusal = |value: Value| read(&value, ModelChoice::new("c", "m", "d")).unwrap_err();
        assert!(refusal(json!({"x": 1})).contains("messages"));
        assert_eq!(refusal(json!([{"role": "robot"}])), "message 0: there is no role `robot`");
    }
}
