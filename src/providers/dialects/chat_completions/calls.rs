//! PURE: tool calls from their deltas.
//!
//! The documented way is an `index` in every delta and an `id` and name in the first of each call.
//! In the wild the index is always 0, or missing, or the id comes again with every delta, or the
//! whole call in one. So: a new id is a new call, a known id or index goes on with the newest call
//! that bears it, and a name for a call whose arguments are whole is another call.

use herm_schema::JsonText;
use herm_schema::events::ToolCall;
use serde_json::Value;

/// Most calls of one answer; more is a server gone wrong.
const CALLS_MAX: usize = 256;

#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Value>,
}

/// Calls as they come in.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Partial>);

impl Calls {
    /// Takes one entry of `tool_calls`; the name of a call that begins with it.
    pub(super) fn delta(&mut self, delta: &Value) -> Option<String> {
        let function = delta.get("function").unwrap_or(delta);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let (id, name) = (text(delta.get("id")), text(function.get("name")));
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            Some(other) => other.to_string(),
        };
        let extra = delta.get("extra_content").filter(|extra| !extra.is_null()).cloned();
        if id.is_empty() && name.is_empty() && arguments.is_empty() && extra.is_none() {
            return None;
        }
        let index = delta.get("index").and_then(Value::as_u64);
        let partial = self.place(index, &id, &name)?;
        let begins = partial.name.is_empty() && !name.is_empty();
        if partial.id.is_empty() {
            partial.id = id;
        }
        if !name.is_empty() {
            partial.name.clone_from(&name);
        }
        partial.arguments.push_str(&arguments);
        partial.extra = extra.or(partial.extra.take());
        begins.then_some(name)
    }

    /// The call that a delta belongs to; a new one where it begins one.
    fn place(&mut self, index: Option<u64>, id: &str, name: &str) -> Option<&mut Partial> {
        let same_index = |partial: &Partial| index.is_none() || partial.index == index;
        let found = if id.is_empty() {
            let newest = self.0.iter().rposition(same_index);
            newest.filter(|at| name.is_empty() || !self.0.get(*at).is_some_and(Partial::is_whole))
        } else {
            let known = self.0.iter().rposition(|partial| partial.id == id && same_index(partial));
            let unnamed =
                || self.0.iter().rposition(|p| p.id.is_empty() && p.index == index && !p.is_whole());
            known.or_else(unnamed)
        };
        let at = match found {
            Some(at) => at,
            None if self.0.len() >= CALLS_MAX => return None,
            None => {
                self.0.push(Partial { index, ..Partial::default() });
                self.0.len() - 1
            }
        };
        self.0.get_mut(at)
    }

    /// The calls in the order in which they began, and what each wants to have sent back. Calls
    /// without an id get one; arguments that are missing altogether are an empty object, unless
    /// the answer was `cut`.
    pub(super) fn into_calls(self, cut: bool) -> (Vec<ToolCall>, Vec<Option<Value>>) {
        let finished = self.0.into_iter().enumerate().map(|(place, partial)| {
            let id = if partial.id.is_empty() { format!("call_{place}") } else { partial.id };
            let nothing = partial.arguments.trim().is_empty() && !cut;
            let arguments = JsonText(if nothing { "{}".to_owned() } else { partial.arguments });
            (ToolCall { id, name: partial.name, arguments }, partial.extra)
        });
        finished.unzip()
    }
}

impl Partial {
    /// Its arguments are a complete object.
    fn is_whole(&self) -> bool {
        self.arguments.trim_end().ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(deltas: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        for delta in deltas {
            calls.delta(delta);
        }
        let of = |call: ToolCall| (call.id, call.name, call.arguments.0);
        calls.into_calls(false).0.into_iter().map(of).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn deltas_of_several_calls_may_be_interleaved() {
        let deltas = [
            json!({"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}),
            json!({"index":1,"id":"b","function":{"name":"g","arguments":null}}),
            json!({"index":0,"function":{"arguments":"{\"x\""}}),
            json!({"index":1,"id":null,"function":{"name":null,"arguments":"{}"}}),
            json!({"index":0,"function":{"arguments":":1}"}}),
        ];
        assert_eq!(read(&deltas), [call("a", "f", "{\"x\":1}"), call("b", "g", "{}")]);
    }

    #[test]
    fn a_new_id_under_the_same_index_is_a_new_call() {
        // Case `stream-index0-o`.
        let one = |id: &str, path: &str| json!({"index":0,"id":id,"function":{"name":"write_file","arguments":format!("{{\"path\":\"{path}\"}}")}});
        let expected = ["a", "b", "c"].map(|p| format!("{{\"path\":\"{p}\"}}"));
        let found = read(&[one("c1", "a"), one("c2", "b"), one("c3", "c")]);
        assert_eq!(found.iter().map(|call| call.2.clone()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_name_sent_with_every_delta_is_one_name() {
        // Case `stream-resend-o`.
        let one = |arguments: &str| json!({"index":0,"id":"c1","function":{"name":"read_file","arguments":arguments}});
        assert_eq!(
            read(&[one(""), one("{\"p\":"), one("\"x\"}")]),
            [call("c1", "read_file", "{\"p\":\"x\"}")]
        );
    }

    #[test]
    fn calls_without_ids_are_told_apart_when_they_are_whole() {
        let one = |path: &str| json!({"function":{"name":"r","arguments":{"p":path}}});
        let expected = [call("call_0", "r", "{\"p\":\"a\"}"), call("call_1", "r", "{\"p\":\"b\"}")];
        assert_eq!(read(&[one("a"), one("b")]), expected);
    }

    #[test]
    fn one_id_under_two_indices_is_two_calls() {
        let one = |index: u64| json!({"index":index,"id":"x","function":{"name":"f","arguments":"{}"}});
        assert_eq!(read(&[one(0), one(1)]).len(), 2);
    }

    #[test]
    fn empty_deltas_begin_nothing() {
        assert_eq!(read(&[json!({"index":0}), json!({"index":0,"function":{"arguments":""}})]), []);
    }
}
