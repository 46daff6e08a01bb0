//! For every prefix of every generated log, and every wire format: what would be sent is acceptable.

use herm::providers::dialects::build;
use herm::providers::{LoadedMessage, LoadedRequest, ToolDefinition};
use herm_replay::log::{Log, MemoryLog};
use herm_replay::reducer::request::{Message, Part, Request};
use herm_replay::reducer::{SessionState, evolve, transcript};
use herm_schema::StreamPos;
use herm_schema::events::{ModelChoice, ModelPurpose};
use serde_json::{Value, json};

use super::scripted::{START, Scripted};
use super::support::Wire;
use super::{check, model};

const LOGS: u64 = 60;
const MESSAGES: usize = 6;
const STEPS: usize = 60;

fn texts(log: &MemoryLog, parts: Vec<Part>) -> String {
    let text = |part| match part {
        Part::Inline(text) => text,
        Part::Stored(blob) => String::from_utf8(log.blob(blob).unwrap()).unwrap(),
        Part::Image { .. } => panic!("nothing here has images"),
    };
    parts.into_iter().map(text).collect()
}

fn loaded(log: &MemoryLog, request: Request, wire: Wire) -> LoadedRequest {
    let message = |message| match message {
        Message::User { parts } => LoadedMessage::user(texts(log, parts)),
        Message::Assistant { text, calls, extras } => LoadedMessage::Assistant { text, calls, extras },
        Message::Tool { id, name, parts } => LoadedMessage::tool(id, name, texts(log, parts)),
    };
    let tool = |name: &str| ToolDefinition {
        name: name.into(),
        description: "does".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    LoadedRequest {
        choice: ModelChoice::new("vendor", model(wire), wire.name()),
        system: Some("You are herm.".into()),
        tools: ["read_file", "write_file", "terminal"].map(tool).to_vec(),
        messages: request.messages.into_iter().map(message).collect(),
        output_tokens_max: 500,
        options: request.options,
    }
}

#[test]
fn every_prefix_of_every_log_becomes_a_request_that_passes_the_strict_reading() {
    let mut checked = 0;
    for seed in 0..LOGS {
        let log = MemoryLog::new();
        let mut session = Scripted::open(&log, seed, START);
        for _ in 0..MESSAGES {
            session.receive("what is in notes.md?");
            session.run(STEPS);
        }
        let mut state = SessionState::default();
        for recorded in log.read_stream(session.id.stream(), StreamPos(0)) {
            evolve(&mut state, &recorded.unwrap());
            let request = transcript::request(&state, ModelPurpose::Turn, 0);
            // Nothing is ever sent before somebody has spoken.
            if request.messages.is_empty() {
                continue;
            }
            for wire in Wire::ALL {
                let dialect = build(wire.name(), &Value::Null).unwrap();
                let sent = dialect.encode(&loaded(&log, request.clone(), wire));
                if let Err(why) = check(wire, &sent) {
                    let body = String::from_utf8_lossy(&sent.body);
                    panic!("seed {seed}, event {}, {wire:?}: {why}\n{body}", state.head.stream_pos);
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 10_000, "only {checked} requests were checked");
}
