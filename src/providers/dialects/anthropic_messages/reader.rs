//! PURE: an answer from its bytes, streamed or whole; which of the two is seen from the bytes.
//!
//! The end of a stream is no end of an answer: only a stop reason is; `message_stop` may then be
//! missing. Pings are no content. Usage comes twice and the second counts are the whole.

use std::collections::BTreeMap;

use herm_schema::events::{Finish, ModelFailure, Usage};
use serde_json::{Value, json};

use crate::providers::Delta;
use crate::providers::classify;
use crate::providers::dialects::blocks::{Blocks, Reasoning, cut_off, settled};
use crate::providers::dialects::framing::{End, Fed, Framing, is_whole, json_of, json_of_body};
use crate::providers::dialects::{AnswerReader, Progress, ReadAnswer};
use crate::providers::sse::SseEvent;

/// Reads one answer.
pub(super) struct Reader {
    framing: Framing,
    over: bool,
    answer: Partial,
}

#[derive(Default)]
struct Partial {
    family: String,
    /// Names of tools as they were sent, and what they are here.
    renamed: BTreeMap<String, String>,
    blocks: Blocks,
    finish: Option<Finish>,
    refusal: Option<String>,
    usage: Option<Usage>,
    response_id: Option<String>,
    begun: bool,
}

impl Reader {
    pub(super) fn new(family: String, renamed: BTreeMap<String, String>) -> Self {
        let answer = Partial { family, renamed, ..Partial::default() };
        Self { framing: Framing::default(), over: false, answer }
    }

    fn event(&mut self, event: &SseEvent, progress: &mut Progress) -> Result<(), ModelFailure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.over = true;
        }
        if data.is_empty() || self.over {
            return Ok(());
        }
        let value = json_of(data)?;
        // The name of the event says the same; some servers leave one of the two out.
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(&event.event);
        if kind == "error" || value.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify::reported(&value));
        }
        self.over = kind == "message_stop";
        self.answer.event(kind, &value, progress)
    }

    fn whole(&mut self, body: &[u8], progress: &mut Progress) -> Result<(), ModelFailure> {
        let value = json_of_body(body)?;
        let Some(content) = value.get("content").and_then(Value::as_array) else {
            return Err(classify::reported(&value));
        };
        self.answer.started(&value);
        for (index, block) in (0..).zip(content) {
            self.answer.block(index, block, progress)?;
        }
        self.answer.stopped(&value);
        Ok(())
    }
}

impl AnswerReader for Reader {
    fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ModelFailure> {
        let mut progress = Progress::default();
        match self.framing.feed(bytes)? {
            Fed::Body { content } => progress.content = content,
            Fed::Events(events) => {
                for event in &events {
                    self.event(event, &mut progress)?;
                }
            }
        }
        Ok(progress)
    }

    fn is_complete(&self) -> bool {
        self.answer.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(mut self: Box<Self>) -> Result<(ReadAnswer, Progress), ModelFailure> {
        let mut progress = Progress::default();
        match self.framing.finish() {
            End::Nothing => {}
            End::Body(body) => self.whole(&body, &mut progress)?,
            // A last event without its blank line counts if it can be read; if it is cut, what was
            // read before decides.
            End::Event(event) => {
                if let Err(failure) = self.event(&event, &mut progress)
                    && is_whole(&event.data)
                {
                    return Err(failure);
                }
            }
        }
        let answer = self.answer.answered(&mut progress)?;
        Ok((answer, progress))
    }
}

impl Partial {
    fn event(&mut self, kind: &str, value: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        let index = value.get("index").and_then(Value::as_u64).unwrap_or_default();
        match kind {
            "message_start" => {
                if let Some(message) = value.get("message") {
                    self.started(message);
                }
            }
            "content_block_start" => {
                if let Some(block) = value.get("content_block") {
                    self.block(index, block, progress)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = value.get("delta") {
                    self.delta(index, delta, progress)?;
                }
            }
            "message_delta" => {
                self.usage(value.get("usage"));
                if let Some(delta) = value.get("delta") {
                    self.stopped(delta);
                    progress.content |= self.finish.is_some();
                }
            }
            // `ping`, `content_block_stop`, and what the vendor may add: to be ignored, it says.
            _ => {}
        }
        Ok(())
    }

    fn started(&mut self, message: &Value) {
        self.begun = true;
        let id = message.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        self.response_id = self.response_id.take().or_else(|| id.map(str::to_owned));
        self.usage(message.get("usage"));
    }

    /// A block begins; in an answer that is whole it is all there.
    fn block(&mut self, index: u64, block: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        self.begun = true;
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => {
                self.blocks.begin_text(index)?;
                self.blocks.text(index, text("text"), progress)
            }
            "thinking" => {
                self.blocks.begin_reasoning(index)?;
                self.blocks.reason(index, text("thinking"), progress)?;
                self.sign(index, text("signature"))
            }
            "redacted_thinking" => {
                self.blocks.begin_reasoning(index)?;
                progress.content = true;
                if let Some(reasoning) = self.blocks.reasoning(index)? {
                    text("data").clone_into(&mut reasoning.redacted);
                }
                Ok(())
            }
            "tool_use" => {
                let name = text("name");
                let name = self.renamed.get(name).cloned().unwrap_or_else(|| name.to_owned());
                let is_new = self.blocks.begin_call(index, (text("id"), name), progress)?;
                let input = block.get("input").filter(|input| match input {
                    Value::Null => false,
                    Value::Object(fields) => is_new && !fields.is_empty(),
                    _ => is_new,
                });
                let input =
                    input.map(|input| input.as_str().map_or_else(|| input.to_string(), str::to_owned));
                self.blocks.arguments(index, input.as_deref().unwrap_or_default(), progress)
            }
            // Tools that the vendor runs itself are never asked for.
            _ => Ok(()),
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text_delta" => self.blocks.text(index, text("text"), progress),
            "thinking_delta" => self.blocks.reason(index, text("thinking"), progress),
            "signature_delta" => {
                progress.content = true;
                self.sign(index, text("signature"))
            }
            "input_json_delta" => self.blocks.arguments(index, text("partial_json"), progress),
            _ => Ok(()),
        }
    }

    fn sign(&mut self, index: u64, signature: &str) -> Result<(), ModelFailure> {
        if let Some(reasoning) = self.blocks.reasoning(index)? {
            reasoning.signature.push_str(signature);
        }
        Ok(())
    }

    fn stopped(&mut self, value: &Value) {
        let Some(reason) = value.get("stop_reason").and_then(Value::as_str).filter(|it| !it.is_empty())
        else {
            return;
        };
        self.finish = Some(match reason {
            "tool_use" => Finish::ToolCalls,
            // A paused answer is not at its end: it is gone on with like one that was cut.
            "max_tokens" | "model_context_window_exceeded" | "pause_turn" => Finish::Length,
            "refusal" => Finish::ContentFilter,
            _ => Finish::Stop,
        });
        let why = value.pointer("/stop_details/explanation").and_then(Value::as_str);
        self.refusal = self.refusal.take().or_else(|| why.map(str::to_owned));
    }

    /// Counts that came before stay where the new ones have none.
    fn usage(&mut self, value: Option<&Value>) {
        let Some(value) = value.filter(|value| value.is_object()) else { return };
        let before = self.usage.unwrap_or_default();
        let count = |path: &str, before: u64| {
            value.pointer(path).and_then(Value::as_u64).filter(|count| *count > 0).unwrap_or(before)
        };
        let cached_read = count("/cache_read_input_tokens", before.cached_read);
        let cached_write = count("/cache_creation_input_tokens", before.cached_write);
        // The vendor counts what is not cached apart.
        let uncached_before =
            before.input.saturating_sub(before.cached_read.saturating_add(before.cached_write));
        let uncached = count("/input_tokens", uncached_before);
        let usage = Usage {
            input: uncached.saturating_add(cached_read).saturating_add(cached_write),
            cached_read,
            cached_write,
            output: count("/output_tokens", before.output),
            reasoning: count("/output_tokens_details/thinking_tokens", before.reasoning),
        };
        if usage != Usage::default() {
            self.usage = Some(usage);
        }
    }

    fn answered(self, progress: &mut Progress) -> Result<ReadAnswer, ModelFailure> {
        let Some(finish) = self.finish else { return Err(cut_off(self.begun)) };
        let mut message = self.blocks.into_message(finish, &self.family, own);
        if finish == Finish::ContentFilter
            && message.text.is_empty()
            && let Some(why) = self.refusal
        {
            progress.deltas.push(Delta::Text(why.clone()));
            message.text = why;
        }
        let finish = settled(finish, &message);
        Ok(ReadAnswer { message, finish, usage: self.usage, response_id: self.response_id })
    }
}

/// What of a piece of reasoning is sent back, with its fields in the vendor's order.
fn own(reasoning: &Reasoning) -> Option<Value> {
    if !reasoning.redacted.is_empty() {
        return Some(json!({"type": "redacted_thinking", "data": reasoning.redacted}));
    }
    let signed = !reasoning.signature.is_empty();
    signed.then(|| json!({"type": "thinking", "thinking": reasoning.text, "signature": reasoning.signature}))
}
