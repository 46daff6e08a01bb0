//! A home, a folder to work in, and the binary in an environment without keys.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use herm_replay::log::{Log, SegmentLog, verify::verify};
use herm_schema::{Event, Position, Recorded, SessionId};

/// How long a test waits for something that must come.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks for what nobody announces, such as a file.
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// Where a test takes place; gone when it is dropped.
pub struct Stage {
    folder: tempfile::TempDir,
}

/// What a finished run left.
#[derive(Debug)]
pub struct Run {
    pub exit: i32,
    pub out: String,
    pub err: String,
}

impl Stage {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "person"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The folder that the conversation works in.
    pub fn work(&self) -> PathBuf {
        std::fs::canonicalize(self.folder.path().join("work")).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Text of a file in the working folder; empty if there is none.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What the binary is run with.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let text = |path: PathBuf| path.display().to_string();
        vec![
            ("PATH", path),
            ("HOME", text(self.folder.path().join("person"))),
            ("HERM_HOME", text(self.home())),
            ("TMPDIR", text(std::env::temp_dir())),
        ]
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        command.args(arguments).current_dir(self.work()).env_clear().envs(self.variables());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Run {
        Self::finish(self.command(arguments))
    }

    pub fn finish(mut command: Command) -> Run {
        Running::begin(&mut command).end()
    }

    /// Runs `herm chat` with a scripted model.
    pub fn ask(&self, base_url: &str, more: &[&str]) -> Run {
        self.run(&chat(base_url, more))
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::begin(&mut self.command(arguments))
    }

    /// Every event of every stream. The log must be sound.
    pub fn events(&self) -> Vec<Recorded> {
        let folder = self.home().join("log");
        let report = verify(&folder).unwrap();
        assert!(report.is_sound(), "{report}");
        let log = SegmentLog::open_read_only(&folder).unwrap();
        log.read_all(Position(1)).map(Result::unwrap).collect()
    }

    /// The newest session, if the log has one.
    pub fn session(&self) -> Option<SessionId> {
        if !self.home().join("log").join("MANIFEST").exists() {
            return None;
        }
        let opened = |recorded: &Recorded| matches!(recorded.event, Event::SessionOpened(_));
        let last = self.events().into_iter().rfind(opened)?;
        SessionId::of_stream(last.envelope.stream)
    }

    /// Goes on with the newest session, with nothing to say and nobody to ask.
    pub fn resume(&self, base_url: &str) -> Run {
        let id = self.session().unwrap().to_string();
        self.ask(base_url, &["--yolo", "--resume", &id])
    }
}

/// Arguments of `herm chat` with a scripted model.
pub fn chat<'a>(base_url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["chat", "--base-url", base_url, "--model", "scripted"], more].concat()
}

/// A herm that runs; killed when it is dropped.
pub struct Running {
    child: Child,
    out: Option<BufReader<std::process::ChildStdout>>,
    err: Option<std::thread::JoinHandle<String>>,
    pub read: String,
}

impl Running {
    pub fn begin(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut err = child.stderr.take().unwrap();
        let err = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            err.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        });
        let out = child.stdout.take().map(BufReader::new);
        Self { child, out, err: Some(err), read: String::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Reads lines up to one that contains `word`.
    #[track_caller]
    pub fn until(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.out.as_mut().unwrap().read_line(&mut line).unwrap() > 0 {
            self.read.push_str(&line);
            if line.contains(word) {
                return line;
            }
            line.clear();
        }
        panic!("`{word}` never came:\n{}", self.read);
    }

    /// Reads exactly so many bytes and leaves the rest in the pipe.
    pub fn read_some(&mut self, bytes: usize) {
        let mut some = vec![0; bytes];
        self.out.as_mut().unwrap().get_mut().read_exact(&mut some).unwrap();
        self.read.push_str(&String::from_utf8_lossy(&some));
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// SIGKILL, and the body is taken away. What it printed.
    pub fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut rest = Vec::new();
        self.out.take().unwrap().read_to_end(&mut rest).unwrap();
        std::mem::take(&mut self.read) + String::from_utf8_lossy(&rest).as_ref()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Run {
        let mut out = self.out.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            out.read_to_end(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        });
        let mut status: Option<ExitStatus> = None;
        await_that("the end of herm", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let exit = status.unwrap().code().unwrap_or(-1);
        let out = std::mem::take(&mut self.read) + reader.join().unwrap().as_str();
        Run { exit, out, err: self.err.take().unwrap().join().unwrap() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks until it is so.
#[track_caller]
pub fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not come within {PATIENCE:?}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Every file below `folder`.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Pid of the supervisor of the one command line that was begun, which leads its process group.
pub fn supervisor(stage: &Stage) -> i32 {
    let all = files(&stage.home().join("spool"));
    let claim = all.iter().find(|path| path.ends_with("process")).unwrap();
    let text = std::fs::read_to_string(claim).unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Kills a command line with everything that it started, and waits until it is gone.
pub fn kill_group(pid: i32) {
    let group = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    await_that("the death of a command", || is_dead(pid));
}

/// Whether no process of the group is alive; one that nobody has collected yet is dead.
pub fn is_dead(group: i32) -> bool {
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    !stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok()).any(|stat| {
        let after = stat.rsplit_once(") ").map_or("", |(_, after)| after);
        let mut fields = after.split(' ');
        let state = fields.next().unwrap_or("Z");
        state != "Z" && fields.nth(1) == Some(&group.to_string())
    })
}
