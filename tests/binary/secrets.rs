//! Keys that become known only while herm runs, said back by a server that should not have.

use herm::config::Secret;
use herm_schema::events::CredentialRefreshed;
use herm_schema::{Event, Micros};
use serde_json::{Value, json};

use super::stage::{Run, Stage, files};
use crate::support::{ModelServer, Recorded, Reply};

/// Keeps one credential for addresses that are given on the command line.
fn keep(stage: &Stage, mut held: Value) {
    held["provider"] = json!("custom");
    held["id"] = json!("1");
    std::fs::create_dir_all(stage.home()).unwrap();
    let content = json!({"version": 1, "entries": [held]});
    std::fs::write(stage.home().join("auth.json"), content.to_string()).unwrap();
}

/// The key of a request, without the word before it that would give it away by its shape.
fn key(request: &Recorded) -> &str {
    request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or("no key")
}

fn echo(request: &Recorded) -> Reply {
    let text = format!("your key is {}, is it not", key(request));
    Reply::text(&text).reasoning(&text)
}

/// The secret was sent, and is in no event, no file of the log and nothing that was printed.
#[track_caller]
fn is_kept(stage: &Stage, server: &ModelServer, run: &Run, secret: &str) {
    assert!(server.requests().iter().any(|request| key(request) == secret), "{run:?}");
    assert!(run.out.contains("your key is «redacted», is it not"), "{run:?}");
    assert!(!run.out.contains(secret) && !run.err.contains(secret), "{run:?}");
    let events = format!("{:?}", stage.events());
    assert!(events.contains("your key is «redacted»") && !events.contains(secret));
    for path in files(&stage.home()) {
        let bytes = std::fs::read(&path).unwrap();
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found || path.ends_with("auth.json"), "{}", path.display());
    }
}

#[test]
fn a_fetched_key_that_a_server_repeats_does_not_reach_the_log() {
    let stage = Stage::new();
    keep(&stage, json!({"kind": "command", "command": "printf fetched-%s key-12345678"}));
    let server = ModelServer::computed(echo);
    let run = stage.ask(&server.base_url(), &["-q", "hello"]);
    assert_eq!(run.exit, 0, "{run:?}");
    is_kept(&stage, &server, &run, "fetched-key-12345678");
}

#[test]
fn a_renewed_token_is_recorded_by_its_fingerprint_and_does_not_reach_the_log() {
    let stage = Stage::new();
    let renewed =
        r#"{"access_token":"new-access-12345678","refresh_token":"new-refresh-12345678","expires_in":3600}"#;
    let server = ModelServer::computed(|request| match request.path.as_str() {
        "/v1/token" => Reply::raw(&[renewed.as_bytes()]),
        _ => echo(request),
    });
    keep(
        &stage,
        json!({"kind": "oauth", "access": "old-access-12345678", "refresh": "old-refresh-12345678",
            "expires_at": 1, "token_url": format!("{}/token", server.base_url()), "client_id": "c"}),
    );
    for _ in 0..2 {
        let run = stage.ask(&server.base_url(), &["-q", "hello"]);
        assert_eq!(run.exit, 0, "{run:?}");
        is_kept(&stage, &server, &run, "new-access-12345678");
    }
    let refreshed: Vec<CredentialRefreshed> = stage
        .events()
        .into_iter()
        .filter_map(|recorded| match recorded.event {
            Event::CredentialRefreshed(event) => Some(event),
            _ => None,
        })
        .collect();
    let [event] = refreshed.as_slice() else { panic!("{refreshed:?}") };
    let fingerprint = |text: &str| Secret::new(text).fingerprint();
    assert_eq!(event.provider, "custom");
    assert_eq!(
        (&event.before, &event.now),
        (&fingerprint("old-refresh-12345678"), &fingerprint("new-refresh-12345678"))
    );
    assert!(event.expires_at.is_some_and(|at| at > Micros(1_700_000_000_000_000)), "{event:?}");
}
