//! PURE: what the steps came to, for a person. Results are reported in full, as the tools gave them.

use serde_json::{Map, Value};

use super::plan::{Line, Step};

/// The report over `lines`, whose runnable steps have `results` so far.
pub(super) fn write(
    lines: &[Line],
    results: &[&str],
    any_tools: bool,
    offered: impl Fn(&Step) -> bool,
) -> String {
    let mut results = results.iter();
    let mut parts = Vec::new();
    let mut undone = Vec::new();
    let single = lines.len() == 1;
    for line in lines {
        match line {
            Line::NotUnderstood(text) => parts.push(format!("Not understood, and left out: {text}")),
            // Without tools the results that are there belong to the first steps, in order.
            Line::Step(step) if offered(step) || !any_tools => match results.next() {
                Some(result) if single => parts.push(told(step, result)),
                Some(result) => parts.push(format!("{}:\n{}", capital(&step.title()), told(step, result))),
                None => undone.push(step.title()),
            },
            Line::Step(step) => parts.push(format!(
                "I cannot {}: the tool `{}` is not offered in this session.",
                step.title(),
                step.tool()
            )),
        }
    }
    if !undone.is_empty() {
        parts.push(format!("Not done, because no tools are offered now: {}.", undone.join("; ")));
    }
    parts.join("\n\n")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// One result: the JSON object at its beginning, and what was put beside it.
fn told(step: &Step, result: &str) -> String {
    let mut values = serde_json::Deserializer::from_str(result).into_iter::<Value>();
    let Some(Ok(Value::Object(object))) = values.next() else {
        return nonempty(result.trim(), "(nothing)");
    };
    let beside = result.get(values.byte_offset()..).unwrap_or_default().trim();
    let mut out = of_object(step, object);
    if !beside.is_empty() {
        out.push('\n');
        out.push_str(beside);
    }
    out
}

fn of_object(step: &Step, mut object: Map<String, Value>) -> String {
    let mut out = Vec::new();
    if let Some(error) = take_text(&mut object, "error") {
        out.push(format!("Failed: {error}"));
    }
    object.retain(|_, value| !value.is_null());
    let main = match step {
        Step::Run { .. } => "output",
        Step::Read { .. } => "content",
        Step::Find { .. } => "matches_text",
        Step::Write { .. } | Step::Search { .. } => "",
    };
    if let Some(text) = take_text(&mut object, main) {
        out.push(text.trim_end_matches('\n').to_owned());
    }
    match (step, object.shift_remove("exit_code")) {
        (_, Some(code)) if code != 0 => out.push(format!("(exit code {code})")),
        (Step::Run { .. }, Some(_)) if out.is_empty() => out.push("(no output, exit code 0)".to_owned()),
        _ => {}
    }
    // What says nothing that a person misses beside the text itself.
    if matches!(step, Step::Read { .. }) && object.get("truncated") != Some(&Value::Bool(true)) {
        ["total_lines", "file_size", "is_binary", "is_image"].iter().for_each(|name| {
            object.shift_remove(*name);
        });
    }
    ["truncated", "success"].iter().for_each(|name| {
        if matches!(
            (*name, object.get(*name)),
            ("truncated", Some(Value::Bool(false))) | ("success", Some(Value::Bool(true)))
        ) {
            object.shift_remove(*name);
        }
    });
    object.shift_remove("matches_format");
    fields(&object, 0, &mut out);
    nonempty(&out.join("\n"), "Done.")
}

/// A text that is not empty, taken out; a missing or empty one is left to nobody.
fn take_text(object: &mut Map<String, Value>, name: &str) -> Option<String> {
    match object.get(name) {
        Some(Value::String(text)) if text.is_empty() => {
            object.shift_remove(name);
            None
        }
        Some(Value::String(_)) => {
            object.shift_remove(name).and_then(|value| value.as_str().map(str::to_owned))
        }
        _ => None,
    }
}

/// The other fields, a line each; lists and objects below their name.
fn fields(object: &Map<String, Value>, depth: usize, out: &mut Vec<String>) {
    for (name, value) in object {
        entry(&format!("{}:", name.replace('_', " ")), value, depth, out);
    }
}

fn entry(lead: &str, value: &Value, depth: usize, out: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Null => {}
        Value::String(text) if text.contains('\n') => {
            out.push(format!("{indent}{lead}"));
            out.extend(text.lines().map(|line| format!("{indent}  {line}")));
        }
        Value::String(text) => out.push(format!("{indent}{lead} {text}")),
        Value::Array(items) => {
            out.push(format!("{indent}{lead}{}", if items.is_empty() { " none" } else { "" }));
            items.iter().for_each(|item| entry("-", item, depth + 1, out));
        }
        Value::Object(inner) => {
            out.push(format!("{indent}{lead}"));
            fields(inner, depth + 1, out);
        }
        other => out.push(format!("{indent}{lead} {other}")),
    }
}

fn nonempty(text: &str, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text.to_owned() }
}
