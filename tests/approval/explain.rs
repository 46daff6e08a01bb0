//! `herm explain command`, the real binary in a home that is not there.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use herm::runtime::grants::Grants;
use herm_replay::log::segments::Options;
use herm_replay::log::{Log, SegmentLog};
use herm_schema::events::ApprovalGranted;
use herm_schema::{Micros, StreamId, StreamKind};
use serde_json::Value;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_herm"))
            .args(["explain", "command"])
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", "/home/alice")
            .env("HERM_HOME", self.folder.path().join("no/home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that does not read may be gone before it is written to.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn json(&self, arguments: &[&str], stdin: &str) -> Value {
        let output = self.run(&[&["--json"], arguments].concat(), stdin);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn verdict_rule_step_and_commands_are_told() {
    let place = Place::new();
    let blocked = place.json(&["--", "sudo rm -rf /"], "");
    assert_eq!(blocked["verdict"], "block");
    assert_eq!((&blocked["rule"], &blocked["step"]), (&"delete-root".into(), &"hard-line".into()));
    assert_eq!(blocked["outcome"], "blocked");
    assert_eq!(blocked["commands"], serde_json::json!(["sudo rm -rf /", "rm -rf /"]));

    let asked = place.json(&["--", "git push -f origin main"], "");
    assert_eq!((&asked["verdict"], &asked["outcome"]), (&"ask".into(), &"asks".into()));
    assert_eq!((&asked["rule"], &asked["step"]), (&"git-force-push".into(), &"dangerous".into()));
    assert_eq!((&asked["pattern"], &asked["target"]), (&"git push --force".into(), &"origin main".into()));

    let allowed = place.json(&["--", "ls -la"], "");
    assert_eq!((&allowed["verdict"], &allowed["outcome"]), (&"allow".into(), &"runs".into()));
    assert!(allowed["rule"].is_null());
    assert!(!place.folder.path().join("no").exists(), "nothing is written");
}

#[test]
fn the_scene_and_the_settings_decide_what_happens() {
    let place = Place::new();
    place.write("other.yaml", "approvals:\n  cron_mode: approve\n  deny: ['*docker *']\n");
    place.write("off.yaml", "approvals: {mode: off}\n");
    let reset = ["--", "git reset --hard"];
    let outcome = |arguments: &[&str]| {
        let told = place.json(&[arguments, &reset].concat(), "");
        (told["verdict"].as_str().unwrap().to_owned(), told["outcome"].as_str().unwrap().to_owned())
    };
    let is = |verdict: &str, outcome: &str| (verdict.to_owned(), outcome.to_owned());
    assert_eq!(outcome(&["--scene", "cron"]), is("ask", "denied"));
    assert_eq!(outcome(&["--scene", "single-query"]), is("ask", "denied"));
    assert_eq!(outcome(&["--scene", "gateway"]), is("ask", "asks"));
    assert_eq!(outcome(&["--scene", "cron", "--config", "other.yaml"]), is("ask", "runs"));
    assert_eq!(outcome(&["--config", "off.yaml"]), is("allow", "runs"));
    let denied = place.json(&["--config", "other.yaml", "--", "sudo docker ps"], "");
    assert_eq!((&denied["verdict"], &denied["step"]), (&"block".into(), &"deny-rule".into()));
    let floor = place.json(&["--config", "off.yaml", "--", "reboot"], "");
    assert_eq!(floor["verdict"], "block");
}

/// Records a lasting yes in the home, as an answer to a question does.
fn grant(home: &Path, pattern: &str, target: Option<&str>) {
    let log: Arc<dyn Log> = Arc::new(SegmentLog::open(Options::new(home.join("log"))).unwrap());
    let grants = Grants::new(log, StreamId::named(StreamKind::Profile, "default"));
    let granted = ApprovalGranted {
        tool: "terminal".into(),
        pattern: pattern.into(),
        target: target.map(str::to_owned),
        until: None,
        uses_max: None,
        origin: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(grants.grant(granted, Micros(1))).unwrap();
}

#[test]
fn what_is_allowed_for_good_runs_and_the_yes_is_named() {
    let place = Place::new();
    let home = place.folder.path().join("no/home");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.yaml"), "command_allowlist: ['git reset --hard']\n").unwrap();
    let push = ["--scene", "cron", "--", "git push -f origin main"];
    assert_eq!(place.json(&push, "")["outcome"], "denied");
    grant(&home, "git push --force", Some("origin main"));
    let told = place.json(&push, "");
    assert_eq!(
        (&told["verdict"], &told["step"], &told["outcome"]),
        (&"allow".into(), &"grant".into(), &"runs".into())
    );
    let named = told["grant"].as_str().unwrap();
    assert!(
        told["reason"]
            .as_str()
            .unwrap()
            .contains(&format!("{named}  terminal: git push --force on origin main"))
    );
    let text = String::from_utf8(place.run(&push, "").stdout).unwrap();
    assert!(text.starts_with("It runs.") && text.contains(named) && text.contains("step: grant"), "{text}");
    let other = place.json(&["--", "git push -f origin next"], "");
    assert_eq!((&other["verdict"], &other["grant"]), (&"ask".into(), &Value::Null));
    assert_eq!(place.json(&["--", "git reset --hard"], "")["step"], "allow-list");
    assert_eq!(place.json(&["--", "reboot"], "")["verdict"], "block");
}

#[test]
fn a_command_may_come_on_stdin_and_its_scripts_are_read() {
    let place = Place::new();
    place.write("wipe.sh", "#!/bin/sh\nrm -rf /\n");
    assert_eq!(place.json(&[], "ls\nreboot\n")["verdict"], "block");
    assert_eq!(place.json(&["--", "./wipe.sh"], "")["rule"], "delete-root");
    assert_eq!(place.json(&["--cwd", "/", "--", "./wipe.sh"], "")["verdict"], "allow");
    assert_eq!(place.json(&["--cwd", "/", "--", "rm -rf *"], "")["rule"], "delete-root");
}

#[test]
fn the_text_says_the_same_and_what_is_wrong_is_named() {
    let place = Place::new();
    let told = place.run(&["--", "git push -f"], "");
    let text = String::from_utf8(told.stdout).unwrap();
    for part in [
        "A person is asked",
        "git-force-push",
        "a lasting yes would cover: git push --force",
        "What would run:",
    ] {
        assert!(text.contains(part), "{text}");
    }
    for (arguments, stdin, error) in [
        (&["--config", "none.yaml", "--", "ls"][..], "", "none.yaml"),
        (&[], "", "no command line"),
        (&["--scene", "moon", "--", "ls"], "", "moon"),
    ] {
        let output = place.run(arguments, stdin);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(error), "{output:?}");
    }
    let escaped = place.run(&["--", "\u{1b}[31mrm -rf x"], "");
    assert!(!escaped.stdout.contains(&0x1b), "a terminal would obey it");
}
