use super::*;
use crate::tools::testing::{Place, place};
use herm_schema::events::ToolStatus;
use proptest::prelude::*;
use serde_json::json;

fn replace(place: &Place, path: &str, old: &str, new: &str) -> Value {
    let arguments = json!({"mode": "replace", "path": path, "old_string": old, "new_string": new});
    place.run(&Patch, arguments).1
}

fn envelope(place: &Place, body: &str) -> (ToolStatus, Value) {
    let patch = format!("*** Begin Patch\n{body}\n*** End Patch");
    place.run(&Patch, json!({"mode": "patch", "patch": patch}))
}

#[test]
fn a_replacement_shows_what_it_did() {
    let place = place();
    let path = place.write("src/a.rs", "fn a() {}\nfn b() {}\n");
    let shown = replace(&place, "src/a.rs", "fn b() {}", "fn c() {}");
    let expected = json!({
        "success": true,
        "diff": "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn c() {}\n",
        "files_modified": [path],
        "files_created": [],
        "files_deleted": [],
        "match": "exact",
        "replacements": 1,
        "resolved_path": path,
    });
    assert_eq!(shown, expected);
    assert_eq!(place.read("src/a.rs"), "fn a() {}\nfn c() {}\n");
}

#[test]
fn an_ambiguous_replacement_changes_nothing() {
    let place = place();
    place.write("f", "x = 1\ny = 2\nx = 1\n");
    let shown = replace(&place, "f", "x = 1", "x = 9");
    assert!(shown["error"].as_str().unwrap().contains("found 2 times"), "{shown}");
    assert_eq!(place.read("f"), "x = 1\ny = 2\nx = 1\n");
    let all = json!({"mode": "replace", "path": "f", "old_string": "x = 1", "new_string": "x = 9", "replace_all": true});
    assert_eq!(place.succeeds(&Patch, all)["replacements"], 2);
    assert_eq!(place.read("f"), "x = 9\ny = 2\nx = 9\n");
}

#[test]
fn encoding_mark_and_line_ends_stay() {
    let place = place();
    place.write("dos", b"\xef\xbb\xbfa\r\nb\r\n");
    replace(&place, "dos", "a\nb", "c\nd");
    assert_eq!(std::fs::read(place.cwd.join("dos")).unwrap(), b"\xef\xbb\xbfc\r\nd\r\n");
    place.write("latin1", b"caf\xe9\n");
    replace(&place, "latin1", "café", "thé");
    assert_eq!(std::fs::read(place.cwd.join("latin1")).unwrap(), b"th\xe9\n");
    let shown = replace(&place, "latin1", "thé", "漢");
    assert!(shown["error"].as_str().unwrap().contains("windows-1252, which has no `漢`"), "{shown}");
    let utf16: Vec<u8> = "\u{feff}héé\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    place.write("utf16", &utf16);
    replace(&place, "utf16", "héé", "漢");
    let expected: Vec<u8> = "\u{feff}漢\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(std::fs::read(place.cwd.join("utf16")).unwrap(), expected);
}

#[test]
fn an_envelope_changes_several_files() {
    let place = place();
    place.write("edit.txt", "one\ntwo\n");
    place.write("gone.txt", "x\n");
    place.write("old/name.txt", "a\nb\n");
    let (status, shown) = envelope(
        &place,
        "*** Update File: edit.txt\n@@\n one\n-two\n+three\n*** Delete File: gone.txt\n\
         *** Add File: new/file.txt\n+hello\n*** Update File: old/name.txt\n*** Move to: new/name.txt\n-b\n+c",
    );
    assert_eq!(status, ToolStatus::Succeeded, "{shown}");
    assert_eq!(place.read("edit.txt"), "one\nthree\n");
    assert_eq!(place.read("new/file.txt"), "hello\n");
    assert_eq!(place.read("new/name.txt"), "a\nc\n");
    assert!(!place.cwd.join("gone.txt").exists() && !place.cwd.join("old/name.txt").exists());
    assert_eq!(shown["files_modified"], json!([place.cwd.join("edit.txt")]));
    assert_eq!(
        shown["files_created"],
        json!([place.cwd.join("new/file.txt"), place.cwd.join("new/name.txt")])
    );
    assert_eq!(shown["files_deleted"], json!([place.cwd.join("gone.txt"), place.cwd.join("old/name.txt")]));
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("--- a/old/name.txt\n+++ b/new/name.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "{diff}");
    assert!(diff.contains("--- a/gone.txt\n+++ /dev/null"), "{diff}");
    assert!(!diff.contains("//"), "{diff}");
}

#[test]
fn nothing_is_written_if_one_file_does_not_fit() {
    let place = place();
    place.write("a", "one\n");
    place.write("b", "two\n");
    let (status, shown) =
        envelope(&place, "*** Update File: a\n-one\n+1\n*** Add File: c\n+x\n*** Update File: b\n-three\n+3");
    assert_eq!(status, ToolStatus::Failed);
    let error = shown["error"].as_str().unwrap();
    assert!(error.starts_with("[TOOL_ERROR] `b`: the hunk in line 8 of the patch was not found"), "{error}");
    assert_eq!(place.read("a"), "one\n");
    assert!(!place.cwd.join("c").exists());
    assert!(envelope(&place, "*** Add File: a\n+x").1["error"].as_str().unwrap().contains("exists already"));
    assert!(envelope(&place, "*** Delete File: aa").1["error"].as_str().unwrap().contains("does not exist"));
    assert!(envelope(&place, "*** Move File: a -> b").1["error"].as_str().unwrap().contains("which exists"));
    assert!(
        envelope(&place, "*** Add File: ../home/x\n+x").1["error"].as_str().unwrap().contains("own home")
    );
}

#[test]
fn two_operations_on_one_file_build_on_each_other() {
    let place = place();
    place.write("a", "one\ntwo\n");
    let (_, shown) = envelope(&place, "*** Update File: a\n-one\n+1\n*** Update File: ./a\n 1\n-two\n+2");
    assert_eq!(place.read("a"), "1\n2\n", "{shown}");
}

#[test]
fn what_a_mode_needs_is_asked_for() {
    let place = place();
    place.write("a", "x\0y");
    assert_eq!(
        place.fails(&Patch, json!({"mode": "replace", "path": "a"})),
        "mode `replace` needs `old_string`"
    );
    assert_eq!(place.fails(&Patch, json!({"mode": "patch"})), "mode `patch` needs `patch`");
    assert_eq!(replace(&place, "a", "x", "y")["error"], "[TOOL_ERROR] `a` is binary, and not patched");
    assert_eq!(replace(&place, "b", "x", "y")["error"], "[TOOL_ERROR] `b` does not exist");
}

#[test]
fn a_patch_that_was_cut_off_is_judged_by_the_world() {
    let place = place();
    place.write("a", "one\n");
    place.write("b", "two\n");
    assert_eq!(place.recovers(&Patch), Recovered::NotDone);
    let (_, shown) = envelope(&place, "*** Update File: a\n-one\n+1\n*** Delete File: b");
    let finished = |recovered| match recovered {
        Recovered::Finished(result) => serde_json::from_str::<Value>(&result.shown).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(finished(place.recovers(&Patch)), shown);
    place.write("b", "two\n");
    assert_eq!(finished(place.recovers(&Patch)), shown);
    assert!(!place.cwd.join("b").exists());
    place.write("a", "somebody's\n");
    assert_eq!(place.recovers(&Patch), Recovered::Unknown);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_patched_file_stays_whole_utf8(before in "[a漢🎉é\\n]{0,20}", old in "[漢🎉]{1,3}", new in "[é漢\\n]{0,4}") {
        let place = place();
        place.write("f", &before);
        replace(&place, "f", &old, &new);
        let after = place.read("f");
        let expected = if before.matches(&old).count() == 1 { before.replacen(&old, &new, 1) } else { before };
        prop_assert_eq!(after, expected);
    }
}
