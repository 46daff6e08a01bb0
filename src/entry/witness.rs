//! What becomes known of credentials while herm runs: secrets are taken out of everything that is
//! recorded from then on, and renewals are recorded themselves.

use std::sync::Arc;

use herm_replay::log::Log;
use herm_schema::events::CredentialRefreshed;
use herm_schema::{Event, IdempotencyKey, Micros};

use crate::config::{Loaded, Redactor, Secret};
use crate::effects::profile_stream;
use crate::providers::credentials::{Refreshed, Witness};
use crate::runtime::models::record;
use crate::runtime::{Clock, SystemClock};

/// Microseconds in a second.
const SECOND_US: i64 = 1_000_000;

/// The witness of a process; only the one that owns the home has a log.
pub struct Known {
    redactor: Redactor,
    profile: String,
    log: Option<Arc<dyn Log>>,
}

impl Known {
    pub fn witness(loaded: &Loaded, log: Option<&Arc<dyn Log>>) -> Arc<dyn Witness> {
        let (redactor, profile) = (loaded.redactor.clone(), loaded.home.profile_name().to_owned());
        Arc::new(Self { redactor, profile, log: log.cloned() })
    }
}

impl Witness for Known {
    fn secrets(&self, secrets: &[Secret]) {
        self.redactor.learn(secrets);
    }

    fn refreshed(&self, refreshed: Refreshed) {
        let Some(log) = self.log.clone() else { return };
        let at = SystemClock.now();
        let Refreshed { provider, before, now, expires_at } = refreshed;
        // The same token may be renewed again and again.
        let key = IdempotencyKey::of(&["refreshed", &provider, &now, &at.0.to_string()]);
        let expires_at = expires_at.map(|seconds| Micros(seconds.saturating_mul(SECOND_US)));
        let event = Event::from(CredentialRefreshed { provider, before, now, expires_at });
        let stream = profile_stream(&self.profile);
        let append = move || record(&*log, stream, at, key, event);
        // A log whose queue is full lets its callers wait, and a request is under way here.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(append)),
            Err(_) => append(),
        }
    }
}
