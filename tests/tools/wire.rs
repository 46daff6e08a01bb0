//! What the default set costs: the bytes of a "hello" as they really go over the wire.

use crate::stage::{Run, Stage, chat};
use crate::support::{ModelServer, Reply};

/// The reference sends 46.6 KB.
const HELLO_BYTES_MAX: usize = 12 << 10;

/// Everything that may be set so that a tool is offered.
const KEYS: &[(&str, &str)] = &[
    ("BRAVE_SEARCH_API_KEY", "a-key-of-brave-1234"),
    ("FAL_KEY", "a-key-of-fal-1234"),
    ("ELEVENLABS_API_KEY", "a-key-of-elevenlabs-1234"),
];

fn hello(mode: &str) -> (Run, usize, String) {
    let stage = Stage::new();
    let server = ModelServer::computed(|_| Reply::text("Hello."));
    let mut command = stage.command(&chat(&server.base_url(), &["-q", "hello"]));
    command.env("HERM_API_MODE", mode).env("HERM_SESSION_TITLES", "false").envs(KEYS.iter().copied());
    let run = Stage::finish(command);
    let requests = server.requests();
    let body = requests[0].body.clone();
    (run, body.len(), body)
}

#[test]
fn hello_costs_little_in_either_wire_format() {
    for mode in ["chat_completions", "anthropic_messages"] {
        let (run, bytes, body) = hello(mode);
        assert_eq!(run.exit, 0, "{mode}: {run:?}");
        println!("{mode}: {bytes} bytes");
        assert!(bytes <= HELLO_BYTES_MAX, "{mode}: {bytes} bytes");
        for tool in
            ["terminal", "web_search", "web_extract", "vision_analyze", "image_generate", "text_to_speech"]
        {
            assert!(body.contains(&format!("\"{tool}\"")), "{mode}: {tool} is not offered");
        }
    }
}
