//! A key in a header, which is how nearly every endpoint wants it.

use herm_schema::events::ModelFailure;
use reqwest::header::{HeaderName, HeaderValue};

use super::Authorize;
use crate::config::Secret;
use crate::providers::BoxFuture;
use crate::providers::classify::{self, TransportFailure};

/// No key at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Authorize for Nothing {
    fn authorize<'a>(&'a self, _: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async { Ok(()) })
    }

    fn secrets(&self) -> Vec<Secret> {
        Vec::new()
    }

    fn fingerprint(&self) -> Option<String> {
        None
    }
}

/// A key in a header.
#[derive(Clone, Debug)]
pub struct Header {
    name: HeaderName,
    /// Stands before the key, such as `Bearer `.
    before: &'static str,
    key: Secret,
}

impl Header {
    /// `Authorization: Bearer KEY`.
    pub fn bearer(key: Secret) -> Self {
        Self { name: reqwest::header::AUTHORIZATION, before: "Bearer ", key }
    }

    /// The key alone in a header of this name, in lower case.
    pub fn named(name: &'static str, key: Secret) -> Self {
        Self { name: HeaderName::from_static(name), before: "", key }
    }
}

impl Authorize for Header {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async move {
            let text = format!("{}{}", self.before, self.key.reveal().trim());
            let mut value = HeaderValue::from_str(&text).map_err(|_| {
                let detail = format!("{} holds characters that no header takes", self.key.fingerprint());
                classify::transport(&TransportFailure::Unsendable { detail })
            })?;
            value.set_sensitive(true);
            request.headers_mut().insert(self.name.clone(), value);
            Ok(())
        })
    }

    fn secrets(&self) -> Vec<Secret> {
        vec![self.key.clone()]
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.key.fingerprint())
    }
}
