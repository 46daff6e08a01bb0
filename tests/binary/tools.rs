//! Tools as a person meets them: programs, processes, hooks, through the real binary.

use herm_schema::Event;
use herm_schema::events::{JudgeVerdict, SkipReason};
use serde_json::{Value, json};

use super::stage::Stage;
use super::story::count;
use crate::support::{ModelServer, Recorded, Reply};

/// The newest tool result in a request, as the model sees it.
fn shown(request: &Recorded) -> Value {
    let messages = request.json["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    serde_json::from_str(result["content"].as_str().unwrap()).unwrap()
}

#[test]
fn a_program_calls_tools_by_the_rules_that_hold_for_the_model() {
    let code = "from herm_tools import read_file, terminal, ToolError\n\
                print(read_file(path='a.txt')['content'])\n\
                print(terminal(command='echo from $(basename $PWD)')['output'].strip())\n\
                try:\n    terminal(command='rm -rf ' + '/')\nexcept ToolError as error:\n    print('no:', error)\n";
    let (stage, server) = (
        Stage::new(),
        ModelServer::start([Reply::call("execute_code", &json!({"code": code})), Reply::text("Done.")]),
    );
    std::fs::write(stage.path("a.txt"), "alpha\n").unwrap();
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "hi"]);
    assert_eq!((run.exit, run.out.as_str()), (0, "Done.\n"), "{run:?}");
    let requests = server.requests();
    let shown = shown(&requests[1]);
    let output = shown["output"].as_str().unwrap();
    let here = stage.work().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(output.starts_with(&format!("1|alpha\nfrom {here}\nno: ")), "{shown}");
    assert!(output.contains("delete-root"), "{shown}");
    assert_eq!((&shown["tool_calls_made"], &shown["status"]), (&json!(3), &json!("success")));
    let begun = |event: &Event| matches!(event, Event::ProgramCallStarted(_));
    let ended = |event: &Event| matches!(event, Event::ProgramCallFinished(_));
    assert_eq!((count(&stage, begun), count(&stage, ended)), (2, 2), "what was refused did not begin");
    let blocked =
        |event: &Event| matches!(event, Event::CommandBlocked(event) if event.rule == "delete-root");
    assert_eq!(count(&stage, blocked), 1, "and is recorded as any other");
    let simulated = stage.run(&["replay", "simulate", &stage.session().unwrap().to_string()]);
    assert_eq!(simulated.exit, 0, "{simulated:?}");
    server.verify();
}

#[test]
fn a_program_with_a_catastrophe_in_it_is_not_begun() {
    let code = "import subprocess\nsubprocess.run(['rm', '-rf', '/'])\n";
    let (stage, server) = (
        Stage::new(),
        ModelServer::start([Reply::call("execute_code", &json!({"code": code})), Reply::text("No.")]),
    );
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "hi"]);
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(count(&stage, |event| matches!(event, Event::CommandBlocked(_))), 1);
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallStarted(_))), 0);
}

#[test]
fn a_command_line_too_large_to_be_checked_is_blocked_by_its_rule_and_kept_as_a_script() {
    let line = format!("echo {} > made", "x".repeat(5_000));
    let (stage, server) = (
        Stage::new(),
        ModelServer::start([Reply::call("terminal", &json!({"command": line})), Reply::text("No.")]),
    );
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "hi"]);
    assert_eq!(run.exit, 0, "{run:?}");
    let blocked = |event: &Event| match event {
        Event::CommandBlocked(event) => event.rule == "too-large" && event.subject.chars().count() == 201,
        _ => false,
    };
    let skipped =
        |event: &Event| matches!(event, Event::ToolCallSkipped(event) if event.reason == SkipReason::Blocked);
    assert_eq!((count(&stage, blocked), count(&stage, skipped)), (1, 1));
    let told = shown(&server.requests()[1])["error"].as_str().unwrap().to_owned();
    let script = told.split('`').find(|word| word.ends_with(".sh") && word.starts_with('/')).unwrap();
    assert!(told.contains("5012 characters") && told.contains(&format!("`bash {script}`")), "{told}");
    assert!(!stage.path("made").exists());
    let server = ModelServer::start([
        Reply::call("terminal", &json!({"command": format!("bash {script}")})),
        Reply::text("Done."),
    ]);
    let run = stage.ask(&server.base_url(), &["--yolo", "--continue", "-q", "go on"]);
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(stage.file("made").len(), 5_001, "the hint works as it stands");
}

#[test]
fn a_process_outlives_herm_and_is_found_again() {
    let stage = Stage::new();
    let command = "echo up; read -r word; echo \"$word\" > word; exit 3";
    let begin = json!({"command": command, "background": true, "notify_on_complete": true});
    let server = ModelServer::start([Reply::call("terminal", &begin), Reply::text("It runs.")]);
    let run = stage.ask(&server.base_url(), &["-q", "begin"]);
    assert_eq!((run.exit, run.out.as_str()), (0, "It runs.\n"), "{run:?}");
    let name = shown(&server.requests()[1])["session_id"].as_str().unwrap().to_owned();
    assert_eq!(count(&stage, |event| matches!(event, Event::ProcessStarted(_))), 1);
    let server = ModelServer::start([
        Reply::call("process", &json!({"action": "submit", "session_id": name, "data": "hello"})),
        Reply::call("process", &json!({"action": "wait", "session_id": name, "timeout": 30})),
        Reply::text("It has ended."),
    ]);
    let run = stage.ask(&server.base_url(), &["--continue", "-q", "go on"]);
    assert_eq!(run.exit, 0, "{run:?}");
    let waited = shown(&server.requests()[2]);
    assert_eq!((&waited["status"], &waited["exit_code"]), (&json!("exited"), &json!(3)), "{waited}");
    assert_eq!(stage.file("word"), "hello\n");
}

#[test]
fn what_is_written_to_a_process_is_judged_as_a_command_line() {
    let stage = Stage::new();
    let begin = json!({"command": "exec bash", "background": true});
    let server = ModelServer::start([Reply::call("terminal", &begin), Reply::text("A shell.")]);
    stage.ask(&server.base_url(), &["--yolo", "-q", "begin"]);
    let name = shown(&server.requests()[1])["session_id"].as_str().unwrap().to_owned();
    let server = ModelServer::start([
        Reply::call("process", &json!({"action": "submit", "session_id": name, "data": "rm -rf /"})),
        Reply::call("process", &json!({"action": "kill", "session_id": name})),
        Reply::text("It has ended."),
    ]);
    let run = stage.ask(&server.base_url(), &["--yolo", "--continue", "-q", "go on"]);
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(count(&stage, |event| matches!(event, Event::CommandBlocked(_))), 1);
    assert_eq!(shown(&server.requests()[2])["status"], "exited");
}

#[test]
fn a_hook_forbids_a_call_and_another_hears_of_one() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    let heard = stage.path("heard");
    let hooks = json!({
        "pre_tool_call": [{"command": "grep -q secret && { echo not that one >&2; exit 2; }; exit 0", "tools": ["read_*"]}],
        "post_tool_call": [format!("cat >> '{}'", heard.display())],
    });
    std::fs::write(stage.home().join("config.yaml"), format!("hooks: {hooks}\n")).unwrap();
    std::fs::write(stage.path("plain.txt"), "plain\n").unwrap();
    let server = ModelServer::start([
        Reply::call("read_file", &json!({"path": "secret.txt"})),
        Reply::call("read_file", &json!({"path": "plain.txt"})),
        Reply::text("Read."),
    ]);
    let run = stage.ask(&server.base_url(), &["-q", "read"]);
    assert_eq!(run.exit, 0, "{run:?}");
    assert!(server.requests()[1].body.contains("not that one"), "{}", server.requests()[1].body);
    let vetoed = |event: &Event| matches!(event, Event::ToolCallSkipped(s) if s.reason == SkipReason::Vetoed);
    assert_eq!(count(&stage, vetoed), 1);
    super::stage::await_that("a hook has heard of the call", || heard.exists());
    let told: Value =
        serde_json::from_str(stage.file("heard").lines().next().unwrap_or("{}")).unwrap_or_default();
    assert_eq!((&told["tool"], &told["status"]), (&json!("read_file"), &json!("succeeded")));
}

/// A model is asked about what is dangerous only where a person could be asked too.
#[test]
fn where_nobody_is_there_no_model_is_asked_for_a_yes() {
    let stage = Stage::new();
    let call = Reply::call("terminal", &json!({"command": "rm -rf none; touch made"}));
    let server = ModelServer::start([call, Reply::text("Not run.")]);
    let mut command = stage.command(&super::stage::chat(&server.base_url(), &["-q", "hi"]));
    command.env("HERM_APPROVALS_MODE", "smart");
    let run = Stage::finish(command);
    assert_eq!((run.exit, server.requests().len()), (0, 2), "{run:?}");
    assert!(!stage.path("made").exists());
    let judged = |event: &Event| matches!(event, Event::ApprovalJudged(j) if j.verdict == JudgeVerdict::Safe);
    assert_eq!(count(&stage, judged), 0);
}
