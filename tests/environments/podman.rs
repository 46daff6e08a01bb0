//! A Podman of the test's own: service, storage and an image of nothing but busybox.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::{Scratch, await_that, is_installed, succeed};

pub const IMAGE: &str = "localhost/herm-test:latest";

/// Podman's watchers outlive a command in a container by minutes: they must not keep open what whoever
/// runs the tests has open, such as a lock.
const ALONE: &str = r#"for fd in /proc/$$/fd/*; do
  fd=${fd##*/}
  case $fd in [012]) ;; [0-9]) eval "exec $fd>&-" 2>/dev/null ;; esac
done
exec "$@""#;

pub struct Podman {
    scratch: Scratch,
    service: Child,
}

impl Podman {
    /// `None`, with the reason printed, where it is not there.
    pub fn start() -> Option<Self> {
        for program in ["podman", "runc", "busybox"] {
            if !is_installed(program) {
                println!("skipped: `{program}` is not installed");
                return None;
            }
        }
        let scratch = Scratch::new();
        Self::network(&scratch);
        let service = Self::command(&scratch)
            .args(["system", "service", "--time", "0"])
            .arg(format!("unix://{}", scratch.path("podman.sock").display()))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(scratch.path("service.log")).unwrap())
            .spawn()
            .unwrap();
        let podman = Self { scratch, service };
        await_that("the socket of podman", || podman.socket().exists());
        podman.import();
        Some(podman)
    }

    /// Its own bridge and addresses, so that nothing of it meets another Podman of this machine.
    fn network(scratch: &Scratch) {
        let number = std::process::id();
        let subnet = format!("10.{}.{}", 100 + number / 256 % 100, number % 256);
        // The identifier is that of the network that is used where none is named.
        let network = serde_json::json!({
            "name": "podman", "id": "2f259bab93aaaaa2542ba43ef33eb990d0999ee1b9924b557b7be53c0b7a1bb9",
            "driver": "bridge", "network_interface": format!("herm{}", number % 1_000_000),
            "created": "2026-01-01T00:00:00Z", "ipv6_enabled": false, "internal": false, "dns_enabled": false,
            "subnets": [{"subnet": format!("{subnet}.0/24"), "gateway": format!("{subnet}.1")}],
            "ipam_options": {"driver": "host-local"},
        });
        std::fs::write(scratch.made("networks").join("podman.json"), network.to_string()).unwrap();
    }

    fn command(scratch: &Scratch) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", ALONE, "sh", "podman"]);
        let (root, run) = (scratch.made("storage"), scratch.made("run"));
        command.arg("--root").arg(root).arg("--runroot").arg(run);
        // Its state as well: whoever resets theirs takes that of all away.
        command.arg("--tmpdir").arg(scratch.made("state"));
        command.arg("--network-config-dir").arg(scratch.made("networks"));
        command.args(["--runtime", "runc", "--cgroup-manager", "cgroupfs"]).stdin(Stdio::null());
        // Where a container ran out of memory a file is left where its engine was started.
        command.current_dir(scratch.made("work"));
        command
    }

    pub fn socket(&self) -> PathBuf {
        self.scratch.path("podman.sock")
    }

    fn import(&self) {
        let archive = Self::archive(&self.scratch);
        succeed(Self::command(&self.scratch).arg("import").arg(&archive).arg(IMAGE));
    }

    /// A root file system with busybox and its links, packed.
    pub fn archive(scratch: &Scratch) -> PathBuf {
        let root = scratch.made("rootfs");
        for name in ["bin", "etc", "tmp", "var/tmp", "run", "workspace", "home/herm", "proc", "sys", "dev"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let busybox =
            ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| PathBuf::from(path).exists());
        std::fs::copy(busybox.unwrap(), root.join("bin/busybox")).unwrap();
        let names = succeed(Command::new("busybox").arg("--list"));
        for name in names.lines().filter(|name| *name != "busybox") {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(name)).unwrap();
        }
        std::fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
        let archive = scratch.path("rootfs.tar");
        succeed(Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg("."));
        archive
    }

    /// Names of all containers.
    pub fn containers(&self) -> Vec<String> {
        let names = succeed(Self::command(&self.scratch).args(["ps", "--all", "--format", "{{.Names}}"]));
        names.lines().map(str::to_owned).collect()
    }

    pub fn run(&self, arguments: &[&str]) -> String {
        succeed(Self::command(&self.scratch).args(arguments))
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = Self::command(&self.scratch).args(["rm", "--all", "--force", "--time", "0"]).output();
        let _ = self.service.kill();
        let _ = self.service.wait();
        // What is mounted below the storage would keep the folder from being removed.
        let _ = Self::command(&self.scratch).args(["system", "reset", "--force"]).output();
    }
}
