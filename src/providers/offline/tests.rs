use std::sync::{Arc, Mutex};

use herm_replay::reducer::request::Call;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::plan::{Line, Step};
use super::*;
use crate::providers::ToolDefinition;

fn step(line: &str) -> Option<Step> {
    match plan::read(line).as_slice() {
        [Line::Step(step)] => Some(step.clone()),
        _ => None,
    }
}

fn run(command: &str) -> Option<Step> {
    Some(Step::Run { command: command.into() })
}

fn file(path: &str) -> Option<Step> {
    Some(Step::Read { path: path.into() })
}

fn found(pattern: &str, path: Option<&str>, files: bool) -> Option<Step> {
    Some(Step::Find { pattern: pattern.into(), path: path.map(str::to_owned), files })
}

fn written(path: &str, text: &str) -> Option<Step> {
    Some(Step::Write { path: path.into(), text: text.into() })
}

fn searched(query: &str) -> Option<Step> {
    Some(Step::Search { query: query.into() })
}

#[test]
fn the_documented_forms_are_steps() {
    assert_eq!(step("run: ls -la | wc"), run("ls -la | wc"));
    assert_eq!(step("Run: `cargo build`"), run("cargo build"));
    assert_eq!(step("read: my notes.md"), file("my notes.md"));
    assert_eq!(step("find: fn main in src"), found("fn main", Some("src"), false));
    assert_eq!(step("find: *.rs"), found("*.rs", None, true));
    assert_eq!(step("find: a.*b in ."), found("a.*b", Some("."), false));
    assert_eq!(step("write: a.txt: one: two"), written("a.txt", "one: two"));
    assert_eq!(step("search: the red door"), searched("the red door"));
    assert_eq!(step("运行：ls"), run("ls"));
    assert_eq!(step("写入: a.txt：你好"), written("a.txt", "你好"));
    assert_eq!(step("write: a.txt:\n```\none\n\ntwo\n```"), written("a.txt", "one\n\ntwo\n"));
}

#[test]
fn plain_sentences_are_steps() {
    for (line, expected) in [
        ("read notes.md", file("notes.md")),
        ("Please read the file src/main.rs.", file("src/main.rs")),
        ("What is in notes.md?", file("notes.md")),
        ("show me .env", file(".env")),
        ("run `cargo build`", run("cargo build")),
        ("Run the command ls -la", run("ls -la")),
        ("list the files in src", found("*", Some("src"), true)),
        ("list files", found("*", Some("."), true)),
        ("find TODO in src", found("TODO", Some("src"), false)),
        ("search for \"two words\" in notes.md", found("two words", Some("notes.md"), false)),
        ("find files named *.rs in src", found("*.rs", Some("src"), true)),
        ("search my past chats for the red door", searched("the red door")),
        ("search for red door in my past chats", searched("red door")),
        ("create a file a.txt with the text hello there", written("a.txt", "hello there")),
        ("create a file called \"a b.txt\" with content `x`", written("a b.txt", "x")),
        ("write \"hi you\" to notes/a.md", written("notes/a.md", "hi you")),
        ("读取 notes.md", file("notes.md")),
        ("运行 `ls`", run("ls")),
        ("请运行命令 ls -l", run("ls -l")),
        ("列出 src 里的文件", found("*", Some("src"), true)),
        ("创建文件 a.txt，内容为 你好", written("a.txt", "你好")),
        ("搜索历史: 红门", searched("红门")),
    ] {
        assert_eq!(step(line), expected, "{line}");
    }
}

#[test]
fn talk_is_no_step() {
    for line in [
        "hello",
        "read between the lines",
        "run away",
        "write me a poem",
        "can you find a good restaurant in Rome",
        "what is the weather",
        "run: ",
        "show me what you can do",
        "open the door",
        "note: run is a verb",
        "",
    ] {
        assert_eq!(step(line), None, "{line}");
    }
}

#[test]
fn lists_and_joined_sentences_are_several_steps() {
    let all = |text: &str| plan::read(text);
    let steps = [run("ls"), file("a.md")].map(|step| Line::Step(step.unwrap()));
    assert_eq!(all("1. run: ls\n\n2. read a.md"), steps);
    assert_eq!(all("run `ls`, then read a.md"), steps);
    assert_eq!(all("- run: ls\nhm\n"), [steps[0].clone(), Line::NotUnderstood("hm".into())]);
}

fn request(messages: Vec<LoadedMessage>, tools: &[&str]) -> LoadedRequest {
    let tool = |name: &&str| ToolDefinition {
        name: (*name).into(),
        description: String::new(),
        parameters: json!({}),
    };
    LoadedRequest {
        choice: choice(),
        system: Some("s".into()),
        tools: tools.iter().map(tool).collect(),
        messages,
        output_tokens_max: 100,
        options: Default::default(),
    }
}

const ALL: [&str; 5] = ["terminal", "read_file", "search_files", "write_file", "session_search"];

fn user(text: &str) -> LoadedMessage {
    LoadedMessage::user(text)
}

/// The conversation after `answer` was carried out with `result`.
fn with_result(
    mut messages: Vec<LoadedMessage>,
    answer: &AssistantMessage,
    result: &str,
) -> Vec<LoadedMessage> {
    let call = answer.calls[0].clone();
    let sent = Call { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments };
    messages.push(LoadedMessage::Assistant { text: answer.text.clone(), calls: vec![sent], extras: None });
    messages.push(LoadedMessage::tool(call.id, call.name, result));
    messages
}

#[test]
fn several_lines_are_done_one_after_another_also_after_a_failure() {
    let mut messages = vec![user("old"), user("run: false\nread: a.md")];
    let first = answer(&request(messages.clone(), &ALL));
    assert_eq!(first.text, "Step 1 of 2: run `false`");
    assert_eq!(
        (first.calls[0].name.as_str(), first.calls[0].arguments.0.as_str()),
        ("terminal", "{\"command\":\"false\"}")
    );
    messages = with_result(messages, &first, r#"{"output":"oh\n","exit_code":1,"error":null}"#);
    let second = answer(&request(messages.clone(), &ALL));
    assert_eq!(second.calls[0].name, "read_file");
    messages = with_result(
        messages,
        &second,
        r#"{"content":"1|hello\n2|you","total_lines":2,"file_size":9,"truncated":false}"#,
    );
    let last = answer(&request(messages, &ALL));
    assert_eq!(last.calls, []);
    assert_eq!(last.text, "Run `false`:\noh\n(exit code 1)\n\nRead `a.md`:\n1|hello\n2|you");
}

#[test]
fn one_step_is_reported_without_a_heading_and_with_what_stands_beside_it() {
    let messages = vec![user("run: true")];
    let first = answer(&request(messages.clone(), &ALL));
    assert_eq!(first.text, "");
    let done = |result: &str| answer(&request(with_result(messages.clone(), &first, result), &ALL)).text;
    assert_eq!(done(r#"{"output":"","exit_code":0,"error":null}"#), "(no output, exit code 0)");
    assert_eq!(
        done("{\"output\":\"x\",\"exit_code\":0}\n\n[80% of the time is used]"),
        "x\n[80% of the time is used]"
    );
    assert_eq!(done("The person said no."), "The person said no.");
    assert_eq!(
        done(r#"{"output":"","exit_code":-1,"error":"blocked","status":"blocked"}"#),
        "Failed: blocked\n(exit code -1)\nstatus: blocked"
    );
    assert_eq!(done(""), "(nothing)");
}

#[test]
fn results_of_other_tools_lose_nothing() {
    let messages = vec![user("search: door")];
    let first = answer(&request(messages.clone(), &ALL));
    let result = json!({"success":true,"count":1,"results":[{"title":"Old","snippet":"the >>>door<<<","messages":[{"text":"a\nb"}]}]});
    let text = answer(&request(with_result(messages, &first, &result.to_string()), &ALL)).text;
    let expected = "count: 1\nresults:\n  -\n    title: Old\n    snippet: the >>>door<<<\n    messages:\n      -\n        text:\n          a\n          b";
    assert_eq!(text, expected);
}

#[test]
fn a_tool_that_is_not_offered_is_named_and_the_rest_is_done() {
    let messages = vec![user("run: ls\nread: a.md")];
    let first = answer(&request(messages.clone(), &["read_file"]));
    assert_eq!(first.calls[0].name, "read_file");
    let text = answer(&request(with_result(messages, &first, r#"{"content":"x"}"#), &["read_file"])).text;
    assert_eq!(
        text,
        "I cannot run `ls`: the tool `terminal` is not offered in this session.\n\nRead `a.md`:\nx"
    );
}

#[test]
fn a_closing_summary_reports_what_was_done_and_what_was_not() {
    let messages = vec![user("run: a\nrun: b")];
    let first = answer(&request(messages.clone(), &ALL));
    let text = answer(&request(with_result(messages, &first, r#"{"output":"A","exit_code":0}"#), &[])).text;
    assert_eq!(text, "Run `a`:\nA\n\nNot done, because no tools are offered now: run `b`.");
}

#[test]
fn anything_else_gets_an_honest_answer() {
    let said = answer(&request(vec![user("who was Herodotus?")], &ALL));
    assert_eq!(said.calls, []);
    assert!(said.text.contains("offline model") && said.text.contains("OPENAI_API_KEY"), "{}", said.text);
    assert_eq!(answer(&request(vec![], &ALL)).text, ABOUT);
}

#[tokio::test]
async fn it_streams_counts_and_can_be_cancelled() {
    let shown = Arc::new(Mutex::new(String::new()));
    let sink = shown.clone();
    let context = CallContext {
        cancel: CancellationToken::new(),
        deadlines: crate::providers::Deadlines::default(),
        show: Arc::new(move |delta| {
            if let Delta::Text(text) = delta {
                sink.lock().unwrap().push_str(&text);
            }
        }),
    };
    let asked = request(vec![user("hello")], &ALL);
    let answered = Offline.call(&asked, context.clone()).await.unwrap();
    assert_eq!(*shown.lock().unwrap(), answered.message.text);
    assert_eq!(answered.finish, Finish::Stop);
    assert_eq!(answered.usage.unwrap().output, (ABOUT.len() as u64).div_ceil(4));
    context.cancel.cancel();
    assert_eq!(Offline.call(&asked, context).await.unwrap_err().message, "cancelled");
}

proptest::proptest! {
    #[test]
    fn no_message_and_no_result_panics(text in ".{0,80}", verb in "(read|run|write|find|search|list the files|读取|创建文件) ?", result in ".{0,80}") {
        let messages = vec![user(&format!("{verb}{text}\n{text}"))];
        let first = answer(&request(messages.clone(), &ALL));
        if !first.calls.is_empty() {
            proptest::prop_assert!(serde_json::from_str::<Value>(&first.calls[0].arguments.0).unwrap().is_object());
            let _ = answer(&request(with_result(messages, &first, &result), &ALL));
        }
    }
}
