//! The socket that a program calls tools through: a line of JSON in, a line of JSON out, for those who
//! know the key.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use herm_schema::events::ToolStatus;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::tools::{ProgramCall, ToolContext};

/// Longest call, in bytes.
const CALL_BYTES_MAX: u64 = 4 << 20;
/// Calls of a program that run at once.
const AT_ONCE_MAX: usize = 4;

/// One program's socket.
pub struct Server {
    listener: UnixListener,
    key: String,
    calls_max: u32,
    calls: AtomicU32,
}

#[derive(Deserialize)]
struct Asked {
    key: String,
    tool: String,
    #[serde(default)]
    arguments: Value,
}

impl Server {
    /// # Errors
    /// When there can be no such socket, or the system has no random numbers.
    pub fn listen(path: &Path, calls_max: u32) -> std::io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(std::io::Error::other)?;
        let key = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { listener: UnixListener::bind(path)?, key, calls_max, calls: AtomicU32::new(0) })
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    /// Calls that were made.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed).min(self.calls_max)
    }

    /// Answers calls for as long as it is awaited.
    pub async fn serve(&self, context: &ToolContext) {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if running.len() < AT_ONCE_MAX => match accepted {
                    Ok((stream, _)) => running.push(self.answer(stream, context)),
                    Err(error) => {
                        tracing::warn!(%error, "a program's socket broke");
                        return;
                    }
                },
                Some(()) = running.next(), if !running.is_empty() => {}
            }
        }
    }

    async fn answer(&self, stream: UnixStream, context: &ToolContext) {
        let (reader, mut writer) = stream.into_split();
        let mut line = Vec::new();
        let mut reader = BufReader::new(reader.take(CALL_BYTES_MAX));
        if reader.read_until(b'\n', &mut line).await.is_err() {
            return;
        }
        let answer = match self.admitted(&line) {
            Ok(asked) => self.called(asked, context).await,
            Err(why) => json!({"ok": false, "result": {"error": why}}),
        };
        // A program that does not listen any more has ended.
        drop(writer.write_all(format!("{answer}\n").as_bytes()).await);
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
        let nth = self.calls.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if nth > self.calls_max {
            let why = format!("the program has made {} tool calls, which is the limit", self.calls_max);
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
