//! PURE: an answer from its bytes, streamed in frames or whole; which of the two is seen from the bytes.
//!
//! The end of a stream is no end of an answer: only `messageStop` is; the counts follow it.

use std::collections::BTreeMap;

use herm_schema::events::{FailureClass, Finish, ModelFailure, Usage};
use serde_json::{Value, json};

use super::frames::{Frame, Frames};
use crate::providers::classify;
use crate::providers::dialects::blocks::{Blocks, Reasoning, cut_off, failed, settled};
use crate::providers::dialects::{AnswerReader, Progress, ReadAnswer};

/// Largest answer that is not streamed, in bytes.
const BODY_BYTES_MAX: usize = 32 << 20;
/// How much of an answer that cannot be read is shown, in characters.
const EXCERPT_CHARS: usize = 200;

enum Form {
    Unknown,
    Stream(Frames),
    Whole(Vec<u8>),
}

/// Reads one answer.
pub(super) struct Reader {
    form: Form,
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
    usage: Option<Usage>,
    begun: bool,
}

impl Reader {
    pub(super) fn new(family: String, renamed: BTreeMap<String, String>) -> Self {
        let answer = Partial { family, renamed, ..Partial::default() };
        Self { form: Form::Unknown, over: false, answer }
    }

    fn frame(&mut self, frame: &Frame, progress: &mut Progress) -> Result<(), ModelFailure> {
        let payload = serde_json::from_slice::<Value>(&frame.payload);
        if frame.message_type != "event" {
            return Err(exception(frame, payload.ok()));
        }
        let Ok(payload) = payload else {
            let shown = excerpt(&frame.payload);
            let message = format!("the stream holds what is not JSON: `{shown}`");
            return Err(failed(FailureClass::ServerError, message));
        };
        self.over = frame.name == "metadata";
        self.answer.event(&frame.name, &payload, progress)
    }

    fn whole(&mut self, body: &[u8], progress: &mut Progress) -> Result<(), ModelFailure> {
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let message = format!("the answer is cut off or is not JSON: `{}`", excerpt(body));
            return Err(failed(FailureClass::ServerError, message));
        };
        let Some(content) = value.pointer("/output/message/content").and_then(Value::as_array) else {
            return Err(classify::reported(&value));
        };
        self.answer.begun = true;
        for (index, block) in (0..).zip(content) {
            self.answer.block(index, block, progress)?;
        }
        self.answer.usage(value.get("usage"));
        self.answer.stopped(&value)
    }
}

impl AnswerReader for Reader {
    fn feed(&mut self, bytes: &[u8]) -> Result<Progress, ModelFailure> {
        let mut progress = Progress::default();
        if let (Form::Unknown, Some(first)) = (&self.form, bytes.first()) {
            // A frame begins with its length, of which the first byte is 0 or 1.
            let framed = *first <= 1;
            self.form = if framed { Form::Stream(Frames::default()) } else { Form::Whole(Vec::new()) };
        }
        match &mut self.form {
            Form::Unknown => {}
            Form::Whole(body) => {
                if body.len().saturating_add(bytes.len()) > BODY_BYTES_MAX {
                    let message = format!("the answer is larger than the limit of {BODY_BYTES_MAX} bytes");
                    return Err(failed(FailureClass::FormatError, message));
                }
                body.extend_from_slice(bytes);
                progress.content = bytes.iter().any(|byte| !byte.is_ascii_whitespace());
            }
            Form::Stream(stream) => {
                let frames = stream.feed(bytes);
                let frames = frames.map_err(|error| failed(FailureClass::ServerError, error.to_string()))?;
                for frame in &frames {
                    self.frame(frame, &mut progress)?;
                }
            }
        }
        Ok(progress)
    }

    fn is_complete(&self) -> bool {
        self.answer.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.over && self.is_complete()
    }

    fn finish(mut self: Box<Self>) -> Result<(ReadAnswer, Progress), ModelFailure> {
        let mut progress = Progress::default();
        if let Form::Whole(body) = std::mem::replace(&mut self.form, Form::Unknown) {
            self.whole(&body, &mut progress)?;
        }
        let answer = self.answer.answered()?;
        Ok((answer, progress))
    }
}

impl Partial {
    fn event(&mut self, name: &str, value: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        self.begun = true;
        let index = value.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or_default();
        match name {
            "contentBlockStart" => match value.pointer("/start/toolUse") {
                Some(call) => self.call(index, call, progress),
                None => Ok(()),
            },
            "contentBlockDelta" => match value.get("delta") {
                Some(delta) => self.delta(index, delta, progress),
                None => Ok(()),
            },
            "messageStop" => {
                progress.content = true;
                self.stopped(value)
            }
            "metadata" => {
                self.usage(value.get("usage"));
                Ok(())
            }
            // `messageStart`, `contentBlockStop`, and what the vendor may add.
            _ => Ok(()),
        }
    }

    fn call(&mut self, index: u64, call: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = text("name");
        let name = self.renamed.get(name).cloned().unwrap_or_else(|| name.to_owned());
        self.blocks.begin_call(index, (text("toolUseId"), name), progress).map(|_| ())
    }

    fn delta(&mut self, index: u64, delta: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        let text = |path: &str| delta.pointer(path).and_then(Value::as_str).unwrap_or_default();
        self.blocks.text(index, text("/text"), progress)?;
        self.blocks.arguments(index, text("/toolUse/input"), progress)?;
        let Some(reasoning) = delta.get("reasoningContent") else { return Ok(()) };
        self.reasoning(index, reasoning, progress)
    }

    /// `{"text"}`, `{"signature"}` or `{"redactedContent"}`.
    fn reasoning(&mut self, index: u64, value: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        progress.content = true;
        self.blocks.reason(index, text("text"), progress)?;
        if let Some(reasoning) = self.blocks.reasoning(index)? {
            reasoning.signature.push_str(text("signature"));
            reasoning.redacted.push_str(text("redactedContent"));
        }
        Ok(())
    }

    /// A block of an answer that is whole.
    fn block(&mut self, index: u64, block: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        if let Some(call) = block.get("toolUse") {
            self.call(index, call, progress)?;
            let input = call.get("input").filter(|input| !input.is_null()).map(Value::to_string);
            return self.blocks.arguments(index, input.as_deref().unwrap_or_default(), progress);
        }
        if let Some(reasoning) = block.get("reasoningContent") {
            let inner = reasoning.get("reasoningText").unwrap_or(reasoning);
            return self.reasoning(index, inner, progress);
        }
        let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
        self.blocks.text(index, text, progress)
    }

    fn stopped(&mut self, value: &Value) -> Result<(), ModelFailure> {
        let Some(reason) = value.get("stopReason").and_then(Value::as_str) else { return Ok(()) };
        self.finish = Some(match reason {
            "tool_use" => Finish::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "guardrail_intervened" | "content_filtered" | "refusal" => Finish::ContentFilter,
            "malformed_model_output" | "malformed_tool_use" => {
                let message = format!("the model's answer could not be read by its vendor: `{reason}`");
                return Err(failed(FailureClass::ServerError, message));
            }
            _ => Finish::Stop,
        });
        Ok(())
    }

    /// What is not cached is counted apart.
    fn usage(&mut self, value: Option<&Value>) {
        let Some(value) = value else { return };
        let count = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
        let (cached_read, cached_write) = (count("cacheReadInputTokens"), count("cacheWriteInputTokens"));
        let usage = Usage {
            input: count("inputTokens").saturating_add(cached_read).saturating_add(cached_write),
            cached_read,
            cached_write,
            output: count("outputTokens"),
            reasoning: 0,
        };
        self.usage = Some(usage).filter(|usage| *usage != Usage::default()).or(self.usage);
    }

    fn answered(self) -> Result<ReadAnswer, ModelFailure> {
        let Some(finish) = self.finish else { return Err(cut_off(self.begun)) };
        let message = self.blocks.into_message(finish, &self.family, own);
        let finish = settled(finish, &message);
        Ok(ReadAnswer { message, finish, usage: self.usage, response_id: None })
    }
}

/// What of a piece of reasoning is sent back.
fn own(reasoning: &Reasoning) -> Option<Value> {
    if !reasoning.redacted.is_empty() {
        return Some(json!({"redactedContent": reasoning.redacted}));
    }
    let signed = !reasoning.signature.is_empty();
    signed.then(|| json!({"reasoningText": {"text": reasoning.text, "signature": reasoning.signature}}))
}

/// An exception or error in the stream, in the shape that failures have elsewhere.
fn exception(frame: &Frame, payload: Option<Value>) -> ModelFailure {
    let payload = payload.unwrap_or_default();
    let message =
        ["message", "Message", "originalMessage"].iter().find_map(|name| payload.get(name)?.as_str());
    let message = message.filter(|text| !text.is_empty()).unwrap_or(&frame.message);
    let message = if message.is_empty() { frame.name.as_str() } else { message };
    let status = payload.get("originalStatusCode").and_then(Value::as_u64);
    classify::reported(&json!({"error": {"type": frame.name, "message": message, "status": status}}))
}

fn excerpt(bytes: &[u8]) -> String {
    classify::cut(String::from_utf8_lossy(bytes).trim(), EXCERPT_CHARS)
}
