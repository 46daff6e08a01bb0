//! `herm chat -q` as a script sees it: what it prints where, and how it ends.

use herm_replay::log::{Log, SegmentLog};
use herm_schema::{Event, Position};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Run, Stage, await_that, chat, files, is_dead, supervisor};
use super::story::count;
use crate::support::{Gate, ModelServer, Reply};

fn offline(stage: &Stage, question: &str) -> Run {
    stage.run(&["chat", "--provider", "offline", "-q", question])
}

#[test]
fn the_built_in_model_follows_every_form_of_instruction() {
    let stage = Stage::new();
    let told = |question: &str| {
        let run = offline(&stage, question);
        assert_eq!(run.exit, 0, "{question}: {run:?}");
        run.out
    };
    assert_eq!(told("run: echo one two"), "one two\n");
    told("write: notes.md: the quick fox");
    assert_eq!(stage.file("notes.md").trim_end(), "the quick fox");
    for question in
        ["read: notes.md", "find: quick", "find: quick in .", "read notes.md", "what is in notes.md?"]
    {
        assert!(told(question).contains("the quick fox"), "{question}");
    }
    assert!(told("list the files here").contains("notes.md"));
    assert!(told("run `echo in words`").contains("in words"));
    assert!(told("search: quick fox").contains("the >>>quick<<< >>>fox<<<"), "no earlier session is found");
    let several = told("write: a.txt: first\nread: a.txt\nrun: echo third");
    let at = |word: &str| several.find(word).unwrap_or_else(|| panic!("no `{word}` in {several}"));
    assert!(at("1|first") < at("third"));
    let honest = told("What do you think of the sea?");
    assert!(honest.contains("offline model") && honest.contains("OPENAI_API_KEY"), "{honest}");
}

#[test]
fn the_answer_is_on_stdout_and_everything_else_on_stderr() {
    let stage = Stage::new();
    let run = offline(&stage, "run: echo hello");
    assert_eq!((run.exit, run.out.as_str()), (0, "hello\n"));
    assert!(run.err.contains("terminal") && run.err.contains("echo hello"), "{run:?}");
    let piped = [0, 1].map(|_| {
        let (read, write) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut &write, b"run: echo from a pipe").unwrap();
        let mut command = stage.command(&["chat", "--provider", "offline", "-q", "-"]);
        command.stdin(read);
        drop(write);
        Stage::finish(command)
    });
    assert!(piped.iter().all(|run| run.out == "from a pipe\n"), "{piped:?}");
}

#[test]
fn lines_of_a_pipe_are_answered_one_after_the_other() {
    let stage = Stage::new();
    let (read, write) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut &write, b"run: echo one\nrun: echo two\n/session\nrun: echo three")
        .unwrap();
    let mut command = stage.command(&["chat", "--provider", "offline"]);
    command.stdin(read);
    drop(write);
    let run = Stage::finish(command);
    assert_eq!(run.exit, 0, "{run:?}");
    let lines: Vec<&str> = run.out.lines().filter(|line| ["one", "two", "three"].contains(line)).collect();
    assert_eq!(lines, ["one", "two", "three"], "{run:?}");
    assert_eq!(count(&stage, |event| matches!(event, Event::TurnEnded(_))), 3);
}

#[test]
fn json_lines_tell_it_all() {
    let stage = Stage::new();
    let run = stage.run(&["chat", "--provider", "offline", "--json", "-q", "run: echo hello"]);
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"tool_started") && kinds.contains(&"tool_finished"), "{kinds:?}");
    let last = lines.last().unwrap();
    assert_eq!(
        (last["type"].as_str(), last["reason"].as_str()),
        (Some("turn_ended"), Some("Answered")),
        "{last}"
    );
    assert_eq!(last["text"], "hello");
    assert_eq!((run.exit, run.err.as_str()), (0, ""));
}

#[test]
fn a_model_that_fails_is_no_answer() {
    let unauthorized = Reply::status(401, r#"{"error":{"message":"bad key, sorry"}}"#);
    let broken = Reply::status(500, r#"{"error":{"message":"out of order"}}"#);
    for (replies, word) in [(vec![unauthorized], "bad key, sorry"), (vec![broken; 8], "out of order")] {
        let (stage, server) = (Stage::new(), ModelServer::start(replies));
        let mut command = stage.command(&chat(&server.base_url(), &["-q", "hi"]));
        command.env("HERM_API_MAX_RETRIES", "1");
        let run = Stage::finish(command);
        assert_eq!(run.exit, 4, "{run:?}");
        assert!(run.err.contains(word), "{run:?}");
        assert_eq!(run.out, "", "an apology is no answer");
        assert_eq!(count(&stage, |event| matches!(event, Event::ModelCallSucceeded(_))), 0);
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stage = Stage::new();
    let url = format!("http://{free}/v1");
    let mut command = stage.command(&chat(&url, &["-q", "hi"]));
    command.env("HERM_API_MAX_RETRIES", "1");
    let run = Stage::finish(command);
    assert_eq!(run.exit, 4, "{run:?}");
    assert!(run.out.is_empty() && run.err.contains(&free.to_string()), "{run:?}");
}

#[test]
fn a_limit_ends_in_a_summary_and_its_own_number() {
    let call = Reply::call("read_file", &json!({"path": "a"}));
    let (stage, server) = (Stage::new(), ModelServer::start([call, Reply::text("That far I came.")]));
    let run = stage.ask(&server.base_url(), &["--max-turns", "1", "-q", "hi"]);
    assert_eq!(run.exit, 3, "{run:?}");
    assert!(run.out.contains("That far I came.") && run.err.contains("agent.max_turns"), "{run:?}");
    server.verify();
}

#[test]
fn a_refusal_has_its_own_number() {
    let refused = Reply::text("").finish("content_filter");
    let (stage, server) = (Stage::new(), ModelServer::start(vec![refused; 4]));
    let run = stage.ask(&server.base_url(), &["-q", "hi"]);
    assert_eq!(run.exit, 5, "{run:?}");
}

#[test]
fn ctrl_c_while_the_model_streams() {
    let (stage, gate) = (Stage::new(), Gate::closed());
    let server = ModelServer::start([Reply::text("a long answer").pieces(6).gate_after(4, &gate)]);
    let url = server.base_url();
    let mut herm = stage.start(&chat(&url, &["--json", "-q", "hi"]));
    herm.until("\"text\"");
    herm.signal(Signal::INT);
    let run = herm.end();
    assert_eq!(run.exit, 130, "{run:?}");
    server.wait_for_hangups(1);
    assert_eq!(count(&stage, |event| matches!(event, Event::TurnEnded(_))), 1);
}

#[test]
fn ctrl_c_while_a_tool_runs_ends_all_that_it_started() {
    let command = "sleep 600 & echo x > begun; wait";
    let call = Reply::call("terminal", &json!({"command": command}));
    let (stage, server) = (Stage::new(), ModelServer::start([call]));
    let url = server.base_url();
    let herm = stage.start(&chat(&url, &["--yolo", "-q", "hi"]));
    await_that("the command", || stage.file("begun").ends_with('\n'));
    let group = supervisor(&stage);
    assert!(!is_dead(group));
    herm.signal(Signal::INT);
    let run = herm.end();
    assert_eq!(run.exit, 130, "{run:?}");
    assert!(is_dead(group), "something of the command is left");
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallFinished(_))), 1);
}

#[test]
fn secrets_reach_nothing_that_is_kept_or_printed() {
    const SECRET: &str = "zq7-Wonderland-0451-xyzzy";
    let command =
        format!("echo $OPENAI_API_KEY; printf '{SECRET}'; echo {SECRET} >&2; seq 1 3000; echo {SECRET}");
    let call = Reply::call("terminal", &json!({"command": command})).saying(&format!("I know {SECRET}."));
    let (stage, server) = (
        Stage::new(),
        ModelServer::start([call, Reply::text(&format!("The key is {SECRET}, really.")).pieces(9)]),
    );
    for json in [false, true] {
        if json {
            server.push(Reply::text(&format!("Still {SECRET}.")).pieces(9));
        }
        let url = server.base_url();
        let more: &[&str] = if json { &["--json", "--yolo", "-q", "again"] } else { &["--yolo", "-q", "hi"] };
        let mut command = stage.command(&chat(&url, more));
        command.env("OPENAI_API_KEY", SECRET);
        let run = Stage::finish(command);
        assert_eq!(run.exit, 0, "{run:?}");
        assert!(!run.out.contains(SECRET), "on stdout: {}", run.out);
        assert!(!run.err.contains(SECRET), "on stderr: {}", run.err);
        let whole: String = run
            .out
            .lines()
            .filter_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                (line["type"] == "text").then(|| line["text"].as_str().unwrap().to_owned())
            })
            .collect();
        assert!(!whole.contains(SECRET), "in pieces on stdout: {whole}");
    }
    for path in files(&stage.home()) {
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "in {}", path.display());
    }
}

#[test]
fn what_nobody_allows_is_not_run() {
    let call = Reply::call("terminal", &json!({"command": "rm -rf none; touch made"}));
    let (stage, server) = (Stage::new(), ModelServer::start([call, Reply::text("So be it.")]));
    let run = stage.ask(&server.base_url(), &["-q", "hi"]);
    assert_eq!((run.exit, run.out.as_str()), (0, "So be it.\n"), "{run:?}");
    assert!(!stage.path("made").exists());
    assert!(run.err.contains("touch made"), "the person is not told: {run:?}");
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallStarted(_))), 0);
    server.verify();
}

#[test]
fn what_is_too_large_to_be_checked_is_kept_and_the_model_is_told_where() {
    let command = format!("echo {}", "x".repeat(5_000));
    let call = Reply::call("terminal", &json!({"command": command}));
    let (stage, server) = (Stage::new(), ModelServer::start([call, Reply::text("I see.")]));
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "hi"]);
    assert_eq!(run.exit, 0, "{run:?}");
    let kept: Vec<_> = std::fs::read_dir(stage.home().join("cache/blocked-scripts")).unwrap().collect();
    let path = kept[0].as_ref().unwrap().path();
    assert!(kept.len() == 1 && std::fs::read_to_string(&path).unwrap().contains(&command));
    assert!(server.requests()[1].body.contains(path.to_str().unwrap()));
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallStarted(_))), 0);
    server.verify();
}

#[test]
fn what_is_forbidden_stays_forbidden() {
    let call = Reply::call("terminal", &json!({"command": "rm -rf /"}));
    let (stage, server) = (Stage::new(), ModelServer::start([call, Reply::text("As you say.")]));
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "hi"]);
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(count(&stage, |event| matches!(event, Event::CommandBlocked(_))), 1);
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallStarted(_))), 0);
}

#[test]
fn a_session_is_taken_up_again() {
    let stage = Stage::new();
    let server = ModelServer::start(["One.", "Two.", "Three.", "Four."].map(Reply::text));
    let url = server.base_url();
    assert_eq!(stage.ask(&url, &["-q", "first"]).exit, 0);
    let id = stage.session().unwrap().to_string();
    assert_eq!(stage.ask(&url, &["-q", "second", "--resume", &id]).exit, 0);
    assert_eq!(stage.ask(&url, &["-q", "third", "--continue"]).exit, 0);
    assert_eq!(stage.ask(&url, &["-q", "another"]).exit, 0);
    let messages: Vec<usize> =
        server.requests().iter().map(|request| request.json["messages"].as_array().unwrap().len()).collect();
    assert_eq!(messages, [2, 4, 6, 2]);
    let unknown = stage.ask(&url, &["-q", "x", "--resume", "20200101-000000-00000000000000000000"]);
    assert!(unknown.exit == 2 && unknown.err.contains("hint: herm sessions list"), "{unknown:?}");
    server.verify();
}

#[test]
fn a_second_herm_is_turned_away_and_the_first_is_not_disturbed() {
    let (stage, gate) = (Stage::new(), Gate::closed());
    let server = ModelServer::start([Reply::text("Undisturbed.").gate_after(1, &gate)]);
    let url = server.base_url();
    let first = stage.start(&chat(&url, &["-q", "hi"]));
    server.wait_for_requests(1);
    let second = offline(&stage, "run: echo x");
    assert_eq!((second.exit, second.out.as_str()), (6, ""), "{second:?}");
    let pid = first.pid().to_string();
    assert!(second.err.contains(&format!("hint: ps -fp {pid}")), "{second:?}");
    gate.open();
    let run = first.end();
    assert_eq!((run.exit, run.out.as_str()), (0, "Undisturbed.\n"), "{run:?}");
}

/// Case `crash-lock-o`.
#[test]
fn the_lock_of_a_killed_herm_needs_no_cleaning_up() {
    let (stage, gate) = (Stage::new(), Gate::closed());
    let server = ModelServer::start([Reply::text("x").held_by(&gate)]);
    let url = server.base_url();
    let herm = stage.start(&chat(&url, &["-q", "hi"]));
    server.wait_for_requests(1);
    let pid = herm.pid().to_string();
    herm.kill();
    let lock = std::fs::read_to_string(stage.home().join("log").join("lock")).unwrap();
    assert!(lock.contains(&pid), "{lock}");
    let run = offline(&stage, "run: echo started");
    assert_eq!((run.exit, run.out.as_str()), (0, "started\n"), "{run:?}");
}

/// Case `crash-torn-o`.
#[test]
fn a_last_record_that_was_cut_is_all_that_is_lost() {
    let stage = Stage::new();
    assert_eq!(offline(&stage, "run: echo one").exit, 0);
    let before = stage.events();
    let folder = stage.home().join("log");
    let is_segment = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "seg");
    let segment = files(&folder).into_iter().filter(is_segment).max().unwrap();
    let bytes = std::fs::read(&segment).unwrap();
    // The place for later records is reserved with zeros.
    let written = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
    file.set_len(written as u64 - 9).unwrap();
    // The mark says how far the disk was known to have it; a torn tail is what lies behind it.
    std::fs::remove_file(folder.join("mark")).unwrap();
    let run = offline(&stage, "run: echo two");
    assert_eq!((run.exit, run.out.as_str()), (0, "two\n"), "{run:?}");
    let after = stage.events();
    assert!(after.len() > before.len());
    let kept = before.len() - 1;
    assert_eq!(after[..kept], before[..kept]);
    let log = SegmentLog::open_read_only(&folder).unwrap();
    assert_eq!(log.tail().last, Position(after.len() as u64));
}
