//! An OpenSSH server of the test's own on loopback: its own host key, a high port, the test's user, and a
//! home over there that is a folder of the test.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use herm::environments::ssh::SshSettings;

use super::{Scratch, await_that, is_installed, succeed};

pub struct Sshd {
    pub scratch: Scratch,
    port: u16,
    server: Option<Child>,
}

impl Sshd {
    /// `None`, with the reason printed, where it is not there.
    pub fn start() -> Option<Self> {
        for program in ["sshd", "ssh", "ssh-keygen"] {
            if !is_installed(program) {
                println!("skipped: `{program}` is not installed");
                return None;
            }
        }
        let scratch = Scratch::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        for name in ["host_key", "user_key"] {
            let mut keygen = Command::new("ssh-keygen");
            succeed(keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(scratch.path(name)));
        }
        std::fs::copy(scratch.path("user_key.pub"), scratch.path("authorized_keys")).unwrap();
        // The server wants it, and nobody but its package makes it.
        let _ = std::fs::create_dir_all("/run/sshd");
        let mut sshd = Self { scratch, port, server: None };
        sshd.configure();
        sshd.up();
        Some(sshd)
    }

    fn configure(&self) {
        let path = |name: &str| self.scratch.path(name).display().to_string();
        let home = self.scratch.made("there").display().to_string();
        let config = format!(
            "Port {}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile {}\nSetEnv HOME={home}\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxSessions 50\nLogLevel VERBOSE\n",
            self.port,
            path("host_key"),
            path("authorized_keys"),
            path("sshd.pid"),
        );
        std::fs::write(self.scratch.path("sshd_config"), config).unwrap();
        let host_key = std::fs::read_to_string(self.scratch.path("host_key.pub")).unwrap();
        let known = format!("[127.0.0.1]:{} {host_key}", self.port);
        std::fs::write(self.scratch.path("known_hosts"), known).unwrap();
    }

    pub fn up(&mut self) {
        let log = std::fs::File::create(self.scratch.path("sshd.log")).unwrap();
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| PathBuf::from(path).exists());
        let server = Command::new(sshd.unwrap())
            .args(["-D", "-e", "-f"])
            .arg(self.scratch.path("sshd_config"))
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.server = Some(server);
        let port = self.port;
        await_that("the server", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Ends the server and every connection to it.
    pub fn down(&mut self) {
        if let Some(mut server) = self.server.take() {
            for child in self.connections(server.id()) {
                let _ = Command::new("kill").args(["-9", &child]).output();
            }
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// The server's processes for connections.
    fn connections(&self, server: u32) -> Vec<String> {
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
        children.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// How often somebody has logged in.
    pub fn logins(&self) -> usize {
        let log = std::fs::read_to_string(self.scratch.path("sshd.log")).unwrap();
        log.matches("Accepted publickey").count()
    }

    pub fn settings(&self) -> SshSettings {
        SshSettings {
            port: Some(self.port),
            key: Some(self.scratch.path("user_key")),
            options: vec![
                format!("UserKnownHostsFile={}", self.scratch.path("known_hosts").display()),
                "GlobalKnownHostsFile=/dev/null".into(),
            ],
            ..SshSettings::to("127.0.0.1")
        }
    }

    /// The home over there.
    pub fn home(&self) -> PathBuf {
        self.scratch.path("there")
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.down();
    }
}
