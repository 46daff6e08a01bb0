//! Webhooks: signed, recognised when they come again, answered elsewhere.

use ring::hmac;

use super::doubles::telegram::Double;
use super::gateway::{Gateway, echo};
use super::stage::await_that;
use super::support::companion::free_port;

const SECRET: &str = "a-secret-of-a-test";

fn post(port: u16, headers: &[(&str, &str)], body: &str) -> u16 {
    let mut request = Gateway::client().post(format!("http://127.0.0.1:{port}/webhooks/deploys"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.to_owned()).send().unwrap().status().as_u16()
}

#[test]
fn a_push_is_told_to_the_model_once_and_its_answer_goes_to_a_chat() {
    let double = Double::start();
    let chat = Double::private(9);
    let port = free_port();
    let routes = format!(
        r#"{{"deploys": {{"scheme": "github", "secret": "{SECRET}", "events": ["push"],
            "prompt": "sum up: {{head.message}}", "deliver": "telegram:{chat}"}}}}"#
    );
    let more = [("WEBHOOK_ROUTES", routes), ("WEBHOOK_PORT", port.to_string())];
    let mut gateway = Gateway::with_telegram(echo(), &double, &more);
    gateway.start();
    await_that("the listener", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let body = r#"{"head": {"message": "fix the build"}}"#;
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let hex: String =
        hmac::sign(&key, body.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let signature = format!("sha256={hex}");
    let all = |event| {
        [("x-hub-signature-256", signature.as_str()), ("x-github-event", event), ("x-github-delivery", "d-1")]
    };
    assert_eq!(post(port, &[("x-github-event", "push")], body), 401);
    assert_eq!(post(port, &all("push"), r#"{"head": {"message": "other"}}"#), 401);
    assert_eq!(post(port, &all("issues"), body), 200);
    assert_eq!(gateway.model.requests().len(), 0);
    assert_eq!(post(port, &all("push"), body), 202);
    assert_eq!(post(port, &all("push"), body), 200, "it is known already");
    await_that("the answer", || !double.texts_of(chat).is_empty());
    let said = double.texts_of(chat).remove(0);
    assert!(said.contains("sum up: fix the build"), "{said}");
    // What strangers write comes with few tools.
    let asked = gateway.model.requests().pop().unwrap().json;
    let tools: Vec<&str> = asked["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(!tools.contains(&"terminal") && !tools.contains(&"write_file"), "{tools:?}");
    await_that("the receipt", || gateway.herm(&["delivery", "list"]).out.contains("everything has arrived"));
    gateway.kill();
    gateway.start();
    await_that("the listener", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert_eq!(post(port, &all("push"), body), 200, "also after a restart");
    assert_eq!(double.texts_of(chat).len(), 1);
    assert!(!gateway.herm(&["platforms"]).out.contains(SECRET));
}
