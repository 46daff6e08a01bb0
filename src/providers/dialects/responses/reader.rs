//! PURE: an answer from its bytes, streamed or whole.
//!
//! `response.completed`, `response.incomplete` and `response.failed` end an answer; a stream that
//! ends without one of them is cut off.

use herm_schema::JsonText;
use herm_schema::events::{AssistantMessage, FailureClass, Finish, ModelFailure, ToolCall, Usage};
use serde_json::{Value, json};

use super::extras::{BETWEEN_TEXTS, Extras, Part};
use super::items::{Item, Items, Kind};
use crate::providers::Delta;
use crate::providers::classify;
use crate::providers::dialects::acceptable::Names;
use crate::providers::dialects::framing::{
    End, Fed, Framing, cut_off, failed, has_error, is_whole, json_of, json_of_body,
};
use crate::providers::dialects::{AnswerReader, Progress, ReadAnswer};
use crate::providers::sse::SseEvent;

/// Reads one answer.
pub(super) struct Reader {
    framing: Framing,
    family: String,
    names: Names,
    over: bool,
    answer: Partial,
}

#[derive(Default)]
struct Partial {
    items: Items,
    finish: Option<Finish>,
    usage: Option<Usage>,
    response_id: Option<String>,
    /// A text has been shown.
    shown: bool,
    /// Anything of a response has come.
    begun: bool,
}

impl Reader {
    pub(super) fn new(family: String, names: Names) -> Self {
        Self { framing: Framing::default(), family, names, over: false, answer: Partial::default() }
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
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(&event.event).to_owned();
        self.over = self.answer.event(&kind, &value, &self.names, progress)?;
        Ok(())
    }

    fn whole(&mut self, body: &[u8], progress: &mut Progress) -> Result<(), ModelFailure> {
        let value = json_of_body(body)?;
        if has_error(&value) || !value.get("output").is_some_and(Value::is_array) {
            return Err(classify::reported(&value));
        }
        let status = value.get("status").and_then(Value::as_str).unwrap_or("completed");
        self.answer.end(status, &value, &self.names, progress)
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
            End::Event(event) => {
                if let Err(failure) = self.event(&event, &mut progress)
                    && is_whole(&event.data)
                {
                    return Err(failure);
                }
            }
        }
        Ok((self.answer.answered(&self.family, &self.names)?, progress))
    }
}

impl Partial {
    /// Takes one event; whether it was the last.
    fn event(
        &mut self,
        kind: &str,
        value: &Value,
        names: &Names,
        progress: &mut Progress,
    ) -> Result<bool, ModelFailure> {
        let delta = value.get("delta").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "error" | "response.error" => return Err(classify::reported(value)),
            "response.output_text.delta" => self.text(value, delta, progress),
            "response.refusal.delta" => self.refusal(value, delta, progress),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.reason(value, delta, progress);
            }
            "response.reasoning_summary_part.added" => {
                let between = self.items.of(value).and_then(Item::next_paragraph);
                progress.deltas.extend(between.map(|text| Delta::Reasoning(text.to_owned())));
            }
            "response.function_call_arguments.delta" => {
                if let Some(item) = self.items.of(value).filter(|_| !delta.is_empty()) {
                    item.push_arguments(delta);
                    progress.content = true;
                }
            }
            "response.function_call_arguments.done" => {
                let whole = value.get("arguments").and_then(Value::as_str);
                if let (Some(item), Some(whole)) = (self.items.of(value), whole) {
                    item.set_arguments(whole);
                    progress.content = true;
                }
            }
            "response.output_item.added" => self.item(value, false, names, progress),
            "response.output_item.done" => self.item(value, true, names, progress),
            "response.completed"
            | "response.done"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                let response = value.get("response").unwrap_or(value);
                let named = kind.strip_prefix("response.").unwrap_or(kind);
                let status = response.get("status").and_then(Value::as_str).unwrap_or(match named {
                    "done" => "completed",
                    named => named,
                });
                self.end(status, response, names, progress)?;
                return Ok(true);
            }
            "response.created" | "response.in_progress" => {
                self.begun = true;
                self.response_id(value.get("response").unwrap_or(value));
            }
            // A server that answers in another way altogether reports its errors so.
            _ if has_error(value) => return Err(classify::reported(value)),
            _ => {}
        }
        Ok(false)
    }

    fn text(&mut self, event: &Value, delta: &str, progress: &mut Progress) {
        let Some(item) = self.items.of(event).filter(|_| !delta.is_empty()) else { return };
        let begins = item.text.is_empty();
        item.text.push_str(delta);
        show(&mut self.shown, begins, delta, progress);
    }

    fn refusal(&mut self, event: &Value, delta: &str, progress: &mut Progress) {
        let Some(item) = self.items.of(event).filter(|_| !delta.is_empty()) else { return };
        item.refusal.push_str(delta);
        progress.content = true;
        progress.deltas.push(Delta::Text(delta.to_owned()));
    }

    fn reason(&mut self, event: &Value, delta: &str, progress: &mut Progress) {
        let Some(item) = self.items.of(event).filter(|_| !delta.is_empty()) else { return };
        item.reasoning.push_str(delta);
        progress.content = true;
        progress.deltas.push(Delta::Reasoning(delta.to_owned()));
    }

    /// An item that begins or is whole; what of it was not streamed is shown now.
    fn item(&mut self, event: &Value, done: bool, names: &Names, progress: &mut Progress) {
        let Some(item) = self.items.take(event, done) else { return };
        match item.kind() {
            Kind::Call => {
                progress.content = true;
                let name = names.original(item.field("name")).to_owned();
                if !name.is_empty() && !std::mem::replace(&mut item.announced, true) {
                    progress.deltas.push(Delta::ToolCall { name });
                }
            }
            Kind::Message if done => {
                progress.content = true;
                let whole = item.whole_text();
                if let Some(more) = whole.strip_prefix(item.text.as_str()).filter(|more| !more.is_empty()) {
                    show(&mut self.shown, item.text.is_empty(), more, progress);
                }
                item.text = whole;
                let refusal = item.whole_refusal();
                if let Some(more) =
                    refusal.strip_prefix(item.refusal.as_str()).filter(|more| !more.is_empty())
                {
                    progress.deltas.push(Delta::Text(more.to_owned()));
                }
                item.refusal = refusal;
            }
            Kind::Reasoning if done => {
                progress.content = true;
                let whole = item.whole_reasoning();
                if item.reasoning.is_empty() && !whole.is_empty() {
                    progress.deltas.push(Delta::Reasoning(whole.clone()));
                    item.reasoning = whole;
                }
            }
            Kind::Message | Kind::Reasoning | Kind::Other => {}
        }
    }

    fn response_id(&mut self, response: &Value) {
        if let Some(id) = response.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            self.response_id.get_or_insert_with(|| id.to_owned());
        }
    }

    /// Takes the response itself, at its end.
    fn end(
        &mut self,
        status: &str,
        response: &Value,
        names: &Names,
        progress: &mut Progress,
    ) -> Result<(), ModelFailure> {
        self.begun = true;
        self.response_id(response);
        self.finish = Some(match status {
            "completed" => Finish::Stop,
            "incomplete" => match response.pointer("/incomplete_details/reason").and_then(Value::as_str) {
                Some("content_filter") => Finish::ContentFilter,
                _ => Finish::Length,
            },
            "failed" if has_error(response) => return Err(classify::reported(response)),
            status => {
                let message = format!("the response ended as `{}`", classify::cut(status, 40));
                return Err(failed(FailureClass::ServerError, message));
            }
        });
        progress.content = true;
        self.usage = usage(response.get("usage")).or(self.usage);
        let output = response.get("output").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (index, item) in output.iter().enumerate() {
            let event = json!({"output_index": index, "item": item});
            if !self.items.of(&event).is_some_and(|known| known.is_done()) {
                self.item(&event, true, names, progress);
            }
        }
        Ok(())
    }

    fn answered(self, family: &str, names: &Names) -> Result<ReadAnswer, ModelFailure> {
        let Some(finish) = self.finish else { return Err(cut_off(self.begun)) };
        let mut said = Said::default();
        for item in self.items.into_ordered() {
            said.item(&item, names);
        }
        let refused = !said.refusal.is_empty();
        let finish = match finish {
            _ if refused => Finish::ContentFilter,
            Finish::Stop if !said.calls.is_empty() => Finish::ToolCalls,
            other => other,
        };
        let message = AssistantMessage {
            text: if refused && said.text.is_empty() { said.refusal } else { said.text },
            reasoning: Some(said.reasoning).filter(|text| !text.is_empty()),
            calls: said.calls,
            extras: if refused { None } else { said.extras.stored(family) },
        };
        Ok(ReadAnswer { message, finish, usage: self.usage, response_id: self.response_id })
    }
}

/// Shows a piece of a text, apart from the text of the item before.
fn show(shown: &mut bool, begins: bool, text: &str, progress: &mut Progress) {
    progress.content = true;
    if std::mem::replace(shown, true) && begins {
        progress.deltas.push(Delta::Text(BETWEEN_TEXTS.to_owned()));
    }
    progress.deltas.push(Delta::Text(text.to_owned()));
}

/// A message, put together from items.
#[derive(Default)]
struct Said {
    text: String,
    refusal: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    extras: Extras,
}

impl Said {
    fn item(&mut self, item: &Item, names: &Names) {
        match item.kind() {
            Kind::Message => {
                self.refusal.push_str(&item.whole_refusal());
                let text = item.whole_text();
                if !text.is_empty() {
                    self.extras.parts.push(Part::Text {
                        chars: text.chars().count(),
                        phase: Some(item.field("phase").to_owned()).filter(|phase| !phase.is_empty()),
                    });
                    append(&mut self.text, &text);
                }
            }
            Kind::Reasoning => {
                let encrypted_content = item.field("encrypted_content").to_owned();
                if !encrypted_content.is_empty() {
                    self.extras.parts.push(Part::Reasoning { encrypted_content, summary: item.summary() });
                }
                append(&mut self.reasoning, &item.whole_reasoning());
            }
            Kind::Call => {
                let id = [item.field("call_id"), item.field("id")].into_iter().find(|id| !id.is_empty());
                self.extras.parts.push(Part::Call);
                self.calls.push(ToolCall {
                    id: id.map_or_else(|| format!("call_{}", self.calls.len()), str::to_owned),
                    name: names.original(item.field("name")).to_owned(),
                    arguments: JsonText(item.whole_arguments()),
                });
            }
            Kind::Other => {}
        }
    }
}

fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str(BETWEEN_TEXTS);
    }
    text.push_str(more);
}

fn usage(value: Option<&Value>) -> Option<Usage> {
    let value = value.filter(|value| value.is_object())?;
    let count = |path: &str| value.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    let usage = Usage {
        input: count("/input_tokens"),
        cached_read: count("/input_tokens_details/cached_tokens"),
        cached_write: count("/input_tokens_details/cache_write_tokens"),
        output: count("/output_tokens"),
        reasoning: count("/output_tokens_details/reasoning_tokens"),
    };
    (usage != Usage::default()).then_some(usage)
}
