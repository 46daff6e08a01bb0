//! Running what a supervisor runs, waiting for it, stopping it, and finding it again.
//!
//! A command line that runs elsewhere has two ends: that of the command, which the shell over there
//! reports, and that of the program that carries it, which may be held open by what the command left
//! in the background. The first counts. A carrier that ends before the command was reported to begin
//! did not reach the place; one that ends between has lost it.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, interval_at, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::identity::{self, ProcessIdentity};
use super::shell::NOTHING_RUN;
use super::spool::{Claim, Spool, StopCause};
use super::supervisor::{self, Launch};
use super::{COMMAND_BYTES_MAX, Ending, Error, Execution, Outcome, Recovery, VariablePolicy};
use crate::providers::BoxFuture;

/// Between the polite signal and the one that cannot be refused.
const GRACE: Duration = Duration::from_secs(2);
/// How long killed processes are waited for; one that hangs in the kernel must not hold the turn.
const DEATH_WAIT: Duration = Duration::from_secs(2);
/// How often the spool is looked at while a supervisor does not end by itself.
const TICK: Duration = Duration::from_millis(20);
/// Bound on waiting for quiet, for a background process that writes all the time.
const QUIET_WAIT: Duration = Duration::from_millis(500);
/// How long a signal may take to get there.
const SIGNAL_WAIT: Duration = Duration::from_secs(5);

/// What a backend gives to the machinery.
#[derive(Clone, Copy)]
pub struct Carrier<'a> {
    pub environment: &'static str,
    /// Whether a shell elsewhere reports about the command.
    pub carried: bool,
    /// `None` where ending what the supervisor runs ends the command.
    pub reach: Option<&'a dyn Reach>,
    /// A command has ended but something it started keeps its output open: once nothing was written
    /// for this long, all that the command itself wrote has arrived.
    pub quiet: Duration,
    /// What to do where the place cannot be reached.
    pub retry_hint: &'static str,
}

/// A way to the processes of a command that runs elsewhere.
pub trait Reach: Send + Sync {
    /// Signals a process group over there, or sees whether anything is left of it (no signal). Whether
    /// there was anybody; `None` where that cannot be found out.
    fn signal<'a>(&'a self, group: i32, signal: Option<&'static str>) -> BoxFuture<'a, Option<bool>>;
}

/// What [`signal_line`] ends with where there is nobody. Any other failure is that of the place.
const NOBODY: i32 = 77;

/// The command line that [`Reach::signal`] comes to over there.
pub fn signal_line(group: i32, signal: Option<&str>) -> String {
    let kill = format!("kill -{}", signal.unwrap_or("0"));
    format!("{kill} -- -{group} 2>/dev/null || {kill} {group} 2>/dev/null || exit {NOBODY}")
}

/// What the exit status of [`signal_line`] says.
pub fn was_there(status: Option<i32>) -> Option<bool> {
    match status {
        Some(0) => Some(true),
        Some(NOBODY) => Some(false),
        _ => None,
    }
}

/// Runs `launch` to its end and says what became of the command. `input` is what it reads.
///
/// # Errors
/// Only where the command line was not begun.
pub async fn run(
    execution: &Execution,
    launch: &Launch,
    input: Option<Vec<u8>>,
    policy: &VariablePolicy,
    carrier: Carrier<'_>,
    cancel: &CancellationToken,
) -> Result<Outcome, Error> {
    let (folder, time) = (execution.spool.clone(), execution.timeout);
    let spool =
        off_thread(move || Spool::create(&folder, time, input.as_deref())).await.map_err(|source| {
            let spool = execution.spool.clone();
            match source.kind() {
                io::ErrorKind::AlreadyExists => Error::SpoolInUse { spool },
                _ => Error::PrepareSpool { spool, source },
            }
        })?;
    let child = supervisor::start(launch, policy, &spool).inspect_err(|_| {
        spool.abandon();
    })?;
    let Some(group) = child.id().and_then(group_of) else {
        return Err(Error::SupervisorFailed { spool: execution.spool.clone() });
    };
    let process = Process::Child(child);
    let mut watch = Watch { spool: spool.clone(), group, process, carrier };
    // The clock starts when the command can begin, so a slow disk takes nothing from its time.
    let begun = Instant::now();
    let follow = watch.follow(begun + time, cancel);
    let ending = match &execution.heartbeat {
        None => follow.await,
        Some(heartbeat) => {
            tokio::pin!(follow);
            let mut beats = interval_at(begun + heartbeat.every, heartbeat.every);
            loop {
                tokio::select! {
                    biased;
                    ending = &mut follow => break ending,
                    _ = beats.tick() => (heartbeat.beat)(begun.elapsed()),
                }
            }
        }
    };
    // Whoever abandons a spool without a stop cause is a supervisor that failed early.
    if ending == Ending::Lost && spool.abandon() {
        return Err(Error::SupervisorFailed { spool: execution.spool.clone() });
    }
    settle(&spool, ending, carrier)
}

/// What an ending means, by the report.
fn settle(spool: &Spool, ending: Ending, carrier: Carrier<'_>) -> Result<Outcome, Error> {
    spool.forget_input();
    let report = spool.report();
    if let Some(reason) = report.refused {
        let hint = "see `herm doctor`".to_owned();
        return Err(Error::Misconfigured { reason, hint });
    }
    if let (Some(wanted), Ending::Exited { code: NOTHING_RUN }) = (&report.no_directory, ending) {
        return Err(Error::CwdMissing { cwd: wanted.into() });
    }
    let never = carrier.carried && report.begun.is_none() && report.ended.is_none();
    if never && matches!(ending, Ending::Exited { .. } | Ending::Lost) {
        let reason = report.reason().unwrap_or_else(|| "it said nothing".into());
        let retry_hint = carrier.retry_hint.to_owned();
        return Err(Error::Unreachable { environment: carrier.environment, reason, retry_hint });
    }
    Ok(spool.outcome(ending, carrier.carried))
}

/// Finds out what became of an execution, by its spool.
pub async fn recover(folder: &Path, carrier: Carrier<'_>, cancel: &CancellationToken) -> Recovery {
    let spool = Spool::at(folder);
    if !spool.exists() {
        return Recovery::NeverBegan;
    }
    if let Some(ending) = recorded_ending(&spool, carrier) {
        return finished(&spool, ending, carrier);
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
            recover_begun(spool, supervisor, intent.deadline, carrier, cancel).await
        }
        _ => Recovery::Unknown,
    }
}

/// What ended while nobody followed. A place that could not be reached then may have been: nobody
/// waited for its answer.
fn finished(spool: &Spool, ending: Ending, carrier: Carrier<'_>) -> Recovery {
    match (settle(spool, ending, carrier), ending) {
        (Ok(_), Ending::Lost) | (Err(Error::Unreachable { .. }), _) => Recovery::Unknown,
        (Ok(outcome), _) => Recovery::Finished(outcome),
        (Err(_), _) => Recovery::Finished(spool.outcome(ending, carrier.carried)),
    }
}

/// What no environment takes.
///
/// # Errors
/// Which is why.
pub fn check(execution: &Execution) -> Result<(), Error> {
    let found = execution.command_line.len();
    if found > COMMAND_BYTES_MAX {
        return Err(Error::CommandTooLong { found, limit: COMMAND_BYTES_MAX });
    }
    if execution.command_line.contains('\0') {
        return Err(Error::NulInCommand);
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
    carrier: Carrier<'_>,
    cancel: &CancellationToken,
) -> Recovery {
    let Some(group) = u32::try_from(supervisor.pid).ok().and_then(group_of) else {
        return Recovery::Unknown;
    };
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    let process = Process::Found(supervisor);
    let mut watch = Watch { spool: spool.clone(), group, process, carrier };
    match watch.follow(Instant::now() + left, cancel).await {
        Ending::Lost => match spool.stop_cause() {
            // An earlier herm was killing it, and took the supervisor along.
            Some(cause) => finished(&spool, cause.ending(), carrier),
            None => Recovery::Unknown,
        },
        ending => finished(&spool, ending, carrier),
    }
}

/// How it ended, if the spool says so: stopped by herm, or by itself.
fn recorded_ending(spool: &Spool, carrier: Carrier<'_>) -> Option<Ending> {
    let status = spool.status();
    let ended = match carrier.carried {
        false => Ending::Exited { code: status? },
        true => {
            let report = spool.report();
            match (report.ended, report.begun, status) {
                (Some(code), _, _) => Ending::Exited { code },
                (None, Some(_), Some(_)) => Ending::Lost,
                (None, None, status) => Ending::Exited { code: status? },
                (None, Some(_), None) => return None,
            }
        }
    };
    Some(spool.stop_cause().map_or(ended, StopCause::ending))
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
struct Watch<'a> {
    spool: Spool,
    group: Pid,
    process: Process,
    carrier: Carrier<'a>,
}

impl Watch<'_> {
    async fn follow(&mut self, deadline: Instant, cancel: &CancellationToken) -> Ending {
        let cause = tokio::select! {
            biased;
            ending = self.ended() => return ending,
            () = cancel.cancelled() => StopCause::Interrupt,
            () = sleep_until(deadline) => StopCause::Timeout,
        };
        self.stop(cause).await
    }

    fn recorded(&self) -> Option<Ending> {
        recorded_ending(&self.spool, self.carrier)
    }

    /// Waits for the end of the command, which may come before that of the supervisor.
    async fn ended(&mut self) -> Ending {
        loop {
            if timeout_at(Instant::now() + TICK, self.process.gone()).await.is_ok() {
                return self.recorded().unwrap_or(Ending::Lost);
            }
            if let Some(ending) = self.recorded() {
                self.drain().await;
                return ending;
            }
        }
    }

    /// Waits until what the ended command wrote has arrived in the spool.
    async fn drain(&mut self) {
        let end = Instant::now() + QUIET_WAIT.max(self.carrier.quiet * 2);
        let mut bytes = self.spool.output_bytes();
        while Instant::now() < end {
            if timeout_at(Instant::now() + self.carrier.quiet, self.process.gone()).await.is_ok() {
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
        if let Some(ending) = self.recorded() {
            return ending;
        }
        if let Err(error) = self.spool.write_stop(cause) {
            tracing::warn!(%error, spool = %self.spool.folder().display(), "cannot note why a command is stopped");
        }
        self.stop_elsewhere().await;
        if self.process.is_there() {
            self.signal(Signal::TERM);
            self.wait_for_group(Instant::now() + GRACE).await;
            self.signal(Signal::KILL);
            self.wait_for_group(Instant::now() + DEATH_WAIT).await;
        }
        cause.ending()
    }

    /// Ends what runs elsewhere: once its carrier is gone, nobody here could reach it.
    async fn stop_elsewhere(&mut self) {
        let (Some(reach), Some(group)) = (self.carrier.reach, self.spool.report().begun) else { return };
        let gone = async {
            while reach.signal(group, None).await != Some(false) {
                sleep(TICK).await;
            }
        };
        let sent = |signal| timeout(SIGNAL_WAIT, reach.signal(group, Some(signal)));
        if !matches!(sent("TERM").await, Ok(Some(false))) && timeout(GRACE, gone).await.is_err() {
            let _ = sent("KILL").await;
        }
        // What a clean-up said last is still on its way.
        let _ = timeout(self.carrier.quiet, self.process.gone()).await;
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
