use super::*;
use crate::tools::testing::place;
use herm_schema::events::ToolStatus;
use proptest::prelude::*;
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_new_file_and_its_folders_are_made() {
    let place = place();
    let shown = place.succeeds(&WriteFile, json!({"path": "a/b/c.txt", "content": "é\n"}));
    let path = place.cwd.join("a/b/c.txt");
    let expected = json!({
        "bytes_written": 3,
        "dirs_created": true,
        "resolved_path": path,
        "files_modified": [path],
    });
    assert_eq!(shown, expected);
    assert_eq!(place.read("a/b/c.txt"), "é\n");
    let again = place.succeeds(&WriteFile, json!({"path": "a/b/d.txt", "content": ""}));
    assert_eq!(again["dirs_created"], false);
    let beside: Vec<_> =
        std::fs::read_dir(place.cwd.join("a/b")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
}

#[test]
fn a_link_stays_a_link_and_rights_stay() {
    let place = place();
    let target = place.write("real/notes.md", "old");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/notes.md", place.cwd.join("current.md")).unwrap();
    let shown = place.succeeds(&WriteFile, json!({"path": "current.md", "content": "new"}));
    assert_eq!(shown["resolved_path"], json!(target));
    assert!(place.cwd.join("current.md").is_symlink());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "new");
    assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn what_the_file_had_and_has_no_more_is_said() {
    let place = place();
    place.write("dos.txt", b"\xef\xbb\xbfa\r\nb\r\n");
    let shown = place.succeeds(&WriteFile, json!({"path": "dos.txt", "content": "a\nb\n"}));
    let note = "it had CRLF line ends and now has LF; it had a byte order mark and now has none";
    assert_eq!(shown["note"], note);
    assert_eq!(place.read("dos.txt"), "a\nb\n");
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let place = place();
    std::fs::create_dir(place.cwd.join("d")).unwrap();
    let fails = |path: &str| place.fails(&WriteFile, json!({"path": path, "content": "x"}));
    assert!(fails("d").contains("is a directory"));
    assert!(fails("d/").contains("names a directory"));
    assert!(fails("").contains("the path is empty"));
    assert!(fails("/dev/null").contains("belongs to the system"));
    assert!(fails("../home/config.yaml").contains("herm's own home"));
    assert!(fails(".ssh/authorized_keys").contains("holds keys"));
    place.write("f", "x");
    assert!(fails("f/below").contains("f/below"));
    assert_eq!(place.read("f"), "x");
}

#[test]
fn a_write_that_was_cut_off_is_judged_by_the_world() {
    let place = place();
    place.write("a", "old");
    assert_eq!(place.recovers(&WriteFile), Recovered::NotDone);
    let shown = place.succeeds(&WriteFile, json!({"path": "a", "content": "new"}));
    let Recovered::Finished(result) = place.recovers(&WriteFile) else { panic!("not finished") };
    assert_eq!(result.status, ToolStatus::Succeeded);
    assert_eq!(serde_json::from_str::<Value>(&result.shown).unwrap(), shown);
    place.write("a", "old");
    assert_eq!(place.recovers(&WriteFile), Recovered::NotDone);
    place.write("a", "other");
    assert_eq!(place.recovers(&WriteFile), Recovered::Unknown);
}

#[test]
fn an_interrupt_before_it_begins_changes_nothing() {
    let place = place();
    place.context.cancel.cancel();
    let (status, _) = place.run(&WriteFile, json!({"path": "a", "content": "x"}));
    assert_eq!(status, ToolStatus::Interrupted);
    assert!(!place.cwd.join("a").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_given_is_what_is_written(content in any::<String>()) {
        let place = place();
        place.succeeds(&WriteFile, json!({"path": "a", "content": content}));
        prop_assert_eq!(place.read("a"), content);
    }
}
