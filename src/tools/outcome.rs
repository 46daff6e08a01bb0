//! How the tools here say what came of a call: one JSON object, errors under `error`.

use herm_schema::events::ToolStatus;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::ToolResult;
use super::sanitize::sanitize;

/// It did what was asked.
pub(crate) fn succeeded(shown: &Value) -> ToolResult {
    result(ToolStatus::Succeeded, shown)
}

/// It did not, for the reason given.
pub(crate) fn failed(error: impl std::fmt::Display) -> ToolResult {
    failed_with(error, Map::new())
}

/// It did not, and there is more to know than the reason.
pub(crate) fn failed_with(error: impl std::fmt::Display, more: Map<String, Value>) -> ToolResult {
    let mut shown = Map::new();
    shown.insert("error".into(), Value::String(sanitize(&error.to_string())));
    shown.extend(more);
    result(ToolStatus::Failed, &Value::Object(shown))
}

/// It was stopped.
pub(crate) fn interrupted() -> ToolResult {
    result(ToolStatus::Interrupted, &json!({"error": "interrupted before it was done; nothing was changed"}))
}

/// The arguments as the tool reads them.
pub(crate) fn read_arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolResult> {
    T::deserialize(arguments).map_err(|source| failed(format!("bad arguments: {source}")))
}

/// Runs work that blocks on its own thread; a panic in it is this call's failure alone.
pub(crate) async fn blocking(work: impl FnOnce() -> ToolResult + Send + 'static) -> ToolResult {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => {
            failed("herm failed inside this tool; look at what the call was to change before trying again")
        }
    }
}

fn result(status: ToolStatus, shown: &Value) -> ToolResult {
    ToolResult::text(status, shown.to_string())
}
