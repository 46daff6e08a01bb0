use std::sync::atomic::{AtomicU8, Ordering};

use herm_schema::{Micros, SessionId};

use super::*;
use crate::environments::{Environments, Local, VariablePolicy};
use crate::tools::testing::{Place, place};
use herm_schema::{CallRef, StreamPos};

struct Stage {
    place: Place,
    processes: Arc<Processes>,
    next: u16,
}

fn stage() -> Stage {
    // Each test has its own: the folders of processes lie in `/tmp` by their names.
    static NEXT: AtomicU8 = AtomicU8::new(0);
    let mut place = place();
    let salt = [NEXT.fetch_add(1, Ordering::Relaxed); 10];
    place.context.session = SessionId::opened(Micros(i64::from(std::process::id()) * 1_000_000), salt);
    let processes = processes(&place);
    Stage { place, processes, next: 0 }
}

fn processes(place: &Place) -> Arc<Processes> {
    let local = Arc::new(Local::new(VariablePolicy::default()));
    Arc::new(Processes::new(place.context.home.join("processes"), Arc::new(Environments::only(local))))
}

impl Stage {
    fn context(&mut self) -> ToolContext {
        self.next += 1;
        let call = CallRef { message: StreamPos(1), index: self.next };
        let spool = self.place.context.home.join(format!("spool-{}", self.next));
        ToolContext { call, spool, ..self.place.context.clone() }
    }

    fn begin(&mut self, command: &str, more: impl FnOnce(Start) -> Start) -> Arc<Entry> {
        let context = self.context();
        let start = Start {
            session: context.session,
            call: context.call,
            command_line: command.into(),
            shown: command.into(),
            opened_in: context.opened_in,
            workdir: None,
            pty: false,
            notify: true,
            watch_patterns: Vec::new(),
        };
        self.processes.begin(more(start)).unwrap()
    }

    async fn does(&mut self, action: &str, name: &str, more: Value) -> Value {
        let mut arguments = json!({"action": action, "session_id": name});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let context = self.context();
        let tool = Process::new(self.processes.clone());
        let result = super::super::Tool::run(&tool, &arguments, &context).await;
        serde_json::from_str(&result.shown).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_written_to_and_polled_and_ends_when_its_input_does() {
    let mut stage = stage();
    let entry =
        stage.begin("while read -r line; do echo \"got $line\"; done; echo over; exit 3", |start| start);
    let name = entry.begun.name.clone();
    let shown = stage.does("submit", &name, json!({"data": "it's one"})).await;
    assert_eq!(shown["status"], "running");
    let mut output = shown["output"].as_str().unwrap().to_owned();
    while !output.contains("got it's one") {
        output += stage.does("poll", &name, json!({})).await["output"].as_str().unwrap();
    }
    output += stage.does("close", &name, json!({})).await["output"].as_str().unwrap();
    let shown = stage.does("wait", &name, json!({"timeout": 30})).await;
    assert_eq!((&shown["status"], &shown["exit_code"]), (&json!("exited"), &json!(3)));
    output += shown["output"].as_str().unwrap();
    assert!(output.ends_with("over\n"), "{output}");
    let log = stage.does("log", &name, json!({"offset": 2, "limit": 1})).await;
    assert_eq!((&log["output"], &log["total_lines"]), (&json!("over\n"), &json!(2)));
    let late = stage.does("submit", &name, json!({"data": "x"})).await;
    assert!(late["error"].as_str().unwrap().ends_with("has ended"), "{late}");
    let listed = stage.does("list", "", json!({})).await;
    assert_eq!(listed["processes"][0]["session_id"], name);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_ends_everything_and_the_session_is_told() {
    let mut stage = stage();
    let session = stage.place.context.session;
    let mut news = stage.processes.listen(session).await;
    let mark = stage.place.context.home.join("mark");
    let command = format!("(trap '' TERM; sleep 60; touch '{}') & sleep 60", mark.display());
    let entry = stage.begin(&command, |start| start);
    let shown = stage.does("kill", &entry.begun.name, json!({})).await;
    assert_eq!((&shown["status"], &shown["exit_code"]), (&json!("exited"), &json!(130)));
    let heard = news.recv().await.unwrap();
    // Who ends it need not be told that it has ended.
    assert!(matches!(heard.what, What::Ended { exit_code: Some(130), notify: false, .. }), "{heard:?}");
    assert!(!mark.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_waited_for_is_told() {
    let mut stage = stage();
    let session = stage.place.context.session;
    let mut news = stage.processes.listen(session).await;
    let watch_patterns = vec!["^ready".to_owned()];
    let entry = stage
        .begin("echo starting; echo ready on 8080; read -r x", |start| Start { watch_patterns, ..start });
    let heard = news.recv().await.unwrap();
    assert_eq!(heard.what, What::Printed { lines: vec!["ready on 8080".into()] });
    entry.kill();
    entry.gone().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_one_to_the_program() {
    let mut stage = stage();
    if !Path::new("/usr/bin/script").exists() {
        println!("skipped: script(1) is not installed");
        return;
    }
    let entry =
        stage.begin("test -t 0 && test -t 1 && echo a terminal", |start| Start { pty: true, ..start });
    let shown = stage.does("wait", &entry.begun.name, json!({"timeout": 30})).await;
    assert_eq!(shown["exit_code"], 0, "{shown}");
    assert!(shown["output"].as_str().unwrap().contains("a terminal"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_what_runs_is_followed_and_what_ended_is_told_once() {
    let mut stage = stage();
    let session = stage.place.context.session;
    let entry = stage.begin("echo up; read -r x; exit 5", |start| start);
    let name = entry.begun.name.clone();
    while !std::fs::read_to_string(entry.output()).is_ok_and(|text| text.contains("up")) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Another herm: it knows only what lies on the disk. Nobody listens here, so nobody is told.
    let again = processes(&stage.place);
    again.adopt();
    stage.processes = again.clone();
    stage.does("submit", &name, json!({"data": "go"})).await;
    again.of(session, &name).unwrap().gone().await;
    let heard = again.listen(session).await.recv().await.unwrap();
    assert!(matches!(heard.what, What::Ended { exit_code: Some(5), .. }), "{heard:?}");
    let third = processes(&stage.place);
    third.adopt();
    assert_eq!(third.of(session, &name).unwrap().ended().unwrap().exit_code, Some(5));
    assert!(third.listen(session).await.try_recv().is_err(), "told once");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_session_sees_nothing() {
    let mut stage = stage();
    let entry = stage.begin("read -r x", |start| start);
    let other = SessionId::opened(Micros(9_000_000), [9; 10]);
    assert!(stage.processes.of(other, &entry.begun.name).is_none());
    assert!(stage.processes.list(other).is_empty());
    entry.kill();
    entry.gone().await;
}

#[test]
fn only_what_is_written_is_judged() {
    assert_eq!(written(&json!({"action": "submit", "data": "rm -rf /"})), Some("rm -rf /".into()));
    assert_eq!(written(&json!({"action": "write"})), Some(String::new()));
    assert_eq!(written(&json!({"action": "kill", "data": "x"})), None);
}
