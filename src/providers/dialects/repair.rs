//! PURE: what goes out is always acceptable: alternation, pairing, ids, arguments. On a copy.
//!
//! The reducer builds well-formed requests and this leaves those alone. It is for logs that an
//! older herm wrote, and for what a provider refuses for good: one bad message in the past would
//! otherwise fail every call of the session.

use std::collections::{BTreeSet, VecDeque};

use herm_replay::reducer::request::Call;
use herm_schema::JsonText;
use serde_json::Value;

use crate::providers::{Image, LoadedMessage};

/// The result that stands for one which is not there.
const UNKNOWN_OUTCOME: &str = "{\"error\":\"the outcome of this tool call is unknown: it may or may not have \
                               taken effect; inspect before doing it again\"}";
/// What stands before the result of a call whose arguments are damaged.
const DAMAGED_NOTE: &str = "[note: the stored arguments of this tool call were damaged and are left out]\n";

/// `messages` as a strict server takes them.
pub fn well_formed(messages: &[LoadedMessage]) -> Vec<LoadedMessage> {
    let mut out = Repaired::default();
    for message in messages {
        match message {
            LoadedMessage::User { text, images } => out.user(text, images),
            LoadedMessage::Assistant { .. } => out.assistant(message),
            LoadedMessage::Tool { id, text, images, .. } => out.tool(id, text, images),
        }
    }
    out.answer_open();
    out.messages
}

/// A call that waits for its result.
struct Open {
    /// As it was in the input.
    id: String,
    sent: Call,
    damaged: bool,
    result: Option<(String, Vec<Image>)>,
}

#[derive(Default)]
struct Repaired {
    messages: Vec<LoadedMessage>,
    open: VecDeque<Open>,
    ids: BTreeSet<String>,
}

impl Repaired {
    fn user(&mut self, text: &str, images: &[Image]) {
        let text = if text.trim().is_empty() { "" } else { text };
        if text.is_empty() && images.is_empty() {
            return;
        }
        self.answer_open();
        if let Some(LoadedMessage::User { text: before, images: shown }) = self.messages.last_mut() {
            if !before.is_empty() && !text.is_empty() {
                before.push_str("\n\n");
            }
            before.push_str(text);
            shown.extend_from_slice(images);
        } else {
            self.messages.push(LoadedMessage::User { text: text.to_owned(), images: images.to_vec() });
        }
    }

    fn assistant(&mut self, message: &LoadedMessage) {
        let LoadedMessage::Assistant { text, calls, extras } = message else { return };
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        // Parallel calls that were stored one by one are one answer.
        let joins = !calls.is_empty() && self.open.iter().all(|open| open.result.is_none());
        if !joins {
            self.answer_open();
        }
        let sent: Vec<Call> = calls.iter().map(|call| self.opened(call)).collect();
        match self.messages.last_mut() {
            Some(LoadedMessage::Assistant { text: before, calls: earlier, extras }) => {
                // They describe one answer of the two.
                *extras = None;
                if !before.is_empty() && !text.is_empty() {
                    before.push_str("\n\n");
                }
                before.push_str(text);
                earlier.extend(sent);
            }
            _ => self.messages.push(LoadedMessage::Assistant {
                text: text.clone(),
                calls: sent,
                extras: extras.clone(),
            }),
        }
    }

    fn opened(&mut self, call: &Call) -> Call {
        let arguments = canonical_object(&call.arguments.0);
        let damaged = arguments.is_none();
        let sent = Call {
            id: self.unique(&call.id),
            name: call.name.clone(),
            arguments: JsonText(arguments.unwrap_or_else(|| "{}".to_owned())),
        };
        self.open.push_back(Open { id: call.id.clone(), sent: sent.clone(), damaged, result: None });
        sent
    }

    /// The id itself where it is free; the same input always gives the same ids.
    fn unique(&mut self, id: &str) -> String {
        let wanted = if id.is_empty() { "call" } else { id };
        let mut candidate = wanted.to_owned();
        let mut count = 1_u32;
        while !self.ids.insert(candidate.clone()) {
            count += 1;
            candidate = format!("{wanted}_{count}");
        }
        candidate
    }

    fn tool(&mut self, id: &str, text: &str, images: &[Image]) {
        // A result without a call is dropped: no server takes it.
        let waiting = self.open.iter_mut().find(|open| open.id == id && open.result.is_none());
        if let Some(open) = waiting {
            open.result = Some((text.to_owned(), images.to_vec()));
        }
    }

    /// Puts the results after their calls, in the calls' order, one each.
    fn answer_open(&mut self) {
        for open in self.open.drain(..) {
            let (text, images) = open.result.unwrap_or_else(|| (UNKNOWN_OUTCOME.to_owned(), Vec::new()));
            let text = if open.damaged { format!("{DAMAGED_NOTE}{text}") } else { text };
            self.messages.push(LoadedMessage::Tool { id: open.sent.id, name: open.sent.name, text, images });
        }
    }
}

/// `text` with keys sorted and no white space; `None` if it is not a JSON object.
pub(super) fn canonical_object(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    value.is_object().then(|| sorted(value).to_string())
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(text: &str) -> LoadedMessage {
        LoadedMessage::user(text)
    }

    fn calls(ids: &[&str]) -> LoadedMessage {
        let call = |id: &&str| Call { id: (*id).into(), name: "f".into(), arguments: "{}".into() };
        LoadedMessage::Assistant { text: String::new(), calls: ids.iter().map(call).collect(), extras: None }
    }

    fn said(text: &str) -> LoadedMessage {
        LoadedMessage::Assistant { text: text.into(), calls: vec![], extras: None }
    }

    fn result(id: &str, text: &str) -> LoadedMessage {
        LoadedMessage::tool(id, "f", text)
    }

    #[test]
    fn a_missing_result_is_answered_in_place() {
        // Case `pair-missing-o`.
        let out = well_formed(&[user("go"), calls(&["A", "B", "C"]), result("B", "b"), user("and now?")]);
        let expected = [
            user("go"),
            calls(&["A", "B", "C"]),
            result("A", UNKNOWN_OUTCOME),
            result("B", "b"),
            result("C", UNKNOWN_OUTCOME),
            user("and now?"),
        ];
        assert_eq!(out, expected);
    }

    #[test]
    fn ids_used_again_are_told_apart_with_their_results() {
        // Case `pair-dupid-o`.
        let out = well_formed(&[
            user("1"),
            calls(&["exec_0", "exec_1"]),
            result("exec_0", "r1"),
            result("exec_1", "r2"),
            calls(&["exec_0"]),
            result("exec_0", "r3"),
            user("2"),
        ]);
        assert_eq!(out[4..6], [calls(&["exec_0_2"]), result("exec_0_2", "r3")]);
        assert_eq!(out[2..4], [result("exec_0", "r1"), result("exec_1", "r2")]);
    }

    #[test]
    fn parallel_calls_stored_one_by_one_are_one_answer() {
        // Case `pair-parallel-o`.
        let out = well_formed(&[calls(&["A"]), calls(&["B"]), result("A", "a"), result("B", "b")]);
        assert_eq!(out, [calls(&["A", "B"]), result("A", "a"), result("B", "b")]);
    }

    #[test]
    fn what_alternation_forbids_is_merged_and_nothing_else() {
        // Case `pair-alternation-o`.
        assert_eq!(well_formed(&[user("first"), user("second")]), [user("first\n\nsecond")]);
        let valid = [user("Q1"), calls(&["t1"]), result("t1", "out"), user("Q2")];
        assert_eq!(well_formed(&valid), valid);
        assert_eq!(well_formed(&[user(""), user("real")]), [user("real")]);
        assert_eq!(well_formed(&[said("a"), said(""), said("b")]), [said("a\n\nb")]);
    }

    #[test]
    fn damaged_arguments_are_left_out_and_said_so() {
        // Case `pair-badargs-o`.
        let call = |id: &str, arguments: &str| Call {
            id: id.into(),
            name: "read_file".into(),
            arguments: JsonText(arguments.into()),
        };
        let stored = LoadedMessage::Assistant {
            text: String::new(),
            calls: vec![call("c1", "{\"path\": \"a"), call("c2", "{\"path\":\"b\"}")],
            extras: None,
        };
        let out = well_formed(&[user("x"), stored, result("c1", "x"), result("c2", "y")]);
        let LoadedMessage::Assistant { calls, .. } = &out[1] else { panic!("{out:?}") };
        assert_eq!(
            (calls[0].arguments.0.as_str(), calls[1].arguments.0.as_str()),
            ("{}", "{\"path\":\"b\"}")
        );
        let LoadedMessage::Tool { text, .. } = &out[2] else { panic!("{out:?}") };
        assert!(text.starts_with("[note: the stored arguments"), "{text}");
    }

    #[test]
    fn a_result_without_a_call_is_dropped() {
        assert_eq!(well_formed(&[user("x"), result("a", "r"), said("y")]), [user("x"), said("y")]);
    }

    #[test]
    fn arguments_are_canonical() {
        let text = canonical_object("{ \"b\": [ {\"d\":1, \"c\":2} ], \"a\": null }");
        assert_eq!(text.as_deref(), Some("{\"a\":null,\"b\":[{\"c\":2,\"d\":1}]}"));
        assert_eq!(canonical_object("[1]"), None);
    }

    /// Every call has its result at once and in order, and no two neighbours have one role.
    fn is_well_formed(messages: &[LoadedMessage]) -> bool {
        let mut ids = BTreeSet::new();
        let mut waiting = VecDeque::new();
        let mut before = "";
        for message in messages {
            let role = match message {
                LoadedMessage::Tool { id, .. } => {
                    if waiting.pop_front() != Some(id.clone()) {
                        return false;
                    }
                    "tool"
                }
                LoadedMessage::User { text, .. } if text.trim().is_empty() => return false,
                LoadedMessage::User { .. } => "user",
                LoadedMessage::Assistant { calls, .. } => {
                    if !calls.iter().all(|call| ids.insert(call.id.clone())) {
                        return false;
                    }
                    waiting.extend(calls.iter().map(|call| call.id.clone()));
                    "assistant"
                }
            };
            let inside = role == "assistant" && !waiting.is_empty();
            if (role == before && role != "tool") || (role != "tool" && !inside && !waiting.is_empty()) {
                return false;
            }
            before = role;
        }
        waiting.is_empty()
    }

    fn any_message() -> impl Strategy<Value = LoadedMessage> {
        let id = || prop_oneof!["a", "b", "c", ""];
        let some_calls =
            proptest::collection::vec((id(), prop_oneof![r"\{\}", r#"\{"x":1\}"#, r#"\{"x"#]), 0..3);
        prop_oneof![
            prop_oneof!["", "u", "v"].prop_map(|text| user(&text)),
            (prop_oneof!["", "t"], some_calls).prop_map(|(text, calls)| LoadedMessage::Assistant {
                text,
                calls: calls
                    .into_iter()
                    .map(|(id, arguments)| Call { id, name: "f".into(), arguments: JsonText(arguments) })
                    .collect(),
                extras: None,
            }),
            (id(), "[rs]").prop_map(|(id, text)| result(&id, &text)),
        ]
    }

    proptest! {
        #[test]
        fn whatever_comes_in_well_formed_goes_out(history in proptest::collection::vec(any_message(), 0..12)) {
            let once = well_formed(&history);
            prop_assert!(is_well_formed(&once), "{:?}", once);
            prop_assert_eq!(well_formed(&once), once);
        }
    }
}
