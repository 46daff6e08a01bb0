//! PURE: a neutral request as a body.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use herm_schema::events::{CacheTtl, ReasoningEffort};
use serde_json::{Map, Value, json};

use super::wire::{
    Body, CachePoint, ImageBlock, ImageSource, InferenceConfig, InputSchema, Message, Part, Role, Tool,
    ToolConfig, ToolResult, ToolSpec, ToolUse,
};
use super::{CALL_IDS, CachePoints, Quirks, TOOL_NAMES, claude, family};
use crate::providers::dialects::acceptable::{arguments, clean, schema};
use crate::providers::dialects::claude::{Asked, BINDING_BETA, ThinkingForm, betas};
use crate::providers::dialects::ordered::{Piece, pieces};
use crate::providers::dialects::well_formed;
use crate::providers::{Image, LoadedMessage, LoadedRequest};

/// The vendor takes no blank text; what is blank is said to be.
const EMPTY: &str = "(empty)";
/// Stands where a person must have spoken first.
const BEFORE: &str = "(the conversation goes on from here)";
/// Stands where a person must speak last.
const GO_ON: &str = "(go on)";
/// Converse has no choice of tools that means none, and wants the tools while the history has calls.
const NO_TOOLS: &str = "(No tool can be called now: answer in words.)";
/// How many messages at the end have a cache point; with the system prompt's that makes the four that
/// the vendor allows.
const CACHE_POINTS_IN_MESSAGES: usize = 3;

/// The body of `request`; the same bytes for the same request.
pub(super) fn body(request: &LoadedRequest, quirks: &Quirks) -> Vec<u8> {
    let said = well_formed(&request.messages);
    let mut messages = messages(&said, request);
    let mut tools = tools(request, &said);
    if request.options.no_tool_calls && !tools.is_empty() {
        push(&mut messages, Role::User, vec![Part::Text(NO_TOOLS.into())]);
    }
    let goes_on_without = goes_on_without_reasoning(&messages);
    let system = request.system.as_deref().map(clean).filter(|text| !text.trim().is_empty());
    let mut system: Vec<Part> = system.into_iter().map(Part::Text).collect();
    if let Some((point, cached)) = cache_point(request, quirks) {
        match (system.is_empty(), tools.is_empty()) {
            (false, _) => system.push(Part::CachePoint(point)),
            (true, false) if cached == Cached::Everything => tools.push(Tool::CachePoint(point)),
            _ => {}
        }
        let many = if cached == Cached::Everything { CACHE_POINTS_IN_MESSAGES } else { 0 };
        let last = messages.iter_mut().rev().take(many);
        last.for_each(|message| message.content.push(Part::CachePoint(point)));
    }
    let limits = [request.output_tokens_max, request.choice.output_tokens_max];
    let max_tokens = limits.into_iter().find(|limit| *limit > 0).unwrap_or(1);
    let body = Body {
        inference_config: InferenceConfig { max_tokens },
        additional_model_request_fields: own_fields(request, quirks, max_tokens, goes_on_without),
        tool_config: (!tools.is_empty()).then_some(ToolConfig { tools }),
        system,
        messages,
    };
    // Only maps with keys that are not strings do not serialise, and there are none.
    serde_json::to_vec(&body).unwrap_or_default()
}

/// What a model keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cached {
    System,
    Everything,
}

fn cache_point(request: &LoadedRequest, quirks: &Quirks) -> Option<(CachePoint, Cached)> {
    let claude = claude(request);
    let cached = match (quirks.cache_points, &claude) {
        (CachePoints::Never, _) => return None,
        (CachePoints::Always, _) => Cached::Everything,
        (CachePoints::ByModel, Some(claude)) if claude.version() >= (3, 5) => Cached::Everything,
        (CachePoints::ByModel, None) if request.choice.model.contains("amazon.nova") => Cached::System,
        (CachePoints::ByModel, _) => return None,
    };
    let ttl = match request.choice.cache_ttl {
        CacheTtl::Off => return None,
        CacheTtl::OneHour if claude.is_some_and(|claude| claude.version() >= (4, 5)) => Some("1h"),
        CacheTtl::FiveMinutes | CacheTtl::OneHour => None,
    };
    Some((CachePoint { r#type: "default", ttl }, cached))
}

/// What Converse has no field for, in the shape of the model's own vendor.
fn own_fields(
    request: &LoadedRequest,
    quirks: &Quirks,
    max_tokens: u32,
    goes_on_without: bool,
) -> Option<Value> {
    let mut fields = Map::new();
    let model = request.choice.model.as_str();
    if claude(request).is_some() || quirks.thinking != ThinkingForm::ByModel {
        let betas = betas(&quirks.betas, request);
        if !betas.is_empty() {
            fields.insert("anthropic_beta".to_owned(), json!(betas));
        }
        let asked = Asked {
            model,
            form: quirks.thinking,
            effort: request.choice.effort,
            output_tokens_max: max_tokens,
            goes_on_without,
            drop_unbound: quirks.betas.iter().any(|beta| beta == BINDING_BETA),
        };
        let thinking = asked.fields();
        let named = [("thinking", thinking.thinking), ("output_config", thinking.output_config)];
        fields.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    } else if model.contains("openai.gpt-oss")
        && let Some(effort) = request.choice.effort
    {
        fields.insert("reasoning_effort".to_owned(), level(effort).into());
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn level(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High | ReasoningEffort::XHigh => "high",
    }
}

/// The tools. A history with calls needs some, also where none are offered any more: then those that
/// were called are named.
fn tools<'a>(request: &'a LoadedRequest, said: &'a [LoadedMessage]) -> Vec<Tool<'a>> {
    let plain = request.options.plain_schemas;
    let mut names = BTreeSet::new();
    let mut tools = Vec::new();
    let mut offer = |name: &'a str, description: &'a str, parameters: &'a Value| {
        let name = TOOL_NAMES.fit(name);
        if names.insert(name.clone()) {
            let description = clean(description);
            let described = !description.trim().is_empty();
            tools.push(Tool::ToolSpec(ToolSpec {
                description: if described { description } else { name.clone() },
                name,
                input_schema: InputSchema { json: schema::tool(parameters, plain) },
            }));
        }
    };
    for tool in &request.tools {
        offer(&tool.name, &tool.description, &tool.parameters);
    }
    if request.tools.is_empty() {
        for message in said {
            if let LoadedMessage::Assistant { calls, .. } = message {
                calls.iter().for_each(|call| offer(&call.name, "", &Value::Null));
            }
        }
    }
    tools
}

fn messages<'a>(said: &'a [LoadedMessage], request: &LoadedRequest) -> Vec<Message<'a>> {
    let family = family(request);
    // Only these take images in results.
    let images_in_results = claude(request).is_some() || request.choice.model.contains("amazon.nova");
    let mut out: Vec<Message> = Vec::new();
    for message in said {
        let (role, content) = match message {
            LoadedMessage::User { text, images } => (Role::User, shown(text, images, true)),
            LoadedMessage::Tool { id, text, images, .. } => {
                let mut content = shown(text, images, images_in_results);
                if content.is_empty() {
                    content.push(Part::Text(EMPTY.into()));
                }
                (Role::User, vec![Part::ToolResult(ToolResult { tool_use_id: CALL_IDS.fit(id), content })])
            }
            LoadedMessage::Assistant { text, calls, extras } => {
                (Role::Assistant, answered(pieces(text, calls, extras.as_ref(), &family, is_signed)))
            }
        };
        push(&mut out, role, content);
    }
    if out.first().is_none_or(|first| first.role != Role::User) {
        let text = if out.is_empty() { GO_ON } else { BEFORE };
        out.insert(0, Message { role: Role::User, content: vec![Part::Text(text.into())] });
    }
    if out.last().is_some_and(|last| last.role == Role::Assistant) {
        push(&mut out, Role::User, vec![Part::Text(GO_ON.into())]);
    }
    out
}

/// Roles alternate, and no message is empty.
fn push<'a>(out: &mut Vec<Message<'a>>, role: Role, mut content: Vec<Part<'a>>) {
    if content.is_empty() {
        content.push(Part::Text(EMPTY.into()));
    }
    match out.last_mut() {
        Some(last) if last.role == role => last.content.append(&mut content),
        _ => out.push(Message { role, content }),
    }
}

fn shown<'a>(text: &'a str, images: &'a [Image], takes_images: bool) -> Vec<Part<'a>> {
    let mut content: Vec<Part> = images.iter().map(|it| image(it, takes_images)).collect();
    let text = clean(text);
    if !text.trim().is_empty() {
        content.push(Part::Text(text));
    }
    content
}

fn image(image: &Image, takes_images: bool) -> Part<'_> {
    let format = match image.media_type.as_str() {
        "image/png" => Some("png"),
        "image/jpeg" => Some("jpeg"),
        "image/gif" => Some("gif"),
        "image/webp" => Some("webp"),
        _ => None,
    };
    match format.filter(|_| takes_images && !image.bytes.is_empty()) {
        Some(format) => {
            Part::Image(ImageBlock { format, source: ImageSource { bytes: BASE64.encode(&image.bytes) } })
        }
        None => {
            let kind = clean(&image.media_type);
            Part::Text(Cow::Owned(format!("[an image of type `{kind}` cannot be shown]")))
        }
    }
}

fn answered(pieces: Vec<Piece<'_>>) -> Vec<Part<'_>> {
    let content = |piece| match piece {
        Piece::Own(own) => Some(Part::ReasoningContent(own)),
        Piece::Text(text) => {
            let text = clean(&text).into_owned();
            (!text.trim().is_empty()).then(|| Part::Text(Cow::Owned(text)))
        }
        Piece::Call(call) => Some(Part::ToolUse(ToolUse {
            tool_use_id: CALL_IDS.fit(&call.id),
            name: TOOL_NAMES.fit(&call.name),
            input: arguments(&call.arguments.0),
        })),
    };
    let mut content: Vec<Part> = pieces.into_iter().filter_map(content).collect();
    while let Some(Part::ReasoningContent(_)) = content.last() {
        content.pop();
    }
    content
}

/// Only reasoning that is signed or encrypted goes back.
fn is_signed(own: &Value) -> bool {
    let has = |path: &str| own.pointer(path).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let signed =
        has("/reasoningText/signature") && own.pointer("/reasoningText/text").is_some_and(Value::is_string);
    signed || has("/redactedContent")
}

/// The answer would go on from tool results whose calls do not begin with the model's own reasoning.
fn goes_on_without_reasoning(messages: &[Message]) -> bool {
    match messages {
        [.., answer, results] if results.content.iter().any(|it| matches!(it, Part::ToolResult(_))) => {
            !matches!(answer.content.first(), Some(Part::ReasoningContent(_)))
        }
        _ => false,
    }
}
