use serde_json::json;

use super::*;

fn all(sets: Value, platforms: Value, disabled: &[&str]) -> Result<Toolsets, Error> {
    let disabled: Vec<String> = disabled.iter().map(ToString::to_string).collect();
    Toolsets::of(&sets, &platforms, &disabled, &["read_file".to_owned(), "my_tool".to_owned()])
}

fn has(sets: &Toolsets, platform: &str, tool: &str) -> bool {
    sets.of_platform(platform).contains(tool)
}

#[test]
fn sets_include_each_other_in_circles() {
    let sets = all(
        json!({
            "a": {"description": "x", "tools": ["read_file"], "includes": ["b"]},
            "b": {"includes": ["a", "web"]},
            "short": ["todo"],
        }),
        json!({"cli": ["a", "short"]}),
        &[],
    )
    .unwrap();
    assert_eq!(sets.resolve("b"), named(&["read_file", "web_search", "web_extract"]));
    assert_eq!(sets.of_platform("cli"), named(&["read_file", "web_search", "web_extract", "todo"]));
    assert!(has(&sets, "telegram", "terminal"), "another platform is as it was");
}

#[test]
fn every_built_in_set_includes_sets_that_there_are() {
    let sets = Toolsets::default();
    for row in built_in::SETS.iter().chain(built_in::PLATFORMS) {
        assert!(row.includes.iter().all(|name| sets.sets.contains_key(*name)), "{}", row.name);
        assert!(!sets.resolve(row.name).is_empty(), "{}", row.name);
    }
    for (_, platform) in built_in::ALIASES {
        assert!(sets.platforms.contains_key(*platform));
    }
}

#[test]
fn a_disabled_bundle_takes_no_core_tool_away() {
    let sets = all(json!({}), json!({}), &["hermes-discord"]).unwrap();
    assert!(has(&sets, "discord", "terminal") && has(&sets, "cli", "terminal"));
    assert!(!has(&sets, "discord", "discord") && !has(&sets, "discord", "discord_admin"));
    let none = all(json!({}), json!({}), &["hermes-cli", "hermes-telegram"]).unwrap();
    assert_eq!(none.of_platform("telegram"), named(CORE));
    let terminal = all(json!({}), json!({}), &["terminal"]).unwrap();
    assert!(!has(&terminal, "cli", "terminal") && has(&terminal, "cli", "read_file"), "a set takes its own");
}

#[test]
fn the_discord_platform_and_the_discord_set_are_two_things() {
    let sets = Toolsets::default();
    assert_eq!(sets.resolve("discord"), named(&["discord"]));
    assert!(has(&sets, "discord", "discord") && has(&sets, "discord", "discord_admin"));
    assert!(!has(&sets, "cli", "discord"));
    let no_set = all(json!({}), json!({}), &["discord"]).unwrap();
    assert!(!has(&no_set, "discord", "discord") && has(&no_set, "discord", "discord_admin"));
}

#[test]
fn what_comes_from_outside_gets_nothing_that_touches_this_machine() {
    let sets = Toolsets::default();
    for platform in ["webhook", "hermes-webhook", "nobody-knows"] {
        assert_eq!(sets.of_platform(platform), named(UNTRUSTED), "{platform}");
    }
    let wider = all(json!({}), json!({"webhook": ["webhook", "todo"]}), &[]).unwrap();
    assert!(has(&wider, "webhook", "todo") && has(&wider, "webhook", "clarify"));
}

#[test]
fn a_minus_leaves_out_and_keeps_the_rest() {
    let sets = all(json!({}), json!({"cli": ["-web", "-todo"]}), &[]).unwrap();
    assert!(!has(&sets, "cli", "web_search") && !has(&sets, "cli", "todo") && has(&sets, "cli", "patch"));
    let mixed = all(json!({}), json!({"hermes-cli": ["file", "-patch"]}), &[]).unwrap();
    assert_eq!(mixed.of_platform("terminal"), named(&["read_file", "write_file", "search_files"]));
}

#[test]
fn plugins_reach_trusted_platforms_alone() {
    let mut sets = Toolsets::default();
    let mail = Toolset { tools: vec!["mail_send".into()], ..Toolset::default() };
    sets.add("mail", mail);
    assert!(has(&sets, "cli", "mail_send") && !has(&sets, "webhook", "mail_send"));
    assert_eq!(sets.home_of("mail_send"), Some("mail"));
    assert_eq!(sets.home_of("web_search"), Some("search"));
}

#[test]
fn unknown_names_are_told_with_the_nearest() {
    let error = all(json!({}), json!({"cli": ["webb"]}), &[]).unwrap_err().to_string();
    assert_eq!(error, "`platform_toolsets.cli` names `webb`, which is no toolset; did you mean `web`?");
    let error = all(json!({}), json!({"telegrm": ["web"]}), &[]).unwrap_err().to_string();
    assert_eq!(error, "`platform_toolsets` names `telegrm`, which is no platform; did you mean `telegram`?");
    let error = all(json!({}), json!({}), &["termnal"]).unwrap_err().to_string();
    assert!(error.ends_with("did you mean `terminal`?"), "{error}");
    let error = all(json!({"a": {"tols": []}}), json!({}), &[]).unwrap_err().to_string();
    assert!(error.starts_with("`toolsets.a`: unknown field `tols`"), "{error}");
    let error = all(json!({"a": {"tools": ["red_file"]}}), json!({}), &[]).unwrap_err().to_string();
    assert!(error.contains("did you mean `read_file`"), "{error}");
    assert!(all(json!({}), json!({}), &["my_tool", "execute_code"]).is_ok(), "tools may be named too");
}
