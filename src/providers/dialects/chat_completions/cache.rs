//! PURE: where Anthropic's models are told to cache, through a server that passes it on.
//!
//! Source: OpenRouter's guide "Prompt caching": `cache_control` on text parts, at most four. One
//! stands on the system prompt, three on the last messages with text. They move from request to
//! request, which is why two requests share every byte only without them; the parts stay parts.

use herm_schema::events::CacheTtl;
use serde::Serialize;

use super::wire::{Content, Message, Part};

/// Breakpoints on messages, besides the one on the system prompt.
const ON_MESSAGES: usize = 3;

#[derive(Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CacheControl {
    fn of(ttl: CacheTtl) -> Option<Self> {
        let ttl = match ttl {
            CacheTtl::Off => return None,
            CacheTtl::FiveMinutes => None,
            CacheTtl::OneHour => Some("1h"),
        };
        Some(Self { r#type: "ephemeral", ttl })
    }
}

/// Whether `model` is one that caches only where it is told to.
pub(super) fn is_told(model: &str) -> bool {
    model.starts_with("anthropic/") || model.contains("claude")
}

/// Puts the breakpoints into `messages`.
pub(super) fn place(messages: &mut [Message<'_>], ttl: CacheTtl) {
    let Some(control) = CacheControl::of(ttl) else { return };
    for message in messages.iter_mut() {
        into_parts(message);
    }
    let is_system =
        |message: &Message<'_>| matches!(message, Message::System { .. } | Message::Developer { .. });
    if let Some(part) = messages.iter_mut().find(|message| is_system(message)).and_then(last_text) {
        *part = Some(control);
    }
    let said = messages.iter_mut().rev().filter(|message| !is_system(message)).filter_map(last_text);
    for part in said.take(ON_MESSAGES) {
        *part = Some(control);
    }
}

fn content<'m, 'a>(message: &'m mut Message<'a>) -> &'m mut Content<'a> {
    match message {
        Message::System { content }
        | Message::Developer { content }
        | Message::User { content }
        | Message::Assistant { content, .. }
        | Message::Tool { content, .. } => content,
    }
}

fn into_parts(message: &mut Message<'_>) {
    let content = content(message);
    if let Content::Text(text) = content
        && !text.is_empty()
    {
        let text = std::mem::take(text);
        *content = Content::Parts(vec![Part::Text { text, cache_control: None }]);
    }
}

fn last_text<'m>(message: &'m mut Message<'_>) -> Option<&'m mut Option<CacheControl>> {
    let Content::Parts(parts) = content(message) else { return None };
    parts.iter_mut().rev().find_map(|part| match part {
        Part::Text { cache_control, .. } => Some(cache_control),
        Part::ImageUrl { .. } => None,
    })
}
