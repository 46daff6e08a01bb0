//! `vision_analyze` asks a model besides the conversation, and the log says so.

use herm_schema::Event;
use herm_schema::events::{AuxiliaryOutcome, AuxiliaryTask};
use serde_json::json;

use crate::stage::{Stage, chat};
use crate::support::{ModelServer, Reply};

/// A picture of one pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 0x0a, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63,
    0x68, 0, 0, 0, 0x82, 0, 0x81, 0x77, 0xcd, 0x72, 0xb6, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42,
    0x60, 0x82,
];

#[test]
fn an_image_is_shown_to_a_model_that_sees() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    std::fs::write(stage.path("a.png"), PIXEL).unwrap();
    let server = ModelServer::computed(|request| {
        if request.json["model"] == "seer" {
            let parts = request.json["messages"][1]["content"].as_array().cloned().unwrap_or_default();
            let shown = parts.iter().any(|part| part["type"] == "image_url");
            return Reply::text(if shown { "A black stone." } else { "I see nothing." });
        }
        match request.json["messages"].as_array().unwrap().last().unwrap()["role"] == "tool" {
            true => Reply::text("It is a stone."),
            false => Reply::call("vision_analyze", &json!({"image_url": "a.png", "question": "What is it?"})),
        }
    });
    // The model of the conversation is not known to see; the one of the task is said to.
    let models = format!(
        "providers:\n  eyes:\n    base_url: {}\n    dialect: chat_completions\n    key_variables: [EYES_KEY]\n    models:\n      - name: seer\n        images: true\nauxiliary: {{vision: {{provider: eyes, model: seer}}}}\nsessions: {{titles: false}}\n",
        server.base_url()
    );
    std::fs::write(stage.home().join("config.yaml"), models).unwrap();
    let mut command = stage.command(&chat(&server.base_url(), &["-q", "look at a.png"]));
    command.env("EYES_KEY", "a-key-of-the-eyes");
    let run = Stage::finish(command);
    assert_eq!(run.exit, 0, "{run:?}");
    let requests = server.requests();
    let last = requests.last().unwrap();
    assert!(last.last_text().contains("A black stone."), "{}", last.last_text());
    let auxiliary: Vec<AuxiliaryTask> = stage
        .events()
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::AuxiliaryCallStarted(event) => Some(event.task),
            _ => None,
        })
        .collect();
    assert_eq!(auxiliary, [AuxiliaryTask::Vision]);
}

#[test]
fn an_interrupt_ends_the_call_of_the_one_who_sees() {
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    std::fs::write(stage.path("a.png"), PIXEL).unwrap();
    let server = ModelServer::computed(|request| match request.json["tools"].is_array() {
        true => Reply::call("vision_analyze", &json!({"image_url": "a.png", "question": "What is it?"})),
        false => Reply::silence(),
    });
    let vendor = json!({"own": {"base_url": server.base_url(), "dialect": "chat_completions", "auth": "none",
        "model": "eye", "models": [{"name": "eye", "images": true}]}});
    std::fs::write(stage.home().join("config.yaml"), format!("providers: {vendor}\n")).unwrap();
    let running = stage.start(&["chat", "--provider", "own", "-q", "look at a.png"]);
    server.wait_for_requests(2);
    running.signal(rustix::process::Signal::INT);
    server.wait_for_hangups(1);
    let run = running.end();
    assert_eq!(run.exit, 130, "{run:?}");
    let outcomes: Vec<AuxiliaryOutcome> = stage
        .events()
        .into_iter()
        .filter_map(|recorded| match recorded.event {
            Event::AuxiliaryCallFinished(event) => Some(event.outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [AuxiliaryOutcome::Cancelled]);
    assert_eq!(server.requests().len(), 2, "nobody else is asked");
}
