//! A credential that is had at the first request that needs it.

use std::sync::{Arc, Mutex};

use herm_schema::events::{FailureClass, ModelFailure};

use super::Fetch;
use crate::config::Secret;
use crate::providers::http::auth::Authorize;
use crate::providers::{BoxFuture, Error};

/// Tells a secret, in its own time.
pub trait Source: Send + Sync {
    /// The secret as it is now.
    ///
    /// # Errors
    /// A classified failure.
    fn secret(&self) -> BoxFuture<'_, Result<Secret, ModelFailure>>;

    /// The secret was refused: whether there is another one now.
    fn renew(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }

    /// Everything that must appear in no text.
    fn known(&self) -> Vec<Secret>;
}

impl Source for Fetch {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, ModelFailure>> {
        Box::pin(async move {
            Self::secret(self).await.map_err(|failure| ModelFailure {
                class: FailureClass::Auth,
                status: None,
                message: format!("the key cannot be had: {failure}"),
                retry_after_us: None,
            })
        })
    }

    fn renew(&self) -> BoxFuture<'_, bool> {
        Box::pin(Self::renew(self))
    }

    fn known(&self) -> Vec<Secret> {
        Self::known(self)
    }
}

/// Makes an [`Authorize`] from a secret.
pub type Make = Arc<dyn Fn(Secret) -> Result<Arc<dyn Authorize>, Error> + Send + Sync>;

/// An [`Authorize`] whose secret comes from a [`Source`].
pub struct Lazy {
    source: Arc<dyn Source>,
    fingerprint: String,
    make: Make,
    made: Mutex<Option<(Secret, Arc<dyn Authorize>)>>,
}

impl Lazy {
    pub fn new(source: Arc<dyn Source>, fingerprint: String, make: Make) -> Self {
        Self { source, fingerprint, make, made: Mutex::new(None) }
    }

    /// What was made from this secret; anew where it has changed.
    fn made(&self, secret: Secret) -> Result<Arc<dyn Authorize>, ModelFailure> {
        let mut made = self.made.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((from, authorize)) = made.as_ref()
            && *from == secret
        {
            return Ok(Arc::clone(authorize));
        }
        let unusable = |error: Error| ModelFailure {
            class: FailureClass::Auth,
            status: None,
            message: format!("the key of {} cannot be used: {error}", self.fingerprint),
            retry_after_us: None,
        };
        let authorize = (self.make)(secret.clone()).map_err(unusable)?;
        *made = Some((secret, Arc::clone(&authorize)));
        Ok(authorize)
    }
}

impl Authorize for Lazy {
    fn authorize<'a>(&'a self, request: &'a mut reqwest::Request) -> BoxFuture<'a, Result<(), ModelFailure>> {
        Box::pin(async move {
            let secret = self.source.secret().await?;
            self.made(secret)?.authorize(request).await
        })
    }

    fn renew(&self) -> BoxFuture<'_, bool> {
        self.source.renew()
    }

    fn secrets(&self) -> Vec<Secret> {
        self.source.known()
    }

    fn fingerprint(&self) -> Option<String> {
        Some(self.fingerprint.clone())
    }
}
