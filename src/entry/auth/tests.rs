use clap::Parser;

use super::*;
use crate::config::Home;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    auth: Auth,
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

fn auth(start: &Start, words: &[&str]) -> Result<String, Failure> {
    let line = Line::parse_from(std::iter::once("auth").chain(words.iter().copied()));
    let page = Page::default();
    let mut out = Out::to(page.clone());
    run(&line.auth, start, &mut out)?;
    drop(out);
    Ok(String::from_utf8(page.0.lock().unwrap().clone()).unwrap())
}

fn home() -> (tempfile::TempDir, Start) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join(".env"),
        "OTHER_NAME=sk-from-env-123456\nMISTRAL_API_KEY=mk-1234567890\n",
    )
    .unwrap();
    let start = Start { home: Home::at(folder.path()) };
    (folder, start)
}

#[test]
fn keys_are_added_listed_and_removed_by_fingerprint() {
    let (folder, start) = home();
    let added = auth(&start, &["add", "openai-api", "--from-env", "OTHER_NAME", "--label", "work"]).unwrap();
    let fingerprint = crate::config::Secret::new("sk-from-env-123456").fingerprint();
    assert_eq!(added, format!("added {fingerprint} of openai: a key in auth.json\n"));
    assert!(auth(&start, &["add", "openai", "--from-env", "OTHER_NAME"]).unwrap().starts_with("has already"));
    auth(&start, &["add", "groq", "--command", "op read x"]).unwrap();
    auth(&start, &["add", "groq", "--keyring", "herm/groq"]).unwrap();
    let listed = auth(&start, &["list"]).unwrap();
    assert_eq!(listed.lines().count(), 3);
    assert!(listed.contains(&format!("openai {fingerprint} `work`: a key in auth.json")), "{listed}");
    assert!(!listed.contains("123456"));
    let json = auth(&start, &["list", "groq", "--json"]).unwrap();
    assert!(json.contains(r#""kind":"command""#) && json.contains(r#""kind":"keyring""#), "{json}");
    let kept = std::fs::read_to_string(folder.path().join("auth.json")).unwrap();
    assert!(kept.contains("op read x"), "a command is kept as such");
    assert!(auth(&start, &["remove", "openai", "key-00000000"]).is_err());
    assert!(auth(&start, &["remove", "openai", "work"]).unwrap().contains(&fingerprint));
    assert_eq!(auth(&start, &["list", "openai"]).unwrap(), "");
    assert_eq!(auth(&start, &["remove", "groq", "--all"]).unwrap().lines().count(), 2);
}

#[test]
fn the_status_shows_keys_of_variables_and_of_the_file() {
    let (_folder, start) = home();
    auth(&start, &["add", "mistral", "--command", "echo x"]).unwrap();
    let status = auth(&start, &["status", "mistral"]).unwrap();
    assert_eq!(status.lines().count(), 2, "{status}");
    assert!(
        status.contains("MISTRAL_API_KEY; ready") && status.contains("the command `echo x`; ready"),
        "{status}"
    );
    assert!(!status.contains("1234567890"));
}

#[test]
fn what_is_no_key_is_refused_without_being_repeated() {
    let (_folder, start) = home();
    let told = |words: &[&str]| auth(&start, words).unwrap_err().error.to_string();
    assert!(told(&["add", "nobody", "--command", "x"]).contains("nobody"));
    assert!(told(&["add", "openai", "--from-env", "UNSET_NAME"]).contains("UNSET_NAME"));
    assert!(told(&["add", "openai", "--keyring", "nothing"]).contains("SERVICE/USER"));
    assert!(told(&["add", "openai", "--command", " "]).contains("empty"));
}

#[test]
fn tokens_come_as_a_server_gives_them() {
    let vendor = Catalogue::built_in().vendor("openai-codex").unwrap().unwrap();
    let read = |text: &str| add::tokens(text, &vendor);
    let tokens = read(r#"{"access_token":"a","refresh_token":"r","expires_in":60}"#).unwrap();
    assert_eq!(tokens.token_url, "https://auth.openai.com/oauth/token");
    assert!(tokens.expires_at.unwrap() > 1_000_000_000);
    let tokens = read(r#"{"tokens":{"access_token":"a","refresh_token":"r"}}"#).unwrap();
    assert_eq!(tokens.expires_at, Some(0), "it is renewed before it is used");
    assert!(read("{\"access_token\":\"secret").unwrap_err().error.to_string().ends_with("no JSON"));
    assert!(read(r#"{"access_token":"a"}"#).unwrap_err().error.to_string().contains("refresh_token"));
}

#[test]
fn a_reset_of_a_vendor_is_said() {
    let (_folder, start) = home();
    assert_eq!(auth(&start, &["reset", "codex"]).unwrap(), "every key of openai-codex may be used again\n");
}
