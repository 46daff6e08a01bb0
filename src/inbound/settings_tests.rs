use serde_json::json;

use super::*;
use crate::platforms::table::{Field, Misconfigured};

const ROWS: &[Row] = &[Row {
    name: "telegram",
    about: "",
    fields: &[Field { name: "bot_token", env: "TELEGRAM_BOT_TOKEN", secret: true, doc: "" }],
    needs: &[],
    setup: "",
    make: |_, _| Err(Misconfigured { platform: "telegram", reason: String::new(), fix: String::new() }),
}];

fn with(file: &Value, env: &[(&str, &str)]) -> Result<(GatewaySettings, Vec<Warning>), Error> {
    let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, word)| (*word).to_owned());
    GatewaySettings::parse_with(ROWS, file, &env)
}

fn read(file: &Value) -> GatewaySettings {
    with(file, &[]).unwrap().0
}

/// Keys, reasons and fixes.
fn problems(file: &Value, env: &[(&str, &str)]) -> Vec<(String, String, Option<String>)> {
    match with(file, env).unwrap_err() {
        Error::Problems { problems, .. } => {
            problems.into_iter().map(|problem| (problem.key, problem.reason, problem.fix)).collect()
        }
        other => panic!("{other}"),
    }
}

#[test]
fn nothing_said_lets_nobody_in() {
    let settings = read(&json!({}));
    for platform in [settings.platform("telegram"), settings.platform("elsewhere")] {
        assert!(platform.allowed_users.is_empty() && !platform.allow_all && platform.admins.is_empty());
        assert!(platform.addressing.mention);
        assert_eq!((platform.strangers, platform.bots), (Strangers::Pair, Bots::Never));
        assert_eq!((platform.reply_to, platform.busy), (ReplyTo::First, None));
    }
    assert_eq!(settings.default_profile, "default");
    assert_eq!(settings.profiles, BTreeSet::from(["default".to_owned()]));
    assert_eq!(settings.sharing, Sharing { group_per_user: true, thread_per_user: false });
}

#[test]
fn an_empty_list_is_nobody_and_never_everybody() {
    for empty in [json!([]), json!(""), json!(" , "), json!(null)] {
        let settings = read(&json!({"platforms": {"telegram": {"allowed_users": empty}}}));
        let platform = settings.platform("telegram");
        assert!(platform.allowed_users.is_empty() && !platform.allow_all, "{empty}");
    }
    let settings =
        with(&json!({}), &[("TELEGRAM_ALLOWED_USERS", ""), ("GATEWAY_ALLOWED_USERS", "")]).unwrap().0;
    assert!(settings.platform("telegram").allowed_users.is_empty());
    assert!(!settings.platform("telegram").allow_all);
}

#[test]
fn every_setting_is_read() {
    let settings = read(&json!({"platforms": {"telegram": {
        "enabled": true, "bot_token": "never looked at",
        "allowed_users": [42, "43"], "admin_users": "42", "allowed_chats": [-100123],
        "group_allowed_chats": ["-1"], "free_response_channels": "-2, -3", "ignored_channels": ["*"],
        "require_mention": false, "thread_require_mention": true, "mention_patterns": ["hey,? herm"],
        "unauthorized_dm_behavior": "ignore", "allow_bots": "mentions",
        "home_channel": {"chat_id": -7, "thread_id": 5}, "reply_to_mode": "all", "busy_input_mode": "steer",
    }}}));
    let found = settings.platform("telegram");
    assert_eq!(found.allowed_users, ["42", "43"].into_iter().collect());
    assert_eq!(found.admins, ["42"].into_iter().collect());
    assert!(found.allowed_chats.contains("-100123") && !found.allowed_chats.contains("100123"));
    assert!(found.group_allowed_chats.contains("-1"));
    assert_eq!(found.free_response_channels, ["-2", "-3"].into_iter().collect());
    assert!(found.ignored_channels.every);
    assert!(!found.addressing.mention && found.addressing.mention_in_threads);
    assert!(found.addressing.patterns[0].is_match("Hey, HERM!"));
    assert_eq!((found.strangers, found.bots), (Strangers::Ignore, Bots::Mentions));
    assert_eq!(found.home, Some(Home { chat: "-7".into(), thread: Some("5".into()) }));
    assert_eq!((found.reply_to, found.busy), (ReplyTo::All, Some(BusyPolicy::Steer)));
}

#[test]
fn variables_win_over_the_file_and_the_gateway_s_own_are_added_everywhere() {
    let file = json!({"platforms": {"telegram": {"allowed_users": ["1"], "require_mention": true}}});
    let env = [
        ("TELEGRAM_ALLOWED_USERS", "2, 3"),
        ("TELEGRAM_REQUIRE_MENTION", "no"),
        ("TELEGRAM_HOME_CHANNEL", "-9"),
        ("TELEGRAM_HOME_CHANNEL_THREAD_ID", "4"),
        ("GATEWAY_ALLOWED_USERS", "7"),
    ];
    let (settings, warnings) = with(&file, &env).unwrap();
    let found = settings.platform("telegram");
    assert_eq!(found.allowed_users, ["2", "3", "7"].into_iter().collect());
    assert!(!found.addressing.mention);
    assert_eq!(found.home, Some(Home { chat: "-9".into(), thread: Some("4".into()) }));
    assert_eq!(settings.platform("matrix").allowed_users, ["7"].into_iter().collect());
    assert_eq!(warnings, []);
}

#[test]
fn everybody_is_let_in_by_saying_so_and_warned_of() {
    let telegram = |section: Value| json!({"platforms": {"telegram": section}});
    for (file, env) in [
        (telegram(json!({"allow_all": true})), &[][..]),
        (telegram(json!({"allowed_users": "*"})), &[]),
        (json!({}), &[("GATEWAY_ALLOW_ALL_USERS", "true")]),
        (json!({}), &[("TELEGRAM_ALLOW_ALL_USERS", "1")]),
    ] {
        let (settings, warnings) = with(&file, env).unwrap();
        assert!(settings.platform("telegram").allow_all, "{file} {env:?}");
        assert_eq!(warnings[0].key, "platforms.telegram.allow_all");
    }
    let off = with(&json!({}), &[("GATEWAY_ALLOW_ALL_USERS", "false")]).unwrap().0;
    assert!(!off.platform("telegram").allow_all);
}

#[test]
fn a_slip_of_the_pen_is_answered_with_what_was_meant() {
    let found = problems(
        &json!({"gateway": {"defualt_profile": "x"}, "platforms": {"telegram": {"alowed_users": [1]}}}),
        &[],
    );
    assert_eq!(found[0].0, "gateway.defualt_profile");
    assert_eq!(found[0].1, "is not a setting; did you mean `gateway.default_profile`?");
    assert_eq!(found[1].1, "is not a setting; did you mean `platforms.telegram.allowed_users`?");
    let found = problems(&json!({"platforms": {"telegarm": {}}}), &[]);
    assert_eq!(found[0].1, "is not a setting; did you mean `platforms.telegram`?");
    let found = problems(&json!({"platforms": {"telegram": {"bot_tokne": "x"}}}), &[]);
    assert_eq!(found[0].1, "is not a setting; did you mean `platforms.telegram.bot_token`?");
}

#[test]
fn a_wrong_value_is_told_with_its_key_and_a_right_one() {
    let wrong = json!({"require_mention": "perhaps", "allowed_users": [1.5], "allow_bots": "some",
                       "mention_patterns": ["("], "home_channel": {"chat": 1}});
    let found =
        problems(&json!({"platforms": {"telegram": wrong}}), &[("TELEGRAM_ALLOW_ALL_USERS", "maybe")]);
    let told: Vec<&str> = found.iter().map(|problem| problem.1.as_str()).collect();
    assert_eq!(told[0], "cannot be `perhaps`: `true` or `false` is expected");
    assert_eq!(told[1], "cannot be `[1.5]`: a list of the platform's ids is expected");
    assert_eq!(told[2], "cannot be `some`: `none`, `mentions` or `all` is expected");
    assert!(told[3].contains("regular expressions") && told[4].contains("`chat_id`"), "{told:?}");
    assert_eq!(
        found[0].2.as_deref(),
        Some("${EDITOR:-vi} config.yaml   # and write `platforms.telegram.require_mention: true`")
    );
    let variable = found.last().unwrap();
    assert_eq!(variable.0, "TELEGRAM_ALLOW_ALL_USERS");
    assert_eq!(variable.2.as_deref(), Some("unset TELEGRAM_ALLOW_ALL_USERS"));
    assert_eq!(problems(&json!({"platforms": [1]}), &[])[0].0, "platforms");
}

#[test]
fn the_default_profile_is_one_that_is_served() {
    let served = read(&json!({"gateway": {"profiles": ["work"]}}));
    assert_eq!(served.default_profile, "work");
    let served = read(&json!({"gateway": {"default_profile": "home"}}));
    assert_eq!(served.profiles, BTreeSet::from(["home".to_owned()]));
    let found = problems(&json!({"gateway": {"profiles": ["a", "b"], "default_profile": "c"}}), &[]);
    assert_eq!(found[0].1, "is `c`, which is none of `gateway.profiles`: `a`, `b`");
    let found = problems(&json!({"gateway": {"profiles": ["a", "b"]}}), &[]);
    assert_eq!(found[0].0, "gateway.default_profile");
}

#[test]
fn a_platform_that_is_not_built_in_is_told_and_hurts_nobody() {
    let (settings, warnings) = with(&json!({"platforms": {"zulip": {"allowed_users": ["1"]}}}), &[]).unwrap();
    assert!(settings.platform("zulip").allowed_users.contains("1"));
    assert_eq!(warnings[0].to_string(), "`platforms.zulip`: no platform of this name is built in");
}

#[test]
fn every_example_in_the_table_fits_its_setting() {
    for key in PLATFORM_KEYS {
        let yaml: Value = serde_yaml_ng::from_str(key.example).unwrap();
        let done = (key.set)(&mut PlatformSettings::default(), &yaml);
        assert_eq!(done, Ok(()), "{}: {}", key.name, key.example);
    }
}
