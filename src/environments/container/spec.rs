//! What is asked of the engine for a session's container. PURE, but for the making of folders.
//!
//! Source: Docker Engine API 1.44, `ContainerCreate`; Podman's compatible API reads the same.

use std::path::Path;

use serde_json::{Value, json};

/// How a container is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ContainerSettings {
    /// `auto`, or the path of a socket.
    pub engine: String,
    pub image: String,
    /// Whether it has a network of its own to the outside.
    pub network: bool,
    pub memory_mib: u64,
    pub cpus: f64,
    pub processes_max: u64,
    /// Room in `/tmp`, which lies in memory.
    pub tmp_mib: u64,
    pub user: User,
    /// `HOST:CONTAINER[:ro]`, besides the workspace.
    pub volumes: Vec<String>,
    /// Whether the directory that a session is opened in is its workspace.
    pub mount_cwd: bool,
    /// Variables of herm's that command lines see.
    pub forward_env: Vec<String>,
    /// `NAME=SOFT:HARD`; none are herm's own limits of files and processes.
    pub ulimits: Vec<String>,
}

/// Who command lines run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// Whoever herm runs as, so that files in the workspace are theirs.
    Host,
    /// The image's own.
    Image,
    Numbers {
        uid: u32,
        gid: u32,
    },
}

/// Most that a limit is set to unasked. Podman lowers its own limit of processes to this, and what it
/// starts cannot be given more; `processes_max` is the bound that counts.
const ULIMIT_MAX: u64 = 32_768;

/// Whether the engine itself runs without privileges, as a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rootless {
    No,
    /// Podman can let the user stay who they are within.
    Podman,
    /// With Docker, the user is root within.
    Docker,
}

/// Labels of our containers.
pub const LABEL_HOME: &str = "herm.home";
pub const LABEL_SESSION: &str = "herm.session";
pub const LABEL_SPEC: &str = "herm.spec";

/// Keeps the container there, and buries what commands leave behind: it is process 1.
const IDLE: &str = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done";

/// One container.
pub struct Spec<'a> {
    pub settings: &'a ContainerSettings,
    /// herm's home.
    pub home: &'a Path,
    pub session: &'a str,
    pub sandbox: &'a Path,
    pub cwd: &'a Path,
    pub rootless: Rootless,
}

impl Spec<'_> {
    /// Sessions of two homes may be named alike.
    pub fn name(&self) -> String {
        let hash = blake3::hash(self.home.to_string_lossy().as_bytes()).to_hex();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let session: String = self.session.chars().map(plain).collect();
        format!("herm-{}-{session}", hash.chars().take(8).collect::<String>())
    }

    /// Tells a container of an earlier configuration.
    pub fn digest(&self) -> String {
        blake3::hash(self.bare().to_string().as_bytes()).to_hex().chars().take(16).collect()
    }

    /// What the engine is given.
    pub fn body(&self) -> Value {
        let labels = json!({
            LABEL_HOME: self.home.to_string_lossy(),
            LABEL_SESSION: self.session,
            LABEL_SPEC: self.digest(),
        });
        let mut body = self.bare();
        if let Value::Object(fields) = &mut body {
            fields.insert("Labels".into(), labels);
        }
        body
    }

    fn bare(&self) -> Value {
        let settings = self.settings;
        let memory = settings.memory_mib.saturating_mul(1 << 20);
        let keep_id = self.rootless == Rootless::Podman && settings.user == User::Host;
        let host = json!({
            "ReadonlyRootfs": true,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges"],
            "Privileged": false,
            "PidsLimit": settings.processes_max,
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCpus": (settings.cpus * 1e9).round() as u64,
            "NetworkMode": if settings.network { "bridge" } else { "none" },
            "Tmpfs": {
                "/tmp": format!("rw,nosuid,nodev,exec,mode=1777,size={}m", settings.tmp_mib),
                "/var/tmp": format!("rw,nosuid,nodev,mode=1777,size={}m", settings.tmp_mib),
                "/run": "rw,nosuid,nodev,noexec,mode=1777,size=16m",
            },
            "Binds": self.binds(),
            "Ulimits": self.ulimits(),
            "UsernsMode": if keep_id { "keep-id" } else { "" },
        });
        json!({
            "Image": settings.image,
            "Entrypoint": ["/bin/sh", "-c", IDLE],
            "Cmd": [],
            "User": self.user(),
            "WorkingDir": super::WORKSPACE,
            "Env": ["HOME=/home/herm", "LANG=C.UTF-8"],
            "NetworkDisabled": !settings.network,
            "StopTimeout": 1,
            "HostConfig": host,
        })
    }

    /// An engine left to itself asks for more than the machine may allow it to give.
    fn ulimits(&self) -> Vec<Value> {
        use rustix::process::{Resource, getrlimit};
        let configured = &self.settings.ulimits;
        if !configured.is_empty() {
            return configured.iter().filter_map(|limit| ulimit(limit)).collect();
        }
        let own = |(name, resource)| {
            let limit = getrlimit(resource);
            let hard = limit.maximum?.min(ULIMIT_MAX);
            Some(json!({"Name": name, "Soft": limit.current.unwrap_or(hard).min(hard), "Hard": hard}))
        };
        [("nofile", Resource::Nofile), ("nproc", Resource::Nproc)].into_iter().filter_map(own).collect()
    }

    fn user(&self) -> String {
        match &self.settings.user {
            User::Image => String::new(),
            User::Numbers { uid, gid } => format!("{uid}:{gid}"),
            User::Host if self.rootless == Rootless::Docker => "0:0".into(),
            User::Host => {
                let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
                format!("{}:{}", uid.as_raw(), gid.as_raw())
            }
        }
    }

    fn binds(&self) -> Vec<String> {
        let workspace =
            if self.settings.mount_cwd { self.cwd.to_owned() } else { self.sandbox.join("workspace") };
        // Where SELinux watches, files of ours have to be marked as a container's; those of the user
        // are not touched.
        let marked = if Path::new("/sys/fs/selinux/enforce").exists() { ":z" } else { "" };
        let own = |path: &Path, at: &str, mark: &str| format!("{}:{at}{mark}", path.display());
        let workspace_mark = if self.settings.mount_cwd { "" } else { marked };
        let mut binds = vec![
            own(&workspace, super::WORKSPACE, workspace_mark),
            own(&self.sandbox.join("home"), "/home/herm", marked),
        ];
        binds.extend(self.settings.volumes.iter().cloned());
        binds
    }

    /// Variables of one command line.
    pub fn variables(&self, more: &[(String, String)]) -> Vec<String> {
        let forwarded = self.settings.forward_env.iter();
        let forwarded = forwarded.filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
        forwarded.chain(more.iter().map(|(name, value)| format!("{name}={value}"))).collect()
    }

    /// Makes what is mounted, for the one who is to write there.
    pub fn make_folders(&self) -> std::io::Result<()> {
        for name in ["workspace", "home"] {
            let folder = self.sandbox.join(name);
            std::fs::create_dir_all(&folder)?;
            if let (User::Numbers { uid, gid }, true) =
                (&self.settings.user, rustix::process::getuid().is_root())
            {
                std::os::unix::fs::chown(&folder, Some(*uid), Some(*gid))?;
            }
        }
        Ok(())
    }
}

/// `nofile=1024:2048`, or one number for both.
fn ulimit(text: &str) -> Option<Value> {
    let (name, limits) = text.split_once('=')?;
    let (soft, hard) = limits.split_once(':').unwrap_or((limits, limits));
    let (soft, hard) = (soft.parse::<i64>().ok()?, hard.parse::<i64>().ok()?);
    Some(json!({"Name": name, "Soft": soft, "Hard": hard}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ContainerSettings {
        ContainerSettings {
            engine: "auto".into(),
            image: "debian:stable-slim".into(),
            network: false,
            memory_mib: 512,
            cpus: 1.5,
            processes_max: 256,
            tmp_mib: 64,
            user: User::Numbers { uid: 1000, gid: 1000 },
            volumes: vec!["/data:/data:ro".into()],
            mount_cwd: false,
            forward_env: vec![],
            ulimits: vec!["nofile=1024:2048".into(), "nonsense".into()],
        }
    }

    fn spec(settings: &ContainerSettings) -> Spec<'_> {
        Spec {
            settings,
            home: Path::new("/home/ada/.herm"),
            session: "2026-12-01-x",
            sandbox: Path::new("/home/ada/.herm/sandboxes/container/s"),
            cwd: Path::new("/home/ada/project"),
            rootless: Rootless::No,
        }
    }

    #[test]
    fn everything_that_can_be_taken_away_is() {
        let settings = settings();
        let body = spec(&settings).body();
        let host = &body["HostConfig"];
        assert_eq!(host["ReadonlyRootfs"], true);
        assert_eq!(host["CapDrop"], json!(["ALL"]));
        assert_eq!(host["SecurityOpt"], json!(["no-new-privileges"]));
        assert_eq!(host["NetworkMode"], "none");
        assert_eq!(host["Memory"], 512_u64 << 20);
        assert_eq!(host["NanoCpus"], 1_500_000_000_u64);
        assert_eq!(host["Ulimits"], json!([{"Name": "nofile", "Soft": 1024, "Hard": 2048}]));
        assert_eq!(host["Binds"][0], "/home/ada/.herm/sandboxes/container/s/workspace:/workspace");
        assert_eq!(host["Binds"][2], "/data:/data:ro");
        assert_eq!(body["User"], "1000:1000");
        assert_eq!(body["Labels"][LABEL_HOME], "/home/ada/.herm");
    }

    #[test]
    fn the_directory_of_the_session_is_mounted_where_it_is_asked_for() {
        let settings = ContainerSettings { mount_cwd: true, network: true, ..settings() };
        let body = spec(&settings).body();
        assert_eq!(body["HostConfig"]["Binds"][0], "/home/ada/project:/workspace");
        assert_eq!(body["HostConfig"]["NetworkMode"], "bridge");
    }

    #[test]
    fn another_configuration_is_another_container() {
        let (a, b) = (settings(), ContainerSettings { memory_mib: 513, ..settings() });
        assert_ne!(spec(&a).digest(), spec(&b).digest());
        assert_eq!(spec(&a).digest(), spec(&a).digest());
        assert_eq!(spec(&a).name(), spec(&b).name());
    }

    #[test]
    fn a_user_without_privileges_stays_who_they_are() {
        let settings = ContainerSettings { user: User::Host, ..settings() };
        let body = Spec { rootless: Rootless::Podman, ..spec(&settings) }.body();
        assert_eq!(body["HostConfig"]["UsernsMode"], "keep-id");
        let body = Spec { rootless: Rootless::Docker, ..spec(&settings) }.body();
        assert_eq!((&body["User"], &body["HostConfig"]["UsernsMode"]), (&json!("0:0"), &json!("")));
    }
}
