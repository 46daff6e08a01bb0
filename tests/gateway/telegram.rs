//! Chats on Telegram through the whole gateway.

use serde_json::json;

use super::doubles::telegram::Double;
use super::gateway::{Gateway, echo};
use super::stage::await_that;
use super::support::model_server::ModelServer;
use super::support::reply::{Gate, Reply};

fn answered(double: &Double, chat: i64, count: usize) -> Vec<String> {
    let until = std::time::Instant::now() + super::stage::PATIENCE;
    loop {
        let texts = double.texts_of(chat);
        if texts.len() >= count {
            return texts;
        }
        assert!(std::time::Instant::now() < until, "{count} answers did not come: {texts:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_message_is_answered_once_and_the_conversation_goes_on() {
    let double = Double::start();
    let chat = Double::private(1);
    double.write(chat, "before the start");
    let mut gateway = Gateway::with_telegram(echo(), &double, &[]);
    gateway.start();
    assert_eq!(answered(&double, chat, 1), ["you said: before the start"]);
    double.write(chat, "and now");
    assert_eq!(answered(&double, chat, 2)[1], "you said: and now");
    let asked = gateway.model.requests().pop().unwrap().json;
    assert_eq!(asked["messages"].as_array().unwrap().len(), 4);
    let stopped = gateway.stop();
    assert_eq!(stopped.exit, 0, "{}", stopped.err);
    gateway.start();
    double.write(chat, "after a restart");
    assert_eq!(answered(&double, chat, 3)[2], "you said: after a restart");
    let asked = gateway.model.requests().pop().unwrap().json;
    assert_eq!(asked["messages"].as_array().unwrap().len(), 6);
    assert_eq!(double.problems(), Vec::<String>::new());
}

#[test]
fn a_stranger_is_given_a_code_and_let_in_by_the_owner() {
    let double = Double::start();
    let chat = Double::private(2);
    let mut gateway =
        Gateway::with_telegram(echo(), &double, &[("TELEGRAM_ALLOW_ALL_USERS", "false".to_owned())]);
    gateway.start();
    double.write(chat, "let me in");
    let invitation = answered(&double, chat, 1).remove(0);
    assert_eq!(gateway.model.requests().len(), 0);
    let code = invitation.lines().find_map(|line| line.split("approve telegram ").nth(1)).unwrap().trim();
    let wrong = gateway.herm(&["pairing", "approve", "telegram", "AAAA-AAAA"]);
    assert_ne!(wrong.exit, 0);
    let approved = gateway.herm(&["pairing", "approve", "telegram", code]);
    assert_eq!(approved.exit, 0, "{}", approved.err);
    assert!(answered(&double, chat, 2)[1].contains("let you in"));
    double.write(chat, "hello");
    assert_eq!(answered(&double, chat, 3)[2], "you said: hello");
    let listed = gateway.herm(&["pairing", "list", "--json"]).out;
    let user = serde_json::from_str::<serde_json::Value>(&listed).unwrap()["paired"][0]["user"].clone();
    assert_eq!(gateway.herm(&["pairing", "revoke", "telegram", user.as_str().unwrap()]).exit, 0);
    double.write(chat, "still there?");
    assert!(answered(&double, chat, 4)[3].contains("herm pairing approve"));
    assert_eq!(gateway.model.requests().len(), 1);
}

#[test]
fn a_message_that_was_taken_is_answered_after_a_kill() {
    let double = Double::start();
    let chat = Double::private(3);
    let gate = Gate::closed();
    let held = gate.clone();
    let model = ModelServer::computed(move |asked| {
        Reply::text(&format!("you said: {}", asked.last_text())).held_by(&held)
    });
    let mut gateway = Gateway::with_telegram(model, &double, &[]);
    gateway.start();
    double.write(chat, "hold on");
    gateway.model.wait_for_requests(1);
    gateway.kill();
    gate.open();
    gateway.start();
    assert_eq!(answered(&double, chat, 1), ["you said: hold on"]);
}

#[test]
fn a_turn_that_several_starts_left_open_waits_for_a_calm_one_and_is_then_gone_on_with() {
    let double = Double::start();
    let chat = Double::private(7);
    let gate = Gate::closed();
    let held = gate.clone();
    let model = ModelServer::computed(move |asked| {
        Reply::text(&format!("you said: {}", asked.last_text())).held_by(&held)
    });
    let mut gateway = Gateway::with_telegram(model, &double, &[]);
    gateway.start();
    double.write(chat, "hold on");
    for asked in 1..=3 {
        gateway.model.wait_for_requests(asked);
        gateway.kill();
        gateway.start();
    }
    let begun = std::time::Instant::now();
    gate.open();
    await_that("the answer", || double.texts_of(chat).iter().any(|text| text == "you said: hold on"));
    assert!(begun.elapsed() > std::time::Duration::from_secs(10), "the guard did not hold");
    let asked = gateway.herm(&["replay", "timeline", "--event", "GatewayStarted", "--json"]).out;
    assert_eq!(asked.lines().count(), 4);
}

#[test]
fn commands_answer_and_a_slip_is_understood() {
    let double = Double::start();
    let chat = Double::private(4);
    let mut gateway = Gateway::with_telegram(echo(), &double, &[]);
    gateway.start();
    double.write(chat, "/stats");
    assert!(answered(&double, chat, 1)[0].contains("/status"));
    double.write(chat, "hello");
    answered(&double, chat, 2);
    double.write(chat, "/undo");
    answered(&double, chat, 3);
    double.write(chat, "anew");
    answered(&double, chat, 4);
    let asked = gateway.model.requests().pop().unwrap().json;
    assert_eq!(asked["messages"].as_array().unwrap().len(), 2, "{asked}");
    double.write(chat, "/new");
    assert!(answered(&double, chat, 5)[4].contains("a new session"));
    double.write(chat, "/sessions");
    let listed = answered(&double, chat, 6)[5].clone();
    assert!(listed.contains("hello") || listed.contains("anew"), "{listed}");
    double.write(chat, "/restart");
    assert!(answered(&double, chat, 7)[6].contains("owners only"));
    double.write(chat, "/help");
    let help = answered(&double, chat, 8)[7].clone();
    assert!(help.contains("/new") && !help.contains("/restart"), "{help}");
    assert_eq!(gateway.model.requests().len(), 2);
}

#[test]
fn a_dangerous_call_is_asked_about_with_buttons_and_runs_after_a_yes() {
    let double = Double::start();
    let chat = Double::private(5);
    let call = Reply::call("terminal", &json!({ "command": "rm -rf build" }));
    let mut gateway =
        Gateway::with_telegram(ModelServer::start([call, Reply::text("it is gone")]), &double, &[]);
    gateway.start();
    double.write(chat, "clean up");
    let question = answered(&double, chat, 1)[0].clone();
    assert!(question.contains("rm -rf build"), "{question}");
    double.write(chat, "/approve");
    await_that("the answer", || double.texts_of(chat).iter().any(|text| text == "it is gone"));
}

#[test]
fn a_blocked_chat_is_dead_until_it_speaks_again() {
    use herm::platforms::contract::{Bench, Fault};
    let double = Double::start();
    let chat = Double::private(7);
    let mut gateway = Gateway::with_telegram(echo(), &double, &[]);
    gateway.start();
    double.write(chat, "one");
    answered(&double, chat, 1);
    assert!(double.fail(Fault::Blocked));
    let target = format!("telegram:{chat}");
    let first = gateway.herm(&["send", &target, "anybody there?"]);
    assert_ne!(first.exit, 0);
    let second = gateway.herm(&["send", &target, "anybody there?"]);
    assert!(second.err.contains("dead target"), "{}", second.err);
    double.heal();
    double.write(chat, "two");
    assert_eq!(answered(&double, chat, 2)[1], "you said: two");
    let third = gateway.herm(&["send", &target, "welcome back"]);
    assert_eq!(third.exit, 0, "{}", third.err);
}

#[test]
fn a_turn_that_waited_too_long_is_not_gone_on_with_and_the_person_is_told() {
    let double = Double::start();
    let chat = Double::private(8);
    let gate = Gate::closed();
    let held = gate.clone();
    let model = ModelServer::computed(move |asked| {
        Reply::text(&format!("you said: {}", asked.last_text())).held_by(&held)
    });
    let mut gateway =
        Gateway::with_telegram(model, &double, &[("HERM_GATEWAY_RESUME_WITHIN", "0".to_owned())]);
    gateway.start();
    double.write(chat, "slow");
    gateway.model.wait_for_requests(1);
    gateway.kill();
    gate.open();
    gateway.start();
    assert!(answered(&double, chat, 1)[0].contains("was not finished"), "{:?}", double.texts_of(chat));
    double.write(chat, "/retry");
    assert_eq!(answered(&double, chat, 2)[1], "you said: slow");
}

#[test]
fn no_secret_that_is_said_reaches_the_log_by_any_way_in() {
    let secret = ["sk-", "proj-", "abc123def456ghi789jkl012mno345"].concat();
    let double = Double::start();
    let chat = Double::private(12);
    let mut gateway = Gateway::with_telegram(echo(), &double, &[]);
    gateway.start();
    double.write(chat, &format!("my key is {secret}"));
    answered(&double, chat, 1);
    double.write(chat, &format!("/title {secret}"));
    answered(&double, chat, 2);
    let sent = gateway.herm(&["send", &format!("telegram:{chat}"), &format!("take {secret}")]);
    assert_eq!(sent.exit, 0, "{}", sent.err);
    let body = json!({ "messages": [
        { "role": "system", "content": format!("use {secret}") },
        { "role": "user", "content": format!("keep {secret}") },
        { "role": "assistant", "content": "kept" },
        { "role": "user", "content": "go on" },
    ] });
    assert_eq!(gateway.post("/v1/chat/completions", &body, &[]).0, 200);
    gateway.stop();
    for recorded in gateway.stage.events() {
        assert!(!format!("{:?}", recorded.event).contains(&secret), "{}", recorded.event.name());
    }
}

/// Sets the settings of Telegram in a gateway that runs.
fn set(gateway: &Gateway, settings: &str) {
    let config = format!("platforms:\n  telegram: {settings}\n");
    std::fs::write(gateway.stage.home().join("config.yaml"), config).unwrap();
    let before = reloads(gateway);
    let reloaded = gateway.herm(&["gateway", "reload"]);
    assert_eq!(reloaded.exit, 0, "{}", reloaded.err);
    await_that("the new settings", || reloads(gateway) > before);
}

fn reloads(gateway: &Gateway) -> usize {
    let shown = gateway.herm(&["replay", "timeline", "--event", "ConfigurationReloaded", "--json"]);
    shown.out.lines().count()
}

#[test]
fn which_parts_of_an_answer_show_what_they_answer_is_a_setting_that_holds_at_once() {
    let double = Double::start();
    let group = Double::group();
    let long = vec!["word ".repeat(300); 4].join("\n\n");
    let model = ModelServer::computed(move |asked| match asked.last_text().contains("long") {
        true => Reply::text(&long),
        false => Reply::text("short"),
    });
    let free = ("TELEGRAM_REQUIRE_MENTION", "false".to_owned());
    let mut gateway = Gateway::with_telegram(model, &double, &[free]);
    gateway.start();
    let mut seen = 0;
    for (mode, shown) in
        [("first", vec![true, false]), ("all", vec![true, true]), ("off", vec![false, false])]
    {
        set(&gateway, &format!("{{reply_to_mode: '{mode}'}}"));
        let asked = double.write(group, "something long").to_string();
        answered(&double, group, seen + 2);
        let sent = double.sent_to(group).split_off(seen);
        seen += sent.len();
        let replies: Vec<bool> = sent.iter().map(|seen| seen.reply_to.as_ref() == Some(&asked)).collect();
        assert_eq!(replies, shown, "{mode}: {sent:?}");
    }
}

#[test]
fn what_a_message_does_during_a_turn_is_a_setting_of_the_platform_also_for_sessions_that_are_open() {
    let double = Double::start();
    let chat = Double::private(6);
    let gate = Gate::closed();
    let held = gate.clone();
    let model = ModelServer::computed(move |asked| {
        let reply = Reply::text(&format!("you said: {}", asked.last_text()));
        if asked.last_text() == "one" { reply.held_by(&held) } else { reply }
    });
    let mut gateway = Gateway::with_telegram(model, &double, &[]);
    gateway.start();
    double.write(chat, "zero");
    answered(&double, chat, 1);
    set(&gateway, "{busy_input_mode: queue}");
    double.write(chat, "one");
    gateway.model.wait_for_requests(2);
    double.write(chat, "two");
    await_that("the second message", || double.waiting() == 0);
    gate.open();
    assert_eq!(answered(&double, chat, 3)[1..], ["you said: one", "you said: two"]);
}

#[test]
fn where_several_speak_what_is_asked_again_names_the_speaker_once() {
    let double = Double::start();
    let group = Double::group();
    let more = [
        ("TELEGRAM_REQUIRE_MENTION", "false".to_owned()),
        ("HERM_GROUP_SESSIONS_PER_USER", "false".to_owned()),
    ];
    let mut gateway = Gateway::with_telegram(echo(), &double, &more);
    gateway.start();
    double.write(group, "hello");
    answered(&double, group, 1);
    double.write(group, "/retry");
    assert_eq!(answered(&double, group, 2), ["you said: Person 0: hello"; 2]);
}
