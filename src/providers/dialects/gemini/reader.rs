//! PURE: an answer from its bytes: a stream of responses, one response, or a list of them.
//!
//! There is no end mark: a finish reason ends an answer, and more may follow it. A prompt that is
//! blocked has no candidates at all.

use herm_schema::JsonText;
use herm_schema::events::{AssistantMessage, FailureClass, Finish, ModelFailure, ToolCall, Usage};
use serde_json::Value;

use super::extras::{Extras, Part};
use crate::providers::Delta;
use crate::providers::classify;
use crate::providers::dialects::acceptable::Names;
use crate::providers::dialects::framing::{
    End, Fed, Framing, cut_off, failed, has_error, is_whole, json_of, json_of_body,
};
use crate::providers::dialects::{AnswerReader, Progress, ReadAnswer};
use crate::providers::sse::SseEvent;

/// Most calls of one answer; more is a server gone wrong.
const CALLS_MAX: usize = 256;

/// Reads one answer.
pub(super) struct Reader {
    framing: Framing,
    family: String,
    answer: Partial,
}

struct Partial {
    names: Names,
    text: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    extras: Extras,
    finish: Option<Finish>,
    usage: Option<Usage>,
    response_id: Option<String>,
    /// Anything of a response has come.
    begun: bool,
}

impl Reader {
    pub(super) fn new(family: String, names: Names) -> Self {
        let answer = Partial {
            names,
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            extras: Extras::default(),
            finish: None,
            usage: None,
            response_id: None,
            begun: false,
        };
        Self { framing: Framing::default(), family, answer }
    }

    fn event(&mut self, event: &SseEvent, progress: &mut Progress) -> Result<(), ModelFailure> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let value = json_of(data)?;
        if event.event == "error" {
            return Err(classify::reported(&value));
        }
        self.answer.response(&value, progress)
    }

    fn whole(&mut self, body: &[u8], progress: &mut Progress) -> Result<(), ModelFailure> {
        let value = json_of_body(body)?;
        match &value {
            Value::Array(responses) => {
                responses.iter().try_for_each(|one| self.answer.response(one, progress))?;
            }
            one => self.answer.response(one, progress)?,
        }
        if !self.answer.begun {
            return Err(classify::reported(&value));
        }
        if value.is_object() {
            // The body is whole, so the answer is.
            self.answer.finish.get_or_insert(Finish::Stop);
        }
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
        false
    }

    fn finish(mut self: Box<Self>) -> Result<(ReadAnswer, Progress), ModelFailure> {
        let mut progress = Progress::default();
        match self.framing.finish() {
            End::Nothing => {}
            End::Body(body) => self.whole(&body, &mut progress)?,
            End::Event(event) => {
                if let Err(failure) = self.event(&event, &mut progress)
                    && is_whole(&event.data)
                {
                    return Err(failure);
                }
            }
        }
        Ok((self.answer.answered(&self.family)?, progress))
    }
}

impl Partial {
    fn response(&mut self, value: &Value, progress: &mut Progress) -> Result<(), ModelFailure> {
        if has_error(value) {
            return Err(classify::reported(value));
        }
        if let Some(id) = value.get("responseId").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            self.response_id.get_or_insert_with(|| id.to_owned());
        }
        self.usage = usage(value.get("usageMetadata")).or(self.usage);
        let blocked = value.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
        if blocked.is_some_and(|reason| reason != "BLOCK_REASON_UNSPECIFIED") {
            self.begun = true;
            self.finish = Some(Finish::ContentFilter);
            progress.content = true;
        }
        let Some(candidate) = value.get("candidates").and_then(|candidates| candidates.get(0)) else {
            return Ok(());
        };
        self.begun = true;
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.part(part, progress);
        }
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            self.finish = finish(reason, candidate)?.or(self.finish);
            progress.content = true;
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, progress: &mut Progress) {
        let signature = ["thoughtSignature", "thought_signature"]
            .iter()
            .find_map(|name| part.get(*name)?.as_str())
            .filter(|signature| !signature.is_empty())
            .map(str::to_owned);
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            self.call(call, signature, progress);
        } else if let Some(text) = part.get("text").and_then(Value::as_str) {
            if part.get("thought").and_then(Value::as_bool).unwrap_or_default() {
                self.thought(text, signature, progress);
            } else {
                self.said(text, signature, progress);
            }
        }
    }

    fn call(&mut self, call: &Value, signature: Option<String>, progress: &mut Progress) {
        if self.calls.len() >= CALLS_MAX {
            return;
        }
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = Some(text("id").to_owned()).filter(|id| !id.is_empty());
        let name = self.names.original(text("name")).to_owned();
        let arguments = call.get("args").filter(|args| args.is_object()).map(Value::to_string);
        progress.content = true;
        progress.deltas.push(Delta::ToolCall { name: name.clone() });
        self.calls.push(ToolCall {
            id: id.clone().unwrap_or_else(|| format!("call_{}", self.calls.len())),
            name,
            arguments: JsonText(arguments.unwrap_or_else(|| "{}".to_owned())),
        });
        self.extras.parts.push(Part::Call { id, signature });
    }

    fn thought(&mut self, text: &str, signature: Option<String>, progress: &mut Progress) {
        if !text.is_empty() {
            progress.content = true;
            progress.deltas.push(Delta::Reasoning(text.to_owned()));
            self.reasoning.push_str(text);
        }
        if let Some(signature) = signature {
            self.extras.parts.push(Part::Thought { text: text.to_owned(), signature });
        }
    }

    fn said(&mut self, text: &str, signature: Option<String>, progress: &mut Progress) {
        if !text.is_empty() {
            progress.content = true;
            progress.deltas.push(Delta::Text(text.to_owned()));
            self.text.push_str(text);
        }
        let more = text.chars().count();
        match (self.extras.parts.last_mut(), signature) {
            (Some(Part::Text { chars, signature: None }), None) => *chars += more,
            (_, None) if more == 0 => {}
            (_, signature) => self.extras.parts.push(Part::Text { chars: more, signature }),
        }
    }

    fn answered(self, family: &str) -> Result<ReadAnswer, ModelFailure> {
        let Some(finish) = self.finish else { return Err(cut_off(self.begun)) };
        let finish = match finish {
            Finish::Stop if !self.calls.is_empty() => Finish::ToolCalls,
            other => other,
        };
        let message = AssistantMessage {
            text: self.text,
            reasoning: Some(self.reasoning).filter(|text| !text.is_empty()),
            calls: self.calls,
            extras: self.extras.stored(family),
        };
        Ok(ReadAnswer { message, finish, usage: self.usage, response_id: self.response_id })
    }
}

/// What a finish reason means; `None` for one that says nothing.
fn finish(reason: &str, candidate: &Value) -> Result<Option<Finish>, ModelFailure> {
    let failure = |class, what: &str| {
        let said = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
        failed(class, classify::cut(format!("{what} (`{reason}`) {said}").trim(), 400))
    };
    Ok(Some(match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return Ok(None),
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::ContentFilter,
        "MISSING_THOUGHT_SIGNATURE" => {
            return Err(failure(FailureClass::ThinkingSignature, "a signature is missing"));
        }
        // The model wrote what is no call; asked again, it mostly does better.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "MALFORMED_RESPONSE" => {
            return Err(failure(FailureClass::ServerError, "the model made no usable tool call"));
        }
        _ => return Err(failure(FailureClass::ServerError, "the answer was broken off")),
    }))
}

/// Thoughts are counted apart from the answer, and are output; cached tokens are part of the prompt.
fn usage(value: Option<&Value>) -> Option<Usage> {
    let value = value.filter(|value| value.is_object())?;
    let count = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
    let reasoning = count("thoughtsTokenCount");
    let usage = Usage {
        input: count("promptTokenCount").saturating_add(count("toolUsePromptTokenCount")),
        cached_read: count("cachedContentTokenCount"),
        cached_write: 0,
        output: count("candidatesTokenCount").saturating_add(reasoning),
        reasoning,
    };
    (usage != Usage::default()).then_some(usage)
}
