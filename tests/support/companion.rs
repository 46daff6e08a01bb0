//! Programs of others that a test runs beside herm: they die with the test, however it ends.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Leads the process group. The group is killed when the program ends, and when the other end of
/// the standard input is gone, which also is so after the test was killed.
const KEEPER: &str = "( \"$@\" </dev/null; kill -KILL 0 ) & read -r end; kill -KILL 0";

/// A server that runs until it is dropped.
pub struct Companion {
    keeper: Child,
}

impl Companion {
    /// Starts `arguments`, the program first; what it prints goes to the file `log`.
    pub fn start(arguments: &[&str], variables: &[(&str, &str)], folder: &Path, log: &Path) -> Self {
        let out = std::fs::File::create(log).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).args(arguments).envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(out.try_clone().unwrap()).stderr(out);
        Self { keeper: command.current_dir(folder).process_group(0).spawn().unwrap() }
    }

    /// Whether it has ended by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.keeper.try_wait().unwrap()
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        kill_group(self.keeper.id());
        let _ = self.keeper.wait();
    }
}

fn kill_group(leader: u32) {
    if let Some(group) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Runs `command` to its end, or kills it with all that it started when `time_max` is over.
pub fn output_within(command: &mut Command, time_max: Duration) -> io::Result<Output> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn()?;
    let leader = child.id();
    let (tell, ended) = mpsc::channel();
    let waiting = std::thread::spawn(move || tell.send(child.wait_with_output()));
    let output = ended.recv_timeout(time_max).unwrap_or_else(|_| {
        kill_group(leader);
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("it did not end within {time_max:?}")))
    });
    let _ = waiting.join();
    output
}

/// A port that is free now.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
