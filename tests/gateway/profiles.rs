//! Several profiles in one process, each with its own.

use serde_json::{Value, json};

use super::doubles::telegram::Double;
use super::gateway::{Gateway, echo};
use super::stage::await_that;

#[test]
fn each_profile_has_its_own_soul_sessions_and_log() {
    let double = Double::start();
    let (hers, his) = (Double::private(1), Double::private(2));
    let mut gateway = Gateway::with_telegram(echo(), &double, &[]);
    let home = gateway.stage.home();
    let own = home.join("profiles/beta");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(home.join("SOUL.md"), "You are Alpha.").unwrap();
    std::fs::write(own.join("SOUL.md"), "You are Beta.").unwrap();
    let config = format!(
        "gateway:\n  profiles: [beta]\n  profile_routes:\n    - profile: beta\n      platform: telegram\n      chat_id: '{his}'\n    \
         - profile: gamma\n      platform: telegram\n      chat_id: '{}'\n",
        Double::private(3)
    );
    std::fs::write(home.join("config.yaml"), config).unwrap();
    gateway.start();
    double.write(hers, "hello");
    double.write(his, "hello");
    await_that("both answers", || !double.texts_of(hers).is_empty() && !double.texts_of(his).is_empty());
    let souls: Vec<String> = gateway
        .model
        .requests()
        .iter()
        .map(|asked| asked.json["messages"][0]["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(souls.iter().any(|soul| soul.starts_with("You are Alpha.")), "{souls:?}");
    assert!(souls.iter().any(|soul| soul.starts_with("You are Beta.")), "{souls:?}");

    // A route to a profile that is not served is said, and reaches no model.
    double.write(Double::private(3), "hello");
    await_that("the refusal", || !double.texts_of(Double::private(3)).is_empty());
    assert!(double.texts_of(Double::private(3))[0].contains("gamma"));
    assert_eq!(gateway.model.requests().len(), 2);

    // No name of a session leads across.
    let listed =
        |path: &str| -> Vec<Value> { gateway.get(path).unwrap()["data"].as_array().unwrap().clone() };
    let (alpha, beta) = (listed("/api/sessions"), listed("/p/beta/api/sessions"));
    assert_eq!((alpha.len(), beta.len()), (1, 1));
    let id = beta[0]["id"].as_str().unwrap();
    assert!(gateway.get(&format!("/api/sessions/{id}")).unwrap_err().starts_with("404"));
    assert!(gateway.get(&format!("/p/beta/api/sessions/{id}")).is_ok());
    let ask = json!({ "messages": [{ "role": "user", "content": "x" }] });
    let (status, _) = gateway.post("/v1/chat/completions", &ask, &[("x-hermes-session-id", id)]);
    assert_eq!(status, 404);
    assert!(own.join("log/MANIFEST").exists());
}
