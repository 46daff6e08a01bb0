//! Who is told what becomes known about credentials while herm runs.

use std::sync::Arc;

use herm_schema::events::ModelFailure;

use super::Refreshed;
use crate::config::Secret;
use crate::providers::BoxFuture;
use crate::providers::http::auth::Authorize;

/// Is told of secrets and renewals, in the middle of a request: it must not block.
pub trait Witness: Send + Sync {
    /// Texts that must appear nowhere. Mostly they are known already.
    fn secrets(&self, secrets: &[Secret]);

    /// Tokens were renewed, and are on the disk.
    fn refreshed(&self, refreshed: Refreshed);
}

/// An [`Authorize`] whose secrets a [`Witness`] knows before the request that they are on is sent.
pub struct Witnessed {
    inner: Arc<dyn Authorize>,
    witness: Arc<dyn Witness>,
}

impl Witnessed {
    /// `inner` itself where nobody wants to know.
    pub fn around(inner: Arc<dyn Authorize>, witness: Option<&Arc<dyn Witness>>) -> Arc<dyn Authorize> {
        match witness {
            Some(witness) => Arc::new(Self { inner, witness: Arc::clone(witness) }),
            None => inner,
        }
    }
}

impl Authorize for Witnessed {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async move {
            let authorized = self.inner.authorize(request).await;
            // Also where it failed: what was fetched until then may be in what is said of it.
            self.witness.secrets(&self.inner.secrets());
            authorized
        })
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
