//! The setting `hooks`: `pre_tool_call` and `post_tool_call`, each a list of command lines or of
//! mappings with `command`, `tools`, `timeout`.

use std::time::Duration;

use serde_json::Value;

use super::{Hook, Hooks, TIMEOUT};

/// Longest time that a row may ask for, in seconds.
const TIMEOUT_SECONDS_MAX: u64 = 600;
/// Hooks of one kind, at most.
const HOOKS_MAX: usize = 32;

/// What is wrong with the setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}`: {why}")]
pub struct Error {
    pub path: String,
    pub why: String,
}

pub fn read(setting: &Value) -> Result<Hooks, Error> {
    let mut hooks = Hooks::default();
    let Some(events) = setting.as_object() else {
        return if setting.is_null() {
            Ok(hooks)
        } else {
            Err(error("hooks", "must be a mapping of events"))
        };
    };
    for (event, rows) in events {
        let path = format!("hooks.{event}");
        match event.as_str() {
            "pre_tool_call" => hooks.before = list(rows, &path)?,
            "post_tool_call" => hooks.after = list(rows, &path)?,
            _ => {
                return Err(error(
                    &path,
                    "there is no such event; there are `pre_tool_call` and `post_tool_call`",
                ));
            }
        }
    }
    Ok(hooks)
}

fn list(rows: &Value, path: &str) -> Result<Vec<Hook>, Error> {
    let rows = rows.as_array().ok_or_else(|| error(path, "must be a list"))?;
    if rows.len() > HOOKS_MAX {
        return Err(error(path, &format!("more than {HOOKS_MAX} hooks")));
    }
    rows.iter().enumerate().map(|(index, row)| hook(row, &format!("{path}[{index}]"))).collect()
}

fn hook(row: &Value, path: &str) -> Result<Hook, Error> {
    if let Some(command) = row.as_str() {
        return Ok(Hook { command: command.to_owned(), tools: Vec::new(), timeout: TIMEOUT });
    }
    let fields = row.as_object().ok_or_else(|| error(path, "must be a command line or a mapping"))?;
    let mut hook = Hook { command: String::new(), tools: Vec::new(), timeout: TIMEOUT };
    for (name, value) in fields {
        let path = format!("{path}.{name}");
        match name.as_str() {
            "command" => {
                hook.command = value.as_str().ok_or_else(|| error(&path, "must be a text"))?.to_owned();
            }
            "tools" => {
                let names = value.as_array().ok_or_else(|| error(&path, "must be a list of names"))?;
                let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                hook.tools =
                    names.collect::<Option<_>>().ok_or_else(|| error(&path, "must be a list of names"))?;
            }
            "timeout" => {
                let seconds = value.as_u64().filter(|seconds| (1..=TIMEOUT_SECONDS_MAX).contains(seconds));
                let why = format!("must be seconds between 1 and {TIMEOUT_SECONDS_MAX}");
                hook.timeout = Duration::from_secs(seconds.ok_or_else(|| error(&path, &why))?);
            }
            _ => return Err(error(&path, "there are only `command`, `tools` and `timeout`")),
        }
    }
    match hook.command.trim().is_empty() {
        true => Err(error(path, "`command` is missing")),
        false => Ok(hook),
    }
}

fn error(path: &str, why: &str) -> Error {
    Error { path: path.to_owned(), why: why.to_owned() }
}

/// Whether a name fits a pattern in which `*` stands for anything.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut ends_open = !pattern.contains('*');
    let tail: Vec<&str> = parts.collect();
    for (index, part) in tail.iter().enumerate() {
        if index + 1 == tail.len() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
        ends_open = false;
    }
    ends_open && rest.is_empty()
}
