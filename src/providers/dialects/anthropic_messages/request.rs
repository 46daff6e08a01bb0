//! PURE: a neutral request as a body.

use std::borrow::Cow;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use herm_schema::events::CacheTtl;
use serde_json::{Value, json};

use super::wire::{Block, Body, CacheControl, Content, Kind, Message, Role, Source, Tool};
use super::{BINDING_BETA, CALL_IDS, Host, Quirks, TOOL_NAMES, VERTEX_VERSION, family};
use crate::providers::dialects::acceptable::{arguments, clean, schema};
use crate::providers::dialects::claude::Asked;
use crate::providers::dialects::ordered::{Piece, pieces};
use crate::providers::dialects::well_formed;
use crate::providers::{Image, LoadedMessage, LoadedRequest};

/// The vendor takes no empty text; what is empty is said to be.
const EMPTY: &str = "(empty)";
/// Stands where a person must have spoken first.
const BEFORE: &str = "(the conversation goes on from here)";
/// Stands where a person must speak last: answers that are begun for the model are refused.
const GO_ON: &str = "(go on)";
/// How many messages at the end bear a cache breakpoint; with the system prompt's that makes the
/// four that the vendor allows.
const BREAKPOINTS_IN_MESSAGES: usize = 3;
/// What the vendor takes as an image.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The body of `request`; the same bytes for the same request.
pub(super) fn body(request: &LoadedRequest, quirks: &Quirks) -> Vec<u8> {
    let said = well_formed(&request.messages);
    let choice = &request.choice;
    let mut messages = messages(&said, &family(request));
    let mut tools = tools(request, &said);
    let system = request.system.as_deref().map(clean).filter(|text| !text.trim().is_empty());
    let mut system: Vec<Content> = system.into_iter().map(|text| Kind::Text { text }.into()).collect();
    if let Some(cache) = cache_control(choice.cache_ttl) {
        match (system.last_mut(), tools.last_mut()) {
            (Some(system), _) => mark(system, cache),
            (None, Some(tool)) => tool.cache_control = Some(cache),
            (None, None) => {}
        }
        let last = messages.iter_mut().rev().take(BREAKPOINTS_IN_MESSAGES);
        last.filter_map(|message| message.content.last_mut()).for_each(|content| mark(content, cache));
    }
    let limit = [request.output_tokens_max, choice.output_tokens_max].into_iter().find(|limit| *limit > 0);
    let max_tokens = limit.unwrap_or(1);
    let thinking = Asked {
        model: &choice.model,
        form: quirks.thinking,
        effort: choice.effort,
        output_tokens_max: max_tokens,
        goes_on_without: goes_on_without_thinking(&messages),
        drop_unbound: quirks.betas.iter().any(|beta| beta == BINDING_BETA),
    };
    let thinking = thinking.fields();
    let vertex = quirks.host == Host::Vertex;
    let none = request.options.no_tool_calls || request.tools.is_empty();
    let body = Body {
        anthropic_version: vertex.then_some(VERTEX_VERSION),
        model: (!vertex).then_some(&choice.model),
        max_tokens,
        stream: choice.stream,
        thinking: thinking.thinking,
        output_config: thinking.output_config,
        tool_choice: (none && !tools.is_empty()).then(|| json!({"type": "none"})),
        tools,
        system,
        messages,
    };
    // Only maps with keys that are not strings do not serialise, and there are none.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn cache_control(ttl: CacheTtl) -> Option<CacheControl> {
    let ttl = match ttl {
        CacheTtl::Off => return None,
        CacheTtl::FiveMinutes => None,
        CacheTtl::OneHour => Some("1h"),
    };
    Some(CacheControl { r#type: "ephemeral", ttl })
}

fn mark(content: &mut Content, cache: CacheControl) {
    if let Content::Block(block) = content {
        block.cache_control = Some(cache);
    }
}

/// The tools. A history with calls needs some, also where none are offered any more: then those that
/// were called are named, and none may be.
fn tools<'a>(request: &'a LoadedRequest, said: &'a [LoadedMessage]) -> Vec<Tool<'a>> {
    let mut names = BTreeSet::new();
    let plain = request.options.plain_schemas;
    let offered = request.tools.iter().map(|tool| Tool {
        name: TOOL_NAMES.fit(&tool.name),
        description: &tool.description,
        input_schema: schema::tool(&tool.parameters, plain),
        cache_control: None,
    });
    let mut tools: Vec<Tool> = offered.filter(|tool| names.insert(tool.name.clone())).collect();
    if tools.is_empty() {
        let called = said.iter().filter_map(|message| match message {
            LoadedMessage::Assistant { calls, .. } => Some(calls),
            _ => None,
        });
        let called = called.flatten().map(|call| TOOL_NAMES.fit(&call.name));
        tools.extend(called.filter(|name| names.insert(name.clone())).map(|name| Tool {
            name,
            description: "",
            input_schema: schema::tool(&Value::Null, plain),
            cache_control: None,
        }));
    }
    tools
}

fn messages<'a>(said: &'a [LoadedMessage], family: &str) -> Vec<Message<'a>> {
    let mut out: Vec<Message> = Vec::new();
    for message in said {
        let (role, content) = match message {
            LoadedMessage::User { text, images } => (Role::User, shown(text, images)),
            LoadedMessage::Tool { id, text, images, .. } => {
                let mut content = shown(text, images);
                if content.is_empty() {
                    content.push(Kind::Text { text: EMPTY.into() }.into());
                }
                (Role::User, vec![Kind::ToolResult { tool_use_id: CALL_IDS.fit(id), content }.into()])
            }
            LoadedMessage::Assistant { text, calls, extras } => {
                (Role::Assistant, answered(pieces(text, calls, extras.as_ref(), family, is_signed)))
            }
        };
        push(&mut out, role, content);
    }
    if out.first().is_none_or(|first| first.role != Role::User) {
        let text = if out.is_empty() { GO_ON } else { BEFORE };
        out.insert(0, Message { role: Role::User, content: vec![Kind::Text { text: text.into() }.into()] });
    }
    if out.last().is_some_and(|last| last.role == Role::Assistant) {
        push(&mut out, Role::User, vec![Kind::Text { text: GO_ON.into() }.into()]);
    }
    out
}

/// Roles alternate, and no message is empty.
fn push<'a>(out: &mut Vec<Message<'a>>, role: Role, mut content: Vec<Content<'a>>) {
    if content.is_empty() {
        content.push(Kind::Text { text: EMPTY.into() }.into());
    }
    match out.last_mut() {
        Some(last) if last.role == role => last.content.append(&mut content),
        _ => out.push(Message { role, content }),
    }
}

/// Images first, as the vendor advises; one that it does not take is said to be missing.
fn shown<'a>(text: &'a str, images: &'a [Image]) -> Vec<Content<'a>> {
    let mut content: Vec<Content> = images.iter().map(image).collect();
    let text = clean(text);
    if !text.trim().is_empty() {
        content.push(Kind::Text { text }.into());
    }
    content
}

fn image(image: &Image) -> Content<'_> {
    if !IMAGE_TYPES.contains(&image.media_type.as_str()) || image.bytes.is_empty() {
        let text = format!("[an image of type `{}` cannot be shown]", clean(&image.media_type));
        return Kind::Text { text: text.into() }.into();
    }
    let data = BASE64.encode(&image.bytes);
    Kind::Image { source: Source { r#type: "base64", media_type: &image.media_type, data } }.into()
}

fn answered(pieces: Vec<Piece<'_>>) -> Vec<Content<'_>> {
    let content = |piece| match piece {
        Piece::Own(own) => Some(Content::Own(own)),
        Piece::Text(text) => {
            let text = clean(&text).into_owned();
            (!text.trim().is_empty()).then(|| Kind::Text { text: Cow::Owned(text) }.into())
        }
        Piece::Call(call) => Some(
            Kind::ToolUse {
                id: CALL_IDS.fit(&call.id),
                name: TOOL_NAMES.fit(&call.name),
                input: arguments(&call.arguments.0),
            }
            .into(),
        ),
    };
    let mut content: Vec<Content> = pieces.into_iter().filter_map(content).collect();
    while let Some(Content::Own(_)) = content.last() {
        content.pop();
    }
    content
}

/// Only thinking that the vendor has signed or encrypted goes back to it.
fn is_signed(own: &Value) -> bool {
    let has = |name: &str| own.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    match own.get("type").and_then(Value::as_str) {
        Some("thinking") => has("signature") && own.get("thinking").is_some_and(Value::is_string),
        Some("redacted_thinking") => has("data"),
        _ => false,
    }
}

/// The answer would go on from tool results whose calls do not begin with the model's own thinking.
fn goes_on_without_thinking(messages: &[Message]) -> bool {
    let is_result =
        |content: &Content| matches!(content, Content::Block(Block { kind: Kind::ToolResult { .. }, .. }));
    match messages {
        [.., answer, results] if results.content.iter().any(is_result) => {
            !matches!(answer.content.first(), Some(Content::Own(_)))
        }
        _ => false,
    }
}
