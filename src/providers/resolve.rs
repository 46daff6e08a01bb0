//! Which model is called: what was asked for, else a key that is set, else a local server, else
//! the built-in model. Each decision comes with a sentence that says why.
//!
//! [`target`] finds out where requests go, [`mode`] which wire format is spoken there, [`place`] what
//! the address alone says of that, [`keys`] who we are to it, and [`finish`] what the model can do and
//! costs. [`chain`] does it for the models that are called instead, [`any_vendor`] for whoever has a key.

mod any_vendor;
mod chain;
mod explain;
mod finish;
mod keys;
mod mode;
mod place;
mod target;

use std::sync::Arc;
use std::time::Duration;

use herm_schema::events::{CacheTtl, ModelChoice, ModelFailure, ReasoningEffort};

use super::catalog::Catalogue;
use super::credentials::{Store, Witness};
use super::dialects::ListedModel;
use super::http::HttpProvider;
use super::probe::{PROBE_TIME_MAX, probe};
use super::{Deadlines, Error, Provider, offline};
use crate::config::Secret;

pub use any_vendor::any_vendor;
pub use chain::{Chain, Fallback, chain};
pub use explain::{Explanation, explain};
pub use keys::{HeldKey, held};
pub use mode::Mode;

/// Provider name of an address that no vendor of the catalogue has.
pub const CUSTOM: &str = "custom";
/// Variable of the key for such an address. `OPENAI_API_KEY` is not sent just anywhere.
pub const CUSTOM_KEY_VARIABLE: &str = "HERM_API_KEY";

/// How long a server may take to list its models.
const LIST_TIME_MAX: Duration = Duration::from_secs(10);
/// Keys of vendors that are never chosen by themselves may well be set.
const NO_KEY: &str = "no key is set that can be used here";

/// What a person asked for; nothing is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    /// Wire format, whatever provider and address say.
    pub api_mode: Option<String>,
    pub context_window: Option<u32>,
    pub output_max: Option<u32>,
    pub effort: Option<ReasoningEffort>,
    /// `None` is the usual time.
    pub cache_ttl: Option<CacheTtl>,
}

/// Looks up a variable of the environment or of the `.env` file.
pub type Keys<'a> = &'a (dyn Fn(&str) -> Option<Secret> + Sync);

/// What there is to choose from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    pub keys: Keys<'a>,
    pub catalogue: &'a Catalogue,
    /// `auth.json`.
    pub store: Option<&'a Store>,
    /// Is told of what becomes known when the keys are used.
    pub witness: Option<&'a Arc<dyn Witness>>,
    /// Whether servers on this machine are looked for.
    pub local_servers: bool,
    /// Whether a vendor without a key is an error; to explain a choice, none is needed.
    pub keys_needed: bool,
}

/// A model that can be called.
#[derive(Clone)]
pub struct Resolved {
    pub choice: ModelChoice,
    /// A provider for each key, by the fingerprint of the key, in the order in which the keys were
    /// found. An endpoint without a key has one, under an empty fingerprint.
    pub credentials: Vec<(String, Arc<dyn Provider>)>,
    /// One sentence: where the choice comes from.
    pub why: String,
    /// One sentence: where the wire format comes from.
    pub why_dialect: String,
    endpoint: Option<Arc<HttpProvider>>,
}

impl Resolved {
    /// With the key of this fingerprint; with the first where none is named.
    pub fn provider(&self, credential: Option<&str>) -> Option<Arc<dyn Provider>> {
        let wanted = |(known, _): &&(String, Arc<dyn Provider>)| credential.is_none_or(|name| name == known);
        self.credentials.iter().find(wanted).map(|(_, provider)| Arc::clone(provider))
    }

    /// The models that the endpoint lists; `None` where there is no endpoint.
    ///
    /// # Errors
    /// As a model call.
    pub async fn models(&self) -> Option<Result<Vec<ListedModel>, ModelFailure>> {
        Some(self.endpoint.as_ref()?.models(&list_deadlines()).await)
    }
}

/// Finds the model to call, with the built-in vendors and the keys in variables.
///
/// # Errors
/// Something was asked for that cannot be had; the error says what to do.
pub async fn resolve(wanted: &Wanted, keys: Keys<'_>) -> Result<Resolved, Error> {
    let catalogue = Catalogue::built_in();
    let at = Sources {
        keys,
        catalogue: &catalogue,
        store: None,
        witness: None,
        local_servers: true,
        keys_needed: true,
    };
    resolve_at(wanted, at).await
}

/// Finds the model to call.
///
/// # Errors
/// As [`resolve`].
pub async fn resolve_at(wanted: &Wanted, at: Sources<'_>) -> Result<Resolved, Error> {
    if let Some(why) = asks_for_built_in(wanted) {
        return Ok(built_in(why));
    }
    if let Some(target) = target::asked_for(wanted, at)? {
        return finish::finish(target, wanted, at).await;
    }
    if !at.local_servers {
        return Ok(built_in(format!("{NO_KEY}, and local servers are not looked for")));
    }
    let servers: Vec<_> = at.catalogue.local().collect();
    match probe(&servers, PROBE_TIME_MAX).await {
        Some(found) => {
            let why = format!("{NO_KEY} and {} answers at {}", found.name, found.base_url);
            finish::finish(target::found(found, why, at)?, wanted, at).await
        }
        None => Ok(built_in(format!("{NO_KEY} and no local server was found"))),
    }
}

fn asks_for_built_in(wanted: &Wanted) -> Option<String> {
    match (&wanted.provider, &wanted.base_url) {
        (Some(name), _) if target::clean(name) == offline::PROVIDER => Some("it was asked for".to_owned()),
        (None, None) if wanted.model.as_deref() == Some(offline::MODEL) => {
            Some(format!("the model `{}` was asked for", offline::MODEL))
        }
        _ => None,
    }
}

fn built_in(why: String) -> Resolved {
    let provider: Arc<dyn Provider> = Arc::new(offline::Offline);
    Resolved {
        choice: offline::choice(),
        credentials: vec![(String::new(), provider)],
        why: format!("the built-in offline model, because {why}"),
        why_dialect: "the built-in model needs none".to_owned(),
        endpoint: None,
    }
}

fn list_deadlines() -> Deadlines {
    let limit = LIST_TIME_MAX;
    Deadlines { connect: limit, first_content: limit, between_content: limit, total: limit }
}

/// Asks the endpoint for its models, to see that address and key are right.
///
/// # Errors
/// A sentence that says what is wrong.
pub async fn reachable(resolved: &Resolved) -> Result<String, String> {
    let Some(endpoint) = &resolved.endpoint else {
        return Ok("built in, needs no network".to_owned());
    };
    let models = endpoint.models(&list_deadlines()).await.map_err(|failure| failure.message)?;
    let has = models.iter().any(|model| model.name == resolved.choice.model);
    // Some lists leave out aliases, so a missing name is worth saying and no more.
    let note = if has || models.is_empty() { "" } else { "; the chosen one is not in its list" };
    Ok(format!("{} answers, {} models{note}", endpoint.base_url(), models.len()))
}

#[cfg(test)]
mod tests;
