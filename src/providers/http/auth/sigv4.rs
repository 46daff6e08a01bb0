//! Signatures in Amazon's fourth version, for Bedrock; the signing itself is Amazon's own crate.
//!
//! The time is read here and now: a signature holds for minutes. Bedrock's bearer keys
//! (`AWS_BEARER_TOKEN_BEDROCK`) need none of this: they are a [`super::Header::bearer`].

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use herm_schema::events::ModelFailure;
use reqwest::header::{HeaderName, HeaderValue};

use super::Authorize;
use crate::config::Secret;
use crate::providers::BoxFuture;
use crate::providers::classify::{self, TransportFailure};

/// The name by which requests to Bedrock's runtime are signed.
const SERVICE: &str = "bedrock";
/// The headers that are signed besides the host and Amazon's own. Those that the client or a proxy
/// may still change are not.
const SIGNED: [&str; 1] = ["content-type"];

/// What a request is signed with.
#[derive(Clone, Debug)]
pub struct AwsKeys {
    /// `AWS_ACCESS_KEY_ID`
    pub access_key_id: Secret,
    /// `AWS_SECRET_ACCESS_KEY`
    pub secret_access_key: Secret,
    /// `AWS_SESSION_TOKEN`, which keys that were lent for a while have.
    pub session_token: Option<Secret>,
}

/// Signs every request.
#[derive(Clone, Debug)]
pub struct SigV4 {
    keys: AwsKeys,
    region: String,
    service: &'static str,
}

impl SigV4 {
    /// For Bedrock in `region`, such as `us-east-1`.
    pub fn bedrock(keys: AwsKeys, region: impl Into<String>) -> Self {
        Self { keys, region: region.into(), service: SERVICE }
    }

    fn sign(&self, request: &mut reqwest::Request, at: SystemTime) -> Result<(), String> {
        let of = |secret: &Secret| secret.reveal().trim().to_owned();
        let (access, secret) = (of(&self.keys.access_key_id), of(&self.keys.secret_access_key));
        let token = self.keys.session_token.as_ref().map(of);
        let identity = Credentials::new(access, secret, token, None, "herm").into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(at)
            .settings(SigningSettings::default())
            .build()
            .map_err(|error| error.to_string())?
            .into();
        let signed = request.headers().iter().filter(|(name, _)| SIGNED.contains(&name.as_str()));
        let headers: Vec<(String, String)> = signed
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
            .collect();
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        let signable = SignableRequest::new(
            request.method().as_str(),
            request.url().as_str(),
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())),
            SignableBody::Bytes(body),
        );
        let output = sign(signable.map_err(|error| error.to_string())?, &params);
        let (instructions, _) = output.map_err(|error| error.to_string())?.into_parts();
        let added: Vec<(String, String)> =
            instructions.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for (name, value) in added {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
            let mut value = HeaderValue::from_str(&value).map_err(|error| error.to_string())?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(())
    }
}

impl Authorize for SigV4 {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async move {
            self.sign(request, SystemTime::now()).map_err(|reason| {
                let detail = format!("it cannot be signed: {reason}");
                classify::transport(&TransportFailure::Unsendable { detail })
            })
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        let keys = &self.keys;
        let held = [Some(&keys.secret_access_key), Some(&keys.access_key_id), keys.session_token.as_ref()];
        held.into_iter().flatten().cloned().collect()
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.keys.secret_access_key.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// 2015-08-30T12:36:00Z, as in Amazon's test vectors.
    const AT: Duration = Duration::from_secs(1_440_938_160);

    fn signer(service: &'static str, token: Option<&str>) -> SigV4 {
        let keys = AwsKeys {
            access_key_id: Secret::new("AKIDEXAMPLE"),
            secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
            session_token: token.map(Secret::new),
        };
        SigV4 { service, ..SigV4::bedrock(keys, "us-east-1") }
    }

    fn signed(
        signer: &SigV4,
        method: reqwest::Method,
        url: &str,
        body: Option<(&'static str, &'static str)>,
    ) -> reqwest::Request {
        let mut request = reqwest::Request::new(method, url.parse().unwrap());
        if let Some((kind, body)) = body {
            request.headers_mut().insert("content-type", HeaderValue::from_static(kind));
            *request.body_mut() = Some(body.into());
        }
        signer.sign(&mut request, SystemTime::UNIX_EPOCH + AT).unwrap();
        request
    }

    fn authorization(request: &reqwest::Request) -> String {
        request.headers()["authorization"].to_str().unwrap().to_owned()
    }

    #[test]
    fn amazons_own_test_vectors_come_out() {
        // Names of the vectors in "Signature Version 4 test suite": get-vanilla, post-vanilla,
        // post-x-www-form-urlencoded.
        let signer = signer("service", None);
        let url = "https://example.amazonaws.com/";
        let expected = |headers: &str, signature: &str| {
            format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders={headers}, Signature={signature}"
            )
        };
        let get = authorization(&signed(&signer, reqwest::Method::GET, url, None));
        let signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
        assert_eq!(get, expected("host;x-amz-date", signature));
        let post = authorization(&signed(&signer, reqwest::Method::POST, url, None));
        let signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
        assert_eq!(post, expected("host;x-amz-date", signature));
        let form = Some(("application/x-www-form-urlencoded", "Param1=value1"));
        let form = authorization(&signed(&signer, reqwest::Method::POST, url, form));
        let signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a";
        assert_eq!(form, expected("content-type;host;x-amz-date", signature));
    }

    #[test]
    fn an_encoded_model_and_a_session_token_are_signed_as_an_independent_program_signs_them() {
        let url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3%3A0/converse";
        let body = Some(("application/json", "{\"messages\":[]}"));
        let request = signed(&signer(SERVICE, Some("TOKEN==")), reqwest::Method::POST, url, body);
        assert_eq!(request.headers()["x-amz-security-token"], "TOKEN==");
        assert_eq!(request.headers()["x-amz-date"], "20150830T123600Z");
        assert!(
            authorization(&request)
                .ends_with("Signature=825940d3301a9c24912bc777492af97919c6f11bf66997e973cd8c2c69e87edb"),
            "{}",
            authorization(&request)
        );
        assert!(authorization(&request).contains("content-type;host;x-amz-date;x-amz-security-token"));
        assert!(request.headers().values().filter(|value| value.is_sensitive()).count() >= 3);
    }

    #[test]
    fn every_secret_is_known_and_none_is_printed() {
        let signer = signer(SERVICE, Some("TOKEN=="));
        assert_eq!(signer.secrets().len(), 3);
        let printed = format!("{signer:?} {:?}", signer.fingerprint());
        assert!(!printed.contains("wJalr") && !printed.contains("TOKEN"), "{printed}");
    }
}
