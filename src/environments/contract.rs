//! What every environment does, whatever it is: one list, run over each that is there. The unit tests
//! run it over this machine, `tests/environments` over the rest and over the built program.
//!
//! The file is part of both, so it names what it needs of the module around it and nothing else.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{Ending, Environment, Error, Execution, FileAccess, FileError, Heartbeat, Outcome, Recovery};
use super::{Window, excerpt};

/// How long what must come is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// An environment, and where it is tried.
pub struct Place<'a> {
    pub environment: &'a dyn Environment,
    /// Folder on this machine, for spools.
    pub scratch: &'a Path,
    /// Where sessions begin, as an execution says it.
    pub start: &'a Path,
    /// A folder over there that can be written and is there.
    pub folder: &'a str,
}

impl Place<'_> {
    fn execution(&self, line: &str) -> Execution {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let spool = self.scratch.join(format!("spool/{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        Execution::new(line, self.start, &spool, Duration::from_secs(60))
    }

    fn of(&self, session: &str, line: &str) -> Execution {
        Execution { session: Some(session.into()), ..self.execution(line) }
    }

    async fn outcome(&self, execution: &Execution) -> (Outcome, String) {
        let cancel = CancellationToken::new();
        let outcome = self.environment.execute(execution, &cancel).await.unwrap();
        let bytes = std::fs::read(&outcome.output).unwrap();
        (outcome, String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn run(&self, line: &str) -> (i32, String) {
        let (outcome, text) = self.outcome(&self.execution(line)).await;
        (outcome.ending.exit_code(), text)
    }

    /// Output of a command of a session, which must succeed.
    async fn said(&self, session: &str, line: &str) -> String {
        let (outcome, text) = self.outcome(&self.of(session, line)).await;
        assert_eq!(outcome.ending, Ending::Exited { code: 0 }, "`{line}`: {text}");
        text
    }

    /// Whether a process over there is left, and no zombie.
    async fn is_running(&self, pid: &str) -> bool {
        let line = format!(
            "s=$(cat /proc/{pid}/stat 2>/dev/null) || exit 1; case ${{s##*) }} in Z*) exit 1 ;; esac"
        );
        self.run(&line).await.0 == 0
    }

    /// Waits for a line that a command that runs has printed.
    async fn printed(&self, execution: &Execution, wanted: usize) -> Vec<String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = std::fs::read_to_string(execution.spool.join("output")).unwrap_or_default();
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            if lines.len() >= wanted && text.ends_with('\n') {
                return lines;
            }
            assert!(Instant::now() < end, "{} never came: {text}", execution.command_line);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// All of it.
pub async fn run(place: &Place<'_>) {
    statuses(place).await;
    output(place).await;
    input(place).await;
    the_line(place).await;
    directory_and_variables(place).await;
    a_directory_that_is_gone(place).await;
    two_at_once(place).await;
    a_child_in_the_background(place).await;
    a_timeout(place).await;
    an_interrupt(place).await;
    a_huge_output(place).await;
    heartbeats(place).await;
    recovery(place).await;
    what_is_refused(place).await;
    files(place).await;
}

async fn statuses(place: &Place<'_>) {
    for (line, code) in [("true", 0), ("exit 7", 7), ("no-such-program-here", 127), ("kill -9 $$", 137)] {
        assert_eq!(place.run(line).await.0, code, "{line}");
        let (outcome, _) = place.outcome(&place.of("statuses", line)).await;
        assert_eq!(outcome.ending.exit_code(), code, "{line}, of a session");
    }
}

async fn output(place: &Place<'_>) {
    let (_, text) = place.run("echo one; echo two >&2; echo three; sh -c 'echo four >&2'; echo five").await;
    assert_eq!(text, "one\ntwo\nthree\nfour\nfive\n");
    let (outcome, _) = place.outcome(&place.execution("printf '\\000\\377\\376\\033[1m'")).await;
    assert_eq!(std::fs::read(outcome.output).unwrap(), b"\0\xff\xfe\x1b[1m");
    let (_, text) = place.run("printf 'grün 😀'").await;
    assert_eq!(text, "grün 😀");
    let (_, text) = place.run("printf x; printf y >/dev/stderr; printf z").await;
    assert_eq!(text, "xyz");
}

async fn input(place: &Place<'_>) {
    let begun = Instant::now();
    assert_eq!(place.run("read a; echo got:$a; cat").await.1, "got:\n");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

async fn the_line(place: &Place<'_>) {
    let line = "printf '%s|' \"a  b\" '$x' \"it's\" \\\\ 'ü\n'; # c";
    assert_eq!(place.run(line).await.1, "a  b|$x|it's|\\|ü\n|");
    assert_eq!(place.said("line", line).await, "a  b|$x|it's|\\|ü\n|");
    assert_eq!(place.run("cat <<'END'\n$HOME `x`\nEND\n").await.1, "$HOME `x`\n");
    assert_eq!(place.run("echo $#; set -- a b; echo $#").await.1, "0\n2\n");
    let long = format!("echo {} | wc -c", "x".repeat(100_000));
    assert_eq!(place.run(&long).await.1.trim(), "100001");
}

async fn directory_and_variables(place: &Place<'_>) {
    let (folder, session) = (place.folder, "kept");
    let made = format!("mkdir -p '{folder}/it'\\''s a dir' && cd '{folder}/it'\\''s a dir' && export ONE=1");
    place.said(session, &made).await;
    assert_eq!(place.said(session, "echo $ONE; pwd").await, format!("1\n{folder}/it's a dir\n"));
    let stands = place.environment.cwd(session).unwrap();
    assert_eq!(stands, PathBuf::from(format!("{folder}/it's a dir")));
    let odd = "export QUOTE=\"it's \\\"x\\\" \\$y\" LINES_OF='a\nb\n' EMPTY= UNI=grün; NOT_EXPORTED=x";
    place.said(session, odd).await;
    let shown = "printf '%s|' \"$QUOTE\" \"$LINES_OF\" \"${EMPTY-unset}\" \"$UNI\" \"${NOT_EXPORTED-unset}\"";
    assert_eq!(place.said(session, shown).await, "it's \"x\" $y|a\nb\n||grün|unset|");
    place.said(session, "cd ..; cd - >/dev/null; cd ..; unset ONE").await;
    assert_eq!(
        place.said(session, "echo ${ONE-unset}; cd - >/dev/null; pwd").await,
        format!("unset\n{folder}/it's a dir\n")
    );
    // A failure, an exit, odd shell options and a clean-up of its own keep what was done before.
    let (outcome, _) = place.outcome(&place.of(session, "export TWO=2; cd /; exit 3")).await;
    assert_eq!(outcome.ending, Ending::Exited { code: 3 });
    let (_, text) =
        place.outcome(&place.of(session, "set -eu; export THREE=3; trap 'echo bye' EXIT; false")).await;
    assert_eq!(text, "bye\n");
    let shown = place.said(session, "set -x 2>/dev/null; export FOUR=4").await;
    assert!(!shown.contains("herm_"), "{shown}");
    assert_eq!(place.said(session, "IFS=:; export FIVE=5; echo $TWO $FOUR; pwd").await, "2 4\n/\n");
    assert_eq!(place.said(session, "echo $FIVE; echo a:b").await, "5\na:b\n");
    // Of another session, or of none, nothing is seen and nothing is kept.
    assert_eq!(place.said("another", "echo ${TWO-unset}").await, "unset\n");
    assert_eq!(place.run("echo ${TWO-unset}").await.1, "unset\n");
    // One directory and one variable for one call alone.
    let mut once = place.of(session, "pwd; echo $GIVEN; cd /; export SIX=6");
    once.workdir = Some(folder.into());
    once.variables = vec![("GIVEN".into(), "a 'value'".into())];
    assert_eq!(place.outcome(&once).await.1, format!("{folder}\na 'value'\n"));
    assert_eq!(place.said(session, "pwd; echo ${GIVEN-unset} $SIX").await, "/\nunset 6\n");
    // One that only takes up.
    let mut beside = place.of(session, &format!("pwd; echo $SIX; cd {folder}; export SIX=7"));
    beside.keeps = false;
    let (outcome, text) = place.outcome(&beside).await;
    assert_eq!((outcome.ending, text.as_str()), (Ending::Exited { code: 0 }, "/\n6\n"));
    assert_eq!(place.said(session, "pwd; echo $SIX").await, "/\n6\n");
}

async fn a_directory_that_is_gone(place: &Place<'_>) {
    let (folder, session) = (place.folder, "gone");
    place.said(session, &format!("mkdir -p {folder}/d/e && cd {folder}/d/e && pwd")).await;
    place.said(session, "rm -rf ../../d").await;
    let (outcome, text) = place.outcome(&place.of(session, "echo alive; pwd")).await;
    assert_eq!((outcome.ending, text), (Ending::Exited { code: 0 }, format!("alive\n{folder}\n")));
    let notice = outcome.notices.join(" ");
    assert!(notice.contains("is gone") && notice.contains(&format!("{folder}/d/e")), "{notice}");
    let (outcome, _) = place.outcome(&place.of(session, "pwd")).await;
    assert_eq!(outcome.notices, Vec::<String>::new(), "said once");
}

async fn two_at_once(place: &Place<'_>) {
    let session = "at-once";
    let long = "x".repeat(20_000);
    let line = |n: usize| {
        format!("cd {}; export N={n} LONG{n}={long}", if n.is_multiple_of(2) { "/" } else { "/tmp" })
    };
    let executions: Vec<Execution> = (0..6).map(|n| place.of(session, &line(n))).collect();
    let cancel = CancellationToken::new();
    let runs = executions.iter().map(|execution| place.environment.execute(execution, &cancel));
    for outcome in futures_util::future::join_all(runs).await {
        assert_eq!(outcome.unwrap().ending, Ending::Exited { code: 0 });
    }
    let shown = place.said(session, "pwd; echo $N; eval \"echo \\${#LONG$N}\"").await;
    let lines: Vec<&str> = shown.lines().collect();
    let n: usize = lines[1].parse().unwrap();
    assert_eq!((lines[0], lines[2]), (if n.is_multiple_of(2) { "/" } else { "/tmp" }, "20000"));
}

async fn a_child_in_the_background(place: &Place<'_>) {
    let begun = Instant::now();
    let (code, text) = place.run("sleep 60 & echo $!; echo ok").await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let pid = text.lines().next().unwrap().to_owned();
    assert_eq!((code, text.as_str()), (0, format!("{pid}\nok\n").as_str()));
    assert!(place.is_running(&pid).await, "a child in the background goes on");
    assert_eq!(place.run(&format!("kill -9 {pid}")).await.0, 0);
}

/// Two processes, one below the other, that do nothing; prints their numbers.
const SLEEPERS: &str = "sh -c 'sleep 300 & echo $!; sleep 300 & echo $!; wait'";

async fn a_timeout(place: &Place<'_>) {
    let execution = Execution { timeout: Duration::from_secs(2), ..place.execution(SLEEPERS) };
    let begun = Instant::now();
    let (outcome, text) = place.outcome(&execution).await;
    assert_eq!((outcome.ending, outcome.ending.exit_code()), (Ending::TimedOut, 124));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    // A shell may say besides that something was terminated.
    let pids: Vec<&str> = text.lines().filter(|line| line.parse::<u32>().is_ok()).collect();
    assert_eq!(pids.len(), 2, "what was printed is kept: {text}");
    for pid in pids {
        assert!(!place.is_running(pid).await, "{pid} is left");
    }
}

async fn an_interrupt(place: &Place<'_>) {
    // One that does not listen to the polite signal.
    let line = format!("trap '' TERM; {SLEEPERS}");
    for line in [SLEEPERS, &line] {
        let (execution, cancel) = (place.execution(line), CancellationToken::new());
        let interrupt = async {
            let pids = place.printed(&execution, 2).await;
            cancel.cancel();
            pids
        };
        let (outcome, pids) = tokio::join!(place.environment.execute(&execution, &cancel), interrupt);
        assert_eq!(outcome.unwrap().ending, Ending::Interrupted);
        for pid in pids {
            assert!(!place.is_running(&pid).await, "{pid} is left");
        }
    }
    // Its clean-up may still speak.
    let execution = place.execution("trap 'echo bye; exit' TERM; sleep 300 & echo begun; wait");
    let cancel = CancellationToken::new();
    let interrupt = async {
        place.printed(&execution, 1).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(place.environment.execute(&execution, &cancel), interrupt);
    let outcome = outcome.unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted);
    assert_eq!(std::fs::read_to_string(outcome.output).unwrap(), "begun\nbye\n");
}

/// Peak of this process's memory, in bytes.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

async fn a_huge_output(place: &Place<'_>) {
    const LINES: u64 = 5_000_000;
    let before = peak_bytes();
    let (cancel, execution) = (CancellationToken::new(), place.execution(&format!("seq 1 {LINES}")));
    let outcome = place.environment.execute(&execution, &cancel).await.unwrap();
    assert_eq!((outcome.ending, outcome.output_bytes), (Ending::Exited { code: 0 }, 38_888_896));
    let shown = excerpt(&outcome.output, Window { bytes_max: 50_000, lines_max: 2_000 }).unwrap();
    // The kernel adds up what each processor counts, and may come to a little less the second time.
    let raised = peak_bytes().saturating_sub(before);
    assert!(shown.text.starts_with("1\n2\n") && shown.text.ends_with("\n5000000\n") && shown.overflow);
    assert!(shown.text.len() < 50_200);
    assert!(raised < 64 << 20, "memory was raised by {raised} bytes");
    println!("{}: {LINES} lines raised the peak of memory by {} KiB", place.environment.name(), raised >> 10);
}

async fn heartbeats(place: &Place<'_>) {
    let beats = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&beats);
    let mut execution = place.execution("sleep 1.1");
    let beat = Heartbeat::new(move |elapsed| told.lock().unwrap().push(elapsed));
    execution.heartbeat = Some(Heartbeat { every: Duration::from_millis(250), ..beat });
    place.outcome(&execution).await;
    let beats = beats.lock().unwrap();
    assert!((3..=8).contains(&beats.len()), "{beats:?}");
    assert!(beats.windows(2).all(|two| two[1] - two[0] > Duration::from_millis(100)), "{beats:?}");
}

async fn recovery(place: &Place<'_>) {
    let cancel = CancellationToken::new();
    let recover = async |execution: &Execution| place.environment.recover(&execution.spool, &cancel).await;
    let never = place.execution("true");
    assert_eq!(recover(&never).await, Recovery::NeverBegan);
    let ended = place.execution("echo late; exit 5");
    let (outcome, _) = place.outcome(&ended).await;
    assert_eq!(recover(&ended).await, Recovery::Finished(outcome));
    // Somebody stops following it, as a herm does that is killed.
    let go = format!("{}/go", place.folder);
    place.run(&format!("rm -f {go}")).await;
    let line = format!("echo begun; until [ -e {go} ]; do sleep 0.05; done; echo done; exit 3");
    let left = place.execution(&line);
    tokio::select! {
        outcome = place.environment.execute(&left, &cancel) => panic!("ended early: {outcome:?}"),
        _ = place.printed(&left, 1) => {}
    }
    let line = format!(": > {go}");
    let (found, (code, _)) = tokio::join!(recover(&left), place.run(&line));
    assert_eq!(code, 0);
    let Recovery::Finished(outcome) = found else { panic!("{found:?}") };
    assert_eq!(outcome.ending, Ending::Exited { code: 3 });
    assert_eq!(std::fs::read_to_string(outcome.output).unwrap(), "begun\ndone\n");
    // And one that is to be stopped then.
    let left = place.execution(SLEEPERS);
    let pids = tokio::select! {
        outcome = place.environment.execute(&left, &cancel) => panic!("ended early: {outcome:?}"),
        pids = place.printed(&left, 2) => pids,
    };
    let stop = CancellationToken::new();
    stop.cancel();
    let found = place.environment.recover(&left.spool, &stop).await;
    let Recovery::Finished(outcome) = found else { panic!("{found:?}") };
    assert_eq!(outcome.ending, Ending::Interrupted);
    for pid in pids {
        assert!(!place.is_running(&pid).await, "{pid} is left");
    }
}

async fn what_is_refused(place: &Place<'_>) {
    let cancel = CancellationToken::new();
    let refused =
        async |execution: Execution| place.environment.execute(&execution, &cancel).await.unwrap_err();
    let long = refused(place.execution(&"x".repeat(130_000))).await;
    assert!(matches!(long, Error::CommandTooLong { .. }), "{long}");
    assert!(matches!(refused(place.execution("r\0m")).await, Error::NulInCommand));
    let mut nowhere = place.of("refused", "echo ran");
    nowhere.workdir = Some(format!("{}/no such", place.folder));
    let error = refused(nowhere).await;
    assert!(matches!(&error, Error::CwdMissing { cwd } if cwd.ends_with("no such")), "{error}");
}

async fn files(place: &Place<'_>) {
    let access = FileAccess { scratch: place.scratch.join("files"), cancel: CancellationToken::new() };
    let environment = place.environment;
    let at = |name: &str| PathBuf::from(format!("{}/files/{name}", place.folder));
    assert_eq!(
        place.run(&format!("mkdir -p {0}/files && cd {0}/files && ln -s target link", place.folder)).await.0,
        0
    );
    let bytes: Vec<u8> = (0..150_000_u32).map(|n| (n * 7 % 256) as u8).collect();
    for (name, bytes) in [("it's ü", &bytes[..]), ("empty", b""), ("one", b"\0\n")] {
        environment.write_atomic(&access, &at(name), bytes, 0o640).await.unwrap();
        assert_eq!(environment.read(&access, &at(name), 0..u64::MAX).await.unwrap(), bytes, "{name}");
        let stat = environment.stat(&access, &at(name)).await.unwrap().unwrap();
        assert_eq!((stat.bytes, stat.mode), (bytes.len() as u64, 0o640));
    }
    assert_eq!(
        environment.read(&access, &at("it's ü"), 70_000..70_003).await.unwrap(),
        &bytes[70_000..70_003]
    );
    // What was there keeps its mode, and a link stays one.
    place.run(&format!("chmod 755 {0}/files/one; : > {0}/files/target", place.folder)).await;
    environment.write_atomic(&access, &at("one"), b"new", 0o600).await.unwrap();
    environment.write_atomic(&access, &at("link"), b"through", 0o600).await.unwrap();
    assert_eq!(environment.stat(&access, &at("one")).await.unwrap().unwrap().mode, 0o755);
    assert_eq!(environment.read(&access, &at("target"), 0..99).await.unwrap(), b"through");
    assert_eq!(place.run(&format!("test -L {}/files/link", place.folder)).await.0, 0);
    assert_eq!(
        environment.list(&access, &at(".")).await.unwrap(),
        ["empty", "it's ü", "link", "one", "target"]
    );
    assert_eq!(environment.stat(&access, &at("no such")).await.unwrap(), None);
    let missing = environment.read(&access, &at("no such"), 0..1).await.unwrap_err();
    assert!(matches!(missing, FileError::Missing { .. }), "{missing}");
    let directory = environment.read(&access, &at("."), 0..1).await.unwrap_err();
    assert!(matches!(directory, FileError::IsDirectory { .. }), "{directory}");
    let nowhere = environment.write_atomic(&access, &at("no/such"), b"x", 0o600).await.unwrap_err();
    assert!(matches!(nowhere, FileError::Missing { .. }), "{nowhere}");
}
