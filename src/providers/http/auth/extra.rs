//! Headers that a vendor wants with every request, beside the key.

use std::sync::Arc;

use herm_schema::events::ModelFailure;
use reqwest::header::{HeaderName, HeaderValue};

use super::Authorize;
use crate::config::Secret;
use crate::providers::{BoxFuture, Error};

/// An [`Authorize`] and headers that are the same every time.
pub struct WithHeaders {
    inner: Arc<dyn Authorize>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl WithHeaders {
    /// `inner` itself where there are no headers to add.
    ///
    /// # Errors
    /// [`Error::BadVendor`] for a header that HTTP does not allow.
    pub fn around<'a>(
        inner: Arc<dyn Authorize>,
        headers: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Result<Arc<dyn Authorize>, Error> {
        let read = |(name, value): (&String, &String)| {
            let bad = |reason: String| Error::BadVendor { place: format!("the header `{name}`"), reason };
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|error| bad(error.to_string()))?;
            Ok((header, HeaderValue::from_str(value).map_err(|error| bad(error.to_string()))?))
        };
        let headers: Vec<_> = headers.into_iter().map(read).collect::<Result<_, Error>>()?;
        Ok(if headers.is_empty() { inner } else { Arc::new(Self { inner, headers }) })
    }
}

impl Authorize for WithHeaders {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name.clone(), value.clone());
        }
        self.inner.authorize(request)
    }

    fn renew(&self) -> BoxFuture<'_, bool> {
        self.inner.renew()
    }

    fn secrets(&self) -> Vec<Secret> {
        self.inner.secrets()
    }

    fn fingerprint(&self) -> Option<String> {
        self.inner.fingerprint()
    }
}
