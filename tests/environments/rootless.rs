//! A Podman without privileges, and a herm of the same user: the container's user is that user.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::podman::{IMAGE, Podman};
use super::*;

/// Whom a test that is run by root becomes. It needs a range in `/etc/subuid`; `.ci/run` makes it.
const USER: &str = "herm-rootless";

/// Somebody without privileges, with a folder of the test as home.
struct Person {
    scratch: Scratch,
    uid: u32,
    gid: u32,
}

impl Person {
    /// `None`, with the reason printed, where there is nobody.
    fn find() -> Option<Self> {
        let own = std::fs::metadata("/proc/self").unwrap();
        let (uid, gid, name) = match own.uid() {
            0 => match known(USER) {
                Some((uid, gid)) => (uid, gid, USER.to_owned()),
                None => return skipped(&format!("there is no user `{USER}`")),
            },
            uid => (uid, own.gid(), succeed(Command::new("id").arg("-un")).trim().to_owned()),
        };
        let ranges = std::fs::read_to_string("/etc/subuid").unwrap_or_default();
        if !ranges.lines().any(|line| line.split(':').next() == Some(&name)) {
            return skipped(&format!("`{name}` has no range in `/etc/subuid`"));
        }
        for program in ["podman", "runc", "busybox", "newuidmap", "setpriv"] {
            if !is_installed(program) {
                return skipped(&format!("`{program}` is not installed"));
            }
        }
        let person = Self { scratch: Scratch::new(), uid, gid };
        std::fs::set_permissions(person.scratch.path(""), PermissionsExt::from_mode(0o711)).unwrap();
        match person.command("unshare").args(["-U", "true"]).output().unwrap() {
            output if output.status.success() => Some(person),
            output => skipped(&format!(
                "the kernel makes no user namespace: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
        }
    }

    /// A folder of theirs.
    fn made(&self, name: &str) -> PathBuf {
        let path = self.scratch.made(name);
        std::os::unix::fs::chown(&path, Some(self.uid), Some(self.gid)).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
        path
    }

    /// A program of theirs.
    fn command(&self, program: &str) -> Command {
        let mut command = match std::fs::metadata("/proc/self").unwrap().uid() {
            0 => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={}", self.uid), format!("--regid={}", self.gid)]);
                command.args(["--clear-groups", program]);
                command
            }
            _ => Command::new(program),
        };
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", self.made("person")).env("XDG_RUNTIME_DIR", self.made("runtime"));
        command.current_dir(self.made("work")).stdin(Stdio::null());
        command
    }

    fn podman(&self) -> Command {
        let mut command = self.command("podman");
        command.args(["--runtime", "runc", "--cgroup-manager", "cgroupfs"]);
        command
    }
}

fn skipped<T>(why: &str) -> Option<T> {
    println!("skipped: {why}");
    None
}

/// Numbers of a user and of their group.
fn known(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let fields: Vec<&str> = line.split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}

/// Their Podman's service; everything of it goes with it.
struct Service<'a> {
    person: &'a Person,
    child: Child,
}

impl<'a> Service<'a> {
    fn start(person: &'a Person) -> Self {
        let socket = person.made("socket").join("podman.sock");
        let archive = Podman::archive(&person.scratch);
        succeed(person.podman().arg("import").arg(archive).arg(IMAGE));
        let child = person
            .podman()
            .args(["system", "service", "--time", "0"])
            .arg(format!("unix://{}", socket.display()))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(person.scratch.path("service.log")).unwrap())
            .spawn()
            .unwrap();
        await_that("the socket of podman", || socket.exists());
        Self { person, child }
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        let _ = self.person.podman().args(["rm", "--all", "--force", "--time", "0"]).output();
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.person.podman().args(["system", "reset", "--force"]).output();
    }
}

/// Runs herm as that person, with their engine; what it printed.
fn told(person: &Person, network: &str, question: &str) -> String {
    // The built one may lie where only its builder can go.
    let herm = person.scratch.path("herm");
    if !herm.exists() {
        std::fs::copy(HERM, &herm).unwrap();
    }
    let output = person
        .command(text(&herm))
        .args(["chat", "--provider", "offline", "--yolo", "-q", question])
        .env("HERM_HOME", person.made("home"))
        .env("HERM_TERMINAL_BACKEND", "container")
        .env("HERM_CONTAINER_ENGINE", person.scratch.path("socket/podman.sock"))
        .env("HERM_CONTAINER_IMAGE", IMAGE)
        .env("HERM_CONTAINER_NETWORK", network)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn who_has_no_privileges_has_none_in_the_container_and_owns_what_is_made_there() {
    let Some(person) = Person::find() else { return };
    let _service = Service::start(&person);
    let said = told(
        &person,
        "none",
        "run: echo \"user $(id -u):$(id -g)\"; echo x > made; touch /bin/x\nrun: ls -n made",
    );
    assert!(said.contains(&format!("user {}:{}", person.uid, person.gid)), "{said}");
    assert!(said.contains("Read-only"), "{said}");
    let made = super::stage::files(&person.scratch.path("home/sandboxes/container"));
    let found = made.iter().find(|file| file.ends_with("workspace/made"));
    let made = found.unwrap_or_else(|| panic!("{made:?} {said}"));
    assert_eq!(std::fs::metadata(made).unwrap().uid(), person.uid);
    let left = succeed(person.podman().args(["ps", "--all", "--format", "{{.Names}}"]));
    assert_eq!(left, "", "no container is left");
}

#[test]
fn who_has_no_privileges_reaches_the_network_all_the_same() {
    let Some(person) = Person::find() else { return };
    let mut opens = person.command("sh");
    if !opens.args(["-c", ": <> /dev/net/tun"]).output().unwrap().status.success() {
        println!("skipped: `/dev/net/tun` is not theirs to open");
        return;
    }
    if !is_installed("slirp4netns") && !is_installed("pasta") {
        println!("skipped: neither `slirp4netns` nor `pasta` is installed");
        return;
    }
    let _service = Service::start(&person);
    let said = told(&person, "bridge", "run: ls /sys/class/net; ip route");
    assert!(said.contains("default via"), "{said}");
}
