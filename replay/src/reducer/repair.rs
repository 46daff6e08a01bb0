//! Makes a conversation well formed, whatever is missing from it: on a copy, never in the log.
//!
//! Afterwards roles alternate, no user text is empty, every call has an object for its arguments
//! and a name of its own, and is followed at once by exactly one result; a result that is missing
//! is answered in place, and one without its call is left out. A conversation that is well formed
//! already stays as it is, so that a prefix that was sent once is sent the same again.

use std::collections::BTreeSet;

use super::request::{Call, Message, Part};
use super::{canonical, notices};

/// Stands between user texts that are sent as one.
const GLUE: &str = "\n\n";

/// The id of the call at `index` of an answer: the provider's, or its place where that is empty.
pub fn local_id(id: &str, index: usize) -> String {
    match id.is_empty() {
        true => format!("call_{index}"),
        false => id.to_owned(),
    }
}

/// The well-formed conversation.
pub fn repair(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    let mut used = BTreeSet::new();
    let mut rest = merge(messages).into_iter().peekable();
    while let Some(message) = rest.next() {
        match message {
            Message::User { parts } => out.push(Message::User { parts }),
            Message::Tool { .. } => {} // Its call is gone.
            Message::Assistant { text, calls, extras } => {
                let mut results = Vec::new();
                while let Some(Message::Tool { .. }) = rest.peek() {
                    results.extend(rest.next());
                }
                let (calls, results) = pair(calls, results, &mut used);
                out.push(Message::Assistant { text, calls, extras });
                out.extend(results);
            }
        }
    }
    out
}

/// Drops what says nothing, and joins what alternation forbids to stand side by side.
fn merge(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match (out.last_mut(), message) {
            (_, Message::User { parts }) if parts.iter().all(is_blank) => {}
            (_, Message::Assistant { text, calls, extras: None })
                if text.trim().is_empty() && calls.is_empty() => {}
            (Some(Message::User { parts: before }), Message::User { parts }) => {
                before.push(GLUE.into());
                before.extend(parts);
            }
            (
                Some(Message::Assistant { text: before, calls: earlier, extras: had }),
                Message::Assistant { text, calls, extras },
            ) => {
                if !before.is_empty() && !text.is_empty() {
                    before.push_str(GLUE);
                }
                before.push_str(&text);
                earlier.extend(calls);
                if had.is_none() {
                    *had = extras;
                }
            }
            (_, message) => out.push(message),
        }
    }
    out
}

fn is_blank(part: &Part) -> bool {
    match part {
        Part::Inline(text) => text.trim().is_empty(),
        Part::Stored(blob) => blob.bytes == 0,
        Part::Image { .. } => false,
    }
}

/// Gives each call its one result, in the order of the calls, under an id of its own.
fn pair(calls: Vec<Call>, results: Vec<Message>, used: &mut BTreeSet<String>) -> (Vec<Call>, Vec<Message>) {
    let mut waiting: Vec<Option<(String, Vec<Part>)>> = results
        .into_iter()
        .map(|result| match result {
            Message::Tool { id, parts, .. } => Some((id, parts)),
            Message::User { .. } | Message::Assistant { .. } => None,
        })
        .collect();
    let mut sent = Vec::with_capacity(calls.len());
    let mut answers = Vec::with_capacity(calls.len());
    for (index, call) in calls.into_iter().enumerate() {
        let asked = local_id(&call.id, index);
        let found = waiting
            .iter_mut()
            .find(|slot| slot.as_ref().is_some_and(|(id, _)| *id == asked))
            .and_then(Option::take);
        let mut parts = found.map_or_else(|| vec![notices::OUTCOME_UNKNOWN.into()], |(_, parts)| parts);
        let id = unused(&asked, used);
        let arguments = match canonical::object(&call.arguments.0) {
            Some(arguments) => arguments,
            None => {
                parts.insert(0, notices::DAMAGED_ARGUMENTS.into());
                "{}".to_owned()
            }
        };
        answers.push(Message::Tool { id: id.clone(), name: call.name.clone(), parts });
        sent.push(Call { id, name: call.name, arguments: herm_schema::JsonText(arguments) });
    }
    (sent, answers)
}

/// `id`, or the first variation of it that is not used yet in this request.
fn unused(id: &str, used: &mut BTreeSet<String>) -> String {
    let mut candidate = id.to_owned();
    let mut number = 2u32;
    while !used.insert(candidate.clone()) {
        candidate = format!("{id}_{number}");
        number = number.saturating_add(1);
    }
    candidate
}
