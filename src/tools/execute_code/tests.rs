use std::sync::Mutex;

use herm_replay::log::Log;
use herm_schema::SessionId;

use super::*;
use crate::environments::{Local, VariablePolicy};
use crate::tools::testing::{Place as Stage, place};
use crate::tools::{ProgramCall, Services, Tool};

/// Answers `read_file` with its path, and fails everything else.
struct Answers {
    log: herm_replay::log::MemoryLog,
    asked: Mutex<Vec<(u32, String, String)>>,
}

impl Services for Answers {
    fn log(&self) -> &dyn Log {
        &self.log
    }

    fn search_sessions(&self, _: SessionId, _: &Value) -> Value {
        Value::Null
    }

    fn ask<'a>(&'a self, _: SessionId, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn call_tool<'a>(&'a self, _: &'a ToolContext, asked: ProgramCall<'a>) -> BoxFuture<'a, ToolResult> {
        self.asked.lock().unwrap().push((asked.nth, asked.name.to_owned(), asked.arguments.to_owned()));
        let arguments: Value = serde_json::from_str(asked.arguments).unwrap();
        let result = match asked.name {
            "read_file" => {
                outcome::succeeded(&json!({"content": format!("of {}", arguments["path"].as_str().unwrap())}))
            }
            other => outcome::failed(format!("no {other} here")),
        };
        Box::pin(async move { result })
    }
}

struct Run {
    shown: Value,
    status: ToolStatus,
    asked: Vec<(u32, String, String)>,
}

async fn run(code: &str, limits: Limits) -> Run {
    let stage: Stage = place();
    let services = Arc::new(Answers { log: Default::default(), asked: Mutex::default() });
    let context = ToolContext { services: services.clone(), ..stage.context.clone() };
    let local = Arc::new(Local::new(VariablePolicy::default()));
    let tool = ExecuteCode::new(Arc::new(Environments::only(local)), limits);
    let result = tool.run(&json!({"code": code}), &context).await;
    let asked = services.asked.lock().unwrap().clone();
    Run { shown: serde_json::from_str(&result.shown).unwrap(), status: result.status, asked }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_calls_tools_and_prints_what_it_finds() {
    let code = "from herm_tools import read_file, terminal, ToolError\n\
                print([read_file(path=name)['content'] for name in ('a', 'ü')])\n\
                try:\n    terminal(command='x')\nexcept ToolError as error:\n    print('refused:', error)\n";
    let run = run(code, Limits::default()).await;
    assert_eq!(
        run.shown["output"], "['of a', 'of ü']\nrefused: [TOOL_ERROR] no terminal here\n",
        "{}",
        run.shown
    );
    assert_eq!((run.status, &run.shown["tool_calls_made"]), (ToolStatus::Succeeded, &json!(3)));
    assert_eq!(run.shown["status"], "success");
    assert_eq!(run.asked[1], (2, "read_file".into(), r#"{"path":"ü"}"#.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_time_and_keys_have_their_limits() {
    let limits = Limits { calls_max: 2, ..Limits::default() };
    let code = "from herm_tools import read_file\nfor n in range(3):\n    print(read_file(path=str(n)))\n";
    let many = run(code, limits).await;
    assert_eq!((many.status, many.asked.len()), (ToolStatus::Failed, 2));
    assert!(many.shown["output"].as_str().unwrap().contains("which is the limit"), "{}", many.shown);

    let limits = Limits { time_max: Duration::from_secs(1), ..Limits::default() };
    let late = run("print('begun', flush=True)\nwhile True: pass", limits).await;
    assert_eq!((&late.shown["status"], &late.shown["exit_code"]), (&json!("timeout"), &json!(124)));
    assert_eq!(late.shown["output"], "begun\n");

    let code = "import os\nos.environ['HERM_TOOLS_KEY'] = 'guess'\nimport herm_tools\nherm_tools.read_file(path='a')";
    let guessed = run(code, Limits::default()).await;
    assert!(guessed.asked.is_empty());
    assert!(guessed.shown["output"].as_str().unwrap().contains("the key is wrong"), "{}", guessed.shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_program_is_shown_with_its_line() {
    let run = run("print('one')\nraise ValueError('two')", Limits::default()).await;
    assert_eq!((&run.shown["status"], &run.shown["exit_code"]), (&json!("error"), &json!(1)));
    let output = run.shown["output"].as_str().unwrap();
    assert!(
        output.contains("one") && output.contains("line 2") && output.contains("ValueError: two"),
        "{output}"
    );
}
