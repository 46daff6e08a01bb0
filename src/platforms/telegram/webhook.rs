//! Reading by web hook: Telegram posts each update to herm, and again until it is answered well.
//!
//! Source: core.telegram.org/bots/api#setwebhook: the header `X-Telegram-Bot-Api-Secret-Token` carries the
//! secret that was agreed on; any answer but 2xx makes Telegram send the update again.

use serde::de::IgnoredAny;
use tokio_util::sync::CancellationToken;

use super::api::{CALL_MAX, Failed};
use super::wire::{ALLOWED_UPDATES, SetWebhook, Update};
use super::{Telegram, inbound, media, refusal};
use crate::config::Secret;
use crate::platforms::ingress::{Ingress, IngressAnswer, is_same_secret};
use crate::platforms::{Inlet, Stopped};

/// The header that proves that Telegram sends.
const SECRET_HEADER: &str = "x-telegram-bot-api-secret-token";
/// Requests at once; one keeps the order.
const CONNECTIONS: u32 = 1;

/// Where Telegram posts to, and what proves that it does.
pub(super) struct Hook {
    pub url: String,
    pub secret: Secret,
}

/// Whether Telegram takes it as a secret: 1 to 256 letters, digits, `_` and `-`.
pub(super) fn is_secret(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=256).contains(&text.len()) && text.chars().all(allowed)
}

/// Tells Telegram where to post, and waits.
pub(super) async fn wait(telegram: &Telegram, hook: &Hook, stop: &CancellationToken) -> Result<(), Stopped> {
    let request = SetWebhook {
        url: &hook.url,
        secret_token: hook.secret.reveal(),
        max_connections: CONNECTIONS,
        allowed_updates: ALLOWED_UPDATES,
    };
    let set = async {
        telegram.me().await?;
        telegram.api.call::<IgnoredAny>("setWebhook", &request, CALL_MAX).await
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        set = set => match set {
            Ok(_) => {}
            Err(Failed::Refused { code: 400, description, .. }) => return Err(Stopped::Terminal {
                message: format!("Telegram does not take the web hook: {description}"),
                fix: "set `TELEGRAM_WEBHOOK_URL` to an address that Telegram reaches over HTTPS".to_owned(),
            }),
            Err(failed) => return Err(refusal::of_account(failed)),
        },
    }
    // The hook stays when herm stops: Telegram keeps what it cannot post.
    stop.cancelled().await;
    Ok(())
}

/// Takes what Telegram posted.
pub(super) async fn take(telegram: &Telegram, request: &Ingress, inlet: &dyn Inlet) -> IngressAnswer {
    let Some(hook) = &telegram.hook else { return IngressAnswer::status(404) };
    if request.method != "POST" {
        return IngressAnswer::status(405);
    }
    if !request.header(SECRET_HEADER).is_some_and(|sent| is_same_secret(sent, hook.secret.reveal())) {
        return IngressAnswer::saying(401, "the secret is not the one that was agreed on");
    }
    let Ok(update) = serde_json::from_slice::<Update>(&request.body) else {
        // To refuse it would bring it again for a day, and everything after it would wait.
        tracing::warn!("an update of Telegram's cannot be read and is passed over");
        return IngressAnswer::status(200);
    };
    let Ok(me) = telegram.me().await else {
        return IngressAnswer::saying(503, "herm does not know yet who it is");
    };
    for came in inbound::read(update, me) {
        let inbound = media::filled(&telegram.api, came, inlet.media_bytes_max()).await;
        if inlet.take(inbound).await.is_err() {
            return IngressAnswer::saying(503, "not now");
        }
    }
    IngressAnswer::status(200)
}
