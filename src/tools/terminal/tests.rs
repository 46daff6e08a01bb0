//! The tool over the real local environment.

use std::fs;
use std::path::Path;

use herm_replay::log::Log;
use herm_schema::events::ToolStatus;
use herm_schema::{CallRef, Micros, SessionId, StreamPos};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::environments::Local;
use crate::tools::{OutputLimits, Services};

/// A terminal asks nothing of the rest of herm.
struct NoServices;

impl Services for NoServices {
    fn log(&self) -> &dyn Log {
        panic!("a terminal reads no log")
    }

    fn search_sessions(&self, _: SessionId, _: &Value) -> Value {
        panic!("a terminal searches no sessions")
    }

    fn ask<'a>(&'a self, _: SessionId, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        panic!("a terminal asks nobody")
    }
}

struct Bench {
    folder: tempfile::TempDir,
    context: ToolContext,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let context = ToolContext {
            session: SessionId::opened(Micros(0), [0; 10]),
            call: CallRef { message: StreamPos(1), index: 0 },
            cwd: folder.path().canonicalize().unwrap(),
            files: Default::default(),
            opened_in: folder.path().canonicalize().unwrap(),
            spool: folder.path().join("spool"),
            home: folder.path().join("home"),
            cancel: CancellationToken::new(),
            services: Arc::new(NoServices),
            limits: OutputLimits::default(),
        };
        Self { folder, context }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    async fn run(&self, arguments: Value) -> (ToolResult, Value) {
        let result = tool().run(&arguments, &self.context).await;
        let shown = serde_json::from_str(&result.shown).unwrap();
        if self.context.spool.exists() {
            fs::remove_dir_all(&self.context.spool).unwrap();
        }
        (result, shown)
    }
}

fn tool() -> Terminal {
    Terminal::new(Arc::new(Local::default()))
}

#[tokio::test]
async fn a_plain_result_has_three_fields_and_says_that_nothing_holds_it_in() {
    let (result, _) = Bench::new().run(json!({"command": "echo ok; echo err >&2"})).await;
    assert_eq!(result.status, ToolStatus::Succeeded);
    assert_eq!(result.shown, r#"{"output":"ok\nerr\n","exit_code":0,"error":null,"sandbox":"off"}"#);
    assert_eq!(result.full, None);
}

#[tokio::test]
async fn statuses_that_are_answers_are_explained() {
    let bench = Bench::new();
    bench.write("a", "1\n");
    bench.write("b", "2\n");
    for (command, code, meaning) in [
        ("grep x a", 1, json!("no matches, not an error")),
        ("grep x missing", 2, Value::Null),
        ("diff a b", 1, json!("files differ, not an error")),
        ("sh -c 'exit 1'", 1, Value::Null),
        ("no-such-program", 127, json!("program not found")),
        ("grep 1 a", 0, Value::Null),
        ("true && grep x a", 1, Value::Null),
    ] {
        let (result, shown) = bench.run(json!({ "command": command })).await;
        assert_eq!((&shown["exit_code"], &shown["exit_code_meaning"]), (&json!(code), &meaning), "{command}");
        assert_eq!(result.status == ToolStatus::Succeeded, code == 0, "{command}");
    }
}

#[tokio::test]
async fn a_timeout_says_so_and_keeps_the_output() {
    let (result, shown) = Bench::new().run(json!({"command": "echo so far; sleep 300", "timeout": 1})).await;
    assert_eq!(result.status, ToolStatus::Failed);
    assert_eq!(
        shown,
        json!({"output": "so far\n", "exit_code": 124, "error": "stopped after its timeout of 1 s", "sandbox": "off"})
    );
}

#[tokio::test]
async fn an_interrupt_keeps_the_output_so_far() {
    let bench = Bench::new();
    let output = bench.context.spool.join("output");
    let interrupt = async {
        while fs::read_to_string(&output).unwrap_or_default().is_empty() {
            tokio::task::yield_now().await;
        }
        bench.context.cancel.cancel();
    };
    let arguments = json!({"command": "echo begun; sleep 300"});
    let (result, ()) = tokio::join!(bench.run(arguments), interrupt);
    assert_eq!(result.0.status, ToolStatus::Interrupted);
    let expected =
        json!({"output": "begun\n", "exit_code": 130, "error": "stopped by an interrupt", "sandbox": "off"});
    assert_eq!(result.1, expected);
}

#[tokio::test]
async fn a_long_output_is_shown_by_its_ends_and_named_whole() {
    let mut bench = Bench::new();
    bench.context.limits = OutputLimits { bytes_max: 20_000, lines_max: 100_000, line_bytes_max: 2_000 };
    let arguments = json!({"command": "seq 1 100000; exit 3"});
    let result = tool().run(&arguments, &bench.context).await;
    let shown: Value = serde_json::from_str(&result.shown).unwrap();
    let text = shown["output"].as_str().unwrap();
    assert_eq!((text.lines().next(), text.lines().last()), (Some("1"), Some("100000")));
    assert!(text.len() <= 20_200, "{}", text.len());
    assert_eq!(text.matches("characters left out").count(), 1);
    assert_eq!((&shown["exit_code"], &shown["output_bytes"]), (&json!(3), &json!(588_895)));
    let full = result.full.unwrap();
    assert_eq!(shown["full_output"], json!(full));
    assert_eq!(fs::metadata(full).unwrap().len(), 588_895);
}

#[tokio::test]
async fn it_runs_where_it_is_told_to() {
    let bench = Bench::new();
    fs::create_dir(bench.folder.path().join("sub")).unwrap();
    let cwd = &bench.context.cwd;
    let pwd = |workdir: Value| json!({"command": "pwd", "workdir": workdir});
    let (_, shown) = bench.run(pwd(json!("sub"))).await;
    assert_eq!(shown["output"], json!(format!("{}\n", cwd.join("sub").display())));
    let (_, shown) = bench.run(pwd(json!(cwd))).await;
    assert_eq!(shown["output"], json!(format!("{}\n", cwd.display())));
    assert_eq!(command_line(&pwd(json!("sub")), cwd), Some(("pwd".into(), cwd.join("sub"))));
    assert_eq!(command_line(&json!({"command": 1}), cwd), None);
    let (result, shown) = bench.run(pwd(json!("gone"))).await;
    assert_eq!(result.status, ToolStatus::Failed);
    let message = format!("working directory `{}` does not exist", cwd.join("gone").display());
    assert_eq!(shown, json!({"output": "", "exit_code": -1, "error": format!("[TOOL_ERROR] {message}")}));
}

#[tokio::test]
async fn a_session_whose_directory_is_gone_goes_on_in_what_is_left_of_it() {
    let mut bench = Bench::new();
    let left = bench.context.cwd.clone();
    bench.context.opened_in = left.join("d/e");
    let (result, shown) = bench.run(json!({"command": "echo alive; pwd"})).await;
    assert_eq!(result.status, ToolStatus::Succeeded);
    assert_eq!(shown["output"], json!(format!("alive\n{}\n", left.display())));
    assert!(shown["notice"].as_str().unwrap().contains("is gone"));
}

#[tokio::test]
async fn directory_and_variables_stay_and_a_deleted_directory_is_told() {
    let bench = Bench::new();
    let states = bench.folder.path().join("states");
    let tool = Terminal::new(Arc::new(Local::default().keeping(states)));
    let run = async |command: &str| {
        let result = tool.run(&json!({ "command": command }), &bench.context).await;
        fs::remove_dir_all(&bench.context.spool).unwrap();
        serde_json::from_str::<Value>(&result.shown).unwrap()
    };
    let here = bench.context.cwd.display();
    assert_eq!(run("mkdir d && cd d && export A=1 && pwd").await["output"], json!(format!("{here}/d\n")));
    assert_eq!(run("echo $A; rm -rf ../d").await["output"], "1\n");
    let third = run("echo alive").await;
    assert_eq!((&third["output"], &third["exit_code"]), (&json!("alive\n"), &json!(0)));
    assert!(third["notice"].as_str().unwrap().contains("is gone"), "{third}");
}

#[tokio::test]
async fn an_environment_that_is_out_of_reach_is_told_as_what_it_is() {
    let bench = Bench::new();
    let settings = crate::environments::ssh::SshSettings {
        port: Some(1),
        options: vec!["ConnectTimeout=2".into()],
        ..crate::environments::ssh::SshSettings::to("127.0.0.1")
    };
    let folder = bench.folder.path().join("ssh");
    let ssh = crate::environments::ssh::Ssh::new(settings, Default::default(), bench.folder.path(), folder);
    let tool = Terminal::new(Arc::new(ssh.unwrap()));
    let result = tool.run(&json!({"command": "echo ran"}), &bench.context).await;
    let shown: Value = serde_json::from_str(&result.shown).unwrap();
    assert_eq!((result.status, &shown["exit_code"]), (ToolStatus::Failed, &json!(-1)));
    let error = shown["error"].as_str().unwrap();
    assert!(error.contains("nothing was run") && error.contains("not the command's fault"), "{error}");
}

#[tokio::test]
async fn bad_arguments_begin_nothing() {
    let bench = Bench::new();
    for (arguments, message) in [
        (json!({}), "missing field `command`"),
        (json!({"command": " "}), "`command` is empty"),
        (json!({"command": "touch x", "timeout": "soon"}), "invalid type"),
        (json!({"command": "touch x", "backgrund": true}), "unknown field `backgrund`"),
        (json!({"command": "touch x", "background": true}), "nothing can be left running here"),
    ] {
        let (result, shown) = bench.run(arguments).await;
        assert_eq!(result.status, ToolStatus::Failed);
        assert!(shown["error"].as_str().unwrap().contains(message), "{shown}");
    }
    assert!(!bench.folder.path().join("x").exists());
}

#[tokio::test]
async fn what_ended_during_a_restart_is_recovered_as_if_it_had_been_awaited() {
    let bench = Bench::new();
    let arguments = json!({"command": "echo ran; exit 4"});
    assert_eq!(tool().recover(&arguments, &bench.context).await, Recovered::NotDone);
    let result = tool().run(&arguments, &bench.context).await;
    assert_eq!(tool().recover(&arguments, &bench.context).await, Recovered::Finished(result));
    fs::remove_file(bench.context.spool.join("status")).unwrap();
    assert_eq!(tool().recover(&arguments, &bench.context).await, Recovered::Unknown);
}

#[test]
fn the_schema_offers_the_parameters_of_the_reference() {
    let schema = tool().parameters();
    let mut names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    names.sort();
    let all = ["background", "command", "notify_on_complete", "pty", "timeout", "watch_patterns", "workdir"];
    assert_eq!(names, all);
    assert_eq!(schema["required"], json!(["command"]));
}

#[test]
fn a_timeout_is_bounded() {
    assert_eq!(tool().timeout(None).as_secs(), TIMEOUT_DEFAULT_S);
    assert_eq!(tool().timeout(Some(0)).as_secs(), 1);
    assert_eq!(tool().timeout(Some(u64::MAX)).as_secs(), TIMEOUT_MAX_S);
    assert_eq!(from_home("~x/y"), Path::new("~x/y"));
}
