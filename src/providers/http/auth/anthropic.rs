//! Anthropic's keys: `x-api-key` for those of the API, a bearer for those of a subscription.

use std::sync::Arc;

use herm_schema::events::ModelFailure;
use reqwest::header::HeaderValue;

use super::{Authorize, Header};
use crate::config::Secret;
use crate::providers::BoxFuture;
use crate::providers::classify::{self, TransportFailure};

/// What tokens of a subscription begin with.
const OAUTH_PREFIX: &str = "sk-ant-oat";
/// The opt-in that goes with them.
pub const OAUTH_BETA: &str = "oauth-2025-04-20";
const BETAS: &str = "anthropic-beta";

/// The way in which `key` is to be sent.
pub fn auth(key: Secret) -> Arc<dyn Authorize> {
    if key.reveal().trim_start().starts_with(OAUTH_PREFIX) {
        Arc::new(OAuthToken { bearer: Header::bearer(key) })
    } else {
        Arc::new(Header::named("x-api-key", key))
    }
}

/// A token of a subscription. Its opt-in joins those that the dialect asks for; the dialect itself
/// knows no keys.
#[derive(Debug)]
struct OAuthToken {
    bearer: Header,
}

impl Authorize for OAuthToken {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async move {
            let asked = request.headers().get(BETAS).and_then(|betas| betas.to_str().ok());
            let betas = asked.map_or_else(|| OAUTH_BETA.to_owned(), |asked| format!("{asked},{OAUTH_BETA}"));
            let betas = HeaderValue::from_str(&betas).map_err(|error| {
                classify::transport(&TransportFailure::Unsendable { detail: error.to_string() })
            })?;
            request.headers_mut().insert(BETAS, betas);
            self.bearer.authorize(request).await
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        self.bearer.secrets()
    }

    fn fingerprint(&self) -> Option<String> {
        self.bearer.fingerprint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(key: &str, betas: Option<&'static str>) -> reqwest::Request {
        let url = "https://api.anthropic.com/v1/messages".parse().unwrap();
        let mut request = reqwest::Request::new(reqwest::Method::POST, url);
        if let Some(betas) = betas {
            request.headers_mut().insert(BETAS, HeaderValue::from_static(betas));
        }
        auth(Secret::new(key)).authorize(&mut request).await.unwrap();
        request
    }

    #[tokio::test]
    async fn each_kind_of_key_is_sent_in_its_own_way() {
        let key = sent("sk-ant-api03-x", Some("b")).await;
        assert_eq!(key.headers()["x-api-key"], "sk-ant-api03-x");
        assert_eq!(
            (key.headers().get("authorization"), &key.headers()[BETAS]),
            (None, &HeaderValue::from_static("b"))
        );
        let token = sent("sk-ant-oat01-x", Some("a,b")).await;
        assert_eq!(token.headers()["authorization"], "Bearer sk-ant-oat01-x");
        assert!(token.headers()["authorization"].is_sensitive());
        assert_eq!(token.headers()[BETAS], format!("a,b,{OAUTH_BETA}"));
        assert_eq!(token.headers().get("x-api-key"), None);
        assert_eq!(sent("sk-ant-oat01-x", None).await.headers()[BETAS], OAUTH_BETA);
    }
}
