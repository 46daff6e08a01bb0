//! The binary is killed at one exact place, resumed, and compared with a run that nobody disturbed.

use herm_schema::Event;
use herm_schema::events::{AbortReason, ToolStatus};
use serde_json::json;

use super::stage::{Stage, await_that, chat, files, kill_group, supervisor};
use super::story::{conversations, count, outcomes, story};
use crate::support::{Gate, ModelServer, Reply};

/// Waits for the file `go`, then leaves a mark.
const COMMAND: &str =
    "echo x >> begun; while [ ! -e go ]; do sleep 0.01; done; echo done >> effect; echo finished";

fn call() -> Reply {
    Reply::call("terminal", &json!({"command": COMMAND})).saying("Let me do that.")
}

fn answer() -> Reply {
    Reply::text("All of it is done.").pieces(6)
}

/// The same conversation, left alone.
fn undisturbed(replies: Vec<Reply>) -> (Stage, ModelServer, super::stage::Run) {
    let (stage, server) = (Stage::new(), ModelServer::start(replies));
    std::fs::write(stage.path("go"), "").unwrap();
    let run = stage.ask(&server.base_url(), &["--yolo", "-q", "do it"]);
    assert_eq!((run.exit, run.out.as_str()), (0, "All of it is done.\n"), "{run:?}");
    server.verify();
    (stage, server, run)
}

#[test]
fn while_the_model_streams() {
    let (stage, gate) = (Stage::new(), Gate::closed());
    let server = ModelServer::start([answer().gate_after(4, &gate), answer()]);
    let url = server.base_url();
    let mut herm = stage.start(&chat(&url, &["--yolo", "--json", "-q", "do it"]));
    herm.until("\"text\"");
    herm.kill();
    server.wait_for_hangups(1);
    let run = stage.resume(&url);
    assert_eq!(run.exit, 0, "{run:?}");
    assert!(run.out.contains("All of it is done."), "{run:?}");
    let (calm, calm_server, _) = undisturbed(vec![answer()]);
    assert_eq!(story(&stage), story(&calm));
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body, "the second attempt is not the first");
    assert_eq!(conversations(&server, &stage)[0], conversations(&calm_server, &calm)[0]);
    let crashed = |e: &Event| matches!(e, Event::ModelCallAborted(a) if a.reason == AbortReason::Crashed);
    assert_eq!(count(&stage, crashed), 1);
    server.verify();
}

/// Starts a herm, and kills it while its command waits for `go`.
fn killed_in_the_tool(stage: &Stage, server: &ModelServer) {
    let url = server.base_url();
    let herm = stage.start(&chat(&url, &["--yolo", "-q", "do it"]));
    await_that("the command", || stage.file("begun") == "x\n");
    herm.kill();
}

fn compare_with_undisturbed(stage: &Stage, server: &ModelServer) {
    let (calm, calm_server, _) = undisturbed(vec![call(), answer()]);
    assert_eq!(story(stage), story(&calm));
    assert_eq!(conversations(server, stage), conversations(&calm_server, &calm));
    assert_eq!((stage.file("begun").as_str(), stage.file("effect").as_str()), ("x\n", "done\n"));
    assert_eq!((calm.file("begun").as_str(), calm.file("effect").as_str()), ("x\n", "done\n"));
    server.verify();
}

#[test]
fn while_a_tool_runs_that_ends_before_the_restart() {
    let (stage, server) = (Stage::new(), ModelServer::start([call(), answer()]));
    killed_in_the_tool(&stage, &server);
    std::fs::write(stage.path("go"), "").unwrap();
    let ended = || files(&stage.home().join("spool")).iter().any(|path| path.ends_with("status"));
    await_that("the end of the command", ended);
    let run = stage.resume(&server.base_url());
    assert!(run.exit == 0 && run.out.contains("All of it is done."), "{run:?}");
    assert_eq!(outcomes(&stage), [(ToolStatus::Succeeded, true)]);
    compare_with_undisturbed(&stage, &server);
}

#[test]
fn while_a_tool_runs_that_goes_on_after_the_restart() {
    let (stage, server) = (Stage::new(), ModelServer::start([call(), answer()]));
    killed_in_the_tool(&stage, &server);
    let (url, id) = (server.base_url(), stage.session().unwrap().to_string());
    let mut herm = stage.start(&chat(&url, &["--yolo", "--resume", &id]));
    herm.until("going on where it stopped");
    std::fs::write(stage.path("go"), "").unwrap();
    let run = herm.end();
    assert!(run.exit == 0 && run.out.contains("All of it is done."), "{run:?}");
    assert_eq!(outcomes(&stage), [(ToolStatus::Succeeded, true)]);
    compare_with_undisturbed(&stage, &server);
}

#[test]
fn while_a_tool_runs_that_is_killed_too() {
    let (stage, server) = (Stage::new(), ModelServer::start([call(), answer()]));
    killed_in_the_tool(&stage, &server);
    kill_group(supervisor(&stage));
    std::fs::write(stage.path("go"), "").unwrap();
    let run = stage.resume(&server.base_url());
    assert!(run.exit == 0 && run.out.contains("All of it is done."), "{run:?}");
    assert!(run.out.contains("unknown"), "the person is not told: {run:?}");
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallInDoubt(_))), 1);
    assert_eq!((stage.file("begun").as_str(), stage.file("effect").as_str()), ("x\n", ""));
    let last = server.requests()[1].last_text().to_owned();
    assert!(last.contains("unknown"), "the model is not told: {last}");
    server.verify();
}

#[test]
fn between_the_answer_and_the_start_of_its_second_tool() {
    let second = json!({"command": "echo second >> second"}).to_string();
    let first = json!({"command": COMMAND}).to_string();
    let calls = || Reply::calls(&[("a", "terminal", &first), ("b", "terminal", &second)]);
    let (stage, server) = (Stage::new(), ModelServer::start([calls(), answer()]));
    killed_in_the_tool(&stage, &server);
    assert_eq!(count(&stage, |event| matches!(event, Event::ToolCallStarted(_))), 1);
    std::fs::write(stage.path("go"), "").unwrap();
    let run = stage.resume(&server.base_url());
    assert!(run.exit == 0 && run.out.contains("All of it is done."), "{run:?}");
    assert_eq!(stage.file("second"), "second\n");
    let (calm, calm_server, _) = undisturbed(vec![calls(), answer()]);
    assert_eq!(story(&stage), story(&calm));
    assert_eq!(conversations(&server, &stage), conversations(&calm_server, &calm));
    server.verify();
}

#[test]
fn between_the_result_of_a_tool_and_the_next_answer() {
    let (stage, gate) = (Stage::new(), Gate::closed());
    std::fs::write(stage.path("go"), "").unwrap();
    let server = ModelServer::start([call(), answer().held_by(&gate), answer()]);
    let url = server.base_url();
    let herm = stage.start(&chat(&url, &["--yolo", "-q", "do it"]));
    server.wait_for_requests(2);
    herm.kill();
    let run = stage.resume(&url);
    assert!(run.exit == 0 && run.out.contains("All of it is done."), "{run:?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].body, requests[2].body, "the second attempt is not the first");
    let (calm, calm_server, _) = undisturbed(vec![call(), answer()]);
    assert_eq!(story(&stage), story(&calm));
    assert_eq!(conversations(&server, &stage)[..2], conversations(&calm_server, &calm));
    assert_eq!((stage.file("begun").as_str(), stage.file("effect").as_str()), ("x\n", "done\n"));
    server.verify();
}

#[test]
fn while_the_answer_is_printed() {
    // More than a pipe holds, so that it is certainly in the middle of printing.
    let long = "All of it is done, at length. ".repeat(20_000);
    let reply = || Reply::text(&long).pieces(50);
    let (stage, server) = (Stage::new(), ModelServer::start([reply()]));
    let url = server.base_url();
    let mut herm = stage.start(&chat(&url, &["--yolo", "-q", "do it"]));
    herm.read_some(100);
    let printed = herm.kill();
    assert!(printed.len() < long.len());
    assert_eq!(count(&stage, |event| matches!(event, Event::DeliveryConfirmed(_))), 0);
    let run = stage.resume(&url);
    assert_eq!(run.exit, 0);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&run.out).contains(long.trim()), "the answer is not whole");
    assert!(run.out.contains("you may have seen this answer before"));
    assert_eq!(server.requests().len(), 1, "the model was asked again");
    let calm = Stage::new();
    let calm_server = ModelServer::start([reply()]);
    assert_eq!(calm.ask(&calm_server.base_url(), &["--yolo", "-q", "do it"]).exit, 0);
    assert_eq!(story(&stage), story(&calm));
}

#[test]
fn just_after_the_answer_was_printed() {
    let (stage, server) = (Stage::new(), ModelServer::start([answer()]));
    let url = server.base_url();
    let mut herm = stage.start(&chat(&url, &["--yolo", "--json", "-q", "do it"]));
    let line = herm.until("turn_ended");
    herm.kill();
    assert!(line.contains("All of it is done."));
    let run = stage.resume(&url);
    assert_eq!(run.exit, 0, "{run:?}");
    let (calm, _, _) = undisturbed(vec![answer()]);
    assert_eq!(story(&stage), story(&calm));
    assert_eq!(server.requests().len(), 1, "the model was asked again");
    // Another message finds the session in order.
    server.push(Reply::text("Again."));
    let id = stage.session().unwrap().to_string();
    let next = stage.ask(&url, &["-q", "and now?", "--resume", &id]);
    assert_eq!((next.exit, next.out.as_str()), (0, "Again.\n"), "{next:?}");
    server.verify();
}
