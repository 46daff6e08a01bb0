use serde_json::json;

use super::*;
use crate::tools::testing::{Place, place};
use herm_schema::events::ToolStatus;

fn tree() -> Place {
    let place = place();
    place.write("src/a.rs", "fn main() {\n    one();\n    two();\n}\n");
    place.write("src/b.rs", "fn two() {}\n");
    place.write("README.md", "two words\r\n");
    place.write("target/out.txt", "two\n");
    place.write(".gitignore", "target/\n");
    place.write(".git/config", "two\n");
    place.write(".hidden/h.txt", "two\n");
    place.write("x.bin", b"two\0two\n");
    place
}

#[test]
fn matches_are_grouped_by_path_in_order() {
    let shown = tree().succeeds(&SearchFiles, json!({"pattern": r"two\b"}));
    assert_eq!(shown["total_count"], 3);
    let text = "README.md\n1:two words\n\nsrc/a.rs\n3:    two();\n\nsrc/b.rs\n1:fn two() {}\n";
    assert_eq!(shown["matches_text"], text);
    assert_eq!(shown["truncated"], false);
    assert!(shown.get("limit_reason").is_none());
}

#[test]
fn digits_and_ends_of_dos_lines_match() {
    let place = place();
    place.write("a", "abc 123\r\n");
    assert_eq!(place.succeeds(&SearchFiles, json!({"pattern": r"\d+$"}))["matches_text"], "a\n1:abc 123\n");
}

#[test]
fn hidden_files_are_found_where_they_are_asked_for() {
    let place = tree();
    let shown = place.succeeds(&SearchFiles, json!({"pattern": "two", "path": ".hidden"}));
    assert_eq!(shown["matches_text"], ".hidden/h.txt\n1:two\n");
    let below = place.succeeds(&SearchFiles, json!({"pattern": "two", "path": place.cwd}));
    assert_eq!(below["total_count"], 3);
    let file = place.succeeds(&SearchFiles, json!({"pattern": "two", "path": "src/b.rs"}));
    assert_eq!(file["total_count"], 1);
}

#[test]
fn a_page_of_matches_is_cut_out() {
    let place = place();
    place.write("a", "m1\nm2\nm3\n");
    place.write("b", "m4\n");
    let page = place.succeeds(&SearchFiles, json!({"pattern": "m", "limit": 2, "offset": 1}));
    assert_eq!(page["total_count"], 4);
    assert_eq!(page["matches_text"], "a\n2:m2\n3:m3\n");
    assert_eq!((&page["truncated"], &page["limit_reason"]), (&json!(true), &json!("limit")));
    assert_eq!(page["hint"], "more with offset=3");
    let rest = place.succeeds(&SearchFiles, json!({"pattern": "m", "offset": 3}));
    assert_eq!((&rest["matches_text"], &rest["truncated"]), (&json!("b\n1:m4\n"), &json!(false)));
}

#[test]
fn context_stands_around_matches() {
    let place = place();
    place.write("a", "1\n2\nm\n4\n5\n6\n7\n8\nm\n");
    let shown = place.succeeds(&SearchFiles, json!({"pattern": "m", "context": 1}));
    assert_eq!(shown["matches_text"], "a\n2-2\n3:m\n4-4\n--\n8-8\n9:m\n");
    let first = place.succeeds(&SearchFiles, json!({"pattern": "m", "context": 1, "limit": 1}));
    assert_eq!(first["matches_text"], "a\n2-2\n3:m\n4-4\n");
}

#[test]
fn files_and_counts_instead_of_lines() {
    let place = tree();
    let files = place.succeeds(&SearchFiles, json!({"pattern": "fn|one", "output_mode": "files_only"}));
    assert_eq!(files["files"], json!(["src/a.rs", "src/b.rs"]));
    let counts = place.succeeds(&SearchFiles, json!({"pattern": "fn|one", "output_mode": "count"}));
    assert_eq!(
        (&counts["counts"], &counts["total_count"]),
        (&json!({"src/a.rs": 2, "src/b.rs": 1}), &json!(3))
    );
    let one = json!({"pattern": "fn|one", "output_mode": "files_only", "limit": 1});
    assert_eq!(place.succeeds(&SearchFiles, one)["truncated"], true);
}

#[test]
fn globs_choose_files() {
    let place = tree();
    let found = |glob: &str| {
        place.succeeds(&SearchFiles, json!({"pattern": "two", "file_glob": glob}))["total_count"].clone()
    };
    assert_eq!(found("*.{rs,txt}"), 2);
    assert_eq!(found("src/*.rs"), 2);
    assert_eq!(found("*.py"), 0);
    let error = place.fails(&SearchFiles, json!({"pattern": "x", "file_glob": "[a"}));
    assert!(error.starts_with("`[a` is not a valid glob"), "{error}");
}

#[test]
fn files_are_found_by_name() {
    let place = tree();
    let files = |pattern: &str| {
        place.succeeds(&SearchFiles, json!({"pattern": pattern, "target": "files"}))["files"].clone()
    };
    assert_eq!(files("*.rs"), json!(["src/a.rs", "src/b.rs"]));
    assert_eq!(files("READ"), json!(["README.md"]));
    assert_eq!(files("**/b.*"), json!(["src/b.rs"]));
    assert_eq!(files("src/a.rs"), json!(["src/a.rs"]));
    assert_eq!(files("nothing"), json!([]));
    let page =
        place.succeeds(&SearchFiles, json!({"pattern": "*", "target": "files", "limit": 2, "offset": 1}));
    assert_eq!(page["files"], json!(["src/a.rs", "src/b.rs"]));
    assert_eq!((&page["total_count"], &page["limit_reason"]), (&json!(4), &json!("limit")));
}

#[test]
fn a_bad_pattern_says_what_to_write_instead() {
    let error = tree().fails(&SearchFiles, json!({"pattern": "foo("}));
    assert!(error.starts_with("`foo(` is not a valid pattern"), "{error}");
    assert!(error.ends_with(r"hint: to find this text as it is: `foo\(`"), "{error}");
    let error = tree().fails(&SearchFiles, json!({"pattern": "a\\nb"}));
    assert!(error.contains("within one line"), "{error}");
}

#[test]
fn places_that_are_no_place_are_refused() {
    let place = tree();
    let error = place.fails(&SearchFiles, json!({"pattern": "x", "path": "srcs"}));
    assert!(error.contains("does not exist; similar: ") && error.ends_with("/src"), "{error}");
    assert!(place.fails(&SearchFiles, json!({"pattern": "x", "path": "/dev/zero"})).contains("a device"));
    std::fs::write(place.context.home.join(".env"), "KEY=two").unwrap();
    std::fs::write(place.context.home.join("plain"), "KEY").unwrap();
    std::fs::create_dir(place.context.home.join(".x")).unwrap();
    let secret = place.context.home.join(".x/.././");
    let finds = |path: std::path::PathBuf| {
        place.succeeds(&SearchFiles, json!({"pattern": "KEY", "path": path}))["total_count"].clone()
    };
    assert_eq!(finds(secret), 1);
    std::os::unix::fs::symlink(&place.context.home, place.cwd.join(".link")).unwrap();
    assert_eq!(finds(place.cwd.join(".link/")), 1);
    let environment = json!({"pattern": "PATH=", "path": "/proc/self", "file_glob": "environ"});
    assert_eq!(place.succeeds(&SearchFiles, environment)["total_count"], 0);
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let place = place();
    place.write("a", format!("{}needle{}\n", "漢".repeat(5_000), "字".repeat(5_000)));
    let shown = place.succeeds(&SearchFiles, json!({"pattern": "needle"}));
    let text = shown["matches_text"].as_str().unwrap();
    assert!(text.starts_with("a\n1:…漢") && text.contains("漢needle字"), "{text}");
    assert!(text.chars().count() < 500, "{}", text.len());
}

#[test]
fn much_text_is_cut() {
    let mut place = place();
    place.context.limits.bytes_max = 100;
    place.write("a", "match of some length\n".repeat(20));
    let shown = place.succeeds(&SearchFiles, json!({"pattern": "match"}));
    assert_eq!((&shown["total_count"], &shown["limit_reason"]), (&json!(20), &json!("output_bytes")));
    let text = shown["matches_text"].as_str().unwrap();
    assert!(text.len() <= 100, "{text}");
    let lines = text.matches("match").count();
    assert_eq!(shown["hint"], format!("more with offset={lines}"));
}

#[test]
fn an_interrupt_ends_it() {
    let place = tree();
    place.context.cancel.cancel();
    for target in ["content", "files"] {
        let (status, _) = place.run(&SearchFiles, json!({"pattern": "two", "target": target}));
        assert_eq!(status, ToolStatus::Interrupted);
    }
}
