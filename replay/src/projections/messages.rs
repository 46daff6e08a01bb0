//! What was said, by whom: the messages among the events, for search, lists and exports.

use herm_schema::events::AssistantMessage;
use herm_schema::{Event, Text};
use serde::{Deserialize, Serialize};

use crate::log::{Error, Log};

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    Tool,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::User, Self::Assistant, Self::Tool];

    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// A message and who said it; `None` for events that say nothing. Its text may be empty when the
/// model only called tools.
pub fn said(event: &Event) -> Option<(Role, Text)> {
    let inline = |text: &String| Text::Inline(text.clone());
    match event {
        Event::MessageReceived(message) => Some((Role::User, inline(&message.text))),
        Event::SteerReceived(message) => Some((Role::User, inline(&message.text))),
        Event::RedirectReceived(message) => Some((Role::User, inline(&message.text))),
        Event::ModelCallSucceeded(answer) => Some((Role::Assistant, inline(&answer.message.text))),
        Event::ModelCallAborted(aborted) if !aborted.visible_text.is_empty() => {
            Some((Role::Assistant, inline(&aborted.visible_text)))
        }
        Event::ToolCallFinished(finished) => Some((Role::Tool, finished.shown.clone())),
        _ => None,
    }
}

/// The tools that a message calls, by name.
pub fn calls(event: &Event) -> Vec<String> {
    let names = |message: &AssistantMessage| message.calls.iter().map(|call| call.name.clone()).collect();
    match event {
        Event::ModelCallSucceeded(answer) => names(&answer.message),
        _ => Vec::new(),
    }
}

/// The text itself, wherever it is kept. What is not UTF-8 in a blob is replaced.
///
/// # Errors
/// Those of the blob store.
pub fn text_of(log: &dyn Log, text: &Text) -> Result<String, Error> {
    match text {
        Text::Inline(text) => Ok(text.clone()),
        Text::Stored(blob) => log.blob(*blob).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    }
}

/// The first `chars_max` characters of `text`, with a mark where something is missing.
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or(text).trim_end()),
        None => text.to_owned(),
    }
}
