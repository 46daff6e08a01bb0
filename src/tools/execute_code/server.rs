//! The socket that a program on this machine calls tools through: a line of JSON in, a line of JSON out.

use std::path::Path;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::calls::{AT_ONCE_MAX, CALL_BYTES_MAX, Calls};
use crate::tools::ToolContext;

/// One program's socket.
pub struct Server {
    listener: UnixListener,
}

impl Server {
    /// # Errors
    /// When there can be no such socket.
    pub fn listen(path: &Path) -> std::io::Result<Self> {
        Ok(Self { listener: UnixListener::bind(path)? })
    }

    /// Answers calls for as long as it is awaited; why it cannot any more.
    pub async fn serve(&self, calls: &Calls, context: &ToolContext) -> String {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if running.len() < AT_ONCE_MAX => match accepted {
                    Ok((stream, _)) => running.push(answer(stream, calls, context)),
                    Err(error) => return format!("the socket of the program broke: {error}"),
                },
                Some(()) = running.next(), if !running.is_empty() => {}
            }
        }
    }
}

async fn answer(stream: UnixStream, calls: &Calls, context: &ToolContext) {
    let (reader, mut writer) = stream.into_split();
    let mut line = Vec::new();
    let mut reader = BufReader::new(reader.take(CALL_BYTES_MAX));
    if reader.read_until(b'\n', &mut line).await.is_err() {
        return;
    }
    let answer = calls.answer(&line, context).await;
    // A program that does not listen any more has ended.
    drop(writer.write_all(answer.as_bytes()).await);
}
