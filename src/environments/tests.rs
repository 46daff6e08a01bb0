//! The local environment with real processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::*;

#[tokio::test]
async fn this_machine_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().canonicalize().unwrap();
    let work = scratch.join("work");
    fs::create_dir(&work).unwrap();
    let environment = Local::default().keeping(scratch.join("states"));
    let folder = work.to_str().unwrap();
    contract::run(&contract::Place { environment: &environment, scratch: &scratch, start: &work, folder })
        .await;
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn execution(&self, command_line: &str) -> Execution {
        let spool = self.path("spool/session/call");
        Execution::new(command_line, self.folder.path(), &spool, Duration::from_secs(60))
    }

    async fn run(&self, command_line: &str) -> (Ending, String) {
        self.run_with(&self.execution(command_line), &CancellationToken::new()).await
    }

    async fn run_with(&self, execution: &Execution, cancel: &CancellationToken) -> (Ending, String) {
        let outcome = Local::default().execute(execution, cancel).await.unwrap();
        let text = fs::read(&outcome.output).unwrap();
        assert_eq!(outcome.output_bytes, u64::try_from(text.len()).unwrap());
        (outcome.ending, String::from_utf8_lossy(&text).into_owned())
    }

    /// Waits for a file that a command writes, and gives its trimmed text.
    async fn appears(&self, name: &str) -> String {
        let path = self.path(name);
        eventually(|| fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n')))
            .await
            .trim()
            .to_owned()
    }
}

async fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "what was waited for did not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process is there and not a zombie.
fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").unwrap().1.starts_with('Z'))
}

fn exited(code: i32) -> Ending {
    Ending::Exited { code }
}

#[tokio::test]
async fn output_is_merged_in_order_and_the_exit_status_is_kept() {
    let place = Place::new();
    let (ending, text) = place.run("echo one; echo two >&2; echo three; exit 7").await;
    assert_eq!((ending, text.as_str()), (exited(7), "one\ntwo\nthree\n"));
}

#[tokio::test]
async fn a_signal_counts_as_128_and_its_number() {
    assert_eq!(Place::new().run("kill -SEGV $$").await.0, exited(139));
    assert_eq!(Place::new().run("no-such-program-here").await.0, exited(127));
}

#[tokio::test]
async fn writing_to_the_stderr_device_loses_no_earlier_output() {
    let (_, text) = Place::new().run("echo first; echo second > /dev/stderr; echo third").await;
    assert_eq!(text, "first\nsecond\nthird\n");
}

#[tokio::test]
async fn standard_input_is_empty() {
    let begin = Instant::now();
    let (_, text) = Place::new().run("read -p 'Sure? ' a; echo got:$a; cat").await;
    assert_eq!(text, "got:\n");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn no_terminal_can_be_reached() {
    assert_eq!(Place::new().run("{ true < /dev/tty; } 2>/dev/null || echo none").await.1, "none\n");
}

#[tokio::test]
async fn the_command_line_reaches_the_shell_unchanged() {
    let (_, text) = Place::new().run("printf '%s|' \"a  b\" '$x' \"it's\" \\\\ 'ü\n'; # c").await;
    assert_eq!(text, "a  b|$x|it's|\\|ü\n|");
}

#[tokio::test]
async fn it_runs_in_its_directory_with_its_variables_and_without_secrets() {
    let place = Place::new();
    let mut execution = place.execution("pwd; echo $GIVEN; echo [$CARGO_MANIFEST_DIR]");
    execution.variables = vec![("GIVEN".into(), "value".into())];
    let policy = VariablePolicy { remove: vec!["CARGO_MANIFEST_DIR".into()], passthrough: vec![] };
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let outcome = Local::new(policy).execute(&execution, &CancellationToken::new()).await.unwrap();
    let cwd = place.folder.path().canonicalize().unwrap();
    assert_eq!(fs::read_to_string(outcome.output).unwrap(), format!("{}\nvalue\n[]\n", cwd.display()));
}

#[tokio::test]
async fn timeout_ends_grandchildren_and_keeps_what_was_printed() {
    let place = Place::new();
    let mut execution = place.execution(
        "echo so far; sh -c 'sleep 300 & echo $! > grandchild; sleep 300 & echo $! > other; wait'",
    );
    execution.timeout = Duration::from_secs(1);
    let begin = Instant::now();
    let (ending, text) = place.run_with(&execution, &CancellationToken::new()).await;
    assert_eq!((ending, text.as_str()), (Ending::TimedOut, "so far\n"));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    for name in ["grandchild", "other"] {
        assert!(!is_running(&place.appears(name).await), "{name} is left");
    }
}

#[tokio::test]
async fn what_ignores_the_polite_signal_is_killed_after_the_grace_time() {
    let place = Place::new();
    let mut execution = place
        .execution("trap '' TERM; (echo $BASHPID > stubborn; while :; do sleep 1; done) > /dev/null & wait");
    execution.timeout = Duration::from_secs(1);
    assert_eq!(place.run_with(&execution, &CancellationToken::new()).await.0, Ending::TimedOut);
    assert!(!is_running(&place.appears("stubborn").await));
}

#[tokio::test]
async fn cancelling_ends_the_group_and_a_clean_up_may_still_speak() {
    let place = Place::new();
    let execution =
        place.execution("trap 'echo bye; exit' TERM; sleep 300 & echo $! > sleeper; echo begun; wait");
    let cancel = CancellationToken::new();
    let run = place.run_with(&execution, &cancel);
    let interrupt = async {
        let sleeper = place.appears("sleeper").await;
        eventually(|| fs::read_to_string(execution.spool.join("output")).ok().filter(|t| !t.is_empty()))
            .await;
        cancel.cancel();
        sleeper
    };
    let ((ending, text), sleeper) = tokio::join!(run, interrupt);
    assert_eq!((ending, text.as_str()), (Ending::Interrupted, "begun\nbye\n"));
    assert!(!is_running(&sleeper));
}

#[tokio::test]
async fn cancelled_before_it_began_it_never_begins() {
    let place = Place::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    for _ in 0..10 {
        let execution = place.execution("echo $$ > began; sleep 300");
        let (ending, _) = place.run_with(&execution, &cancel).await;
        assert_eq!(ending, Ending::Interrupted);
        match Local::default().recover(&execution.spool, &CancellationToken::new()).await {
            Recovery::NeverBegan => assert!(!place.path("began").exists()),
            Recovery::Finished(outcome) => assert_eq!(outcome.ending, Ending::Interrupted),
            Recovery::Unknown => panic!("herm stopped it itself, so it knows"),
        }
        fs::remove_dir_all(&execution.spool).unwrap();
        let _ = fs::remove_file(place.path("began"));
    }
}

#[tokio::test]
async fn a_background_child_that_keeps_the_output_does_not_hold_the_call() {
    let place = Place::new();
    let begin = Instant::now();
    let (ending, text) = place.run("sleep 60 & echo $! > child; echo ok").await;
    assert_eq!((ending, text.as_str()), (exited(0), "ok\n"));
    assert!(begin.elapsed() < Duration::from_secs(4));
    let child = place.appears("child").await;
    assert!(is_running(&child), "a background child goes on");
    let pid = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn all_that_was_printed_before_the_end_is_there_although_a_child_goes_on() {
    let (_, text) =
        Place::new().run("(sleep 1; echo late) & head -c 300000 /dev/zero | tr '\\0' x; echo end").await;
    assert!(text.ends_with("xend\n"));
    assert_eq!(text.len(), 300_004);
}

#[tokio::test]
async fn a_huge_output_is_kept_whole_and_shown_in_part_with_bounded_memory() {
    let place = Place::new();
    let execution = place.execution("echo first; yes | head -c 200000000; echo last");
    let outcome = Local::default().execute(&execution, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.ending, outcome.output_bytes), (exited(0), 200_000_011));
    let before = peak_memory_kib();
    let shown = excerpt(&outcome.output, Window { bytes_max: 50_000, lines_max: 2_000 }).unwrap();
    assert!(shown.overflow && shown.text.len() <= 50_100);
    assert!(shown.text.starts_with("first\ny\n") && shown.text.ends_with("y\nlast\n"));
    assert!(peak_memory_kib() - before < 50_000, "the output was read into memory");
}

fn peak_memory_kib() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn binary_output_is_kept_byte_for_byte() {
    let place = Place::new();
    let execution = place.execution("printf '\\000\\377\\376\\033[1m'");
    let outcome = Local::default().execute(&execution, &CancellationToken::new()).await.unwrap();
    assert_eq!(fs::read(outcome.output).unwrap(), b"\0\xff\xfe\x1b[1m");
}

#[tokio::test]
async fn bad_executions_are_refused_with_the_reason_and_begin_nothing() {
    let place = Place::new();
    let refused = async |change: &dyn Fn(&mut Execution)| {
        let mut execution = place.execution("true");
        change(&mut execution);
        Local::default().execute(&execution, &CancellationToken::new()).await.unwrap_err().to_string()
    };
    let gone = place.path("gone");
    let message = refused(&|execution| execution.workdir = Some("gone".into())).await;
    assert_eq!(message, format!("working directory `{}` does not exist", gone.display()));
    let message = refused(&|execution| execution.cwd = "relative".into()).await;
    assert_eq!(message, "working directory `relative` is not an absolute path");
    let message = refused(&|execution| execution.command_line = "x".repeat(COMMAND_BYTES_MAX + 1)).await;
    assert!(message.contains("120001 bytes") && message.contains("limit of 120000 bytes"), "{message}");
    let message = refused(&|execution| execution.command_line = "r\0m".into()).await;
    assert!(message.contains("NUL"), "{message}");
    assert!(!place.path("spool").exists());
}

#[tokio::test]
async fn a_spool_is_used_once() {
    let place = Place::new();
    place.run("true").await;
    let again = Local::default().execute(&place.execution("true"), &CancellationToken::new()).await;
    assert!(matches!(again, Err(Error::SpoolInUse { .. })));
}

async fn recover(spool: &Path) -> Recovery {
    Local::default().recover(spool, &CancellationToken::new()).await
}

/// Begins a command and stops following it, as a herm does that is killed.
async fn begin_and_forget(execution: &Execution, until: impl Future) {
    let (local, cancel) = (Local::default(), CancellationToken::new());
    tokio::select! {
        outcome = local.execute(execution, &cancel) => panic!("ended early: {outcome:?}"),
        _ = until => {}
    }
}

#[tokio::test]
async fn recovery_waits_for_a_command_that_still_runs() {
    let place = Place::new();
    let execution = place
        .execution("echo begun; echo x > begun; until [ -e go ]; do sleep 0.02; done; echo done; exit 3");
    begin_and_forget(&execution, place.appears("begun")).await;
    let go = async {
        tokio::task::yield_now().await;
        fs::write(place.path("go"), "").unwrap();
    };
    let (recovery, ()) = tokio::join!(recover(&execution.spool), go);
    let Recovery::Finished(outcome) = recovery else { panic!("{recovery:?}") };
    assert_eq!(outcome.ending, exited(3));
    assert_eq!(fs::read_to_string(outcome.output).unwrap(), "begun\ndone\n");
}

#[tokio::test]
async fn recovery_of_a_running_command_can_be_cancelled_and_keeps_its_deadline() {
    for timeout_s in [60, 1] {
        let place = Place::new();
        let mut execution = place.execution("echo $$ > begun; sleep 300");
        execution.timeout = Duration::from_secs(timeout_s);
        begin_and_forget(&execution, place.appears("begun")).await;
        let cancel = CancellationToken::new();
        if timeout_s == 60 {
            cancel.cancel();
        }
        let recovery = Local::default().recover(&execution.spool, &cancel).await;
        let Recovery::Finished(outcome) = recovery else { panic!("{recovery:?}") };
        let expected = if timeout_s == 60 { Ending::Interrupted } else { Ending::TimedOut };
        assert_eq!(outcome.ending, expected);
        assert!(!is_running(&place.appears("begun").await));
    }
}

#[tokio::test]
async fn recovery_finds_what_finished_in_the_meantime() {
    let place = Place::new();
    let execution = place.execution("echo late; exit 5");
    place.run_with(&execution, &CancellationToken::new()).await;
    let Recovery::Finished(outcome) = recover(&execution.spool).await else { panic!() };
    assert_eq!((outcome.ending, outcome.output_bytes), (exited(5), 5));
}

#[tokio::test]
async fn nothing_begun_is_proven_and_stays_so() {
    let place = Place::new();
    let mut execution = place.execution("echo ran");
    assert_eq!(recover(&execution.spool).await, Recovery::NeverBegan);
    // Killed between making the spool and starting the supervisor.
    spool::Spool::create(&execution.spool, execution.timeout, None).unwrap();
    assert_eq!(recover(&execution.spool).await, Recovery::NeverBegan);
    assert_eq!(recover(&execution.spool).await, Recovery::NeverBegan);
    // A supervisor that comes late to an abandoned spool begins nothing.
    let late = spool::Spool::at(&execution.spool);
    let program = ["/bin/sh", "-c", "echo ran"].map(Into::into).to_vec();
    let launch = supervisor::Launch { program, variables: vec![] };
    let status = supervisor::start(&launch, &VariablePolicy::default(), &late).unwrap().wait().await.unwrap();
    assert_eq!(status.code(), Some(97));
    assert_eq!(fs::read_to_string(execution.spool.join("output")).unwrap(), "");
    // The call may then be run after all, in the same place.
    execution.command_line = "echo ran".into();
    assert_eq!(place.run_with(&execution, &CancellationToken::new()).await, (exited(0), "ran\n".into()));
}

#[tokio::test]
async fn a_supervisor_that_was_killed_leaves_the_outcome_unknown() {
    let place = Place::new();
    let execution = place.execution("echo $$ > begun; kill -9 -- -$PPID; kill -9 0");
    let (ending, _) = place.run_with(&execution, &CancellationToken::new()).await;
    assert_eq!(ending, Ending::Lost);
    assert_eq!(recover(&execution.spool).await, Recovery::Unknown);
    // Unless it was herm who killed it, and died before it could say so.
    spool::Spool::at(&execution.spool).write_stop(spool::StopCause::Timeout).unwrap();
    let Recovery::Finished(outcome) = recover(&execution.spool).await else { panic!() };
    assert_eq!(outcome.ending, Ending::TimedOut);
}

#[tokio::test]
async fn nothing_is_proven_across_a_restart_of_the_machine_or_by_damaged_files() {
    let place = Place::new();
    let execution = place.execution("true");
    let make = || {
        let _ = fs::remove_dir_all(&execution.spool);
        spool::Spool::create(&execution.spool, execution.timeout, None).unwrap();
    };
    let write = |name: &str, text: &str| fs::write(execution.spool.join(name), text).unwrap();
    make();
    write("intent", "another-boot 99999999999999 .\n");
    assert_eq!(recover(&execution.spool).await, Recovery::Unknown);
    make();
    write("intent", "");
    assert_eq!(recover(&execution.spool).await, Recovery::Unknown);
    make();
    write("process", "123 4");
    assert_eq!(recover(&execution.spool).await, Recovery::Unknown);
    make();
    // This process is alive, but it is not the one that was started then.
    write("process", &format!("{} 1 {} .\n", std::process::id(), identity::boot_id().unwrap()));
    assert_eq!(recover(&execution.spool).await, Recovery::Unknown);
    make();
    write("status", "1");
    write("process", &format!("{} 1 {} .\n", std::process::id(), identity::boot_id().unwrap()));
    assert_eq!(recover(&execution.spool).await, Recovery::Unknown);
}

/// Names the folder in which [`a_command_survives_the_kill_of_its_herm`] plays the herm.
const HERM_FOLDER: &str = "HERM_TEST_SURVIVAL_FOLDER";

#[tokio::test]
async fn a_command_survives_the_kill_of_its_herm() {
    let command_line = "echo $$ > begun; until [ -e go ]; do sleep 0.02; done; yes | head -c 1000000; exit 9";
    if let Some(folder) = std::env::var_os(HERM_FOLDER) {
        let folder = PathBuf::from(folder);
        let execution = Execution::new(command_line, &folder, &folder.join("spool"), Duration::from_secs(60));
        let outcome = Local::default().execute(&execution, &CancellationToken::new()).await;
        panic!("this process is to be killed before the command ends: {outcome:?}");
    }
    let place = Place::new();
    let name = "environments::tests::a_command_survives_the_kill_of_its_herm";
    let mut herm = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(HERM_FOLDER, place.folder.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let command = place.appears("begun").await;
    herm.start_kill().unwrap();
    herm.wait().await.unwrap();
    assert!(is_running(&command));
    fs::write(place.path("go"), "").unwrap();
    let Recovery::Finished(outcome) = recover(&place.path("spool")).await else { panic!() };
    assert_eq!((outcome.ending, outcome.output_bytes), (exited(9), 1_000_000));
}
