//! PURE: what of an answer is kept for the next request: reasoning items, and where they stood.
//!
//! A reasoning item is taken only directly before the item that it led to. So the order of all
//! items is kept, the texts and calls as places in the message, which bears them already. If the
//! message does not fit its places any more (it was cut or redacted), nothing is sent but itself.

use herm_schema::JsonText;
use herm_schema::events::ProviderExtras;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Between the texts of two message items of one answer.
pub(super) const BETWEEN_TEXTS: &str = "\n\n";

/// The JSON of this dialect's provider extras.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Extras {
    pub parts: Vec<Part>,
}

/// One item of an answer, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Reasoning {
        encrypted_content: String,
        /// As it came: a list of `{"type":"summary_text","text":…}`.
        summary: Value,
    },
    /// The next text of the message.
    Text {
        chars: usize,
        /// `commentary` or `final_answer`, where the model says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    /// The next call of the message.
    Call,
}

impl Extras {
    /// As they are stored; `None` if there is nothing that the message does not say by itself.
    pub(super) fn stored(self, family: &str) -> Option<ProviderExtras> {
        let worth = self.parts.iter().any(|part| match part {
            Part::Reasoning { .. } | Part::Text { phase: Some(_), .. } => true,
            Part::Text { phase: None, .. } | Part::Call => false,
        });
        let json = serde_json::to_string(&self).ok().filter(|_| worth)?;
        Some(ProviderExtras { family: family.to_owned(), json: JsonText(json) })
    }

    /// The extras of a message, if they are this family's and can be read.
    pub(super) fn of(extras: Option<&ProviderExtras>, family: &str) -> Option<Self> {
        let own = extras.filter(|extras| extras.family == family)?;
        serde_json::from_str(&own.json.0).ok()
    }
}
