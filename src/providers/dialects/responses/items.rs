//! PURE: the items of an answer, put together from events.
//!
//! An item begins with `response.output_item.added`, grows by deltas, and comes whole with
//! `response.output_item.done`, which then counts. Servers leave out any of the three.

use serde_json::Value;

/// Most items of one answer; more is a server gone wrong.
const ITEMS_MAX: usize = 1_024;
/// Between the paragraphs of one item's reasoning.
const BETWEEN_SUMMARIES: &str = "\n\n";

/// One item of an answer.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// Its place in the output, or in the order of arrival where a server tells none.
    index: u64,
    id: String,
    /// As it was added, or whole.
    item: Value,
    /// `item` is whole.
    done: bool,
    /// What deltas brought.
    pub text: String,
    pub refusal: String,
    pub reasoning: String,
    arguments: String,
    /// Its name has been shown.
    pub announced: bool,
}

/// The kinds of items that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
    /// Not known yet, or nothing that was asked for.
    Other,
}

impl Item {
    pub(super) fn kind(&self) -> Kind {
        match self.item.get("type").and_then(Value::as_str) {
            Some("message") => Kind::Message,
            Some("reasoning") => Kind::Reasoning,
            Some("function_call") => Kind::Call,
            Some(_) => Kind::Other,
            None if !self.text.is_empty() || !self.refusal.is_empty() => Kind::Message,
            None if !self.reasoning.is_empty() => Kind::Reasoning,
            None => Kind::Other,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    pub(super) fn field(&self, name: &str) -> &str {
        self.item.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn summary(&self) -> Value {
        self.item
            .get("summary")
            .filter(|it| it.is_array())
            .cloned()
            .unwrap_or_else(|| Value::Array(Vec::new()))
    }

    /// The text of a message; what came whole counts.
    pub(super) fn whole_text(&self) -> String {
        let whole = self.parts("content", &["output_text", "text"], "text", "");
        if whole.is_empty() { self.text.clone() } else { whole }
    }

    pub(super) fn whole_refusal(&self) -> String {
        let whole = self.parts("content", &["refusal"], "refusal", "");
        if whole.is_empty() { self.refusal.clone() } else { whole }
    }

    /// The summary of a reasoning item, or the reasoning itself where a server shows it.
    pub(super) fn whole_reasoning(&self) -> String {
        let summary = self.parts("summary", &["summary_text"], "text", BETWEEN_SUMMARIES);
        if !summary.is_empty() {
            return summary;
        }
        let content = self.parts("content", &["reasoning_text", "text"], "text", "");
        if content.is_empty() { self.reasoning.clone() } else { content }
    }

    pub(super) fn whole_arguments(&self) -> String {
        match self.item.get("arguments") {
            Some(Value::String(text)) if !text.is_empty() => text.clone(),
            Some(value @ Value::Object(_)) => value.to_string(),
            _ if self.arguments.trim().is_empty() => "{}".to_owned(),
            _ => self.arguments.clone(),
        }
    }

    fn parts(&self, list: &str, types: &[&str], field: &str, between: &str) -> String {
        let Some(parts) = self.item.get(list).and_then(Value::as_array) else { return String::new() };
        let texts: Vec<&str> = parts
            .iter()
            .filter(|part| part.get("type").and_then(Value::as_str).is_some_and(|it| types.contains(&it)))
            .filter_map(|part| part.get(field).and_then(Value::as_str))
            .collect();
        texts.join(between)
    }

    pub(super) fn push_arguments(&mut self, delta: &str) {
        self.arguments.push_str(delta);
    }

    pub(super) fn set_arguments(&mut self, whole: &str) {
        whole.clone_into(&mut self.arguments);
    }

    /// A new paragraph of reasoning begins; what is shown between the two.
    pub(super) fn next_paragraph(&mut self) -> Option<&'static str> {
        if self.reasoning.is_empty() || self.reasoning.ends_with(BETWEEN_SUMMARIES) {
            return None;
        }
        self.reasoning.push_str(BETWEEN_SUMMARIES);
        Some(BETWEEN_SUMMARIES)
    }

    fn take(&mut self, item: &Value, done: bool) {
        if let Some(id) = item.get("id").and_then(Value::as_str) {
            id.clone_into(&mut self.id);
        }
        if done || !self.done {
            self.item = item.clone();
            self.done |= done;
        }
    }
}

/// All items of an answer, in order.
#[derive(Debug, Default)]
pub(super) struct Items(Vec<Item>);

impl Items {
    /// The item that `event` is about: by its place in the output, else by its id, else the newest.
    pub(super) fn of(&mut self, event: &Value) -> Option<&mut Item> {
        let index = event.get("output_index").and_then(Value::as_u64);
        let inside = || event.get("item").and_then(|item| item.get("id"));
        let id = event.get("item_id").or_else(inside).and_then(Value::as_str).unwrap_or_default();
        let begins = event.get("item").is_some();
        let found = match index {
            Some(index) => self.0.iter().rposition(|item| item.index == index),
            None if !id.is_empty() => self.0.iter().rposition(|item| item.id == id),
            None if begins => None,
            None => self.0.len().checked_sub(1),
        };
        let at = match found {
            Some(at) => at,
            None if self.0.len() >= ITEMS_MAX => return None,
            None => {
                let at = self.0.len();
                let index = index.or_else(|| u64::try_from(at).ok()).unwrap_or_default();
                self.0.push(Item { index, id: id.to_owned(), ..Item::default() });
                at
            }
        };
        self.0.get_mut(at)
    }

    /// Takes `event.item`, whole or just begun.
    pub(super) fn take(&mut self, event: &Value, done: bool) -> Option<&mut Item> {
        let item = event.get("item").filter(|item| item.is_object())?;
        let place = self.of(event)?;
        place.take(item, done);
        Some(place)
    }

    /// The items in the order of the output.
    pub(super) fn into_ordered(mut self) -> Vec<Item> {
        self.0.sort_by_key(|item| item.index);
        self.0
    }
}
