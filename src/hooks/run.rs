//! One hook, as a process: JSON in, JSON or nothing out.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use super::Hook;

/// Exit status by which a hook forbids a call; what it printed on standard error says why.
const FORBIDS: i32 = 2;
/// Most that is read of what a hook prints, in bytes.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Longest reason, in characters.
const WHY_CHARS_MAX: usize = 500;

/// What a hook said.
#[derive(Debug, PartialEq)]
pub enum Said {
    Nothing,
    Forbid(String),
    Arguments(Value),
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it cannot be started")]
    Start(#[source] std::io::Error),
    #[error("it took longer than {seconds} s and was ended")]
    Late { seconds: u64 },
    #[error("it ended with status {code:?}: {message}")]
    Failed { code: Option<i32>, message: String },
    #[error("it printed what is no JSON object with `decision` or `arguments`: {printed}")]
    Unreadable { printed: String },
}

/// Runs a hook to its end.
pub async fn ask(hook: &Hook, told: &Value, cwd: &Path) -> Result<Said, Error> {
    let cwd = if cwd.is_dir() { cwd } else { Path::new("/") };
    let mut child = Command::new("/bin/sh")
        .args(["-c", &hook.command])
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(Error::Start)?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = format!("{told}\n");
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A hook need not read what it is told.
                drop(stdin.write_all(input.as_bytes()).await);
            }
        };
        let ((), out, err) = tokio::join!(write, all(stdout), all(stderr));
        (child.wait().await, out, err)
    };
    let seconds = hook.timeout.as_secs();
    let (status, out, err) = timeout(hook.timeout, work).await.map_err(|_| Error::Late { seconds })?;
    match status.map_err(Error::Start)?.code() {
        Some(0) => read(&out),
        Some(FORBIDS) => Ok(Said::Forbid(short(if err.trim().is_empty() { &out } else { &err }))),
        code => Err(Error::Failed { code, message: short(&err) }),
    }
}

async fn all(pipe: Option<impl AsyncReadExt + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        drop(pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).await);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Nothing, `{"decision": "block", "reason": …}`, or `{"arguments": {…}}`.
fn read(out: &str) -> Result<Said, Error> {
    if out.trim().is_empty() {
        return Ok(Said::Nothing);
    }
    let unreadable = || Error::Unreadable { printed: short(out) };
    let value: Value = serde_json::from_str(out).map_err(|_| unreadable())?;
    let said = value.as_object().ok_or_else(unreadable)?;
    match (said.get("decision").and_then(Value::as_str), said.get("arguments")) {
        (Some("block" | "deny"), _) => {
            let why = said.get("reason").and_then(Value::as_str).unwrap_or("no reason is given");
            Ok(Said::Forbid(short(why)))
        }
        (_, Some(arguments @ Value::Object(_))) => Ok(Said::Arguments(arguments.clone())),
        (Some("allow" | "approve"), None) => Ok(Said::Nothing),
        _ => Err(unreadable()),
    }
}

fn short(text: &str) -> String {
    text.trim().chars().take(WHY_CHARS_MAX).collect()
}
