//! PURE: a neutral request as a body.
//!
//! Results of tools and what the user says next are one content of the role `user`, since roles
//! alternate. A conversation that ends with the model is ended with a word of the user's, which is
//! the one exception to requests that begin with the one before; herm never sends such a one.

use std::collections::HashMap;

use herm_replay::reducer::request::Call;
use serde_json::{Map, Value, json};

use super::extras::{Extras, Part};
use super::{family, schema, thinking};
use crate::providers::dialects::acceptable;
use crate::providers::{Image, LoadedMessage, LoadedRequest, ToolDefinition};

/// What is sent for a result that is empty.
const EMPTY_RESULT: &str = "(empty)";
/// What the user is made to say where the API demands that the user speaks.
const GO_ON: &str = "(go on)";
/// Types of images that are taken.
const IMAGE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/// The documented signature for a call that was never signed, such as one of another model.
const NEVER_SIGNED: &str = "skip_thought_signature_validator";

/// The body of `request`; the same bytes for the same request.
pub(super) fn body(request: &LoadedRequest) -> Vec<u8> {
    let mut body = Map::new();
    let system = request.system.as_deref().map(acceptable::clean).filter(|text| !text.trim().is_empty());
    if let Some(text) = system {
        body.insert("systemInstruction".into(), json!({"parts":[{"text":text}]}));
    }
    if !request.tools.is_empty() {
        let plain = request.options.plain_schemas;
        let declared: Vec<Value> = request.tools.iter().map(|tool| declaration(tool, plain)).collect();
        body.insert("tools".into(), json!([{"functionDeclarations":declared}]));
        if request.options.no_tool_calls {
            body.insert("toolConfig".into(), json!({"functionCallingConfig":{"mode":"NONE"}}));
        }
    }
    if let Some(config) = generation_config(request) {
        body.insert("generationConfig".into(), config);
    }
    body.insert("contents".into(), contents(request));
    Value::Object(body).to_string().into_bytes()
}

fn generation_config(request: &LoadedRequest) -> Option<Value> {
    let mut config = Map::new();
    if request.output_tokens_max > 0 {
        config.insert("maxOutputTokens".into(), request.output_tokens_max.into());
    }
    if let Some(thinking) = thinking::config(&request.choice.model, request.choice.effort) {
        config.insert("thinkingConfig".into(), thinking);
    }
    (!config.is_empty()).then_some(Value::Object(config))
}

fn declaration(tool: &ToolDefinition, plain: bool) -> Value {
    let described = acceptable::clean(&tool.description);
    let described = if described.trim().is_empty() { tool.name.as_str().into() } else { described };
    let mut declared = json!({"name":acceptable::name(&tool.name),"description":described});
    if let (Some(parameters), Some(map)) =
        (schema::parameters(&tool.parameters, plain), declared.as_object_mut())
    {
        map.insert("parameters".into(), parameters);
    }
    declared
}

fn contents(request: &LoadedRequest) -> Value {
    let mut contents = Contents { model: &request.choice.model, ..Contents::default() };
    let family = family(request);
    for message in &acceptable::well_formed(&request.messages) {
        contents.message(message, &family);
    }
    contents.ended()
}

#[derive(Default)]
struct Contents<'a> {
    model: &'a str,
    done: Vec<(&'static str, Vec<Value>)>,
    /// The ids that the API gave to calls, by the ids that they have here.
    given: HashMap<String, String>,
}

impl Contents<'_> {
    fn message(&mut self, message: &LoadedMessage, family: &str) {
        match message {
            LoadedMessage::User { text, images } => {
                let mut parts: Vec<Value> = images.iter().map(image).collect();
                if !text.trim().is_empty() {
                    parts.push(json!({ "text": text }));
                }
                self.add("user", parts);
            }
            LoadedMessage::Assistant { text, calls, extras } => {
                let described = Extras::describing(extras.as_ref(), family, text, calls.len());
                let mut parts =
                    self.parts(text, calls, described.unwrap_or_else(|| plainly(calls.len(), text)));
                if thinking::demands_signatures(self.model) {
                    sign(&mut parts);
                }
                self.add("model", parts);
            }
            LoadedMessage::Tool { id, name, text, images } => {
                let text = if text.trim().is_empty() { EMPTY_RESULT } else { text };
                let mut response = json!({"name":acceptable::name(name),"response":{"output":text}});
                if let (Some(id), Some(map)) = (self.given.get(id), response.as_object_mut()) {
                    map.insert("id".into(), id.as_str().into());
                }
                let mut parts = vec![json!({ "functionResponse": response })];
                if !images.is_empty() {
                    parts.push(json!({"text":format!("[images of the result of `{name}`:]")}));
                    parts.extend(images.iter().map(image));
                }
                self.add("user", parts);
            }
        }
    }

    /// Adds parts to the content before where that is of the same role. Responses stand before all
    /// else in a content: their number is counted from its beginning.
    fn add(&mut self, role: &'static str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        if self.done.is_empty() && role == "model" {
            self.done.push(("user", vec![json!({ "text": GO_ON })]));
        }
        match self.done.last_mut() {
            Some((last, before)) if *last == role => {
                for part in parts {
                    let responses =
                        before.iter().take_while(|part| part.get("functionResponse").is_some()).count();
                    let at = if part.get("functionResponse").is_some() { responses } else { before.len() };
                    before.insert(at, part);
                }
            }
            _ => self.done.push((role, parts)),
        }
    }

    fn parts(&mut self, text: &str, calls: &[Call], described: Vec<Part>) -> Vec<Value> {
        let (mut rest, mut calls) = (text.chars(), calls.iter());
        let mut parts = Vec::with_capacity(described.len());
        for part in described {
            match part {
                Part::Thought { text, signature } => {
                    parts.push(json!({"text":text,"thought":true,"thoughtSignature":signature}));
                }
                Part::Text { chars, signature } => {
                    let piece: String = rest.by_ref().take(chars).collect();
                    match signature {
                        Some(signature) => parts.push(json!({"text":piece,"thoughtSignature":signature})),
                        None if piece.trim().is_empty() => {}
                        None => parts.push(json!({ "text": piece })),
                    }
                }
                Part::Call { id, signature } => {
                    let Some(call) = calls.next() else { continue };
                    parts.push(self.call(call, id, signature));
                }
            }
        }
        parts
    }

    fn call(&mut self, call: &Call, id: Option<String>, signature: Option<String>) -> Value {
        let args: Value = serde_json::from_str(&call.arguments.0).unwrap_or_else(|_| json!({}));
        let args = acceptable::clean_json(args);
        let mut called = Map::new();
        if let Some(id) = id {
            called.insert("id".into(), id.as_str().into());
            self.given.insert(call.id.clone(), id);
        }
        called.insert("name".into(), acceptable::name(&call.name).into());
        called.insert("args".into(), args);
        let mut part = Map::new();
        part.insert("functionCall".into(), Value::Object(called));
        if let Some(signature) = signature {
            part.insert("thoughtSignature".into(), signature.into());
        }
        Value::Object(part)
    }

    fn ended(mut self) -> Value {
        if self.done.last().is_none_or(|(role, _)| *role == "model") {
            self.done.push(("user", vec![json!({ "text": GO_ON })]));
        }
        self.done.into_iter().map(|(role, parts)| json!({"role":role,"parts":parts})).collect()
    }
}

/// The parts of a message of which nothing more is known.
fn plainly(calls: usize, text: &str) -> Vec<Part> {
    let said = Part::Text { chars: text.chars().count(), signature: None };
    std::iter::once(said)
        .chain(std::iter::repeat_n(Part::Call { id: None, signature: None }, calls))
        .collect()
}

/// Gives the first call of an answer a signature if it has none: of parallel calls only the first
/// bears one.
fn sign(parts: &mut [Value]) {
    let first = parts.iter_mut().find(|part| part.get("functionCall").is_some());
    if let Some(map) = first.and_then(Value::as_object_mut) {
        map.entry("thoughtSignature").or_insert_with(|| NEVER_SIGNED.into());
    }
}

fn image(image: &Image) -> Value {
    if IMAGE_TYPES.contains(&image.media_type.as_str()) {
        json!({"inlineData":{"mimeType":image.media_type,"data":acceptable::base64(image)}})
    } else {
        json!({"text":format!("[an image of the type {} is left out: the model does not take it]", image.media_type)})
    }
}
