//! Which tool calls of an answer may run at the same time.
//!
//! Calls keep their order: an answer is cut into segments, a segment begins when the one before
//! has ended, and the calls of a segment run together. Whether two calls may is said by the tools
//! themselves and, for those that name paths, by whether the paths overlap. Paths are compared by
//! their words, not by what is on the disk: the file may not exist yet.

use std::fmt;

use herm_schema::events::{Concurrency, ToolCall};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::state::SessionState;

/// What a call touches, as far as it says.
enum Reach {
    Anything,
    Nothing,
    Paths { paths: Vec<String>, writes: bool },
}

/// The number of the segment of each call, from 0, never decreasing.
pub fn cut(state: &SessionState, calls: &[ToolCall]) -> Vec<u16> {
    if let [_] = calls {
        // Nothing is there that it could be in the way of: the usual case, and folded often.
        return vec![0];
    }
    let cwd = state.opened.as_ref().map_or("/", |opened| &opened.cwd);
    let mut segments = Vec::with_capacity(calls.len());
    let mut current: Vec<Reach> = Vec::new();
    let mut number = 0u16;
    for call in calls {
        let reach = reach(state, call);
        if current.iter().any(|other| conflict(cwd, other, &reach)) {
            number = number.saturating_add(1);
            current.clear();
        }
        segments.push(number);
        current.push(reach);
    }
    segments
}

fn conflict(cwd: &str, a: &Reach, b: &Reach) -> bool {
    match (a, b) {
        (Reach::Anything, _) | (_, Reach::Anything) => true,
        (Reach::Nothing, _) | (_, Reach::Nothing) => false,
        (Reach::Paths { paths: a, writes: wa }, Reach::Paths { paths: b, writes: wb }) => {
            (*wa || *wb) && a.iter().any(|a| b.iter().any(|b| overlap(&words(cwd, a), &words(cwd, b))))
        }
    }
}

/// Whether one path is the other or lies below it.
fn overlap(a: &[&str], b: &[&str]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn reach(state: &SessionState, call: &ToolCall) -> Reach {
    // A tool that is not offered is answered, not run.
    let Some(tool) = state.tool(&call.name) else {
        return Reach::Nothing;
    };
    match &tool.concurrency {
        Concurrency::Serial => Reach::Anything,
        Concurrency::Parallel => Reach::Nothing,
        Concurrency::Paths { arguments, writes } => match paths(arguments, &call.arguments.0) {
            Some(paths) => Reach::Paths { paths, writes: *writes },
            None => Reach::Anything,
        },
    }
}

/// The paths that a call names; `None` if it cannot be told which.
fn paths(arguments: &[String], json: &str) -> Option<Vec<String>> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let found = Named(arguments).deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    let paths: Vec<String> = found.into_iter().flatten().map(text).collect::<Option<_>>()?;
    (!paths.is_empty()).then_some(paths)
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Reads the members of these names out of an object and passes over all others.
struct Named<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = Vec<Option<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Named<'_> {
    type Value = Vec<Option<Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = vec![None; self.0.len()];
        while let Some(name) = map.next_key::<String>()? {
            let wanted = self.0.iter().position(|wanted| *wanted == name);
            match wanted.and_then(|index| found.get_mut(index)) {
                Some(slot) => *slot = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// The words of an absolute path, `.` and `..` resolved.
fn words<'a>(cwd: &'a str, path: &'a str) -> Vec<&'a str> {
    let mut words: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') || path.starts_with('~') { "" } else { cwd };
    for word in base.split('/').chain(path.split('/')) {
        match word {
            "" | "." => {}
            ".." => drop(words.pop()),
            word => words.push(word),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use herm_schema::events::{EffectClass, ToolFacts};
    use herm_schema::{BlobRef, JsonText};

    use super::*;
    use crate::reducer::state::Offer;

    fn offered() -> SessionState {
        let tool = |name: &str, concurrency| ToolFacts {
            name: name.to_owned(),
            effect: EffectClass::Repeatable,
            concurrency,
            refunds_iteration: false,
            judged: false,
        };
        let path = |writes| Concurrency::Paths { arguments: vec!["path".to_owned()], writes };
        let tools = vec![
            tool("read", path(false)),
            tool("write", path(true)),
            tool("search", Concurrency::Parallel),
            tool("run", Concurrency::Serial),
        ];
        let offer = Offer { definitions: BlobRef::of(b"[]"), tools };
        SessionState { offer: Some(offer), ..SessionState::default() }
    }

    fn segments(calls: &[(&str, &str)]) -> Vec<u16> {
        let call = |(name, path): &(&str, &str)| ToolCall {
            id: "x".to_owned(),
            name: (*name).to_owned(),
            arguments: JsonText(format!(r#"{{"path":"{path}"}}"#)),
        };
        cut(&offered(), &calls.iter().map(call).collect::<Vec<_>>())
    }

    #[test]
    fn reads_run_together_even_of_one_file() {
        assert_eq!(segments(&[("read", "/a"), ("read", "/a"), ("search", "/a")]), [0, 0, 0]);
    }

    #[test]
    fn writes_to_other_places_run_together_and_to_the_same_place_do_not() {
        assert_eq!(segments(&[("write", "a/b"), ("write", "a/c"), ("write", "/a/./b/../b")]), [0, 0, 1]);
        assert_eq!(segments(&[("write", "a"), ("read", "a/b")]), [0, 1]);
    }

    #[test]
    fn a_serial_call_is_a_barrier() {
        assert_eq!(
            segments(&[("read", "a"), ("run", ""), ("run", ""), ("read", "a"), ("read", "b")]),
            [0, 1, 2, 3, 3]
        );
    }
}
