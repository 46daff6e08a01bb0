use clap::Parser;

use super::*;
use crate::config::Home;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    model: Model,
}

/// Output that a test can read.
#[derive(Clone, Default)]
struct Page(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn model(start: &Start, words: &[&str]) -> (Result<Exit, Failure>, String) {
    let line = Line::parse_from(std::iter::once("model").chain(words.iter().copied()));
    let page = Page::default();
    let mut out = Out::to(page.clone());
    let exit = run(&line.model, start, &mut out);
    drop(out);
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    (exit, text)
}

fn home(config: &str) -> (tempfile::TempDir, Start) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.yaml"), config).unwrap();
    std::fs::write(folder.path().join(".env"), "GROQ_API_KEY=gk-1234567890\n").unwrap();
    let start = Start { home: Home::at(folder.path()) };
    (folder, start)
}

#[test]
fn the_list_tells_models_prices_and_keys() {
    let (_folder, start) = home("");
    let (_, all) = model(&start, &["list"]);
    assert!(
        all.contains("groq (Groq), chat_completions: 1 key\n  openai/gpt-oss-120b (usual): 131 k tokens"),
        "{all}"
    );
    assert!(all.contains("ollama (Ollama), chat_completions: on this machine"));
    let (_, json) = model(&start, &["list", "--provider", "claude", "--json"]);
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["provider"], &first["dialect"]), (&"anthropic".into(), &"anthropic_messages".into()));
    assert!(model(&start, &["list", "--provider", "nobody"]).0.is_err());
}

#[test]
fn a_pick_is_written_down_and_nothing_else_moves() {
    let (folder, start) = home("# mine\nagent:\n  max_turns: 9\n");
    let (exit, _) = model(&start, &["pick", "llama-3.1-8b-instant", "--provider", "Groq"]);
    assert_eq!(exit.unwrap(), Exit::Ok);
    let text = std::fs::read_to_string(folder.path().join("config.yaml")).unwrap();
    assert!(text.starts_with("# mine\nagent:\n  max_turns: 9\n"), "{text}");
    assert!(text.contains("provider: groq") && text.contains("default: llama-3.1-8b-instant"), "{text}");
    model(&start, &["pick", "claude-sonnet-4-6"]).0.unwrap();
    let text = std::fs::read_to_string(folder.path().join("config.yaml")).unwrap();
    assert!(text.contains("provider: anthropic"), "{text}");
}

#[test]
fn a_pick_of_another_provider_leaves_the_old_address() {
    let (folder, start) = home("model:\n  base_url: http://127.0.0.1:9/v1\n  default: m\n");
    model(&start, &["pick", "x", "--provider", "groq"]).0.unwrap();
    let text = std::fs::read_to_string(folder.path().join("config.yaml")).unwrap();
    assert!(!text.contains("127.0.0.1") && text.contains("provider: groq"), "{text}");
}

#[test]
fn a_test_says_what_came_of_it() {
    let (_folder, start) = home("");
    let (exit, told) = model(&start, &["test", "--provider", "offline", "--json"]);
    assert_eq!(exit.unwrap(), Exit::Ok);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["answered"], &told["cost_usd"]), (&true.into(), &serde_json::Value::Null));
    let (_folder, start) = home("model: {base_url: 'http://127.0.0.1:1/v1', default: m}\n");
    let (exit, told) = model(&start, &["test"]);
    assert_eq!(exit.unwrap(), Exit::ModelFailed);
    assert!(told.contains("failure:   Timeout") && told.contains("connection refused"), "{told}");
}

#[test]
fn a_list_that_cannot_be_fetched_is_said_and_keeps_the_old_one() {
    let (_folder, start) = home("providers: {groq: {base_url: 'http://127.0.0.1:1/v1'}}\n");
    let (exit, told) = model(&start, &["refresh", "groq"]);
    assert_eq!(exit.unwrap(), Exit::Failed);
    assert!(told.contains("groq: not fetched: connection refused"), "{told}");
    let (exit, told) = model(&start, &["refresh", "cohere"]);
    assert_eq!(exit.unwrap(), Exit::Failed);
    assert!(told.contains("does not list"), "{told}");
}
