//! The models that sessions call: who answers, with which key, and what has been spent today.
//!
//! What is known about keys is a fold of the stream of the profile ([`credentials`]): a key that
//! failed rests, for a time that depends on why. Nothing here decides; the reducer is told how
//! things stand ([`Models::outlook`]) and what it decides is in the log.

mod auxiliary;
pub mod credentials;
mod spent;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use herm_replay::log::{Append, Durability, Expect, Log};
use herm_replay::reducer::failure::flags;
use herm_replay::reducer::state::Phase;
use herm_replay::reducer::{Outlook, Route, SessionState};
use herm_schema::events::*;
use herm_schema::{Event, IdempotencyKey, Micros, Recorded, StreamId};

use super::{Clock, Models};
use crate::effects::AuxiliaryModel;
use crate::providers::{Provider, Resolved};

pub use auxiliary::AuxiliarySettings;
use credentials::Credentials;
pub use credentials::{Rest, Strategies, Strategy};
use spent::Spent;

/// Every model of this process.
pub struct ModelTable {
    log: Arc<dyn Log>,
    clock: Arc<dyn Clock>,
    profile: StreamId,
    models: RwLock<Vec<Resolved>>,
    strategies: Strategies,
    credentials: Mutex<Credentials>,
    spent: Mutex<Spent>,
    auxiliary: Vec<AuxiliarySettings>,
    anyone: Vec<ModelChoice>,
}

/// What a [`ModelTable`] begins with.
pub struct Beginning {
    pub log: Arc<dyn Log>,
    pub clock: Arc<dyn Clock>,
    pub profile: StreamId,
    pub models: Vec<Resolved>,
    pub strategies: Strategies,
    pub auxiliary: Vec<AuxiliarySettings>,
    /// Who may be asked besides the conversation after everybody else.
    pub anyone: Vec<ModelChoice>,
    /// Today's spending so far, in micro-dollars.
    pub spent_today: u64,
    /// Calls of each key so far, by provider and fingerprint.
    pub uses: Vec<(String, String, u64)>,
}

impl ModelTable {
    /// Reads what the profile's stream says about keys.
    ///
    /// # Errors
    /// Those of the log.
    pub fn new(with: Beginning) -> Result<Self, herm_replay::log::Error> {
        let credentials = Credentials::of(&*with.log, with.profile, with.uses)?;
        let spent = Spent::new(with.clock.now(), with.spent_today);
        Ok(Self {
            log: with.log,
            clock: with.clock,
            profile: with.profile,
            models: RwLock::new(with.models),
            strategies: with.strategies,
            credentials: Mutex::new(credentials),
            spent: Mutex::new(spent),
            auxiliary: with.auxiliary,
            anyone: with.anyone,
        })
    }

    /// Takes a model in, so that sessions can be switched to it.
    pub fn add(&self, resolved: Resolved) {
        let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
        models.retain(|known| known.choice != resolved.choice);
        models.push(resolved);
    }

    fn credentials(&self) -> MutexGuard<'_, Credentials> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of a failed call rests, if its key is why and it is left now.
    fn rest(&self, recorded: &Recorded, failed: &Failed<'_>) {
        let Some(credential) =
            failed.credential.filter(|_| flags(failed.failure.class).should_rotate_credential)
        else {
            return;
        };
        let until = credentials::rests_until(failed.failure, recorded.envelope.recorded_at);
        let rested = CredentialRested {
            provider: failed.provider.to_owned(),
            credential: credential.to_owned(),
            class: failed.failure.class,
            until,
        };
        self.credentials().rested(&rested);
        // Without the record the key is simply asked again after a restart.
        let at = recorded.envelope.recorded_at;
        let key = IdempotencyKey::of(&["rest", &recorded.envelope.position.to_string()]);
        record(&*self.log, self.profile, at, key, Event::from(rested));
    }
}

/// Puts an event about keys into the stream of the profile. Nobody waits for it.
pub fn record(log: &dyn Log, profile: StreamId, at: Micros, key: IdempotencyKey, event: Event) {
    let append = Append {
        stream: profile,
        expect: Expect::Any,
        key: Some(key),
        at,
        durability: Durability::Queued,
        events: vec![event.into()],
    };
    let done = Box::new(|result: Result<_, _>| {
        if let Err(error) = result {
            tracing::warn!(%error, "what is known of a key could not be recorded");
        }
    });
    log.submit(append, done);
}

/// A failed call, and whose key it was.
struct Failed<'a> {
    failure: &'a ModelFailure,
    provider: &'a str,
    credential: Option<&'a str>,
}

impl Models for ModelTable {
    fn provider(&self, choice: &ModelChoice, credential: Option<&str>) -> Option<Arc<dyn Provider>> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Resolved| {
            let known = &known.choice;
            (&known.provider, &known.base_url, &known.dialect)
                == (&choice.provider, &choice.base_url, &choice.dialect)
        };
        models.iter().filter(same).find_map(|known| known.provider(credential))
    }

    fn outlook(&self, policy: &Policy) -> Outlook {
        let models = std::iter::once(&policy.model).chain(&policy.fallbacks);
        let routes = models.map(|choice| self.route(choice)).collect();
        Outlook { routes, spent_today: self.spent().today(self.clock.now()) }
    }

    fn route(&self, choice: &ModelChoice) -> Route {
        self.credentials().route(choice, &self.strategies, self.clock.now(), self.clock.seed())
    }

    fn note(&self, recorded: &Recorded, before: &SessionState) {
        match &recorded.event {
            Event::ModelCallStarted(e) => self.credentials().used(&e.provider, e.credential.as_deref()),
            Event::AuxiliaryCallStarted(e) => self.credentials().used(&e.provider, e.credential.as_deref()),
            Event::ModelCallSucceeded(e) => {
                let prices = before.choice().and_then(|choice| choice.prices.as_ref());
                self.spent().add(recorded.envelope.recorded_at, e.usage.as_ref(), prices);
            }
            Event::ModelCallFailed(ModelCallFailed {
                failure,
                action: FailureAction::Rotate | FailureAction::FallBack { .. } | FailureAction::GiveUp,
            }) => {
                let credential = match before.turn.as_ref().map(|turn| &turn.phase) {
                    Some(Phase::Calling(running)) => running.credential.as_deref(),
                    _ => None,
                };
                if let Some(choice) = before.choice() {
                    self.rest(recorded, &Failed { failure, provider: &choice.provider, credential });
                }
            }
            Event::AuxiliaryCallFinished(e) => self.note_auxiliary(recorded, e, before),
            _ => {}
        }
    }

    fn auxiliary(&self, task: AuxiliaryTask, policy: &Policy) -> Vec<AuxiliaryModel> {
        auxiliary::models(&self.auxiliary, &self.anyone, task, policy)
    }
}

impl ModelTable {
    fn note_auxiliary(&self, recorded: &Recorded, finished: &AuxiliaryCallFinished, before: &SessionState) {
        let Some(call) = before.auxiliary.iter().find(|call| call.at == finished.started) else {
            return;
        };
        match &finished.outcome {
            AuxiliaryOutcome::Answered { usage, .. } => {
                self.spent().add(recorded.envelope.recorded_at, usage.as_ref(), call.prices.as_ref());
            }
            AuxiliaryOutcome::Failed { failure } => {
                let credential = call.credential.as_deref();
                self.rest(recorded, &Failed { failure, provider: &call.provider, credential });
            }
            AuxiliaryOutcome::Cancelled => {}
        }
    }
}

#[cfg(test)]
mod tests;
