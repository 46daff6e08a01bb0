//! The control socket: how `herm gateway …`, `herm pairing …`, `herm delivery …` and `herm send` speak to
//! the process that owns the home. One JSON object a line each way; only the owner of the home can reach it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;

use super::errands;
use super::hub::{Hub, Wish};
use super::status;

/// Longest request, in bytes.
const REQUEST_BYTES_MAX: u64 = 1 << 20;
/// Longest time that an answer may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(150);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Request {
    Status,
    Stop,
    Restart,
    Reload,
    Errand(errands::Errand),
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Done(Value),
    Refused(String),
}

/// The socket of a home, removed when it is dropped.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Takes the place of one that a process left which is gone: who owns the log owns the socket.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn bind(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Answers until `stop`.
    pub async fn serve(self, hub: Arc<Hub>, stop: CancellationToken) {
        loop {
            let stream = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "the control socket");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
            };
            let hub = Arc::clone(&hub);
            tokio::spawn(async move {
                // Whoever asked is gone.
                drop(converse(&hub, stream).await);
            });
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

async fn converse(hub: &Arc<Hub>, stream: UnixStream) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read.take(REQUEST_BYTES_MAX)).lines();
    while let Some(line) = lines.next_line().await? {
        let reply = match serde_json::from_str(&line) {
            Ok(request) => answer(hub, request).await,
            Err(error) => Reply::Refused(format!("not understood: {error}")),
        };
        let mut line = serde_json::to_vec(&reply).unwrap_or_default();
        line.push(b'\n');
        write.write_all(&line).await?;
    }
    Ok(())
}

async fn answer(hub: &Arc<Hub>, request: Request) -> Reply {
    let wish = |wish| match hub.wishes.try_send(wish) {
        Ok(()) => Reply::Done(json!({})),
        Err(_) => Reply::Refused("it stops or starts again already".to_owned()),
    };
    match request {
        Request::Status => Reply::Done(status::json(hub)),
        Request::Stop => wish(Wish::Stop),
        Request::Restart => wish(Wish::Restart),
        Request::Reload => wish(Wish::Reload),
        Request::Errand(errand) => match errands::of_hub(hub, errand).await {
            Ok(done) => Reply::Done(done),
            Err(why) => Reply::Refused(why),
        },
    }
}

/// Asks the gateway of a home; `None` if none runs.
///
/// # Errors
/// The conversation broke.
pub async fn ask(path: &Path, request: &Request) -> std::io::Result<Option<Reply>> {
    let stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let (read, mut write) = stream.into_split();
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    write.write_all(&line).await?;
    let mut lines = BufReader::new(read).lines();
    let line = tokio::time::timeout(ANSWER_TIME_MAX, lines.next_line()).await;
    let line = line.map_err(|_| std::io::Error::other("the gateway does not answer"))??;
    match line {
        Some(line) => Ok(Some(serde_json::from_str(&line)?)),
        None => Err(std::io::Error::other("the gateway went away before it answered")),
    }
}
