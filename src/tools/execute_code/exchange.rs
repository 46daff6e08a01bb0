//! The calls of a program that runs elsewhere, in any environment alike: the program leaves each in a
//! folder over there, a second command line says them on its output, which arrives in a spool on this
//! machine, and the answer is a file that is put beside it. Nothing has to be reachable from there.
//!
//! The folder is the user's own over there, and named by the call. It goes with the program, or when the
//! next herm looks what became of it: the program then hears that herm is gone. What nobody looks after
//! goes after a day, when the next program is begun.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::FusedFuture;
use futures_util::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

use super::calls::{AT_ONCE_MAX, CALL_BYTES_MAX, Calls};
use super::{HELPER, PYTHON};
use crate::environments::files::unique;
use crate::environments::{Environment, Execution, FileAccess, quoted};
use crate::tools::ToolContext;

const RELAY: &str = include_str!("relay.py");
/// Folder of all programs, over there.
const PROGRAMS: &str = "$HOME/.herm/programs";
/// Longest program that is brought over with its folder, in bytes as a shell reads it; a longer one goes by
/// itself.
const INLINE_BYTES_MAX: usize = 64 << 10;
/// How often the spool is looked at for calls.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How much of it is read at once, in bytes.
const READ_BYTES: usize = 64 << 10;
/// Time for making the folder, and for removing it.
const FOLDER_TIME_MAX: Duration = Duration::from_secs(60);
/// How long the one who says the calls may go on after the folder is gone.
const RELAY_END_WAIT: Duration = Duration::from_secs(5);

/// One program's folder over there.
pub struct Exchange<'a> {
    environment: &'a dyn Environment,
    context: &'a ToolContext,
    folder: PathBuf,
    time_max: Duration,
}

impl<'a> Exchange<'a> {
    /// Brings a program over.
    ///
    /// # Errors
    /// For the model: there is no Python, or no folder can be made.
    pub async fn make(
        environment: &'a dyn Environment,
        context: &'a ToolContext,
        code: &str,
        time_max: Duration,
    ) -> Result<Self, String> {
        let name = name(context);
        let (helper, relay) = (quoted(HELPER), quoted(RELAY));
        let whole = quoted(code);
        let is_short = whole.len() <= INLINE_BYTES_MAX;
        let short = if is_short { whole.as_str() } else { "''" };
        let line = format!(
            "{PYTHON}\nPATH=$PATH:/usr/local/bin:/usr/bin:/bin; umask 077; d={PROGRAMS}/{name}; rm -rf \"$d\"\n\
             mkdir -p \"$d\" && cd \"$d\" || exit 1\n\
             find .. -mindepth 1 -maxdepth 1 -mmin +1440 -exec rm -rf {{}} + 2>/dev/null\n\
             printf %s {helper} > herm_tools.py && printf %s {relay} > relay.py && \
             printf %s {short} > main.py && printf %s \"$d\""
        );
        let mut made = Self { environment, context, folder: PathBuf::new(), time_max };
        // A login over there may say things of its own before.
        let said = made.said(line, &context.cancel).await?;
        made.folder = PathBuf::from(said.lines().last().unwrap_or_default());
        if !is_short {
            made.put("main.py", code.as_bytes()).await?;
        }
        Ok(made)
    }

    /// Takes away what a herm that is gone has left of this call.
    pub async fn clear(environment: &'a dyn Environment, context: &'a ToolContext) {
        let left = Self { environment, context, folder: PathBuf::new(), time_max: FOLDER_TIME_MAX };
        let line = format!("rm -rf \"{PROGRAMS}/{}\"", name(context));
        if let Err(error) = left.said(line, &context.cancel).await {
            tracing::warn!(error, "the folder of a program is left in its environment");
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Answers calls until the folder is gone; then, or when it cannot, why.
    pub async fn serve(&self, calls: &Calls) -> String {
        let relay = format!(
            "{PYTHON}\nexec python3 -u {0}/relay.py {0} {CALL_BYTES_MAX} {1}",
            quoted(&self.folder.to_string_lossy()),
            self.time_max.as_secs().saturating_add(1)
        );
        let execution = self.execution(relay, self.time_max + RELAY_END_WAIT);
        let mut heard = Heard::of(execution.spool.join("output"));
        let relay = self.environment.execute(&execution, &self.context.cancel);
        tokio::pin!(relay);
        let mut running = FuturesUnordered::new();
        let why = loop {
            tokio::select! {
                outcome = &mut relay => break match outcome {
                    Ok(outcome) => format!("the way to the program's calls ended: {:?}", outcome.ending),
                    Err(error) => error.to_string(),
                },
                Some(()) = running.next(), if !running.is_empty() => {}
                () = tokio::time::sleep(LOOK_EVERY), if running.len() < AT_ONCE_MAX => {
                    while running.len() < AT_ONCE_MAX {
                        let Some((name, asked)) = heard.call() else { break };
                        running.push(self.answer(name, asked, calls));
                    }
                }
            }
        };
        drop(std::fs::remove_dir_all(&execution.spool));
        why
    }

    async fn answer(&self, name: String, asked: Vec<u8>, calls: &Calls) {
        let answer = calls.answer(&asked, self.context).await;
        if let Err(error) = self.put(&format!("answer-{name}"), answer.as_bytes()).await {
            // The program waits for it until its time is over.
            tracing::warn!(error, "an answer did not reach a program");
        }
    }

    /// Removes the folder, also after an interrupt; `serve` ends with it.
    pub async fn remove(&self, serve: impl FusedFuture<Output = String>) {
        let line = format!("rm -rf -- {}", quoted(&self.folder.to_string_lossy()));
        if let Err(error) = self.said(line, &CancellationToken::new()).await {
            tracing::warn!(error, "the folder of a program is left in its environment");
        }
        if !serve.is_terminated() {
            drop(tokio::time::timeout(RELAY_END_WAIT, serve).await);
        }
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let access = FileAccess { scratch: self.spools(), cancel: self.context.cancel.clone() };
        let path = self.folder.join(name);
        self.environment.write_atomic(&access, &path, bytes, 0o600).await.map_err(|error| error.to_string())
    }

    fn spools(&self) -> PathBuf {
        self.context.home.join("spool")
    }

    /// As the session stands, so that its `PATH` leads to its Python.
    fn execution(&self, line: String, timeout: Duration) -> Execution {
        let spool = self.spools().join(format!("program-{}", unique()));
        Execution {
            session: Some(self.context.session.to_string()),
            keeps: false,
            ..Execution::new(line, &self.context.opened_in, &spool, timeout)
        }
    }

    /// What a command line says, which must succeed.
    async fn said(&self, line: String, cancel: &CancellationToken) -> Result<String, String> {
        let execution = self.execution(line, FOLDER_TIME_MAX);
        let outcome = self.environment.execute(&execution, cancel).await;
        let said = std::fs::read_to_string(execution.spool.join("output")).unwrap_or_default();
        drop(std::fs::remove_dir_all(&execution.spool));
        match outcome.map_err(|error| error.to_string())?.ending.exit_code() {
            0 => Ok(said),
            127 => Err(format!(
                "{} in `{}`, where the command lines of this session run",
                said.trim(),
                self.environment.name()
            )),
            code => Err(format!("the program cannot be brought over (exit status {code}): {}", said.trim())),
        }
    }
}

/// The same for the same call, also after a restart.
fn name(context: &ToolContext) -> String {
    let hash = blake3::hash(format!("{} {}", context.session, context.call).as_bytes()).to_hex();
    hash.chars().take(32).collect()
}

/// What has arrived of the calls, read piece by piece.
struct Heard {
    spool: PathBuf,
    read_to: u64,
    rest: Vec<u8>,
}

impl Heard {
    fn of(spool: PathBuf) -> Self {
        Self { spool, read_to: 0, rest: Vec::new() }
    }

    /// The next call that is there as a whole: its name, and what is asked. Lines that are none are passed
    /// over: a login over there may say things of its own.
    fn call(&mut self) -> Option<(String, Vec<u8>)> {
        loop {
            let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') else {
                if self.rest.len() as u64 > CALL_BYTES_MAX + READ_BYTES as u64 {
                    self.rest.clear();
                }
                self.read_more()?;
                continue;
            };
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let mut words = line.splitn(2, |byte| *byte == b' ');
            let (name, asked) = (words.next().unwrap_or_default(), words.next());
            let is_name = name.len() == 32 && name.iter().all(u8::is_ascii_hexdigit);
            if let (true, Some(asked)) = (is_name, asked) {
                return Some((String::from_utf8_lossy(name).into_owned(), asked.to_vec()));
            }
        }
    }

    fn read_more(&mut self) -> Option<()> {
        let mut file = File::open(&self.spool).ok()?;
        file.seek(SeekFrom::Start(self.read_to)).ok()?;
        let mut piece = Vec::new();
        let read = file.take(READ_BYTES as u64).read_to_end(&mut piece).ok()?;
        self.read_to += read as u64;
        self.rest.extend_from_slice(&piece);
        (read > 0).then_some(())
    }
}
