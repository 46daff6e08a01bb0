//! Search: what is found, how it is shown, and that a killed indexer leaves nothing half done.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test is a panic")]

mod views_support;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use herm_replay::log::{Log, MemoryLog};
use herm_replay::projections::Views;
use herm_replay::projections::find::{Asked, Order};
use herm_replay::projections::messages::{self, Role};
use herm_replay::projections::query::Query;
use herm_replay::projections::runner::Followed;
use herm_replay::projections::search::{SearchIndex, documents};
use herm_replay::projections::session_search::RESULT_BYTES_MAX;
use herm_replay::projections::tokenizer::Words;
use herm_schema::{Position, SessionId};
use serde_json::{Value, json};
use views_support::{copy_blobs, generated, plain};

fn ask(views: &Views, arguments: Value) -> Value {
    ask_from(views, arguments, None)
}

fn ask_from(views: &Views, arguments: Value, current: Option<SessionId>) -> Value {
    let answer = views.session_search(&arguments.to_string(), current);
    assert!(answer.len() <= RESULT_BYTES_MAX, "{} bytes", answer.len());
    serde_json::from_str(&answer).unwrap()
}

/// Views that only scan, that only use the index, and that use both, over the same log.
fn each_way(log: &Arc<MemoryLog>, folder: &Path) -> Vec<(&'static str, Views)> {
    let scanning = Views::read_only(log.clone(), None);
    let events = log.events();
    let half: Vec<_> = events[..events.len() / 2].to_vec();
    let half = Arc::new(MemoryLog::from_events(half));
    copy_blobs(log, &half);
    let part = Views::open(half, &folder.join("part"));
    part.rebuild(Some("search")).unwrap();
    drop(part);
    let both = Views::open(log.clone(), &folder.join("part"));
    let indexed = Views::open(log.clone(), &folder.join("whole"));
    indexed.rebuild(Some("search")).unwrap();
    vec![("scanned", scanning), ("indexed", indexed), ("both", both)]
}

/// What is said, and for each question how many sessions answer it.
type Case = (&'static [&'static str], &'static [(&'static str, u64)]);

#[test]
fn the_cases_of_the_reference_are_found() {
    let cases: &[Case] = &[
        (
            &[
                "the chat-send endpoint",
                "what's up",
                "C++ build failed",
                "release v1.2.3 done",
                "hello there",
            ],
            &[
                ("chat-send", 1),
                ("what's up", 1),
                ("C++", 1),
                ("v1.2.3", 1),
                ("hello AND", 1),
                ("\"unterminated", 0),
            ],
        ),
        (&["聊天记录记忆断裂问题", "其他"], &[("记忆断裂", 1), ("记忆", 1), ("断裂 问题", 1)]),
    ];
    for (stored, queries) in cases {
        let folder = tempfile::tempdir().unwrap();
        let log = Arc::new(MemoryLog::new());
        for (seed, text) in stored.iter().enumerate() {
            plain(&*log, seed as u64, text, "zzz");
        }
        for (way, views) in each_way(&log, folder.path()) {
            for (query, hits) in *queries {
                let answer = ask(&views, json!({ "query": query, "limit": 10 }));
                assert_eq!(
                    (answer["success"].as_bool(), answer["count"].as_u64()),
                    (Some(true), Some(*hits)),
                    "{way}: {query}"
                );
            }
        }
    }
}

#[test]
fn a_pasted_page_is_answered_quickly() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(MemoryLog::new());
    plain(&*log, 0, "w17 only", "zzz");
    let page: Vec<String> = (0..3_000).map(|n| format!("w{n}")).collect();
    for (way, views) in each_way(&log, folder.path()) {
        let began = Instant::now();
        let answer = ask(&views, json!({ "query": page.join(" ") }));
        assert_eq!((&answer["success"], &answer["count"]), (&json!(true), &json!(1)), "{way}");
        assert!(began.elapsed() < Duration::from_secs(2), "{way}");
    }
}

#[test]
fn index_and_scan_find_the_same_messages() {
    let folder = tempfile::tempdir().unwrap();
    let log = generated(31, 6, 50);
    let ways = each_way(&log, folder.path());
    let queries = [
        "notes",
        "snake_case",
        "snake",
        "记忆断裂",
        "忆断",
        "どこ",
        "c++",
        "main.rs",
        "parseHttpRequest",
        "http request",
        "café",
        "CAFE deploy",
        "\"the notes\"",
        "v1.2",
        "🦀",
        "log the a",
    ];
    for query in queries {
        let parsed = Query::parse(&mut Words::default(), query);
        for roles in [vec![], vec![Role::User], vec![Role::Assistant, Role::Tool]] {
            let answers = ways.iter().map(|(way, views)| {
                let asked = Asked { query: &parsed, roles: &roles, order: Order::Newest, hits_max: 10_000 };
                let hits = views.find(&asked).unwrap();
                assert!(
                    hits.windows(2).all(|pair| pair[0].position > pair[1].position),
                    "{way}: {query}: newest first"
                );
                (*way, hits.iter().map(|hit| hit.position).collect::<Vec<_>>())
            });
            let answers: Vec<_> = answers.collect();
            for (way, found) in &answers {
                assert_eq!(found, &answers[0].1, "{way}: {query} by {roles:?}");
            }
        }
    }
}

#[test]
fn a_message_is_found_as_soon_as_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(MemoryLog::new());
    let views = Views::open(log.clone(), folder.path());
    for seed in 0..20 {
        plain(&*log, seed, &format!("needle{seed} in the hay"), "zzz");
        let answer = ask(&views, json!({ "query": format!("needle{seed}") }));
        assert_eq!(answer["count"], 1, "{seed}");
        assert_eq!(answer["results"][0]["snippet"], format!(">>>needle{seed}<<< in the hay"));
    }
}

#[test]
fn the_four_modes_are_told_apart_by_what_is_given() {
    let log = Arc::new(MemoryLog::new());
    let first = plain(&*log, 0, "how do I bake bread", "with flour and patience");
    let second = plain(&*log, 1, "bread again", "more flour");
    let views = Views::read_only(log.clone(), None);

    let found = ask(&views, json!({ "query": "flour patience" }));
    assert_eq!(
        (&found["mode"], &found["count"], &found["sessions_searched"]),
        (&json!("discover"), &json!(1), &json!(2))
    );
    let result = &found["results"][0];
    assert_eq!(result["session_id"], first.to_string());
    assert_eq!((&result["matched_role"], &result["source"]), (&json!("assistant"), &json!("cli")));
    assert_eq!(result["title"], "how do I bake bread");
    assert_eq!(result["snippet"], "with >>>flour<<< and >>>patience<<<");
    assert_eq!(result["messages"].as_array().unwrap().len(), 2);
    assert_eq!((&result["messages_before"], &result["messages_after"]), (&json!(0), &json!(0)));
    for field in ["when", "model", "bookend_start", "bookend_end", "match_message_id", "parent_session_id"] {
        assert!(result.get(field).is_some(), "{field}");
    }

    let at = result["match_message_id"].as_u64().unwrap();
    let scrolled = ask(
        &views,
        json!({ "session_id": first.to_string(), "around_message_id": at.to_string(), "window": 1 }),
    );
    assert_eq!(scrolled["mode"], "scroll");
    assert_eq!(scrolled["messages"][1]["content"], "with flour and patience");

    let read = ask(&views, json!({ "session_id": second.to_string() }));
    assert_eq!((&read["mode"], &read["message_count"]), (&json!("read"), &json!(2)));
    assert_eq!(read["messages"][0]["content"], "bread again");

    let browsed = ask(&views, json!({}));
    assert_eq!((&browsed["mode"], &browsed["count"]), (&json!("browse"), &json!(2)));
    assert_eq!(browsed["results"][0]["session_id"], second.to_string());
    assert_eq!(
        ask(&views, json!({ "sort": "oldest", "limit": 1 }))["results"][0]["session_id"],
        first.to_string()
    );

    let by_user = ask(&views, json!({ "query": "flour", "role_filter": "user" }));
    assert_eq!(by_user["count"], 0);
    let oldest = ask(&views, json!({ "query": "bread", "sort": "oldest" }));
    assert_eq!(oldest["results"][0]["session_id"], first.to_string());
    let profile = ask(&views, json!({ "query": "bread", "profile": "work" }));
    assert_eq!(
        (&profile["count"], &profile["results"][0]["session_id"]),
        (&json!(1), &json!(second.to_string()))
    );
}

#[test]
fn what_the_asking_session_still_sees_is_left_out() {
    let log = Arc::new(MemoryLog::new());
    let current = plain(&*log, 0, "where did we put the key", "no idea");
    let other = plain(&*log, 1, "the key is under the mat", "noted");
    let views = Views::read_only(log.clone(), None);
    let found = ask_from(&views, json!({ "query": "key" }), Some(current));
    assert_eq!((&found["count"], &found["results"][0]["session_id"]), (&json!(1), &json!(other.to_string())));
    assert_eq!(ask_from(&views, json!({}), Some(current))["count"], 1);
}

#[test]
fn bad_arguments_say_what_is_wrong_with_them() {
    let log = Arc::new(MemoryLog::new());
    let id = plain(&*log, 0, "hello", "hi");
    let views = Views::read_only(log, None);
    for (arguments, part) in [
        (json!({ "query": "x", "sort": "best" }), "newest"),
        (json!({ "query": "x", "limit": "many" }), "limit"),
        (json!({ "query": "x", "role_filter": "robot" }), "robot"),
        (json!({ "session_id": "nonsense" }), "nonsense"),
        (json!({ "session_id": "20261130-201034-ffffffffffffffffffff" }), "not in the log"),
        (json!({ "around_message_id": 3 }), "session_id"),
        (json!({ "session_id": id.to_string(), "around_message_id": 9_999 }), "9999"),
    ] {
        let answer = ask(&views, arguments.clone());
        assert_eq!(answer["success"], false, "{arguments}");
        assert!(answer["error"].as_str().unwrap().contains(part), "{arguments}: {answer}");
    }
    for text in ["[1]", "{", "\u{0}"] {
        let answer: Value = serde_json::from_str(&views.session_search(text, None)).unwrap();
        assert_eq!(answer["success"], false, "{text}");
    }
}

#[test]
fn a_result_is_bounded_whatever_was_said() {
    let log = Arc::new(MemoryLog::new());
    for seed in 0..10 {
        plain(
            &*log,
            seed,
            &format!("needle {}", "记忆🦀 ".repeat(20_000)),
            &"needle \"\\\u{1} ".repeat(20_000),
        );
    }
    let views = Views::read_only(log, None);
    let answer = ask(&views, json!({ "query": "needle", "limit": 10, "window": 20 }));
    assert_eq!(answer["count"], 10);
}

// The child of the kill test: this binary, run again with a folder in the environment.
const CHILD_FOLDER: &str = "HERM_TEST_INDEX_FOLDER";

#[test]
fn the_child_that_indexes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(CHILD_FOLDER) else {
        return;
    };
    // The log grows while it is indexed, as it does in a running gateway.
    let whole = generated(77, 8, 120).events();
    let mut cut = 0;
    while cut < whole.len() {
        cut = (cut + 40).min(whole.len());
        while whole[cut - 1].envelope.batch_left != 0 {
            cut += 1;
        }
        let log: Arc<dyn Log> = Arc::new(MemoryLog::from_events(whole[..cut].to_vec()));
        let index = SearchIndex::new(Some(folder.clone().into()));
        let runner = herm_replay::projections::runner::Runner::new(log, index);
        runner.catch_up().unwrap();
        println!("indexed {cut}");
        runner.write().unwrap();
        println!("committed {cut}");
    }
}

#[test]
fn a_killed_indexer_leaves_documents_and_checkpoint_that_agree() {
    let events = generated(77, 8, 120).events();
    let messages_until = |position: Position| {
        let said = events.iter().take_while(|recorded| recorded.envelope.position <= position);
        said.filter(|recorded| {
            messages::said(&recorded.event).is_some_and(|(_, text)| match text {
                herm_schema::Text::Inline(text) => !text.trim().is_empty(),
                // The child's logs have no blobs: what is only named there has no words.
                herm_schema::Text::Stored(_) => false,
            })
        })
        .count() as u64
    };
    let mut covered = Vec::new();
    for round in 0..8 {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["the_child_that_indexes_until_it_is_killed", "--exact", "--nocapture"])
            .env(CHILD_FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let wanted = if round % 2 == 0 { "indexed" } else { "committed" };
        let mut seen = lines.map_while(Result::ok).filter(|line| line.starts_with(wanted));
        seen.nth(round).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let (docs, position) = documents(folder.path()).unwrap().unwrap_or_default();
        assert_eq!(docs, messages_until(position), "round {round}, at {position}");
        covered.push(position);
        // What was cut off is taken up where the checkpoint stands.
        let log = Arc::new(MemoryLog::from_events(events.clone()));
        let runner = herm_replay::projections::runner::Runner::new(
            log.clone() as Arc<dyn Log>,
            SearchIndex::new(Some(folder.path().to_owned())),
        );
        runner.catch_up().unwrap();
        runner.write().unwrap();
        drop(runner);
        let (docs, position) = documents(folder.path()).unwrap().unwrap();
        assert_eq!((docs, position), (messages_until(position), log.tail().last));
    }
    assert!(covered.iter().any(|position| *position > Position(0)), "{covered:?}");
}
