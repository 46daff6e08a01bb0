//! The Events API, interactivity and slash commands over HTTP: Slack posts, and again until it is answered.
//!
//! Source: docs.slack.dev, "Using HTTP Request URLs": what is not answered with 200 within three seconds is
//! posted up to three times more, under the same `event_id`.

use reqwest::Url;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::refusal::{self, Whose};
use super::signature;
use super::take::{Delivery, take as take_delivery};
use super::{Slack, missed};
use crate::platforms::{Ingress, IngressAnswer, Inlet, Stopped};

/// Sees that the account works, takes what was missed, and waits: what comes in comes by [`take`].
pub(super) async fn wait(slack: &Slack, inlet: &dyn Inlet, stop: &CancellationToken) -> Result<(), Stopped> {
    let begin = async {
        let me = slack.me().await.map_err(|failed| refusal::of_account(failed, Whose::Bot))?;
        missed::fetch(slack, inlet, me).await
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        begun = begin => begun?,
    }
    stop.cancelled().await;
    Ok(())
}

/// Takes what Slack posted.
pub(super) async fn take(slack: &Slack, request: &Ingress, inlet: &dyn Inlet) -> IngressAnswer {
    let Some(secret) = &slack.signing_secret else { return IngressAnswer::status(404) };
    if request.method != "POST" {
        return IngressAnswer::status(405);
    }
    let now = jiff::Timestamp::now().as_second();
    if !signature::is_slacks(request, secret, now) {
        return IngressAnswer::saying(401, "the signature is not Slack's, or is too old");
    }
    let is_form = request.header("content-type").is_some_and(|kind| kind.contains("x-www-form-urlencoded"));
    let delivery = if is_form { form(&request.body) } else { json(&request.body) };
    let delivery = match delivery {
        Posted::Challenge(challenge) => return IngressAnswer::saying(200, &challenge),
        Posted::Delivery(delivery) => delivery,
        Posted::Nothing => {
            // To refuse it would only bring it again.
            tracing::warn!("a request of Slack's cannot be read and is passed over");
            return IngressAnswer::status(200);
        }
    };
    let Ok(me) = slack.me().await else {
        return IngressAnswer::saying(503, "herm does not know yet who it is");
    };
    match take_delivery(slack, inlet, me, &delivery).await {
        Ok(()) => IngressAnswer::status(200),
        Err(_) => IngressAnswer::saying(503, "not now"),
    }
}

/// What a request holds.
#[derive(Debug, PartialEq)]
enum Posted {
    /// Slack asks whether herm is here; the same is answered.
    Challenge(String),
    Delivery(Delivery),
    Nothing,
}

fn json(body: &[u8]) -> Posted {
    let Ok(payload) = serde_json::from_slice::<Value>(body) else { return Posted::Nothing };
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    match (text("type"), text("challenge")) {
        (Some("url_verification"), Some(challenge)) => Posted::Challenge(challenge.to_owned()),
        _ => Posted::Delivery(Delivery::Event(payload)),
    }
}

/// Interactions are a `payload` of JSON, commands are fields.
fn form(body: &[u8]) -> Posted {
    let (Ok(body), Ok(mut url)) = (std::str::from_utf8(body), Url::parse("http://form/")) else {
        return Posted::Nothing;
    };
    url.set_query(Some(body));
    let mut fields = serde_json::Map::new();
    for (name, value) in url.query_pairs() {
        fields.insert(name.into_owned(), Value::String(value.into_owned()));
    }
    match fields.get("payload").and_then(Value::as_str).map(serde_json::from_str) {
        Some(Ok(payload)) => Posted::Delivery(Delivery::Interaction(payload)),
        Some(Err(_)) => Posted::Nothing,
        None if fields.contains_key("command") => Posted::Delivery(Delivery::Command(Value::Object(fields))),
        None => Posted::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_request_is_known() {
        let challenge = br#"{"token": "x", "challenge": "3eZbrw1aB", "type": "url_verification"}"#;
        assert_eq!(json(challenge), Posted::Challenge("3eZbrw1aB".to_owned()));
        assert_eq!(json(b"{"), Posted::Nothing);
        let pressed = form(b"payload=%7B%22type%22%3A%22block_actions%22%7D");
        let payload = serde_json::json!({"type": "block_actions"});
        assert_eq!(pressed, Posted::Delivery(Delivery::Interaction(payload)));
        let Posted::Delivery(Delivery::Command(fields)) = form(b"command=%2Fherm&text=say+%C3%BC%26") else {
            panic!()
        };
        assert_eq!(fields, serde_json::json!({"command": "/herm", "text": "say ü&"}));
        assert_eq!((form(b"ssl_check=1"), form(&[0xff])), (Posted::Nothing, Posted::Nothing));
    }
}
