use std::path::Path;

use super::*;

fn about<'a>(tool: &'a str, arguments: &'a Value, caller: Caller) -> About<'a> {
    About { session: "s".into(), tool, arguments, cwd: Path::new("/"), caller }
}

async fn before(setting: Value, tool: &str, caller: Caller) -> Word {
    let arguments = json!({"command": "make"});
    Hooks::of(&setting).unwrap().before(&about(tool, &arguments, caller)).await
}

#[tokio::test]
async fn a_hook_forbids_by_its_status_or_by_its_word_and_hears_what_it_is_about() {
    let by_status = json!({"pre_tool_call": ["grep -q make && { echo not on Fridays >&2; exit 2; }"]});
    assert_eq!(before(by_status, "terminal", Caller::Model).await, Word::Forbidden("not on Fridays".into()));
    let word = r#"echo '{"decision": "block", "reason": "no"}'"#;
    let by_word = json!({"pre_tool_call": [{"command": word, "tools": ["term*"]}]});
    assert_eq!(before(by_word.clone(), "terminal", Caller::Program).await, Word::Forbidden("no".into()));
    let go = Word::Go(json!({"command": "make"}));
    assert_eq!(before(by_word.clone(), "read_file", Caller::Model).await, go);
    assert_eq!(before(by_word, "terminal", Caller::Herm).await, go, "herm's own calls are nobody's business");
}

#[tokio::test]
async fn arguments_are_changed_one_hook_after_the_other() {
    let first = r#"echo '{"arguments": {"command": "make -n"}}'"#;
    let second = r#"sed 's/.*"command":"\([^"]*\)".*/{"arguments": {"command": "nice \1"}}/'"#;
    let word = before(json!({"pre_tool_call": [first, second]}), "terminal", Caller::Model).await;
    assert_eq!(word, Word::Go(json!({"command": "nice make -n"})));
}

#[tokio::test]
async fn a_hook_that_fails_or_hangs_or_babbles_forbids_nothing() {
    for command in ["exit 1", "no-such-program", "echo nonsense", "echo '[]'", "sleep 60"] {
        let setting = json!({"pre_tool_call": [{"command": command, "timeout": 1}]});
        assert_eq!(
            before(setting, "terminal", Caller::Model).await,
            Word::Go(json!({"command": "make"})),
            "{command}"
        );
    }
}

#[tokio::test]
async fn those_after_a_call_hear_what_came_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let heard = folder.path().join("heard");
    let (part, whole) = (heard.with_extension("part"), heard.display().to_string());
    let command = format!("cat > '{}' && mv '{}' '{whole}'", part.display(), part.display());
    let hooks = Hooks::of(&json!({"post_tool_call": [command]})).unwrap();
    let arguments = json!({"path": "a"});
    hooks.after(&about("read_file", &arguments, Caller::Herm), json!({"status": "succeeded"}));
    hooks.after(&about("read_file", &arguments, Caller::Model), json!({"status": "failed"}));
    while !heard.exists() {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let heard: Value = serde_json::from_str(&std::fs::read_to_string(heard).unwrap()).unwrap();
    assert_eq!((&heard["event"], &heard["status"]), (&json!("post_tool_call"), &json!("failed")));
    assert_eq!((&heard["tool"], &heard["arguments"]), (&json!("read_file"), &arguments));
}

#[test]
fn what_is_wrong_in_the_setting_is_said_with_its_place() {
    for (setting, path) in [
        (json!([]), "hooks"),
        (json!({"on_call": []}), "hooks.on_call"),
        (json!({"pre_tool_call": "x"}), "hooks.pre_tool_call"),
        (json!({"pre_tool_call": [1]}), "hooks.pre_tool_call[0]"),
        (json!({"pre_tool_call": [{"tools": ["a"]}]}), "hooks.pre_tool_call[0]"),
        (json!({"pre_tool_call": [{"command": "x", "timeout": 0}]}), "hooks.pre_tool_call[0].timeout"),
        (json!({"pre_tool_call": [{"command": "x", "tool": "a"}]}), "hooks.pre_tool_call[0].tool"),
    ] {
        assert_eq!(Hooks::of(&setting).unwrap_err().path, path);
    }
    assert_eq!(Hooks::of(&Value::Null), Ok(Hooks::default()));
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, name, fits) in [
        ("terminal", "terminal", true),
        ("terminal", "terminals", false),
        ("term*", "terminal", true),
        ("*_file", "read_file", true),
        ("*_file", "read_files", false),
        ("w*_*e", "write_file", true),
        ("*", "anything", true),
        ("a*a", "a", false),
    ] {
        assert_eq!(settings::fits(pattern, name), fits, "{pattern} {name}");
    }
}
