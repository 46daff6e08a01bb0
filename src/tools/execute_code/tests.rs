use std::sync::Mutex;

use herm_replay::log::Log;
use herm_schema::SessionId;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::environments::{Local, VariablePolicy};
use crate::tools::testing::{Place as Stage, place};
use crate::tools::{ProgramCall, Services, Tool};

/// Answers `read_file` with its path, and fails everything else; or never answers.
#[derive(Default)]
struct Answers {
    log: herm_replay::log::MemoryLog,
    asked: Mutex<Vec<(u32, String, String)>>,
    mute: bool,
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
        if self.mute {
            return Box::pin(std::future::pending());
        }
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

/// This machine, as one that is reached only by command lines, and with a home of its own.
struct Elsewhere {
    local: Local,
    home: PathBuf,
    /// Precedes every command line.
    before: &'static str,
}

impl Elsewhere {
    fn new(home: &Path) -> Self {
        let local = Local::new(VariablePolicy::default()).keeping(home.join("states"));
        Self { local, home: home.to_owned(), before: "" }
    }
}

impl Environment for Elsewhere {
    fn name(&self) -> &'static str {
        "elsewhere"
    }

    fn execute<'a>(
        &'a self,
        execution: &'a Execution,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<crate::environments::Outcome, crate::environments::Error>> {
        let mut execution = execution.clone();
        execution.variables.push(("HOME".into(), self.home.display().to_string()));
        execution.command_line.insert_str(0, self.before);
        Box::pin(async move { self.local.execute(&execution, cancel).await })
    }

    fn recover<'a>(&'a self, spool: &'a Path, cancel: &'a CancellationToken) -> BoxFuture<'a, Recovery> {
        self.local.recover(spool, cancel)
    }

    fn cwd(&self, session: &str) -> Option<PathBuf> {
        self.local.cwd(session)
    }
}

async fn run(code: &str, limits: Limits) -> Run {
    run_in(Arc::new(Local::new(VariablePolicy::default())), &place(), code, limits).await
}

/// As [`run`], and nothing of it is left behind.
async fn run_elsewhere(code: &str, limits: Limits) -> Run {
    let (stage, home) = (place(), tempfile::tempdir().unwrap());
    let run = run_in(Arc::new(Elsewhere::new(home.path())), &stage, code, limits).await;
    let left =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    assert_eq!(left(home.path().join(".herm/programs")).collect::<Vec<_>>(), Vec::<PathBuf>::new());
    let spools: Vec<_> = left(stage.context.home.join("spool")).collect();
    assert!(spools.iter().all(|spool| *spool == stage.context.spool), "{spools:?}");
    run
}

async fn run_in(environment: Arc<dyn Environment>, stage: &Stage, code: &str, limits: Limits) -> Run {
    let services = Arc::new(Answers::default());
    let context = ToolContext { services: services.clone(), ..stage.context.clone() };
    let tool = ExecuteCode::new(Arc::new(Environments::only(environment)), limits);
    let result = tool.run(&json!({"code": code}), &context).await;
    let asked = services.asked.lock().unwrap().clone();
    Run { shown: serde_json::from_str(&result.shown).unwrap(), status: result.status, asked }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_calls_tools_and_prints_what_it_finds() {
    let code = "from herm_tools import read_file, terminal, ToolError\n\
                print([read_file(path=name)['content'] for name in ('a', 'ü')])\n\
                try:\n    terminal(command='x')\nexcept ToolError as error:\n    print('refused:', error)\n";
    for run in [run(code, Limits::default()).await, run_elsewhere(code, Limits::default()).await] {
        assert_eq!(
            run.shown["output"], "['of a', 'of ü']\nrefused: [TOOL_ERROR] no terminal here\n",
            "{}",
            run.shown
        );
        assert_eq!((run.status, &run.shown["tool_calls_made"]), (ToolStatus::Succeeded, &json!(3)));
        assert_eq!(run.shown["status"], "success");
        assert_eq!(run.asked[1], (2, "read_file".into(), r#"{"path":"ü"}"#.into()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_program_and_large_calls_at_once_come_through_elsewhere() {
    let code = format!(
        "from concurrent.futures import ThreadPoolExecutor\nfrom herm_tools import read_file\nlong = '{}'\n\
         with ThreadPoolExecutor(9) as pool:\n    found = pool.map(lambda n: read_file(path=str(n) + 'x' * 200_000), range(9))\n\
         print(sum(len(one['content']) for one in found), len(long))\n",
        "y".repeat(100_000)
    );
    let run = run_elsewhere(&code, Limits::default()).await;
    assert_eq!(run.shown["output"], format!("{} 100000\n", 9 * (200_000 + 1 + 3)), "{}", run.shown);
    assert_eq!(run.asked.len(), 9);
    let quotes = run_elsewhere(&format!("print(len({:?}))", "'".repeat(40_000)), Limits::default()).await;
    assert_eq!(quotes.shown["output"], "40000\n", "{}", quotes.shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_interrupted_before_it_begins_says_so_everywhere() {
    let home = tempfile::tempdir().unwrap();
    let here: Arc<dyn Environment> = Arc::new(Local::new(VariablePolicy::default()));
    for environment in [here, Arc::new(Elsewhere::new(home.path()))] {
        let stage = place();
        stage.context.cancel.cancel();
        let run = run_in(environment, &stage, "print(1)", Limits::default()).await;
        assert_eq!(run.status, ToolStatus::Interrupted, "{}", run.shown);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_hears_that_its_herm_is_gone_when_the_next_one_looks() {
    let (stage, home) = (place(), tempfile::tempdir().unwrap());
    let services = Arc::new(Answers { mute: true, ..Answers::default() });
    let context = ToolContext { services: services.clone(), ..stage.context.clone() };
    let tool = |home: &Path| {
        let elsewhere = Arc::new(Elsewhere::new(home));
        Arc::new(ExecuteCode::new(Arc::new(Environments::only(elsewhere)), Limits::default()))
    };
    let code = "from herm_tools import read_file, ToolError\n\
                try:\n    read_file(path='a')\nexcept ToolError as error:\n    print(error)\n";
    let arguments = json!({"code": code});
    let (first, its_context) = (tool(home.path()), context.clone());
    let running = tokio::spawn({
        let arguments = arguments.clone();
        async move { Tool::run(&*first, &arguments, &its_context).await.shown }
    });
    while services.asked.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.abort();
    let Recovered::Finished(result) = Tool::recover(&*tool(home.path()), &arguments, &context).await else {
        panic!("what became of it is known");
    };
    let shown: Value = serde_json::from_str(&result.shown).unwrap();
    assert_eq!((&shown["output"], &shown["status"]), (&json!("herm is gone\n"), &json!("success")));
    assert_eq!(std::fs::read_dir(home.path().join(".herm/programs")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_python_that_is_said_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let bare = Elsewhere { before: "PATH=/nowhere\n", ..Elsewhere::new(home.path()) };
    let run = run_in(Arc::new(bare), &place(), "print(1)", Limits::default()).await;
    let told = run.shown.to_string();
    assert!(
        told.contains("python3 is not installed")
            && told.contains("use `terminal`")
            && told.contains("`elsewhere`"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_time_and_keys_have_their_limits() {
    let limits = Limits { calls_max: 2, ..Limits::default() };
    let code = "from herm_tools import read_file\nfor n in range(3):\n    print(read_file(path=str(n)))\n";
    for many in [run(code, limits).await, run_elsewhere(code, limits).await] {
        assert_eq!((many.status, many.asked.len()), (ToolStatus::Failed, 2));
        assert!(many.shown["output"].as_str().unwrap().contains("which is the limit"), "{}", many.shown);
    }

    let limits = Limits { time_max: Duration::from_secs(1), ..Limits::default() };
    let code = "print('begun', flush=True)\nwhile True: pass";
    for late in [run(code, limits).await, run_elsewhere(code, limits).await] {
        assert_eq!((&late.shown["status"], &late.shown["exit_code"]), (&json!("timeout"), &json!(124)));
        assert_eq!(late.shown["output"], "begun\n");
    }

    let code = "import os\nos.environ['HERM_TOOLS_KEY'] = 'guess'\nimport herm_tools\nherm_tools.read_file(path='a')";
    for guessed in [run(code, Limits::default()).await, run_elsewhere(code, Limits::default()).await] {
        assert!(guessed.asked.is_empty());
        assert!(guessed.shown["output"].as_str().unwrap().contains("the key is wrong"), "{}", guessed.shown);
    }
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
