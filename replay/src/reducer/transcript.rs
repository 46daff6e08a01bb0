//! The request that the model sees: a pure function of the state.
//!
//! The conversation is rendered entry by entry, then [`repair`] makes it well formed whatever is
//! missing. As long as no event says otherwise, a request begins with the bytes of the one before.

use herm_schema::events::{Attachment, ModelPurpose, ToolCall};

use super::notices;
use super::repair::{self, repair};
use super::request::{Call, Message, Part, Request, RequestOptions};
use super::state::*;

/// The request for a model call, were it to start now with the model of `route`.
pub fn request(state: &SessionState, purpose: ModelPurpose, route: u32) -> Request {
    let tools = state.offer.as_ref().map(|offer| offer.definitions);
    let choice = state.policy.as_ref().and_then(|policy| policy.route(route));
    let model = choice.map(|choice| choice.model.clone()).unwrap_or_default();
    let output_tokens_max = choice.map(|choice| choice.output_tokens_max).unwrap_or_default();
    let mut messages = render(state, choice.is_some_and(|choice| choice.images));
    attach(state, &mut messages);
    if let ModelPurpose::ClosingSummary { reason } = purpose {
        ask_for_summary(&mut messages, notices::describe(reason));
    }
    let options = RequestOptions { no_tool_calls: purpose != ModelPurpose::Turn, ..state.without.options() };
    Request { model, system: state.prompt, tools, messages: repair(messages), output_tokens_max, options }
}

/// The conversation as messages, not yet repaired.
fn render(state: &SessionState, images: bool) -> Vec<Message> {
    let mut messages = Vec::with_capacity(state.view.len());
    // Calls that a result may answer: those of the answer it follows.
    let mut open: &[ToolCall] = &[];
    for entry in &state.view {
        match &entry.body {
            Body::User { text, attachments } => messages.push(said(text, attachments, images)),
            Body::Summary { text } => messages.push(user(&format!("{}{text}", notices::SUMMARY_PREFIX))),
            Body::Assistant { message, cut } => {
                open = &message.calls;
                messages.push(Message::Assistant {
                    text: message.text.clone(),
                    calls: message.calls.iter().map(sent).collect(),
                    extras: message.extras.clone().filter(|_| !state.without.reasoning_of(entry.at)),
                });
                if *cut {
                    messages.push(user(notices::CONTINUE));
                }
            }
            Body::Late { asked, shown, images: shots } => {
                let mut parts = vec![Part::Inline(notices::late(asked)), shown.clone().into()];
                parts.extend(pictures(shots, images && !state.without.tool_images));
                messages.push(Message::User { parts });
            }
            Body::Result { call, shown, images: shots, notes } => {
                let Some(asked) = open.get(usize::from(call.index)) else {
                    continue;
                };
                let mut parts = vec![shown.clone().into()];
                parts.extend(pictures(shots, images && !state.without.tool_images));
                parts.extend(notes.iter().map(|note| Part::Inline(note.clone())));
                messages.push(Message::Tool {
                    id: repair::local_id(&asked.id, usize::from(call.index)),
                    name: asked.name.clone(),
                    parts,
                });
            }
        }
    }
    number_calls(&mut messages);
    messages
}

/// A provider may give two calls of one answer the same id, or none: within an answer they are
/// told apart by their place.
fn number_calls(messages: &mut [Message]) {
    for message in messages {
        if let Message::Assistant { calls, .. } = message {
            for (index, call) in calls.iter_mut().enumerate() {
                call.id = repair::local_id(&call.id, index);
            }
        }
    }
}

fn user(text: &str) -> Message {
    Message::User { parts: vec![text.into()] }
}

/// What a person said, with what came with it: images where the model takes them, names otherwise.
fn said(text: &str, attachments: &[Attachment], images: bool) -> Message {
    let mut parts: Vec<Part> = vec![text.into()];
    parts.extend(pictures(attachments, images));
    Message::User { parts }
}

fn pictures(files: &[Attachment], images: bool) -> impl Iterator<Item = Part> {
    files.iter().map(move |file| match file.media_type.starts_with("image/") && images {
        true => Part::Image { content: file.content, media_type: file.media_type.clone() },
        false => Part::Inline(notices::attachment(file)),
    })
}

fn sent(call: &ToolCall) -> Call {
    Call { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments.clone() }
}

/// Puts what waits to be said beside the newest result that was not sent yet, as the fold will do
/// when the model call starts.
fn attach(state: &SessionState, messages: &mut [Message]) {
    let Some(turn) = state.turn.as_ref().filter(|turn| turn.unsent_result) else {
        return;
    };
    if let Some(Message::Tool { parts, .. }) = messages.last_mut() {
        parts.extend(turn.notes.iter().map(|note| Part::Inline(note.rendered())));
    }
}

fn ask_for_summary(messages: &mut Vec<Message>, why: &str) {
    let text = format!(
        "[{why}. No more tools are available in this run. Summarise for the user what was done, what was \
         found, and what is left.]"
    );
    match messages.last_mut() {
        Some(Message::Tool { parts, .. }) => parts.push(Part::Inline(format!("\n\n{text}"))),
        Some(Message::User { .. } | Message::Assistant { .. }) | None => messages.push(user(&text)),
    }
}
