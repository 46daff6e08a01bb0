//! House rules that no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};

/// Longest source file, in lines.
const LINES_MAX: usize = 600;
/// Plain tables of cases, which may be longer.
const TABLES: &[&str] = &["src/approval/tests.rs"];

/// Every Rust file below `folders`, with its path from the root and its text.
fn sources(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open: Vec<PathBuf> =
        folders.iter().map(|folder| root.join(folder)).filter(|f| f.exists()).collect();
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    assert!(!found.is_empty());
    found
}

const SOURCES: &[&str] = &["src", "schema/src", "replay/src"];
const EVERYTHING: &[&str] =
    &["src", "schema/src", "schema/tests", "replay/src", "replay/tests", "tests", "benches"];

#[test]
fn no_file_is_too_long() {
    for (name, text) in sources(EVERYTHING) {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX || TABLES.contains(&name.as_str()), "{name} has {lines} lines");
    }
}

#[test]
fn nothing_is_left_to_be_done() {
    for (name, text) in sources(SOURCES) {
        for word in ["todo", "unimplemented", "dbg"] {
            assert!(!text.contains(&format!("{word}!(")), "{name} has a {word}!");
        }
    }
}

#[test]
fn no_test_is_ignored() {
    let mark = concat!("#[", "ignore");
    for (name, text) in sources(EVERYTHING) {
        assert!(!text.contains(mark), "{name} ignores a test");
    }
}

#[test]
fn every_module_says_what_lives_there() {
    let is_test = |name: &str| name.ends_with("tests.rs") || name.ends_with("/testing.rs");
    for (name, text) in sources(SOURCES) {
        // The binary's own file is a line; what it does is said in the library.
        let stub = name.ends_with("main.rs") && text.lines().count() < 5;
        assert!(is_test(&name) || stub || text.starts_with("//!"), "{name} begins without a word");
    }
}
