//! The calls of one program, however they come: only with its key, only so many, each by the same rules
//! as one of the model's.

use std::sync::atomic::{AtomicU32, Ordering};

use herm_schema::events::ToolStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{ProgramCall, ToolContext};

/// Longest call, in bytes.
pub const CALL_BYTES_MAX: u64 = 4 << 20;
/// Calls of a program that run at once.
pub const AT_ONCE_MAX: usize = 4;

/// One program's calls.
pub struct Calls {
    key: String,
    max: u32,
    made: AtomicU32,
}

#[derive(Deserialize)]
struct Asked {
    key: String,
    tool: String,
    #[serde(default)]
    arguments: Value,
}

impl Calls {
    /// # Errors
    /// When the system has no random numbers.
    pub fn new(max: u32) -> std::io::Result<Self> {
        Ok(Self { key: secret()?, max, made: AtomicU32::new(0) })
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// Calls that were made.
    pub fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed).min(self.max)
    }

    /// The answer to a call, one as a line of JSON as the other.
    pub async fn answer(&self, line: &[u8], context: &ToolContext) -> String {
        let answer = match self.admitted(line) {
            Ok(asked) => self.called(asked, context).await,
            Err(why) => json!({"ok": false, "result": {"error": why}}),
        };
        format!("{answer}\n")
    }

    fn admitted(&self, line: &[u8]) -> Result<Asked, String> {
        let asked: Asked =
            serde_json::from_slice(line).map_err(|error| format!("no call can be read: {error}"))?;
        match asked.key == self.key {
            true => Ok(asked),
            false => Err("the key is wrong".to_owned()),
        }
    }

    async fn called(&self, asked: Asked, context: &ToolContext) -> Value {
        let nth = self.made.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if nth > self.max {
            let why = format!("the program has made {} tool calls, which is the limit", self.max);
            return json!({"ok": false, "result": {"error": why}});
        }
        let arguments = match asked.arguments {
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        let call = ProgramCall { nth, name: &asked.tool, arguments: &arguments };
        let result = context.services.call_tool(context, call).await;
        let shown = serde_json::from_str(&result.shown).unwrap_or(Value::String(result.shown));
        json!({"ok": result.status == ToolStatus::Succeeded, "result": shown})
    }
}

/// 128 random bits in hexadecimal digits.
///
/// # Errors
/// When the system has no random numbers.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
