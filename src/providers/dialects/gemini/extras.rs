//! PURE: what of an answer is kept for the next request: its parts with their signatures and ids.
//!
//! A signature belongs to the part it came with: parts with one are never joined with others, nor
//! is it ever moved. Texts and calls are kept as places in the message, which bears them already;
//! if the message does not fit its places any more, nothing is sent but itself.

use herm_schema::JsonText;
use herm_schema::events::ProviderExtras;
use serde::{Deserialize, Serialize};

/// The JSON of this dialect's provider extras.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Extras {
    pub parts: Vec<Part>,
}

/// One part of an answer, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// A thought that came with a signature; others are not sent back.
    Thought { text: String, signature: String },
    /// The next text of the message; with a signature it may be empty.
    Text {
        chars: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// The next call of the message.
    Call {
        /// Where the API gave one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
}

impl Extras {
    /// As they are stored; `None` if there is nothing that the message does not say by itself.
    pub(super) fn stored(self, family: &str) -> Option<ProviderExtras> {
        let worth = self.parts.iter().any(|part| match part {
            Part::Thought { .. } => true,
            Part::Text { signature, .. } => signature.is_some(),
            Part::Call { id, signature } => id.is_some() || signature.is_some(),
        });
        let json = serde_json::to_string(&self).ok().filter(|_| worth)?;
        Some(ProviderExtras { family: family.to_owned(), json: JsonText(json) })
    }

    /// The parts of a message, if they are this family's and describe it: all of `text` and `calls`.
    pub(super) fn describing(
        extras: Option<&ProviderExtras>,
        family: &str,
        text: &str,
        calls: usize,
    ) -> Option<Vec<Part>> {
        let own = extras.filter(|extras| extras.family == family)?;
        let parts = serde_json::from_str::<Self>(&own.json.0).ok()?.parts;
        let (mut chars_told, mut calls_told) = (0_usize, 0_usize);
        for part in &parts {
            match part {
                Part::Thought { .. } => {}
                Part::Text { chars, .. } => chars_told = chars_told.checked_add(*chars)?,
                Part::Call { .. } => calls_told += 1,
            }
        }
        (chars_told == text.chars().count() && calls_told == calls).then_some(parts)
    }
}
