//! `herm container-exec`: carries one command line into a container. What the command prints goes to
//! standard output; what the shell over there reports goes to standard error, and so does the reason
//! where the engine cannot be reached.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

use super::engine::{Engine, EngineError};
use crate::environments::follow::signal_line;
use crate::environments::report::Report;

/// Most that is read from standard input, in bytes.
const INPUT_BYTES_MAX: u64 = 4 << 20;
/// What precedes the bytes of a frame: the stream, three zeros, their number.
const HEADER_BYTES: usize = 8;
/// Exit status where the engine fails.
const ENGINE_FAILED: u8 = 125;
/// Most of the report that is looked at for who to end, in bytes.
const REPORT_BYTES_MAX: usize = 4 << 10;

/// What is to be run and where, one JSON object on standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    pub socket: PathBuf,
    pub container: String,
    pub command: Vec<String>,
    /// `NAME=VALUE`.
    pub variables: Vec<String>,
}

/// Runs it to its end. The exit status is the command's.
pub fn run() -> ExitCode {
    let failed = |reason: String| {
        let _ = writeln!(io::stderr(), "{reason}");
        ExitCode::from(ENGINE_FAILED)
    };
    let mut input = Vec::new();
    if let Err(error) = io::stdin().lock().take(INPUT_BYTES_MAX).read_to_end(&mut input) {
        return failed(format!("cannot read what to run: {error}"));
    }
    let asked: Asked = match serde_json::from_slice(&input) {
        Ok(asked) => asked,
        Err(error) => return failed(format!("cannot read what to run: {error}")),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(error.to_string()),
    };
    match runtime.block_on(carry(&asked)) {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(ENGINE_FAILED)),
        Err(error) => failed(error.to_string()),
    }
}

async fn carry(asked: &Asked) -> Result<i32, EngineError> {
    let engine = Engine::client(&asked.socket)?;
    let exec = engine.prepare(&asked.container, &asked.command, &asked.variables).await?;
    let mut pieces = engine.attach(&exec).await?.bytes_stream();
    let mut frames = Frames::default();
    let mut report = Vec::new();
    while let Some(piece) = pieces.next().await {
        let reason = |error: reqwest::Error| EngineError::Silent {
            socket: asked.socket.clone(),
            reason: error.to_string(),
        };
        let written = frames.take(&piece.map_err(reason)?, |stream, bytes| match stream {
            Stream::Output => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
            Stream::Report => {
                let room = REPORT_BYTES_MAX.saturating_sub(report.len());
                report.extend(bytes.iter().take(room));
                io::stderr().write_all(bytes)
            }
        });
        if written.is_err() {
            // More than is kept: the command is ended as a broken pipe would end it here.
            if let Some(group) = Report::parse(&String::from_utf8_lossy(&report)).begun {
                let words = ["/bin/sh", "-c", &signal_line(group, Some("KILL"))].map(str::to_owned);
                engine.run(&asked.container, &words).await?;
            }
            return Ok(128 + 13);
        }
    }
    Ok(engine.status(&exec).await?.unwrap_or(i32::from(ENGINE_FAILED)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Output,
    Report,
}

/// Takes the two streams apart. Source: Docker Engine API 1.44, `ContainerAttach`, "Stream format".
#[derive(Default)]
struct Frames {
    header: Vec<u8>,
    stream: Option<Stream>,
    left: usize,
}

impl Frames {
    /// Hands on what is in a piece, which may begin and end anywhere.
    fn take(
        &mut self,
        mut piece: &[u8],
        mut write: impl FnMut(Stream, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        while !piece.is_empty() {
            if let Some(stream) = self.stream {
                let (now, rest) = piece.split_at(self.left.min(piece.len()));
                write(stream, now)?;
                self.left -= now.len();
                piece = rest;
                if self.left == 0 {
                    self.stream = None;
                }
                continue;
            }
            let wanted = HEADER_BYTES.saturating_sub(self.header.len());
            let (now, rest) = piece.split_at(wanted.min(piece.len()));
            self.header.extend_from_slice(now);
            piece = rest;
            if let [kind, _, _, _, a, b, c, d] = *self.header.as_slice() {
                self.left = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
                let stream = if kind == 2 { Stream::Report } else { Stream::Output };
                self.stream = (self.left > 0).then_some(stream);
                self.header.clear();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_apart_however_they_are_cut() {
        let mut bytes = Vec::new();
        for (kind, text) in [(1, "one"), (2, "said"), (1, ""), (1, "two\n")] {
            bytes.extend([kind, 0, 0, 0]);
            bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        for size in 1..bytes.len() {
            let (mut frames, mut output, mut report) = (Frames::default(), Vec::new(), Vec::new());
            for piece in bytes.chunks(size) {
                let write = |stream, bytes: &[u8]| {
                    if stream == Stream::Output {
                        output.extend(bytes)
                    } else {
                        report.extend(bytes)
                    }
                    Ok(())
                };
                frames.take(piece, write).unwrap();
            }
            assert_eq!((output.as_slice(), report.as_slice()), (&b"onetwo\n"[..], &b"said"[..]), "{size}");
        }
    }
}
