//! PURE: a neutral request as a body.

use herm_replay::reducer::request::Call;
use herm_schema::events::ProviderExtras;
use serde_json::Value;

use super::wire::{Body, CalledFunction, Extras, Function, Message, StreamOptions, Tool, ToolCall};
use super::{OutputLimitField, Quirks, family};
use crate::providers::dialects::well_formed;
use crate::providers::{LoadedMessage, LoadedRequest};

/// What is sent for a result that is empty: an empty text is refused by some servers.
const EMPTY_RESULT: &str = "(empty)";

/// The body of `request`; the same bytes for the same request.
pub(super) fn body(request: &LoadedRequest, quirks: &Quirks) -> Vec<u8> {
    let messages = well_formed(&request.messages);
    let family = family(request);
    let limit = (request.output_tokens_max > 0).then_some(request.output_tokens_max);
    let in_field = |field| limit.filter(|_| quirks.output_limit == field);
    let system = request.system.as_deref().filter(|text| !text.trim().is_empty());
    let body = Body {
        model: &request.choice.model,
        max_tokens: in_field(OutputLimitField::MaxTokens),
        max_completion_tokens: in_field(OutputLimitField::MaxCompletionTokens),
        stream: request.choice.stream,
        stream_options: (request.choice.stream && quirks.stream_options)
            .then_some(StreamOptions { include_usage: true }),
        tools: request.tools.iter().map(tool).collect(),
        messages: system
            .map(|content| Message::System { content })
            .into_iter()
            .chain(messages.iter().map(|said| message(said, &family)))
            .collect(),
    };
    // Only maps with keys that are not strings do not serialise, and there are none.
    serde_json::to_vec(&body).unwrap_or_default()
}

fn tool(definition: &crate::providers::ToolDefinition) -> Tool<'_> {
    Tool {
        r#type: "function",
        function: Function {
            name: &definition.name,
            description: &definition.description,
            parameters: &definition.parameters,
        },
    }
}

fn message<'a>(message: &'a LoadedMessage, family: &str) -> Message<'a> {
    match message {
        LoadedMessage::User { text, .. } => Message::User { content: text },
        LoadedMessage::Assistant { text, calls, extras } => {
            let extras = own_extras(extras.as_ref(), family);
            let mut of_calls = extras.calls.iter();
            Message::Assistant {
                content: text,
                tool_calls: calls
                    .iter()
                    .map(|call| tool_call(call, of_calls.next().and_then(Option::as_ref)))
                    .collect(),
                extras: extras.message,
            }
        }
        LoadedMessage::Tool { id, name, text, .. } => {
            let content = if text.is_empty() { EMPTY_RESULT } else { text };
            Message::Tool { name, content, tool_call_id: id }
        }
    }
}

fn tool_call<'a>(call: &'a Call, extra_content: Option<&Value>) -> ToolCall<'a> {
    ToolCall {
        id: &call.id,
        r#type: "function",
        function: CalledFunction { name: &call.name, arguments: &call.arguments.0 },
        extra_content: extra_content.cloned(),
    }
}

/// `extras` as this dialect's reader wrote them, if they are this family's.
fn own_extras(extras: Option<&ProviderExtras>, family: &str) -> Extras {
    extras
        .filter(|extras| extras.family == family)
        .and_then(|extras| serde_json::from_str(&extras.json.0).ok())
        .unwrap_or_default()
}
