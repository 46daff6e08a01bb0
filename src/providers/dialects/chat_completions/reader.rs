//! PURE: an answer from its bytes, streamed or whole.
//!
//! Which of the two it is, is seen from the bytes and not from what was asked for: servers ignore
//! `stream`, in both directions. The end of a stream is no end of an answer: only a finish reason
//! is; `[DONE]` may then be missing.

use herm_schema::JsonText;
use herm_schema::events::{AssistantMessage, FailureClass, Finish, ModelFailure, ProviderExtras, Usage};
use serde_json::{Map, Value};

use super::calls::Calls;
use super::wire::Extras;
use crate::providers::Delta;
use crate::providers::classify;
use crate::providers::dialects::acceptable::Names;
use crate::providers::dialects::framing::{End, Fed, Framing, failed, is_whole, json_of, json_of_body};
use crate::providers::dialects::{AnswerReader, Progress, ReadAnswer, Scrubbed, Scrubber};
use crate::providers::sse::SseEvent;

/// Reads one answer.
pub(super) struct Reader {
    framing: Framing,
    family: String,
    names: Names,
    echo_reasoning: bool,
    over: bool,
    answer: Partial,
}

#[derive(Default)]
struct Partial {
    scrubber: Scrubber,
    text: String,
    reasoning: String,
    refusal: String,
    calls: Calls,
    finish: Option<Finish>,
    usage: Option<Usage>,
    response_id: Option<String>,
    /// Anything with choices in it has come.
    begun: bool,
}

impl Reader {
    pub(super) fn new(family: String, names: Names, echo_reasoning: bool) -> Self {
        let answer = Partial::default();
        Self { framing: Framing::default(), family, names, echo_reasoning, over: false, answer }
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
        if event.event == "error" {
            return Err(classify::reported(&value));
        }
        self.answer.chunk(&value, progress)
    }

    fn whole(&mut self, body: &[u8], progress: &mut Progress) -> Result<(), ModelFailure> {
        let value = json_of_body(body)?;
        self.answer.chunk(&value, progress)?;
        if !self.answer.begun {
            return Err(classify::reported(&value));
        }
        // The body is whole, so the answer is, also where the server gives no reason for its end.
        self.answer.finish.get_or_insert(Finish::Stop);
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
        rename(&mut progress, &self.names);
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
        let scrubbed = std::mem::take(&mut self.answer.scrubber).finish();
        self.answer.take_scrubbed(scrubbed, &mut progress);
        let mut answer = self.answer.answered(&self.family, self.echo_reasoning)?;
        rename(&mut progress, &self.names);
        for call in &mut answer.message.calls {
            call.name = self.names.original(&call.name).to_owned();
        }
        Ok((answer, progress))
    }
}

/// Shows tools by the names that they have here.
fn rename(progress: &mut Progress, names: &Names) {
    for delta in &mut progress.deltas {
        if let Delta::ToolCall { name } = delta {
            *name = names.original(name).to_owned();
        }
    }
}

impl Partial {
    fn chunk(&mut self, value: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        if has_error(value) {
            return Err(classify::reported(value));
        }
        if let Some(id) = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            self.response_id.get_or_insert_with(|| id.to_owned());
        }
        let choice = value.get("choices").and_then(|choices| choices.get(0));
        self.usage(value.get("usage").or_else(|| value.pointer("/x_groq/usage")));
        let Some(choice) = choice else { return Ok(()) };
        self.begun = true;
        self.usage(choice.get("usage"));
        if let Some(said) = choice.get("delta").or_else(|| choice.get("message")) {
            self.said(said, progress);
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str).filter(|it| !it.is_empty())
        {
            self.finish = Some(finish(reason, choice)?);
            progress.content = true;
        }
        Ok(())
    }

    fn said(&mut self, said: &Value, progress: &mut Progress) {
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|name| text_of(said.get(name)));
        if let Some(reasoning) = reasoning {
            self.reason(&reasoning, progress);
        }
        if let Some(content) = text_of(said.get("content")) {
            progress.content = true;
            let scrubbed = self.scrubber.feed(&content);
            self.take_scrubbed(scrubbed, progress);
        }
        if let Some(refusal) = text_of(said.get("refusal")) {
            progress.content = true;
            progress.deltas.push(Delta::Text(refusal.clone()));
            self.refusal.push_str(&refusal);
        }
        let calls = said.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // The form that `tool_calls` replaced; some servers still speak it.
        let old = said.get("function_call").filter(|call| call.is_object());
        for call in calls.iter().chain(old) {
            progress.content = true;
            progress.deltas.extend(self.calls.delta(call).map(|name| Delta::ToolCall { name }));
        }
    }

    fn take_scrubbed(&mut self, scrubbed: Scrubbed, progress: &mut Progress) {
        self.reason(&scrubbed.hidden, progress);
        if !scrubbed.visible.is_empty() {
            self.text.push_str(&scrubbed.visible);
            progress.deltas.push(Delta::Text(scrubbed.visible));
        }
    }

    fn reason(&mut self, text: &str, progress: &mut Progress) {
        if !text.is_empty() {
            progress.content = true;
            self.reasoning.push_str(text);
            progress.deltas.push(Delta::Reasoning(text.to_owned()));
        }
    }

    /// The last count that is not empty wins: some servers count in every chunk.
    fn usage(&mut self, value: Option<&Value>) {
        let Some(value) = value.filter(|value| value.is_object()) else { return };
        let count = |path: &str| value.pointer(path).and_then(Value::as_u64);
        let usage = Usage {
            input: count("/prompt_tokens").unwrap_or_default(),
            cached_read: count("/prompt_tokens_details/cached_tokens")
                .or_else(|| count("/prompt_cache_hit_tokens"))
                .unwrap_or_default(),
            cached_write: count("/prompt_tokens_details/cache_write_tokens")
                .or_else(|| count("/cache_creation_input_tokens"))
                .unwrap_or_default(),
            output: count("/completion_tokens").unwrap_or_default(),
            reasoning: count("/completion_tokens_details/reasoning_tokens").unwrap_or_default(),
        };
        if usage != Usage::default() {
            self.usage = Some(usage);
        }
    }

    fn answered(self, family: &str, echo_reasoning: bool) -> Result<ReadAnswer, ModelFailure> {
        let Some(finish) = self.finish else {
            let what = if self.begun { "before the answer did" } else { "without an answer" };
            let message = format!("the stream ended {what}: no finish reason came");
            return Err(failed(FailureClass::ServerError, message));
        };
        let (calls, extra_contents) = self.calls.into_calls(finish == Finish::Length);
        let refused = !self.refusal.is_empty();
        let finish = match finish {
            _ if refused => Finish::ContentFilter,
            Finish::Stop if !calls.is_empty() => Finish::ToolCalls,
            Finish::ToolCalls if calls.is_empty() => Finish::Stop,
            other => other,
        };
        let mut message = Map::new();
        if echo_reasoning && !calls.is_empty() && !self.reasoning.is_empty() {
            message.insert("reasoning_content".into(), self.reasoning.clone().into());
        }
        let extras = extras(message, extra_contents, family);
        let message = AssistantMessage {
            text: if refused && self.text.is_empty() { self.refusal } else { self.text },
            reasoning: Some(self.reasoning).filter(|text| !text.is_empty()),
            calls,
            extras,
        };
        Ok(ReadAnswer { message, finish, usage: self.usage, response_id: self.response_id })
    }
}

fn extras(message: Map<String, Value>, calls: Vec<Option<Value>>, family: &str) -> Option<ProviderExtras> {
    if message.is_empty() && calls.iter().all(Option::is_none) {
        return None;
    }
    let json = serde_json::to_string(&Extras { message, calls }).ok()?;
    Some(ProviderExtras { family: family.to_owned(), json: JsonText(json) })
}

fn finish(reason: &str, choice: &Value) -> Result<Finish, ModelFailure> {
    Ok(match reason.to_ascii_lowercase().as_str() {
        "tool_calls" | "tool_use" | "function_call" => Finish::ToolCalls,
        "length" | "max_tokens" | "model_length" => Finish::Length,
        "content_filter" | "safety" | "refusal" | "recitation" => Finish::ContentFilter,
        "error" => return Err(classify::reported(choice)),
        "insufficient_system_resource" => {
            return Err(failed(FailureClass::Overloaded, "the provider ran out of resources".into()));
        }
        _ => Finish::Stop,
    })
}

fn has_error(value: &Value) -> bool {
    let reported = value.get("error").is_some_and(|error| match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    });
    reported || value.get("object").and_then(Value::as_str) == Some("error")
}

/// A text, or the texts of a list of parts; `None` where there is nothing.
fn text_of(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}
