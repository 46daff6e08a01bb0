//! The machine that herm runs on.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::identity::{self, ProcessIdentity};
use super::spool::{Claim, Spool, StopCause};
use super::{
    COMMAND_BYTES_MAX, Ending, Environment, Error, Execution, Outcome, Recovery, VariablePolicy, supervisor,
};
use crate::providers::BoxFuture;

/// Between the polite signal and the one that cannot be refused.
const GRACE: Duration = Duration::from_secs(2);
/// How long killed processes are waited for; one that hangs in the kernel must not hold the turn.
const DEATH_WAIT: Duration = Duration::from_secs(2);
/// How often the spool is looked at while a supervisor does not end by itself.
const TICK: Duration = Duration::from_millis(20);
/// A command has ended but something it started keeps its output open: once nothing was written
/// for this long, all that the command itself wrote has arrived.
const QUIET: Duration = Duration::from_millis(60);
/// Bound on waiting for [`QUIET`], for a background process that writes all the time.
const QUIET_WAIT: Duration = Duration::from_millis(500);

/// Runs command lines on this machine, as the user that herm runs as.
#[derive(Clone, Debug, Default)]
pub struct Local {
    policy: VariablePolicy,
}

impl Local {
    pub fn new(policy: VariablePolicy) -> Self {
        Self { policy }
    }

    async fn start_and_follow(
        &self,
        execution: &Execution,
        cancel: &CancellationToken,
    ) -> Result<Outcome, Error> {
        check(execution)?;
        let (folder, timeout) = (execution.spool.clone(), execution.timeout);
        let spool = off_thread(move || Spool::create(&folder, timeout)).await.map_err(|source| {
            let spool = execution.spool.clone();
            match source.kind() {
                io::ErrorKind::AlreadyExists => Error::SpoolInUse { spool },
                _ => Error::PrepareSpool { spool, source },
            }
        })?;
        let child = supervisor::start(execution, &self.policy, &spool).inspect_err(|_| {
            spool.abandon();
        })?;
        let Some(group) = child.id().and_then(group_of) else {
            return Err(Error::SupervisorFailed { spool: execution.spool.clone() });
        };
        let mut watch = Watch { spool: spool.clone(), group, process: Process::Child(child) };
        // The clock starts when the command can begin, so a slow disk takes nothing from its time.
        match watch.follow(Instant::now() + timeout, cancel).await {
            // Whoever abandons a spool without a stop cause is a supervisor that failed early.
            Ending::Lost if spool.abandon() => {
                Err(Error::SupervisorFailed { spool: execution.spool.clone() })
            }
            ending => Ok(spool.outcome(ending)),
        }
    }

    async fn find_out(&self, folder: &Path, cancel: &CancellationToken) -> Recovery {
        let spool = Spool::at(folder);
        if !spool.exists() {
            return Recovery::NeverBegan;
        }
        if let Some(ending) = recorded_ending(&spool) {
            return Recovery::Finished(spool.outcome(ending));
        }
        let (Some(intent), Some(boot)) = (spool.intent(), identity::boot_id()) else {
            return Recovery::Unknown;
        };
        if intent.boot.as_deref() != Some(boot.as_str()) {
            return Recovery::Unknown;
        }
        if spool.abandon() {
            return Recovery::NeverBegan;
        }
        match settled_claim(&spool).await {
            Claim::Began { supervisor, boot: began } if began.as_deref() == Some(boot.as_str()) => {
                recover_begun(spool, supervisor, intent.deadline, cancel).await
            }
            _ => Recovery::Unknown,
        }
    }
}

impl Environment for Local {
    fn execute<'a>(
        &'a self,
        execution: &'a Execution,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(self.start_and_follow(execution, cancel))
    }

    fn recover<'a>(&'a self, spool: &'a Path, cancel: &'a CancellationToken) -> BoxFuture<'a, Recovery> {
        Box::pin(self.find_out(spool, cancel))
    }
}

fn check(execution: &Execution) -> Result<(), Error> {
    let found = execution.command_line.len();
    if found > COMMAND_BYTES_MAX {
        return Err(Error::CommandTooLong { found, limit: COMMAND_BYTES_MAX });
    }
    if execution.command_line.contains('\0') {
        return Err(Error::NulInCommand);
    }
    let cwd = execution.cwd.clone();
    if !cwd.is_absolute() {
        return Err(Error::CwdRelative { cwd });
    }
    if !cwd.is_dir() {
        return Err(Error::CwdMissing { cwd });
    }
    Ok(())
}

/// The claim, once a supervisor that is just writing it has finished its line.
async fn settled_claim(spool: &Spool) -> Claim {
    let end = Instant::now() + QUIET_WAIT;
    loop {
        let claim = spool.claim();
        if claim != Claim::Unreadable || Instant::now() >= end {
            return claim;
        }
        sleep(TICK).await;
    }
}

async fn recover_begun(
    spool: Spool,
    supervisor: ProcessIdentity,
    deadline: SystemTime,
    cancel: &CancellationToken,
) -> Recovery {
    let Some(group) = u32::try_from(supervisor.pid).ok().and_then(group_of) else {
        return Recovery::Unknown;
    };
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    let mut watch = Watch { spool: spool.clone(), group, process: Process::Found(supervisor) };
    match watch.follow(Instant::now() + left, cancel).await {
        Ending::Lost => match spool.stop_cause() {
            // An earlier herm was killing it, and took the supervisor along.
            Some(cause) => Recovery::Finished(spool.outcome(cause.ending())),
            None => Recovery::Unknown,
        },
        ending => Recovery::Finished(spool.outcome(ending)),
    }
}

/// How it ended, if the spool says so: stopped by herm, or by itself.
fn recorded_ending(spool: &Spool) -> Option<Ending> {
    let code = spool.status()?;
    Some(spool.stop_cause().map_or(Ending::Exited { code }, StopCause::ending))
}

fn group_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// A supervisor that is waited for.
enum Process {
    Child(Child),
    /// Left over from an earlier herm, so not a child of this one.
    Found(ProcessIdentity),
}

impl Process {
    /// Waits until it has ended.
    async fn gone(&mut self) {
        match self {
            Self::Child(child) => {
                // An error here means that there is nothing left to wait for.
                let _ = child.wait().await;
            }
            Self::Found(identity) => {
                while identity.is_alive() {
                    sleep(TICK).await;
                }
            }
        }
    }

    fn is_there(&mut self) -> bool {
        match self {
            Self::Child(child) => matches!(child.try_wait(), Ok(None)),
            Self::Found(identity) => identity.is_alive(),
        }
    }
}

/// Follows one execution to its end.
struct Watch {
    spool: Spool,
    group: Pid,
    process: Process,
}

impl Watch {
    async fn follow(&mut self, deadline: Instant, cancel: &CancellationToken) -> Ending {
        let cause = tokio::select! {
            biased;
            ending = self.ended() => return ending,
            () = cancel.cancelled() => StopCause::Interrupt,
            () = sleep_until(deadline) => StopCause::Timeout,
        };
        self.stop(cause).await
    }

    /// Waits for the end of the command, which may come before that of the supervisor.
    async fn ended(&mut self) -> Ending {
        loop {
            if timeout_at(Instant::now() + TICK, self.process.gone()).await.is_ok() {
                return recorded_ending(&self.spool).unwrap_or(Ending::Lost);
            }
            if let Some(ending) = recorded_ending(&self.spool) {
                self.drain().await;
                return ending;
            }
        }
    }

    /// Waits until what the ended command wrote has arrived in the spool.
    async fn drain(&mut self) {
        let end = Instant::now() + QUIET_WAIT;
        let mut bytes = self.spool.output_bytes();
        while Instant::now() < end {
            if timeout_at(Instant::now() + QUIET, self.process.gone()).await.is_ok() {
                return;
            }
            let now = self.spool.output_bytes();
            if now == bytes {
                return;
            }
            bytes = now;
        }
    }

    /// Ends everything that the command started.
    async fn stop(&mut self, cause: StopCause) -> Ending {
        if self.spool.abandon() {
            if let Process::Child(child) = &mut self.process {
                // It can begin nothing any more; it is only collected.
                let _ = child.start_kill();
                let _ = child.wait().await;
            }
            return cause.ending();
        }
        if let Some(ending) = recorded_ending(&self.spool) {
            return ending;
        }
        if let Err(error) = self.spool.write_stop(cause) {
            tracing::warn!(%error, spool = %self.spool.folder().display(), "cannot note why a command is stopped");
        }
        if self.process.is_there() {
            self.signal(Signal::TERM);
            self.wait_for_group(Instant::now() + GRACE).await;
            self.signal(Signal::KILL);
            self.wait_for_group(Instant::now() + DEATH_WAIT).await;
        }
        cause.ending()
    }

    fn signal(&self, signal: Signal) {
        // Fails only where the group is gone, which is what is wanted.
        let _ = kill_process_group(self.group, signal);
    }

    /// Waits until no process of the group is left, or until `end`.
    async fn wait_for_group(&mut self, end: Instant) {
        if timeout_at(end, self.process.gone()).await.is_err() {
            return;
        }
        while Instant::now() < end && test_kill_process_group(self.group).is_ok() {
            sleep(TICK).await;
        }
    }
}
