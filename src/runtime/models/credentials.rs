//! How the keys of each provider fare: a fold of the profile's stream, and a strategy to pick by.

use std::collections::BTreeMap;

use herm_replay::log::{Error, Log};
use herm_replay::reducer::Route;
use herm_schema::events::{CredentialReset, CredentialRested, FailureClass, ModelChoice, ModelFailure};
use herm_schema::{Event, Micros, StreamId, StreamPos};

/// How long a key rests that was refused: it may be being refreshed.
const AUTH_REST_US: u64 = 5 * 60 * 1_000_000;
/// How long a key rests whose limit says nothing of its end, and one without credit.
const USUAL_REST_US: u64 = 60 * 60 * 1_000_000;
/// Shortest rest, whatever a server says.
const REST_MIN_US: u64 = 1_000_000;

/// Which of several keys is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The first that is ready.
    #[default]
    FillFirst,
    /// The one whose last use is longest ago.
    RoundRobin,
    Random,
    /// The one that was used least often.
    LeastUsed,
}

impl Strategy {
    /// The names that settings use.
    pub const WORDS: [&str; 4] = ["fill_first", "round_robin", "random", "least_used"];

    /// The strategy of this name.
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::FillFirst, Self::RoundRobin, Self::Random, Self::LeastUsed];
        Self::WORDS.iter().position(|known| *known == word).and_then(|at| all.get(at).copied())
    }
}

/// The strategy of each provider; fill-first where none is named.
pub type Strategies = BTreeMap<String, Strategy>;

/// A key that rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    pub class: FailureClass,
    pub until: Micros,
}

/// Provider and fingerprint.
type Name = (String, String);

#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    count: u64,
    /// Of all uses of all keys, the how-manieth the last one was.
    last: u64,
}

/// How every key fares.
#[derive(Debug, Default)]
pub struct Credentials {
    rests: BTreeMap<Name, Rest>,
    uses: BTreeMap<Name, Uses>,
    used: u64,
}

impl Credentials {
    /// Folds the stream of the profile. `uses` says how often each key was used before, in the order
    /// of their last uses.
    ///
    /// # Errors
    /// Those of the log.
    pub fn of(log: &dyn Log, profile: StreamId, uses: Vec<(String, String, u64)>) -> Result<Self, Error> {
        let mut credentials = Self::default();
        for recorded in log.read_stream(profile, StreamPos(0)) {
            match recorded?.event {
                Event::CredentialRested(event) => credentials.rested(&event),
                Event::CredentialReset(event) => credentials.reset(&event),
                _ => {}
            }
        }
        for (provider, credential, count) in uses {
            credentials.used += 1;
            let last = credentials.used;
            credentials.uses.insert((provider, credential), Uses { count, last });
        }
        Ok(credentials)
    }

    pub fn rested(&mut self, event: &CredentialRested) {
        let name = (event.provider.clone(), event.credential.clone());
        self.rests.insert(name, Rest { class: event.class, until: event.until });
    }

    pub fn reset(&mut self, event: &CredentialReset) {
        self.rests.retain(|(provider, credential), _| {
            *provider != event.provider || event.credential.as_ref().is_some_and(|only| only != credential)
        });
    }

    pub fn used(&mut self, provider: &str, credential: Option<&str>) {
        let Some(credential) = credential else {
            return;
        };
        self.used += 1;
        let uses = self.uses.entry((provider.to_owned(), credential.to_owned())).or_default();
        uses.count = uses.count.saturating_add(1);
        uses.last = self.used;
    }

    /// Why and until when a key rests; `None` for one that is ready.
    pub fn rest(&self, provider: &str, credential: &str, now: Micros) -> Option<Rest> {
        let rest = self.rests.get(&(provider.to_owned(), credential.to_owned()));
        rest.filter(|rest| rest.until > now).copied()
    }

    /// Provider and fingerprint of every key that rests.
    pub fn resting(&self, now: Micros) -> impl Iterator<Item = (&str, &str)> {
        let resting = self.rests.iter().filter(move |(_, rest)| rest.until > now);
        resting.map(|((provider, credential), _)| (provider.as_str(), credential.as_str()))
    }

    /// The keys of `choice` that are ready, the best first.
    pub(super) fn route(
        &self,
        choice: &ModelChoice,
        strategies: &Strategies,
        now: Micros,
        seed: u64,
    ) -> Route {
        let provider = &choice.provider;
        let rest = |key: &String| self.rest(provider, key, now);
        let mut ready: Vec<String> =
            choice.credentials.iter().filter(|key| rest(key).is_none()).cloned().collect();
        if ready.is_empty() && !choice.credentials.is_empty() {
            let ends = choice.credentials.iter().filter_map(rest).map(|rest| rest.until);
            return Route::Resting { until: ends.min().unwrap_or(now) };
        }
        let uses =
            |key: &String| self.uses.get(&(provider.clone(), key.clone())).copied().unwrap_or_default();
        match strategies.get(provider).copied().unwrap_or_default() {
            Strategy::FillFirst => {}
            Strategy::RoundRobin => ready.sort_by_key(|key| uses(key).last),
            Strategy::LeastUsed => ready.sort_by_key(|key| uses(key).count),
            Strategy::Random => {
                let first = usize::try_from(seed % ready.len().max(1) as u64).unwrap_or_default();
                ready.rotate_left(first);
            }
        }
        Route::Ready { credentials: ready }
    }
}

/// When a key may be asked again that failed at `now`.
pub fn rests_until(failure: &ModelFailure, now: Micros) -> Micros {
    let usual = match failure.class {
        FailureClass::Auth => AUTH_REST_US,
        FailureClass::AuthPermanent => return Micros(i64::MAX),
        _ => USUAL_REST_US,
    };
    let told = failure.retry_after_us.filter(|_| failure.class == FailureClass::RateLimit);
    now.plus(told.unwrap_or(usual).max(REST_MIN_US))
}
