//! One connection to a host, shared by everything that is run there: OpenSSH's own multiplexing.
//!
//! The master is a process of its own that outlives herm for a while, so that a restart finds what
//! still runs. Nothing is asked and no unknown host is trusted: that is for the user's configuration
//! to say.

use std::ffi::OsString;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::Mutex;

use super::{SshSettings, unreachable};
use crate::environments::Error;

/// How long a connection may take to be made, in seconds; ssh's own bound, and ours around it.
const CONNECT_S: u64 = 15;
const CONNECT_MAX: Duration = Duration::from_secs(2 * CONNECT_S);
/// How long the master stays when nothing runs, in seconds.
const PERSIST_S: u64 = 600;
/// How long a small command over the connection may take.
const SMALL_MAX: Duration = Duration::from_secs(15);
/// The longest path that a socket can have, less what ssh adds while it makes one.
const SOCKET_PATH_MAX: usize = 104 - 18;

/// A way to a host.
pub struct Connection {
    /// What every `ssh` is called with, before the host.
    options: Vec<OsString>,
    host: String,
    socket: PathBuf,
    key: String,
    /// Held while the connection is made.
    making: Mutex<()>,
}

impl Connection {
    /// `folder` is for the socket; where its path would be too long for one, another is taken.
    pub fn new(settings: &SshSettings, folder: &Path) -> Self {
        let host = match &settings.user {
            Some(user) => format!("{user}@{}", settings.host),
            None => settings.host.clone(),
        };
        let name = format!("{host} {:?} {:?} {:?}", settings.port, settings.key, settings.options);
        let key: String = blake3::hash(name.as_bytes()).to_hex().chars().take(12).collect();
        let socket = socket(folder, &key);
        let mut options: Vec<OsString> = vec!["-S".into(), socket.clone().into(), "-T".into()];
        let usual = [
            "BatchMode=yes".to_owned(),
            format!("ConnectTimeout={CONNECT_S}"),
            "ServerAliveInterval=15".into(),
            "ServerAliveCountMax=3".into(),
            "LogLevel=ERROR".into(),
        ];
        for option in usual.iter().chain(&settings.options) {
            options.extend(["-o".into(), option.into()]);
        }
        if let Some(port) = settings.port {
            options.extend(["-p".into(), port.to_string().into()]);
        }
        if let Some(file) = &settings.key {
            options.extend(["-i".into(), file.into(), "-o".into(), "IdentitiesOnly=yes".into()]);
        }
        Self { options, host, socket, key, making: Mutex::new(()) }
    }

    /// Names this connection among others.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What runs a command line over there.
    pub fn words(&self, line: &str) -> Vec<OsString> {
        let before = ["ssh".into(), "-o".into(), "ControlMaster=no".into()];
        let after = ["--".into(), OsString::from(&self.host), line.into()];
        before.into_iter().chain(self.options.iter().cloned()).chain(after).collect()
    }

    /// A process that runs a command line over there.
    pub fn command(&self, line: &str) -> Command {
        let words = self.words(line);
        let mut command = Command::new("ssh");
        command.args(words.iter().skip(1)).stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    /// The exit status of a small command line over there.
    pub async fn status(&self, line: &str) -> Option<i32> {
        let mut command = self.command(line);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let ended = tokio::time::timeout(SMALL_MAX, command.status()).await;
        ended.ok()?.ok()?.code()
    }

    /// Whether the shared connection is there.
    pub async fn is_up(&self) -> bool {
        self.socket.exists() && self.control("check").await.is_some_and(|status| status.success())
    }

    /// Makes the shared connection unless it is there.
    ///
    /// # Errors
    /// The host cannot be reached, or does not let us in; with what `ssh` said.
    pub async fn ensure(&self) -> Result<(), Error> {
        let _making = self.making.lock().await;
        if self.is_up().await {
            return Ok(());
        }
        // What a master that was killed left behind is in the way of a new one.
        let _ = std::fs::remove_file(&self.socket);
        let said = self.socket.with_extension("log");
        let log = self.folder().and_then(|()| std::fs::File::create(&said));
        let log = log.map_err(|source| Error::PrepareSpool { spool: said.clone(), source })?;
        let mut command = Command::new("ssh");
        command.args(["-M", "-N", "-f", "-o", &format!("ControlPersist={PERSIST_S}")]);
        // Its standard error stays open for as long as the master lives: a file, not a pipe.
        command.args(&self.options).arg("--").arg(&self.host).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        let made = tokio::time::timeout(CONNECT_MAX, command.status()).await;
        let reason = || {
            let text = std::fs::read_to_string(&said).unwrap_or_default();
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if words.is_empty() { format!("`ssh {}` gave no reason", self.host) } else { words }
        };
        match made {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(_)) => Err(unreachable(reason())),
            Ok(Err(error)) => Err(Error::Misconfigured {
                reason: format!("`ssh` cannot be started: {error}"),
                hint: "install the OpenSSH client".into(),
            }),
            Err(_) => Err(unreachable(format!("no connection within {} s", CONNECT_MAX.as_secs()))),
        }
    }

    /// Ends the shared connection.
    pub async fn close(&self) {
        if self.socket.exists() {
            let _ = self.control("exit").await;
        }
    }

    async fn control(&self, what: &str) -> Option<ExitStatus> {
        let mut command = Command::new("ssh");
        command.args(["-O", what]).args(&self.options).arg("--").arg(&self.host).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        tokio::time::timeout(SMALL_MAX, command.status()).await.ok()?.ok()
    }

    /// Makes the folder of the socket, ours alone.
    fn folder(&self) -> std::io::Result<()> {
        let Some(folder) = self.socket.parent() else { return Ok(()) };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let meta = std::fs::symlink_metadata(folder)?;
        let ours =
            meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o022 == 0;
        ours.then_some(()).ok_or_else(|| std::io::Error::other("the folder of the socket is not ours alone"))
    }
}

fn socket(folder: &Path, key: &str) -> PathBuf {
    let wanted = folder.join(key).join("s");
    if wanted.as_os_str().len() <= SOCKET_PATH_MAX {
        return wanted;
    }
    let home = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
    let home: String = home.chars().take(8).collect();
    let uid = rustix::process::getuid().as_raw();
    PathBuf::from(format!("/tmp/herm-ssh-{uid}-{home}")).join(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_name_everything_that_is_configured() {
        let settings = SshSettings {
            user: Some("ada".into()),
            port: Some(2222),
            key: Some("/k".into()),
            options: vec!["StrictHostKeyChecking=accept-new".into()],
            ..SshSettings::to("build.example")
        };
        let connection = Connection::new(&settings, Path::new("/h/sandboxes/ssh"));
        let words = connection.words("exec /bin/sh -s");
        let words: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
        let has = |pair: [&str; 2]| words.windows(2).any(|two| two == pair);
        assert!(has(["-o", "BatchMode=yes"]) && has(["-p", "2222"]) && has(["-i", "/k"]));
        assert!(has(["-o", "StrictHostKeyChecking=accept-new"]));
        assert_eq!(words[words.len() - 3..], ["--", "ada@build.example", "exec /bin/sh -s"]);
    }

    #[test]
    fn a_socket_has_a_path_that_a_socket_can_have() {
        let long = PathBuf::from(format!("/{}", "x".repeat(120)));
        assert!(socket(&long, "0123456789ab").as_os_str().len() <= SOCKET_PATH_MAX);
        assert_eq!(socket(Path::new("/h"), "k"), Path::new("/h/k/s"));
    }
}
