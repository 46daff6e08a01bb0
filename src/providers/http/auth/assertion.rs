//! A signed assertion by which a service account of Google's asks for a token.
//!
//! Source: RFC 7519 and RFC 7523, and "Using OAuth 2.0 for server to server applications" of Google
//! Identity: RS256 over `{"iss","scope","aud","iat","exp"}`, good for an hour at most.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::json;

use super::google::GoogleError;
use crate::config::Secret;

/// What is asked for: Vertex has no narrower scope.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// How long an assertion is good for, in seconds; the most that is taken.
const LIFETIME_SECONDS: u64 = 3_600;

/// A service account's key.
pub(super) struct Signer {
    account: String,
    key_id: Option<String>,
    key: RsaKeyPair,
}

impl Signer {
    pub(super) fn new(account: String, key_id: Option<String>, pem: &Secret) -> Result<Self, GoogleError> {
        // What libraries say of a key must not be passed on whole: it may quote it.
        let bad = |account: &str, reason: &str| GoogleError::BadKey {
            account: account.to_owned(),
            reason: reason.to_owned(),
        };
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.reveal().as_bytes())
            .map_err(|_| bad(&account, "it is not in PEM with `BEGIN PRIVATE KEY`"))?;
        let key = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(|rejected| {
            bad(&account, &format!("it is no RSA key of 2048 to 4096 bits ({rejected})"))
        })?;
        Ok(Self { account, key_id, key })
    }

    /// The assertion for the token server at `audience`.
    pub(super) fn assertion(&self, audience: &str, now: SystemTime) -> Result<String, String> {
        let issued = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut header = json!({"alg":"RS256","typ":"JWT"});
        if let (Some(id), Some(map)) = (&self.key_id, header.as_object_mut()) {
            map.insert("kid".into(), id.as_str().into());
        }
        let claims = json!({
            "iss": self.account,
            "scope": SCOPE,
            "aud": audience,
            "iat": issued,
            "exp": issued.saturating_add(LIFETIME_SECONDS),
        });
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| "the assertion cannot be signed".to_owned())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    #[cfg(test)]
    pub(super) fn public_key(&self) -> &[u8] {
        self.key.public().as_ref()
    }
}
