//! An account's tokens, renewed by one caller while the others wait.
//!
//! Many servers take a refresh token once: two exchanges at the same time lose the account. So one
//! owner at a time, in this process by a lock per account and among processes by a locked file; who
//! had to wait looks first whether the work is done. What comes back is written only if the refresh
//! token in the file is still the one that was sent; else somebody logged in anew meanwhile, and
//! theirs counts. A refresh token that is refused for good quarantines its own entry, nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use herm_schema::events::{FailureClass, ModelFailure};

use super::refresh::{self, Exchange};
use super::{Entry, Held, Source, Store, Tokens};
use crate::config::Secret;
use crate::providers::BoxFuture;

/// A token that runs out so soon is renewed before it is used.
const EARLY: Duration = Duration::from_secs(120);
/// How often the lock of another process is looked at.
const LOCK_EVERY: Duration = Duration::from_millis(50);

/// Tokens were renewed; what the profile's stream records of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    pub provider: String,
    /// Fingerprint of the refresh token before.
    pub before: String,
    /// Fingerprint of the refresh token now.
    pub now: String,
    /// Seconds since the epoch.
    pub expires_at: Option<i64>,
}

type Observe = Arc<dyn Fn(Refreshed) + Send + Sync>;

/// The tokens of one account.
pub struct Oauth {
    store: Store,
    id: String,
    observe: Option<Observe>,
    /// Every token that was seen, so that none appears in a text.
    seen: Mutex<Vec<Secret>>,
}

impl Oauth {
    /// The tokens of the entry of this id.
    pub fn new(store: Store, id: impl Into<String>) -> Self {
        Self { store, id: id.into(), observe: None, seen: Mutex::default() }
    }

    /// Tells `observe` of each renewal, after it is on the disk.
    #[must_use]
    pub fn observed(self, observe: Observe) -> Self {
        Self { observe: Some(observe), ..self }
    }

    async fn access(&self) -> Result<Secret, ModelFailure> {
        if let Some(access) = fresh(&self.tokens()?.1) {
            return Ok(access);
        }
        let gate = gate(&format!("{}#{}", self.store.path().display(), self.id));
        let _one = gate.lock().await;
        // Who waited finds the work done.
        if let Some(access) = fresh(&self.tokens()?.1) {
            return Ok(access);
        }
        let file = self.store.lock("refresh").map_err(unreadable)?;
        while let Err(error) = file.try_lock() {
            if let std::fs::TryLockError::Error(error) = error {
                return Err(failure(FailureClass::Unknown, format!("auth.json cannot be locked: {error}")));
            }
            tokio::time::sleep(LOCK_EVERY).await;
        }
        let (provider, tokens) = self.tokens()?;
        match fresh(&tokens) {
            Some(access) => Ok(access),
            None => self.renew(provider, tokens).await,
        }
    }

    /// Provider and tokens as they are in the file; an error if they are not to be used.
    fn tokens(&self) -> Result<(String, Tokens), ModelFailure> {
        let entries = self.store.read().map_err(unreadable)?;
        let gone = || failure(FailureClass::AuthPermanent, "the account was removed from auth.json");
        let entry = entries.into_iter().find(|entry| entry.id == self.id).ok_or_else(gone)?;
        let Held::Oauth(tokens) = entry.held else { return Err(gone()) };
        self.saw(&tokens);
        match &tokens.quarantined {
            Some(reason) => Err(refused(&entry.provider, reason)),
            None => Ok((entry.provider, tokens)),
        }
    }

    fn saw(&self, tokens: &Tokens) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in [&tokens.access, &tokens.refresh] {
            if !seen.contains(secret) {
                seen.push(secret.clone());
            }
        }
    }

    async fn renew(&self, provider: String, tokens: Tokens) -> Result<Secret, ModelFailure> {
        let before = tokens.refresh.fingerprint();
        match refresh::exchange(&tokens, now()).await {
            Exchange::Renewed { access, refresh, expires_at } => {
                let renewed = Tokens { access, refresh, expires_at, ..tokens };
                self.saw(&renewed);
                let kept = self.put(&before, renewed.clone()).map_err(unreadable)?;
                if !kept {
                    return self.tokens().map(|(_, tokens)| tokens.access);
                }
                if let Some(observe) = &self.observe {
                    let now = renewed.refresh.fingerprint();
                    observe(Refreshed { provider, before, now, expires_at: renewed.expires_at });
                }
                Ok(renewed.access)
            }
            Exchange::Final { reason } => {
                let dead = Tokens { quarantined: Some(reason.clone()), ..tokens };
                if self.put(&before, dead).map_err(unreadable)? {
                    return Err(refused(&provider, &reason));
                }
                self.tokens().map(|(_, tokens)| tokens.access)
            }
            // The old token may still live for the moments that were to be on the safe side.
            Exchange::Failed { failure } => match tokens.expires_at {
                Some(at) if at > now() => Ok(tokens.access),
                _ => Err(failure),
            },
        }
    }

    /// Writes the tokens if the file still holds the refresh token of fingerprint `before`.
    fn put(&self, before: &str, tokens: Tokens) -> Result<bool, super::Error> {
        self.store.change(|entries| {
            let own = entries.iter_mut().find(|entry| entry.id == self.id);
            match own {
                Some(Entry { held: Held::Oauth(held), .. }) if held.refresh.fingerprint() == before => {
                    *held = tokens;
                    true
                }
                _ => false,
            }
        })
    }
}

impl Source for Oauth {
    fn secret(&self) -> BoxFuture<'_, Result<Secret, ModelFailure>> {
        Box::pin(self.access())
    }

    fn known(&self) -> Vec<Secret> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The access token, if it lives long enough.
fn fresh(tokens: &Tokens) -> Option<Secret> {
    let early = i64::try_from(EARLY.as_secs()).unwrap_or(i64::MAX);
    let lives = tokens.expires_at.is_none_or(|at| at.saturating_sub(early) > now());
    (lives && !tokens.access.reveal().is_empty()).then(|| tokens.access.clone())
}

/// The lock of one account in this process.
fn gate(name: &str) -> Arc<tokio::sync::Mutex<()>> {
    static GATES: OnceLock<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>> = OnceLock::new();
    let mut gates = GATES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(gates.entry(name.to_owned()).or_default())
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn failure(class: FailureClass, message: impl Into<String>) -> ModelFailure {
    ModelFailure { class, status: None, message: message.into(), retry_after_us: None }
}

fn refused(provider: &str, reason: &str) -> ModelFailure {
    failure(
        FailureClass::AuthPermanent,
        format!("the account is not accepted any more ({reason}); run `herm auth add {provider}`"),
    )
}

fn unreadable(error: super::Error) -> ModelFailure {
    failure(FailureClass::Auth, error.to_string())
}
