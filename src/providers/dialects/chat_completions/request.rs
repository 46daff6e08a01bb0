//! PURE: a neutral request as a body.
//!
//! Images are parts of user messages. Those of a tool result follow in a message of the user, after
//! all results: the documented content of a tool message is text.

use std::borrow::Cow;

use herm_replay::reducer::request::Call;
use herm_schema::events::{ProviderExtras, ReasoningEffort};
use serde_json::Value;

use super::wire::{
    Body, CalledFunction, Content, Extras, Function, ImageUrl, Message, Part, Reasoning, StreamOptions, Tool,
    ToolCall,
};
use super::{CallIds, EffortField, OutputLimitField, Quirks, cache, family};
use crate::providers::dialects::acceptable::{self, schema};
use crate::providers::dialects::openai;
use crate::providers::{Image, LoadedMessage, LoadedRequest, ToolDefinition};

/// What is sent for a result that is empty: an empty text is refused by some servers.
const EMPTY_RESULT: &str = "(empty)";
/// What the user says where nothing that was said can be sent.
const NOTHING_SAID: &str = "(nothing)";
/// Characters of an id where exactly so many are demanded.
const SHORT_ID_CHARS: usize = 9;

/// The body of `request`; the same bytes for the same request.
pub(super) fn body(request: &LoadedRequest, quirks: &Quirks) -> Vec<u8> {
    let choice = &request.choice;
    let said = acceptable::images_after_results(acceptable::well_formed(&request.messages));
    let family = family(request);
    let limit = (request.output_tokens_max > 0).then_some(request.output_tokens_max);
    let in_field = |field| limit.filter(|_| quirks.output_limit == field);
    let effort_in = |field| choice.effort.filter(|_| quirks.effort == field);
    let system = request.system.as_deref().map(acceptable::clean).filter(|text| !text.trim().is_empty());
    let mut messages: Vec<Message<'_>> = system
        .map(|text| system_message(text, request, quirks))
        .into_iter()
        .chain(said.iter().map(|said| message(said, &family, quirks)))
        .collect();
    if said.is_empty() {
        messages.push(Message::User { content: said_by_user(NOTHING_SAID, &[]) });
    }
    if quirks.cache_control && cache::is_told(&choice.model) {
        cache::place(&mut messages, choice.cache_ttl);
    }
    let body = Body {
        model: &choice.model,
        max_tokens: in_field(OutputLimitField::MaxTokens),
        max_completion_tokens: in_field(OutputLimitField::MaxCompletionTokens),
        stream: choice.stream,
        stream_options: (choice.stream && quirks.stream_options)
            .then_some(StreamOptions { include_usage: true }),
        reasoning_effort: effort_in(EffortField::ReasoningEffort)
            .filter(|_| openai::reasons(&choice.model))
            .map(|effort| openai::effort(&choice.model, effort)),
        reasoning: effort_in(EffortField::Reasoning).map(|effort| Reasoning { effort: word(effort) }),
        tool_choice: (request.options.no_tool_calls && !request.tools.is_empty()).then_some("none"),
        tools: request.tools.iter().map(|it| tool(it, request.options.plain_schemas)).collect(),
        messages,
    };
    // Only maps with keys that are not strings do not serialise, and there are none.
    serde_json::to_vec(&body).unwrap_or_default()
}

/// A gateway that takes all words turns them into what each model takes.
const fn word(effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None => "none",
        ReasoningEffort::Minimal => "minimal",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High => "high",
        ReasoningEffort::XHigh => "xhigh",
    }
}

fn system_message<'a>(text: Cow<'a, str>, request: &LoadedRequest, quirks: &Quirks) -> Message<'a> {
    let content = Content::Text(text);
    if quirks.developer_role && openai::is_own_reasoning(&request.choice.model) {
        Message::Developer { content }
    } else {
        Message::System { content }
    }
}

fn tool(definition: &ToolDefinition, plain: bool) -> Tool<'_> {
    let parameters = schema::tool(&definition.parameters, plain);
    Tool {
        r#type: "function",
        function: Function {
            name: acceptable::name(&definition.name),
            description: acceptable::clean(&definition.description),
            parameters,
        },
    }
}

fn message<'a>(message: &'a LoadedMessage, family: &str, quirks: &Quirks) -> Message<'a> {
    match message {
        LoadedMessage::User { text, images } => Message::User { content: said_by_user(text, images) },
        LoadedMessage::Assistant { text, calls, extras } => {
            let extras = own_extras(extras.as_ref(), family);
            let mut of_calls = extras.calls.iter();
            Message::Assistant {
                content: Content::Text(Cow::Borrowed(text)),
                tool_calls: calls
                    .iter()
                    .map(|call| tool_call(call, of_calls.next().and_then(Option::as_ref), quirks))
                    .collect(),
                extras: extras.message,
            }
        }
        LoadedMessage::Tool { id, name, text, .. } => {
            let text = Cow::Borrowed(if text.trim().is_empty() { EMPTY_RESULT } else { text.as_str() });
            Message::Tool {
                name: acceptable::name(name),
                content: Content::Text(text),
                tool_call_id: call_id(id, quirks),
            }
        }
    }
}

fn said_by_user<'a>(text: &'a str, images: &[Image]) -> Content<'a> {
    if images.is_empty() {
        return Content::Text(Cow::Borrowed(text));
    }
    let text = Some(Cow::Borrowed(text)).filter(|text| !text.trim().is_empty());
    let text = text.map(|text| Part::Text { text, cache_control: None });
    let image = |image: &Image| Part::ImageUrl { image_url: ImageUrl { url: acceptable::data_url(image) } };
    Content::Parts(text.into_iter().chain(images.iter().map(image)).collect())
}

fn tool_call<'a>(call: &'a Call, extra_content: Option<&Value>, quirks: &Quirks) -> ToolCall<'a> {
    ToolCall {
        id: call_id(&call.id, quirks),
        r#type: "function",
        function: CalledFunction { name: acceptable::name(&call.name), arguments: &call.arguments.0 },
        extra_content: extra_content.cloned(),
    }
}

fn call_id<'a>(id: &'a str, quirks: &Quirks) -> Cow<'a, str> {
    match quirks.call_ids {
        CallIds::Usual => acceptable::id(id),
        CallIds::NineAlphanumeric => {
            let fits = id.len() == SHORT_ID_CHARS && id.chars().all(|char| char.is_ascii_alphanumeric());
            if fits { Cow::Borrowed(id) } else { Cow::Owned(acceptable::hash(id, SHORT_ID_CHARS)) }
        }
    }
}

/// `extras` as this dialect's reader wrote them, if they are this family's.
fn own_extras(extras: Option<&ProviderExtras>, family: &str) -> Extras {
    extras
        .filter(|extras| extras.family == family)
        .and_then(|extras| serde_json::from_str(&extras.json.0).ok())
        .unwrap_or_default()
}
