use ring::hmac;
use serde_json::json;

use super::settings::{Route, Scheme};
use super::{signature, template};
use crate::config::Secret;

const SECRET: &str = "It's a Secret to Everybody";
const NOW: i64 = 1_800_000_000;

fn route(scheme: Scheme) -> Route {
    Route {
        name: "r".into(),
        scheme,
        secret: Secret::new(SECRET),
        prompt: String::new(),
        events: vec![],
        deliver: None,
        tolerance_s: 300,
    }
}

fn hex(text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::sign(&key, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn check(scheme: Scheme, headers: &[(&str, String)], body: &str) -> Result<(), &'static str> {
    let header =
        |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    signature::check(&route(scheme), &header, body.as_bytes(), NOW)
}

#[test]
fn githubs_own_example_holds() {
    // From "Validating webhook deliveries", testing the implementation.
    let sent = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17".to_owned();
    assert_eq!(check(Scheme::Github, &[("x-hub-signature-256", sent)], "Hello, World!"), Ok(()));
}

#[test]
fn every_scheme_takes_its_own_and_nothing_else() {
    let old = (NOW - 301).to_string();
    let now = NOW.to_string();
    let slack = |time: &str| {
        vec![
            ("x-slack-request-timestamp", time.to_owned()),
            ("x-slack-signature", format!("v0={}", hex(&format!("v0:{time}:body")))),
        ]
    };
    assert_eq!(check(Scheme::Slack, &slack(&now), "body"), Ok(()));
    assert!(check(Scheme::Slack, &slack(&old), "body").unwrap_err().contains("replay"));
    assert!(check(Scheme::Slack, &slack(&now), "other").is_err());
    let stripe = |time: &str| {
        vec![(
            "stripe-signature",
            format!("t={time},v1={},v1={},v0=ff", "00".repeat(32), hex(&format!("{time}.body"))),
        )]
    };
    assert_eq!(check(Scheme::Stripe, &stripe(&now), "body"), Ok(()));
    assert!(check(Scheme::Stripe, &stripe(&old), "body").is_err());
    let plain = vec![("x-webhook-signature", hex("body"))];
    assert_eq!(check(Scheme::Hmac, &plain, "body"), Ok(()));
    let timed = vec![
        ("x-webhook-signature", format!("sha256={}", hex(&format!("{now}.body")))),
        ("x-webhook-timestamp", now.clone()),
    ];
    assert_eq!(check(Scheme::Hmac, &timed, "body"), Ok(()));
    assert_eq!(check(Scheme::Gitlab, &[("x-gitlab-token", SECRET.to_owned())], "body"), Ok(()));
    assert!(check(Scheme::Gitlab, &[("x-gitlab-token", "no".to_owned())], "body").is_err());
    for scheme in [Scheme::Github, Scheme::Gitlab, Scheme::Stripe, Scheme::Slack, Scheme::Hmac] {
        let why = check(scheme, &[], "body").unwrap_err();
        assert!(!why.contains(SECRET));
        for odd in ["", "sha256=", "zz", "v0=0", "t=x,v1=é"] {
            let headers = [
                "x-hub-signature-256",
                "x-gitlab-token",
                "stripe-signature",
                "x-slack-signature",
                "x-webhook-signature",
                "x-slack-request-timestamp",
            ]
            .map(|name| (name, odd.to_owned()));
            assert!(check(scheme, &headers, "body").is_err(), "{scheme:?} {odd}");
        }
    }
}

#[test]
fn the_same_event_has_the_same_name() {
    let payload = json!({ "id": "evt_1" });
    let none = |_: &str| None;
    let id = |scheme, body: &str| signature::id(&route(scheme), &none, &payload, body.as_bytes());
    assert_eq!(id(Scheme::Stripe, "a"), "evt_1");
    assert_eq!(id(Scheme::Hmac, "a"), id(Scheme::Hmac, "a"));
    assert_ne!(id(Scheme::Hmac, "a"), id(Scheme::Hmac, "b"));
}

#[test]
fn a_template_takes_values_of_the_payload_and_keeps_braces() {
    let payload = json!({ "a": { "b": ["x", { "c": 7 }] }, "long": "é".repeat(5_000) });
    let said = |prompt: &str| {
        let route = Route { prompt: prompt.into(), ..route(Scheme::Hmac) };
        let message = template::message(&route, "push", &payload);
        message.split_once("\n\n").unwrap().1.to_owned()
    };
    assert_eq!(said("{a.b.0}-{a.b.1.c}-{a.z}-{{x}}"), "x-7--{x}");
    assert_eq!(said("{a.b"), "{a.b");
    assert_eq!(said("{long}").chars().count(), 4_001);
    assert!(said("").contains("\"c\": 7"));
    let message = template::message(&route(Scheme::Hmac), "push", &payload);
    assert!(message.starts_with("[webhook `r`, event `push`;"));
}
