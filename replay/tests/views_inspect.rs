//! The debugger and the exports over logs as the reducer leaves them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod views_support;

use std::sync::Arc;

use clap::Parser;
use herm_replay::inspect::cli::{self, Source, Verdict};
use herm_replay::inspect::{prompt, simulate, verify};
use herm_replay::log::{Log, MemoryLog};
use herm_replay::projections::Views;
use herm_replay::reducer::{SessionState, evolve};
use herm_schema::{Digest, Event, Recorded, SessionId, StreamPos};
use serde_json::{Value, json};
use views_support::{copy_blobs, generated, plain};

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: cli::Command,
}

fn source(log: Arc<MemoryLog>) -> Source {
    let views = Arc::new(Views::read_only(log.clone(), None));
    Source { log, views: Some(views) }
}

fn run(source: &Source, line: &str, json: bool) -> anyhow::Result<(Verdict, String)> {
    let words = std::iter::once("herm-replay").chain(line.split_whitespace());
    let mut out = Vec::new();
    let verdict = cli::run(Line::try_parse_from(words)?.command, source, json, &mut out)?;
    Ok((verdict, String::from_utf8(out)?))
}

fn lines(source: &Source, line: &str) -> Vec<Value> {
    let (_, out) = run(source, line, true).unwrap();
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sessions(log: &dyn Log) -> Vec<SessionId> {
    herm_replay::inspect::sessions(log).map(Result::unwrap).collect()
}

/// The log with one event changed; positions and chains are worked out again.
fn changed(log: &MemoryLog, change: impl Fn(&mut Event) -> bool) -> Arc<MemoryLog> {
    let mut events: Vec<Recorded> = log.events();
    assert!(events.iter_mut().any(|recorded| change(&mut recorded.event)), "nothing to change");
    let copy = Arc::new(MemoryLog::from_events(events));
    copy_blobs(log, &copy);
    copy
}

#[test]
fn a_sound_log_verifies_and_a_changed_request_is_named() {
    for seed in 40..44 {
        let log = generated(seed, 4, 40);
        let (verdict, out) = run(&source(log.clone()), "verify", false).unwrap();
        assert_eq!(verdict, Verdict::Same, "seed {seed}: {out}");
        assert!(out.contains("all as recorded"), "{out}");
        let wrong = changed(&log, |event| match event {
            Event::ModelCallStarted(started) => {
                started.request_digest = Digest::of(b"another request");
                true
            }
            _ => false,
        });
        let mut problems = Vec::new();
        let verified = verify::<()>(&*wrong, None, None, &mut |problem| {
            problems.push(problem);
            Ok(())
        });
        assert_eq!(verified.unwrap().problems, 1, "{problems:?}");
        assert_eq!(problems[0].what, "request");
        let (verdict, _) = run(&source(wrong), "verify", true).unwrap();
        assert_eq!(verdict, Verdict::Differs);
    }
}

#[test]
fn every_request_comes_out_as_the_model_saw_it() {
    let log = generated(50, 4, 40);
    let mut calls = 0;
    for session in sessions(&*log) {
        for recorded in log.read_stream(session.stream(), StreamPos(1)) {
            if let Event::ModelCallStarted(started) = recorded.unwrap().event {
                let found = prompt(&*log, session, started.call, Some(started.attempt)).unwrap();
                assert!(found.equal, "session {session} call {}", started.call);
                calls += 1;
            }
        }
    }
    assert!(calls > 20, "{calls}");
    let id = plain(&*log, 60, "what is in notes.md?", "a list");
    let source = source(log);
    let object = &lines(&source, &format!("prompt {id} --call 1"))[0];
    assert_eq!(object["equal"], true);
    let messages = &object["request"]["messages"];
    assert_eq!(messages[0], json!({ "role": "system", "content": "You are herm." }));
    assert_eq!(messages[1], json!({ "role": "user", "content": "what is in notes.md?" }));
    assert_eq!(object["request"]["tools"][0]["function"]["name"], "read_file");
    let (_, text) = run(&source, &format!("prompt {id} --call 1"), false).unwrap();
    assert!(text.contains("--- user\nwhat is in notes.md?") && text.contains("as recorded"), "{text}");
    let missing = run(&source, &format!("prompt {id} --call 9"), false).unwrap_err();
    assert!(missing.to_string().contains("no model call `9`"), "{missing}");
}

#[test]
fn today_decides_as_it_did_then() {
    let mut decisions = 0;
    for seed in 70..80 {
        let log = generated(seed, 4, 40);
        for session in sessions(&*log) {
            let (asked, found) = simulate(&*log, session).unwrap();
            decisions += asked;
            assert!(found.is_empty(), "seed {seed}: {:#?}", found.first());
        }
    }
    assert!(decisions > 2_000, "{decisions}");
}

#[test]
fn a_decision_that_comes_out_otherwise_is_listed() {
    let log = generated(81, 3, 40);
    let wrong = changed(&log, |event| match event {
        Event::ModelCallStarted(started) => {
            started.estimated_tokens += 1;
            true
        }
        _ => false,
    });
    let source = source(wrong);
    let found = lines(&source, "simulate");
    assert_eq!(found.last().unwrap()["differ"], 1);
    assert_eq!(
        (&found[0]["command"], &found[0]["recorded"]),
        (&json!("Advance"), &json!(["ModelCallStarted"]))
    );
    assert!(found[0]["detail"].as_str().unwrap().contains("estimated_tokens"), "{}", found[0]);
    assert_eq!(run(&source, "simulate", false).unwrap().0, Verdict::Differs);
}

#[test]
fn states_and_their_differences_are_those_of_the_fold() {
    let log = generated(90, 2, 30);
    let id = sessions(&*log)[0];
    let source = source(log.clone());
    let mut state = SessionState::default();
    for recorded in log.read_stream(id.stream(), StreamPos(1)).take(12) {
        let recorded = recorded.unwrap();
        let before = serde_json::to_value(&state).unwrap();
        evolve(&mut state, &recorded);
        let at = recorded.envelope.stream_pos.0;
        let shown = &lines(&source, &format!("state {id} --at {at}"))[0];
        assert_eq!(shown["digest"], state.digest().to_string());
        assert_eq!(shown["state"], serde_json::to_value(&state).unwrap());
        let found = lines(&source, &format!("diff {id} {} {at}", at - 1));
        let expected = herm_replay::inspect::differences(&before, &shown["state"]);
        let paths: Vec<_> = found.iter().map(|line| line["path"].as_str().unwrap().to_owned()).collect();
        assert_eq!(paths, expected.into_iter().map(|(path, ..)| path).collect::<Vec<_>>());
        assert!(paths.contains(&"head.stream_pos".to_owned()));
    }
    let beyond = run(&source, &format!("state {id} --at 99999"), false).unwrap_err();
    assert!(beyond.to_string().contains("no event `99999`"), "{beyond}");
}

#[test]
fn the_timeline_has_a_line_an_event_and_show_has_all_of_one() {
    let log = generated(95, 3, 30);
    let source = source(log.clone());
    let events = log.events();
    let (_, plain) = run(&source, "timeline", false).unwrap();
    assert_eq!(plain.lines().count(), events.len());
    assert!(plain.lines().all(|line| line.chars().count() < 200 && !line.contains('\u{1b}')));
    let objects = lines(&source, "timeline --event turnended --limit 2");
    assert_eq!(objects.len(), 2);
    assert!(objects.iter().all(|object| object["event"] == "TurnEnded"));
    let whole = &lines(&source, "show 3")[0];
    assert_eq!((&whole["position"], &whole["event"]), (&json!(3), &json!(events[2].event.name())));
    assert_eq!(whole["payload"], serde_json::to_value(&events[2].event).unwrap()[events[2].event.name()]);
    assert!(run(&source, "show 3", false).unwrap().1.contains("payload"));
    for (line, part) in [
        ("show 0", "no event at position"),
        ("show 999999", "no event at position"),
        ("timeline --event Nonsense", "no event `Nonsense`"),
        ("timeline --since yesterday", "neither a time"),
        ("timeline 1999", "no session begins"),
        ("timeline 2026", "could be 3 sessions"),
    ] {
        let error = run(&source, line, false).unwrap_err().to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
}

#[test]
fn exported_events_say_everything_that_is_in_the_log() {
    let log = generated(100, 3, 30);
    let source = source(log.clone());
    let exported = lines(&source, "export events --with-blobs");
    let events = log.events();
    assert_eq!(exported.len(), events.len());
    let mut blobs = 0;
    for (line, recorded) in exported.iter().zip(&events) {
        let name = line["event"].as_str().unwrap();
        let event: Event = serde_json::from_value(json!({ name: line["payload"].clone() })).unwrap();
        assert_eq!(event, recorded.event);
        assert_eq!(line["chain"], recorded.envelope.chain.to_string());
        if let Event::SystemPromptBuilt(built) = &recorded.event {
            assert_eq!(line["blobs"][built.prompt.hash.to_string()]["text"], "You are herm.");
            blobs += 1;
        }
    }
    assert!(blobs > 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let id = sessions(&*log)[0];
    let (_, nothing) =
        run(&source, &format!("export events --session {id} --output {}", path.display()), false).unwrap();
    assert_eq!(nothing, "");
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.lines().count(), log.read_stream(id.stream(), StreamPos(1)).count());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file is left");
}

#[test]
fn trajectories_have_the_shape_of_the_reference() {
    let log = generated(110, 6, 60);
    let source = source(log.clone());
    let all = lines(&source, "export trajectories --format sharegpt");
    assert_eq!(all.len(), 6);
    let (mut thoughts, mut calls, mut responses) = (0, 0, 0);
    for line in &all {
        let keys: Vec<_> = line.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, ["conversations", "timestamp", "model", "completed"]);
        let timestamp = line["timestamp"].as_str().unwrap();
        assert!(timestamp.parse::<jiff::civil::DateTime>().is_ok(), "{timestamp}");
        let turns = line["conversations"].as_array().unwrap();
        assert_eq!(turns[0]["from"], "system");
        let system = turns[0]["value"].as_str().unwrap();
        let tools = system.split_once("\n<tools>\n").unwrap().1.split_once("\n</tools>").unwrap().0;
        let tools: Value = serde_json::from_str(tools).unwrap();
        assert_eq!(tools[0]["name"], "read_file");
        for pair in turns.windows(2) {
            let (before, turn) = (&pair[0], &pair[1]);
            let value = turn["value"].as_str().unwrap();
            match turn["from"].as_str().unwrap() {
                "human" => assert!(!value.is_empty()),
                "gpt" => {
                    assert!(value.starts_with("<think>\n") && value.contains("</think>\n"), "{value}");
                    thoughts += usize::from(!value.starts_with("<think>\n</think>\n"));
                    calls += value.matches("<tool_call>\n").count();
                }
                "tool" => {
                    assert_eq!(before["from"], "gpt");
                    for response in value.split("<tool_response>\n").skip(1) {
                        let object: Value =
                            serde_json::from_str(response.split_once("\n</tool_response>").unwrap().0)
                                .unwrap();
                        let keys: Vec<_> = object.as_object().unwrap().keys().cloned().collect();
                        assert_eq!(keys, ["tool_call_id", "name", "content"]);
                        responses += 1;
                    }
                }
                other => panic!("{other}"),
            }
        }
    }
    assert!(thoughts > 3 && calls > 5 && responses > 5, "{thoughts} {calls} {responses}");
    let completed = lines(&source, "export trajectories --completed-only");
    assert!(completed.len() < all.len());
    assert!(completed.iter().all(|line| line["completed"] == true));
}

#[test]
fn a_plain_conversation_is_exported_word_for_word() {
    let log = Arc::new(MemoryLog::new());
    let id = plain(&*log, 0, "what is in notes.md?", "a list of é and 🦀");
    let source = source(log);
    let line = &lines(&source, "export trajectories --format openai --session last")[0];
    let expected = json!({ "messages": [
        { "role": "system", "content": "You are herm." },
        { "role": "user", "content": "what is in notes.md?" },
        { "role": "assistant", "content": "a list of é and 🦀" },
    ]});
    assert_eq!(line, &expected);
    let line = &lines(&source, &format!("export trajectories --session {id}"))[0];
    assert_eq!((&line["model"], &line["completed"]), (&json!("model-0"), &json!(true)));
    assert_eq!(line["conversations"][1], json!({ "from": "human", "value": "what is in notes.md?" }));
    assert_eq!(
        line["conversations"][2],
        json!({ "from": "gpt", "value": "<think>\n</think>\na list of é and 🦀" })
    );
    assert!(lines(&source, "export trajectories --since 2026-12-24").is_empty());
}

#[test]
fn every_subcommand_shows_an_example() {
    use clap::CommandFactory;
    fn walk(command: &mut clap::Command, seen: &mut usize) {
        let subcommands: Vec<_> = command.get_subcommands_mut().collect();
        if subcommands.is_empty() {
            let name = command.get_name().to_owned();
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example:\n  herm-replay ") && help.contains(&name), "{name}: {help}");
            *seen += 1;
            return;
        }
        subcommands.into_iter().for_each(|command| walk(command, seen));
    }
    let mut seen = 0;
    walk(&mut Line::command(), &mut seen);
    assert_eq!(seen, 9);
}
