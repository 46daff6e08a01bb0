//! PURE: an answer that comes in as numbered blocks, each begun once and filled by deltas.

use std::collections::BTreeMap;

use herm_schema::JsonText;
use herm_schema::events::{AssistantMessage, FailureClass, Finish, ModelFailure, ToolCall};
use serde_json::Value;

use super::Progress;
use super::ordered::{self, APART, Place};
use crate::providers::Delta;

/// Most blocks of one answer; more is a server gone wrong.
const BLOCKS_MAX: usize = 4_096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Text {
        text: String,
        /// [`APART`] was shown before it.
        apart: bool,
    },
    Reasoning(Reasoning),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reasoning {
    pub text: String,
    pub signature: String,
    /// Encrypted, in the vendor's encoding.
    pub redacted: String,
}

/// The blocks of an answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// Where the block of an index is.
    at: BTreeMap<u64, usize>,
}

impl Blocks {
    pub(super) fn begin_text(&mut self, index: u64) -> Result<(), ModelFailure> {
        self.begin(index, Block::Text { text: String::new(), apart: false })
    }

    pub(super) fn begin_reasoning(&mut self, index: u64) -> Result<(), ModelFailure> {
        self.begin(index, Block::Reasoning(Reasoning::default()))
    }

    /// A call begins; `false` if it had begun: some servers repeat themselves.
    pub(super) fn begin_call(
        &mut self,
        index: u64,
        (id, name): (&str, String),
        progress: &mut Progress,
    ) -> Result<bool, ModelFailure> {
        let known = self.at.get(&index).and_then(|at| self.blocks.get(*at));
        if matches!(known, Some(Block::Call { id: known, .. }) if !id.is_empty() && known == id) {
            return Ok(false);
        }
        progress.content = true;
        progress.deltas.push(Delta::ToolCall { name: name.clone() });
        self.begin(index, Block::Call { id: id.to_owned(), name, arguments: String::new() })?;
        Ok(true)
    }

    fn begin(&mut self, index: u64, block: Block) -> Result<(), ModelFailure> {
        if self.blocks.len() >= BLOCKS_MAX {
            let message = format!("the answer has more than {BLOCKS_MAX} blocks");
            return Err(failed(FailureClass::FormatError, message));
        }
        self.at.insert(index, self.blocks.len());
        self.blocks.push(block);
        Ok(())
    }

    fn get(&mut self, index: u64) -> Option<&mut Block> {
        self.blocks.get_mut(*self.at.get(&index)?)
    }

    pub(super) fn text(
        &mut self,
        index: u64,
        more: &str,
        progress: &mut Progress,
    ) -> Result<(), ModelFailure> {
        if more.is_empty() {
            return Ok(());
        }
        // What is shown is kept in the order in which it was shown, so a block is not gone back to.
        let is_text = |block: &Block| matches!(block, Block::Text { text, .. } if !text.is_empty());
        let newest = self.blocks.iter().rposition(is_text);
        let known = matches!(self.get(index), Some(Block::Text { .. }));
        if !known || self.at.get(&index).copied() < newest {
            self.begin_text(index)?;
        }
        let at = self.at.get(&index).copied().unwrap_or_default();
        let before = self.blocks.get(..at).unwrap_or_default();
        let follows =
            before.iter().any(|block| matches!(block, Block::Text { text, .. } if !text.is_empty()))
                && !matches!(before.last(), Some(Block::Text { .. }));
        if let Some(Block::Text { text, apart }) = self.blocks.get_mut(at) {
            if text.is_empty() && follows {
                *apart = true;
                progress.deltas.push(Delta::Text(APART.to_owned()));
            }
            text.push_str(more);
        }
        progress.content = true;
        progress.deltas.push(Delta::Text(more.to_owned()));
        Ok(())
    }

    /// The reasoning of `index`, begun if it is not there.
    pub(super) fn reasoning(&mut self, index: u64) -> Result<Option<&mut Reasoning>, ModelFailure> {
        if !matches!(self.get(index), Some(Block::Reasoning(_))) {
            self.begin_reasoning(index)?;
        }
        Ok(match self.get(index) {
            Some(Block::Reasoning(reasoning)) => Some(reasoning),
            _ => None,
        })
    }

    pub(super) fn reason(
        &mut self,
        index: u64,
        more: &str,
        progress: &mut Progress,
    ) -> Result<(), ModelFailure> {
        if more.is_empty() {
            return Ok(());
        }
        if let Some(reasoning) = self.reasoning(index)? {
            reasoning.text.push_str(more);
        }
        progress.content = true;
        progress.deltas.push(Delta::Reasoning(more.to_owned()));
        Ok(())
    }

    pub(super) fn arguments(
        &mut self,
        index: u64,
        more: &str,
        progress: &mut Progress,
    ) -> Result<(), ModelFailure> {
        if more.is_empty() {
            return Ok(());
        }
        let Some(Block::Call { arguments, .. }) = self.get(index) else {
            // To leave them out would lose a call and look like an answer.
            let message = "the stream goes on with a tool call that never began".to_owned();
            return Err(failed(FailureClass::ServerError, message));
        };
        arguments.push_str(more);
        progress.content = true;
        Ok(())
    }

    /// The message. `own` is what of a piece of reasoning the vendor takes back; without it, the
    /// reasoning is only shown. Arguments that are missing altogether are an empty object, unless
    /// the answer was cut.
    pub(super) fn into_message(
        self,
        finish: Finish,
        family: &str,
        own: fn(&Reasoning) -> Option<Value>,
    ) -> AssistantMessage {
        let mut message = AssistantMessage::default();
        let mut order = Vec::new();
        let mut thought = Vec::new();
        for (place, block) in self.blocks.into_iter().enumerate() {
            match block {
                Block::Text { text, .. } if text.is_empty() => {}
                Block::Text { text, apart } => {
                    message.text.push_str(if apart { APART } else { "" });
                    message.text.push_str(&text);
                    order.push(Place::Text { chars: text.chars().count(), apart });
                }
                Block::Reasoning(reasoning) => {
                    order.extend(own(&reasoning).map(Place::Own));
                    thought.push(reasoning.text);
                }
                Block::Call { id, name, arguments } => {
                    let id = if id.is_empty() { format!("call_{place}") } else { id };
                    let nothing = arguments.trim().is_empty() && finish != Finish::Length;
                    let arguments = JsonText(if nothing { "{}".to_owned() } else { arguments });
                    message.calls.push(ToolCall { id, name, arguments });
                    order.push(Place::Call);
                }
            }
        }
        thought.retain(|text| !text.is_empty());
        message.reasoning = Some(thought.join(APART)).filter(|text| !text.is_empty());
        message.extras = ordered::extras(order, family);
        message
    }
}

/// What an answer came to, by its reason and by what is in it.
pub(super) fn settled(finish: Finish, message: &AssistantMessage) -> Finish {
    match finish {
        Finish::Stop if !message.calls.is_empty() => Finish::ToolCalls,
        Finish::ToolCalls if message.calls.is_empty() => Finish::Stop,
        other => other,
    }
}

pub(super) fn failed(class: FailureClass, message: String) -> ModelFailure {
    ModelFailure { class, status: None, message, retry_after_us: None }
}

/// A stream that ended before its answer did.
pub(super) fn cut_off(begun: bool) -> ModelFailure {
    let what = if begun { "before the answer did" } else { "without an answer" };
    failed(FailureClass::ServerError, format!("the stream ended {what}: no stop reason came"))
}
