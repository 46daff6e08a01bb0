//! `herm tools`: what is listed, and what enabling and disabling does to the file and to the offer.

use serde_json::{Value, json};

use crate::stage::{Run, Stage};
use crate::support::{ModelServer, Reply};

fn listed(stage: &Stage, platform: &str) -> Vec<Value> {
    let run = stage.run(&["tools", "list", "--platform", platform, "--json"]);
    assert_eq!(run.exit, 0, "{run:?}");
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn offered(stage: &Stage, platform: &str, tool: &str) -> (bool, String) {
    let row = listed(stage, platform).into_iter().find(|row| row["tool"] == tool).unwrap();
    (row["offered"].as_bool().unwrap(), row["reason"].as_str().unwrap_or_default().to_owned())
}

fn config(stage: &Stage) -> String {
    std::fs::read_to_string(stage.home().join("config.yaml")).unwrap()
}

#[track_caller]
fn does(stage: &Stage, arguments: &[&str]) -> Run {
    let run = stage.run(arguments);
    assert_eq!(run.exit, 0, "{run:?}");
    run
}

/// Names of the tools that a conversation in a terminal is really offered.
fn sent(stage: &Stage) -> Vec<String> {
    let server = ModelServer::computed(|_| Reply::text("Hello."));
    let run = stage.ask(&server.base_url(), &["-q", "hello"]);
    assert_eq!(run.exit, 0, "{run:?}");
    let tools = server.requests()[0].json["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_list_says_what_is_missing() {
    let stage = Stage::new();
    assert_eq!(offered(&stage, "cli", "terminal"), (true, String::new()));
    let (is, why) = offered(&stage, "cli", "web_search");
    assert!(
        !is && why.contains("BRAVE_SEARCH_API_KEY") && why.contains("herm config set web.backend ddgs"),
        "{why}"
    );
    let (is, why) = offered(&stage, "webhook", "terminal");
    assert!(!is && why.contains("not among the toolsets"), "{why}");
    let run = does(&stage, &["tools", "list"]);
    assert!(run.out.contains("  + terminal\n") && run.out.contains("  - image_generate"), "{run:?}");
}

#[test]
fn disabling_and_enabling_everywhere() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    std::fs::write(stage.home().join("config.yaml"), "# mine\nagent:\n  max_turns: 7   # few\n").unwrap();
    does(&stage, &["tools", "disable", "terminal"]);
    does(&stage, &["tools", "disable", "todo"]);
    assert_eq!(
        config(&stage),
        "# mine\nagent:\n  max_turns: 7   # few\n  disabled_toolsets: [terminal, todo]\n"
    );
    for platform in ["cli", "telegram"] {
        assert!(!offered(&stage, platform, "terminal").0);
    }
    let names = sent(&stage);
    assert!(!names.contains(&"terminal".to_owned()) && !names.contains(&"todo".to_owned()), "{names:?}");
    does(&stage, &["tools", "enable", "terminal"]);
    assert!(offered(&stage, "cli", "terminal").0 && !offered(&stage, "cli", "todo").0);
    assert!(sent(&stage).contains(&"terminal".to_owned()));
}

#[test]
fn disabling_and_enabling_on_one_platform() {
    let stage = Stage::new();
    does(&stage, &["tools", "disable", "terminal", "--platform", "telegram"]);
    assert!(!offered(&stage, "telegram", "terminal").0 && offered(&stage, "cli", "terminal").0);
    does(&stage, &["tools", "enable", "terminal", "--platform", "telegram"]);
    assert!(offered(&stage, "telegram", "terminal").0);
    does(&stage, &["tools", "enable", "todo", "--platform", "webhook"]);
    assert!(offered(&stage, "webhook", "todo").0 && offered(&stage, "webhook", "clarify").0);
    assert!(!offered(&stage, "webhook", "terminal").0);
    does(&stage, &["tools", "disable", "hermes-discord"]);
    assert!(offered(&stage, "discord", "terminal").0, "a bundle takes no core tool away");
}

#[test]
fn toolsets_of_ones_own_are_used() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    let text = "toolsets:\n  mine: {description: Mine, tools: [todo], includes: [yours]}\n  yours: {includes: [mine, file]}\nplatform_toolsets: {cli: [mine]}\n";
    std::fs::write(stage.home().join("config.yaml"), text).unwrap();
    assert_eq!(sent(&stage), ["patch", "read_file", "search_files", "todo", "write_file"]);
    let rows = listed(&stage, "cli");
    let mine = rows.iter().find(|row| row["toolset"] == "mine").unwrap();
    assert_eq!(mine["source"], "configuration");
    assert_eq!(mine["tools"], json!(["patch", "read_file", "search_files", "todo", "write_file"]));
}

#[test]
fn what_there_is_not_is_answered_with_the_nearest() {
    let stage = Stage::new();
    for (arguments, told) in [
        (vec!["tools", "disable", "termnal"], "did you mean `terminal`?"),
        (vec!["tools", "enable", "web", "--platform", "telegrm"], "did you mean `telegram`?"),
        (vec!["tools", "list", "--platform", "webhok"], "did you mean `webhook`?"),
    ] {
        let run = stage.run(&arguments);
        assert!(run.exit != 0 && run.err.contains(told), "{run:?}");
    }
    std::fs::create_dir_all(stage.home()).unwrap();
    std::fs::write(stage.home().join("config.yaml"), "platform_toolsets: {cli: [webb]}\n").unwrap();
    let run = stage.run(&["tools", "list"]);
    assert!(run.exit != 0 && run.err.contains("`platform_toolsets.cli` names `webb`"), "{run:?}");
}
