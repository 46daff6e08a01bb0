//! Which tool calls of an answer may run at the same time.
//!
//! Calls keep their order: an answer is cut into segments, a segment begins when the one before
//! has ended, and the calls of a segment run together. Whether two calls may is said by the tools
//! themselves and, for those that name paths, by whether the paths overlap. Paths are compared by
//! their words, not by what is on the disk: the file may not exist yet.

use herm_schema::events::{Concurrency, ToolCall};

use super::state::SessionState;

/// What a call touches, as far as it says.
enum Reach {
    Anything,
    Nothing,
    Paths { paths: Vec<Vec<String>>, writes: bool },
}

/// The number of the segment of each call, from 0, never decreasing.
pub fn cut(state: &SessionState, calls: &[ToolCall]) -> Vec<u16> {
    let mut segments = Vec::with_capacity(calls.len());
    let mut current: Vec<Reach> = Vec::new();
    let mut number = 0u16;
    for call in calls {
        let reach = reach(state, call);
        if current.iter().any(|other| conflict(other, &reach)) {
            number = number.saturating_add(1);
            current.clear();
        }
        segments.push(number);
        current.push(reach);
    }
    segments
}

fn conflict(a: &Reach, b: &Reach) -> bool {
    match (a, b) {
        (Reach::Anything, _) | (_, Reach::Anything) => true,
        (Reach::Nothing, _) | (_, Reach::Nothing) => false,
        (Reach::Paths { paths: a, writes: wa }, Reach::Paths { paths: b, writes: wb }) => {
            (*wa || *wb) && a.iter().any(|a| b.iter().any(|b| overlap(a, b)))
        }
    }
}

/// Whether one path is the other or lies below it.
fn overlap(a: &[String], b: &[String]) -> bool {
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
        Concurrency::Paths { arguments, writes } => {
            let cwd = state.opened.as_ref().map_or("/", |opened| &opened.cwd);
            match paths(cwd, arguments, &call.arguments.0) {
                Some(paths) => Reach::Paths { paths, writes: *writes },
                None => Reach::Anything,
            }
        }
    }
}

/// The paths that a call names; `None` if it cannot be told which.
fn paths(cwd: &str, arguments: &[String], json: &str) -> Option<Vec<Vec<String>>> {
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    let named = arguments.iter().filter_map(|argument| value.get(argument)).map(|path| path.as_str());
    let paths: Vec<_> = named.map(|path| path.map(|path| words(cwd, path))).collect::<Option<_>>()?;
    (!paths.is_empty()).then_some(paths)
}

/// The words of an absolute path, `.` and `..` resolved.
fn words(cwd: &str, path: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let base = if path.starts_with('/') || path.starts_with('~') { "" } else { cwd };
    for word in base.split('/').chain(path.split('/')) {
        match word {
            "" | "." => {}
            ".." => drop(words.pop()),
            word => words.push(word.to_owned()),
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
