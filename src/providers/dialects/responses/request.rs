//! PURE: a neutral request as a body.

use std::borrow::Cow;

use super::extras::{BETWEEN_TEXTS, Extras, Part};
use super::wire::{Body, Content, Item, Output, Reasoning, Tool};
use super::{Quirks, family};
use crate::providers::dialects::acceptable::{self, schema};
use crate::providers::dialects::openai;
use crate::providers::{Image, LoadedMessage, LoadedRequest, ToolDefinition};
use herm_replay::reducer::request::Call;

/// What is sent for a result that is empty.
const EMPTY_RESULT: &str = "(empty)";
/// What is sent where nobody has said anything: an input without items is refused.
const NOTHING_SAID: &str = "(nothing)";
/// What is sent as `instructions` where there must be some.
const NO_INSTRUCTIONS: &str = "You are a helpful assistant.";
/// Smallest output limit that is taken, in tokens.
const OUTPUT_TOKENS_MIN: u32 = 16;
/// Hexadecimal digits of the hash in the cache key.
const CACHE_KEY_CHARS: usize = 32;
const ENCRYPTED: [&str; 1] = ["reasoning.encrypted_content"];

/// The body of `request`; the same bytes for the same request.
pub(super) fn body(request: &LoadedRequest, quirks: &Quirks) -> Vec<u8> {
    let choice = &request.choice;
    let mut messages = acceptable::well_formed(&request.messages);
    if !quirks.result_images {
        messages = acceptable::images_after_results(messages);
    }
    let reasons = openai::reasons(&choice.model);
    let family = family(request);
    let system = request.system.as_deref().map(acceptable::clean).filter(|text| !text.trim().is_empty());
    let fallback = quirks.needs_instructions.then_some(Cow::Borrowed(NO_INSTRUCTIONS));
    let mut input: Vec<Item<'_>> = messages.iter().flat_map(|said| items(said, &family)).collect();
    if input.is_empty() {
        input.push(said_by_user(NOTHING_SAID, &[]));
    }
    let body = Body {
        model: &choice.model,
        store: false,
        stream: choice.stream || quirks.always_streams,
        include: if reasons { &ENCRYPTED } else { &[] },
        reasoning: if reasons { reasoning(request, quirks) } else { None },
        max_output_tokens: (request.output_tokens_max > 0 && quirks.output_limit)
            .then_some(request.output_tokens_max.max(OUTPUT_TOKENS_MIN)),
        prompt_cache_key: cache_key(request),
        tool_choice: (request.options.no_tool_calls && !request.tools.is_empty()).then_some("none"),
        tools: request.tools.iter().map(|it| tool(it, request.options.plain_schemas)).collect(),
        instructions: system.or(fallback),
        input,
    };
    // Only maps with keys that are not strings do not serialise, and there are none.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn reasoning(request: &LoadedRequest, quirks: &Quirks) -> Option<Reasoning> {
    let choice = &request.choice;
    let effort = choice.effort.filter(|_| quirks.effort).map(|effort| openai::effort(&choice.model, effort));
    let summary = quirks.summary.then_some("auto");
    (effort.is_some() || summary.is_some()).then_some(Reasoning { effort, summary })
}

/// Calls with the same beginning are led to one cache by the same key.
fn cache_key(request: &LoadedRequest) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&text.len().to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(&request.choice.model);
    add(request.system.as_deref().unwrap_or_default());
    for tool in &request.tools {
        add(&tool.name);
        add(&tool.description);
        add(&tool.parameters.to_string());
    }
    let digits: String = hasher.finalize().to_hex().chars().take(CACHE_KEY_CHARS).collect();
    format!("herm-{digits}")
}

fn tool(definition: &ToolDefinition, plain: bool) -> Tool<'_> {
    let parameters = schema::tool(&definition.parameters, plain);
    Tool {
        r#type: "function",
        name: acceptable::name(&definition.name),
        description: acceptable::clean(&definition.description),
        parameters,
        strict: false,
    }
}

fn items<'a>(message: &'a LoadedMessage, family: &str) -> Vec<Item<'a>> {
    match message {
        LoadedMessage::User { text, images } => vec![said_by_user(text, images)],
        LoadedMessage::Assistant { text, calls, extras } => Extras::of(extras.as_ref(), family)
            .and_then(|extras| in_order(text, calls, extras.parts))
            .unwrap_or_else(|| plainly(text, calls)),
        LoadedMessage::Tool { id, text, images, .. } => {
            vec![Item::FunctionCallOutput { call_id: acceptable::id(id), output: output(text, images) }]
        }
    }
}

fn said_by_user<'a>(text: &'a str, images: &[Image]) -> Item<'a> {
    let text = Some(Cow::Borrowed(text)).filter(|text| !text.trim().is_empty());
    let text = text.map(|text| Content::InputText { text });
    let content = text.into_iter().chain(images.iter().map(image)).collect();
    Item::Message { role: "user", content, phase: None }
}

fn image<'a>(image: &Image) -> Content<'a> {
    Content::InputImage { detail: "auto", image_url: acceptable::data_url(image) }
}

fn output<'a>(text: &'a str, images: &[Image]) -> Output<'a> {
    let text = Cow::Borrowed(if text.trim().is_empty() { EMPTY_RESULT } else { text });
    if images.is_empty() {
        return Output::Text(text);
    }
    Output::Parts(std::iter::once(Content::InputText { text }).chain(images.iter().map(image)).collect())
}

fn said<'a>(text: &'a str, phase: Option<String>) -> Option<Item<'a>> {
    let text = Cow::Borrowed(text);
    (!text.trim().is_empty()).then(|| Item::Message {
        role: "assistant",
        content: vec![Content::OutputText { text }],
        phase,
    })
}

fn called(call: &Call) -> Item<'_> {
    Item::FunctionCall {
        call_id: acceptable::id(&call.id),
        name: acceptable::name(&call.name),
        arguments: &call.arguments.0,
    }
}

/// The message without anything that only one family understands.
fn plainly<'a>(text: &'a str, calls: &'a [Call]) -> Vec<Item<'a>> {
    said(text, None).into_iter().chain(calls.iter().map(called)).collect()
}

/// The items in the order in which they came, each with the reasoning that led to it directly
/// before it; `None` if `parts` do not describe the message.
fn in_order<'a>(text: &'a str, calls: &'a [Call], parts: Vec<Part>) -> Option<Vec<Item<'a>>> {
    let (mut rest, mut calls, mut first) = (text, calls.iter(), true);
    let mut items = Vec::with_capacity(parts.len());
    let mut reasoning = Vec::new();
    for part in parts {
        let item = match part {
            Part::Reasoning { encrypted_content, summary } => {
                let summary = if summary.is_array() { summary } else { serde_json::json!([]) };
                reasoning.push(Item::Reasoning { summary, encrypted_content });
                continue;
            }
            Part::Text { chars, phase } => {
                let from = if std::mem::take(&mut first) { rest } else { rest.strip_prefix(BETWEEN_TEXTS)? };
                let piece;
                (piece, rest) = split_at_char(from, chars)?;
                said(piece, phase)
            }
            Part::Call => Some(called(calls.next()?)),
        };
        match item {
            Some(item) => {
                items.append(&mut reasoning);
                items.push(item);
            }
            // What it led to is not sent, so neither is the reasoning.
            None => reasoning.clear(),
        }
    }
    (rest.is_empty() && calls.next().is_none() && !items.is_empty()).then_some(items)
}

fn split_at_char(text: &str, chars: usize) -> Option<(&str, &str)> {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    text.split_at_checked(ends.clone().nth(chars)?)
}
