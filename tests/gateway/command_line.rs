//! `herm gateway`, `herm send`, `herm delivery`, `herm platforms`.

use super::gateway::{Gateway, echo};

#[test]
fn a_gateway_says_how_it_is_and_that_none_runs() {
    let mut gateway = Gateway::new(echo(), &[]);
    let none = gateway.herm(&["gateway", "status"]);
    assert_ne!(none.exit, 0);
    assert!(
        none.err.contains("no gateway runs") && none.err.contains("hint: herm gateway run"),
        "{}",
        none.err
    );
    gateway.start();
    let status = gateway.herm(&["gateway", "status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!(status["platforms"]["api_server"]["state"], "up");
    assert_eq!(status["accepting"], true);
    let second = gateway.herm(&["gateway", "run"]);
    assert_ne!(second.exit, 0);
    assert_eq!(gateway.herm(&["gateway", "stop"]).exit, 0);
    super::stage::await_that("the end", || gateway.herm(&["gateway", "status"]).exit != 0);
}

#[test]
fn a_restart_is_the_same_process_anew_and_serves_on() {
    let mut gateway = Gateway::new(echo(), &[]);
    gateway.start();
    gateway.complete("hello", &[]);
    let up = |gateway: &Gateway| gateway.get("/health/detailed").map(|facts| facts["up_seconds"].clone());
    let before = gateway.get("/health/detailed").unwrap();
    assert_eq!(gateway.herm(&["gateway", "restart"]).exit, 0);
    super::stage::await_that("the restart", || {
        gateway.stage.home().join("gateway.sock").exists()
            && gateway.herm(&["log", "stats"]).exit == 0
            && gateway
                .stage
                .events()
                .iter()
                .any(|recorded| matches!(recorded.event, herm_schema::Event::GatewayDrained(_)))
            && up(&gateway).is_ok()
    });
    let after = gateway.get("/health/detailed").unwrap();
    assert_eq!(before["pid"], after["pid"]);
    gateway.complete("again", &[]);
}

#[test]
fn a_bad_token_of_one_platform_hurts_no_other() {
    let double = super::doubles::telegram::Double::start();
    let more = [
        ("TELEGRAM_BOT_TOKEN", "123456:wrong-token-that-nobody-has-000000000".to_owned()),
        ("TELEGRAM_BASE_URL", double.url()),
    ];
    let mut gateway = Gateway::new(echo(), &more);
    gateway.start();
    super::stage::await_that("the standing", || {
        gateway.get("/health/detailed").is_ok_and(|facts| facts["platforms"]["telegram"]["state"] == "down")
    });
    let platforms = gateway.herm(&["platforms"]).out;
    assert!(platforms.contains("down") && !platforms.contains("wrong-token"), "{platforms}");
    gateway.complete("hello", &[]);
}

#[test]
fn deliver_timeout_o_what_nobody_knows_is_shown_and_sent_again_only_when_asked_with_the_mark() {
    use herm::platforms::contract::{Bench, Fault};
    let double = super::doubles::telegram::Double::start();
    let chat = super::doubles::telegram::Double::private(11);
    let mut gateway =
        Gateway::with_telegram(echo(), &double, &[("HERM_GATEWAY_STREAMING", "false".to_owned())]);
    gateway.start();
    assert!(double.fail(Fault::CutBeforeAnswer));
    double.write(chat, "hello");
    let listed = || gateway.herm(&["delivery", "list"]).out;
    super::stage::await_that("the failure", || listed().contains("nobody knows whether it arrived"));
    assert_eq!(double.texts_of(chat), ["you said: hello"], "it had arrived, and is not sent again by itself");
    let name = listed().split_whitespace().next().unwrap().to_owned();
    let again = gateway.herm(&["delivery", "retry", &name]);
    assert!(again.out.contains("possible repeat"), "{}{}", again.out, again.err);
    super::stage::await_that("the repeat", || double.texts_of(chat).len() == 2);
    assert_eq!(double.texts_of(chat)[1], "(possibly repeated) you said: hello");
    assert_ne!(gateway.herm(&["delivery", "retry", "default/gateway/999"]).exit, 0);
}
