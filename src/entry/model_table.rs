//! Every model that this home calls: the first, those that are called instead, and those that are
//! asked besides the conversation.

use std::sync::Arc;
use std::time::Duration;

use herm_replay::log::Log;
use herm_replay::projections::Views;
use herm_schema::events::{AuxiliaryTask, ModelChoice, Policy, ReasoningEffort};
use serde::Deserialize;

use super::engine::{catalogue, key, resolved, wanted};
use super::witness::Known;
use super::{Exit, Failure};
use crate::config::Loaded;
use crate::effects::profile_stream;
use crate::providers::credentials::Store;
use crate::providers::resolve::{Chain, Sources, Wanted, any_vendor, chain};
use crate::providers::{Resolved, offline};
use crate::runtime::models::{AuxiliarySettings, Beginning, ModelTable, Strategies, Strategy};
use crate::runtime::{AUXILIARY_TIME_MAX, Clock, SystemClock};

/// What one task of the setting `auxiliary` says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskSettings {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    /// In seconds.
    timeout: Option<u64>,
    reasoning_effort: Option<String>,
}

/// The models, and what a session runs under.
pub struct Models {
    pub table: Arc<ModelTable>,
    pub policy: Policy,
    /// Why the first one is called.
    pub why: String,
    /// What is configured and cannot be had.
    pub problems: Vec<String>,
}

/// Finds every model that is configured.
///
/// # Errors
/// The first cannot be had, or a setting makes no sense.
pub async fn models(loaded: &Loaded, log: &Arc<dyn Log>, views: &Views) -> Result<Models, Failure> {
    let first = resolved(loaded, &wanted(loaded), Some(log)).await?;
    let Chain { models: fallbacks, problems } = fallbacks(loaded, log).await?;
    let (auxiliary, extra) = auxiliary(loaded, log).await?;
    let asked_anyway = [&first].into_iter().chain(&fallbacks).map(|model| model.choice.provider.as_str());
    let anyone = anyone(loaded, log, &asked_anyway.collect::<Vec<_>>()).await?;
    let mut policy = loaded.config.policy(streaming(loaded, &first));
    policy.fallbacks = fallbacks.iter().map(|model| streaming(loaded, model)).collect();
    policy.titles &= first.choice.provider != offline::PROVIDER;
    let why = first.why.clone();
    let strategies = strategies(loaded)?;
    let beginning = Beginning {
        log: Arc::clone(log),
        clock: Arc::new(SystemClock),
        profile: profile_stream(loaded.home.profile_name()),
        spent_today: spent_today(views, &policy, loaded.home.profile_name())?,
        uses: if strategies.is_empty() { Vec::new() } else { uses(views)? },
        anyone: anyone.iter().map(|model| streaming(loaded, model)).collect(),
        models: [first].into_iter().chain(fallbacks).chain(extra).chain(anyone).collect(),
        strategies,
        auxiliary,
    };
    let table = Arc::new(ModelTable::new(beginning)?);
    Ok(Models { table, policy, why, problems })
}

/// The choice, streamed only where the person wants it to be.
pub fn streaming(loaded: &Loaded, model: &Resolved) -> ModelChoice {
    let stream = loaded.config.model.stream && model.choice.stream;
    ModelChoice { stream, ..model.choice.clone() }
}

async fn fallbacks(loaded: &Loaded, log: &Arc<dyn Log>) -> Result<Chain, Failure> {
    if loaded.config.fallbacks.is_empty() {
        return Ok(Chain::default());
    }
    let found = async |at: Sources<'_>| chain(&loaded.config.fallbacks, &wanted(loaded), at).await;
    from_sources(loaded, log, found).await
}

/// Who may be asked besides the conversation because there is a key, where the person allows that.
async fn anyone(
    loaded: &Loaded,
    log: &Arc<dyn Log>,
    asked_anyway: &[&str],
) -> Result<Vec<Resolved>, Failure> {
    if !loaded.config.auxiliary_any_vendor {
        return Ok(Vec::new());
    }
    let found = async |at: Sources<'_>| any_vendor(asked_anyway, at).await;
    let found = from_sources(loaded, log, found).await?;
    found.map_err(|error| Failure::new(Exit::Config, error).hint("herm doctor"))
}

/// What is found with the vendors and the keys of this home; servers on this machine are not looked for.
async fn from_sources<T>(
    loaded: &Loaded,
    log: &Arc<dyn Log>,
    find: impl AsyncFnOnce(Sources<'_>) -> T,
) -> Result<T, Failure> {
    let catalogue = catalogue(loaded)?;
    let store = Store::of(loaded.home.root());
    let keys = |name: &str| key(loaded, name);
    let witness = Known::witness(loaded, Some(log));
    let at = Sources {
        keys: &keys,
        catalogue: &catalogue,
        store: Some(&store),
        witness: Some(&witness),
        local_servers: false,
        keys_needed: true,
    };
    Ok(find(at).await)
}

fn bad(setting: &str, reason: impl std::fmt::Display) -> Failure {
    Failure::message(Exit::Config, format!("setting `{setting}`: {reason}"))
        .hint(format!("herm config explain {setting}"))
}

fn strategies(loaded: &Loaded) -> Result<Strategies, Failure> {
    let entries = loaded.config.strategies.as_object().into_iter().flatten();
    let strategy = |(provider, word): (&String, &serde_json::Value)| {
        let found = word.as_str().and_then(Strategy::named);
        let expected = || {
            bad(
                "credential_pool_strategies",
                format!("`{provider}` takes {}, not {word}", Strategy::WORDS.join(", ")),
            )
        };
        Ok((provider.clone(), found.ok_or_else(expected)?))
    };
    entries.map(strategy).collect()
}

/// What is configured for each task, and the models that only tasks use.
async fn auxiliary(
    loaded: &Loaded,
    log: &Arc<dyn Log>,
) -> Result<(Vec<AuxiliarySettings>, Vec<Resolved>), Failure> {
    let (mut all, mut extra) = (Vec::new(), Vec::new());
    for (word, settings) in loaded.config.auxiliary.as_object().into_iter().flatten() {
        let task = AuxiliaryTask::ALL.into_iter().find(|task| task.word() == word);
        let task = task.ok_or_else(|| {
            let known: Vec<_> = AuxiliaryTask::ALL.iter().map(|task| task.word()).collect();
            bad("auxiliary", format!("there is no task `{word}`; there are {}", known.join(", ")))
        })?;
        let settings: TaskSettings = serde_json::from_value(settings.clone())
            .map_err(|error| bad("auxiliary", format!("`{word}`: {error}")))?;
        let effort = settings.reasoning_effort.as_deref().map(effort).transpose()?;
        let choice = match settings.own(loaded) {
            Some(wanted) => {
                let model = resolved(loaded, &wanted, Some(log)).await?;
                let choice = streaming(loaded, &model);
                extra.push(model);
                Some(choice)
            }
            None => None,
        };
        let time_max = settings.timeout.map_or(AUXILIARY_TIME_MAX, Duration::from_secs);
        all.push(AuxiliarySettings { task, choice, effort, time_max });
    }
    Ok((all, extra))
}

impl TaskSettings {
    /// What is asked for, if it is another model than the session's.
    fn own(&self, loaded: &Loaded) -> Option<Wanted> {
        let named =
            |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty() && text != "auto");
        let (provider, model, base_url) = (named(&self.provider), named(&self.model), named(&self.base_url));
        let any = provider.is_some() || model.is_some() || base_url.is_some();
        let own = wanted(loaded);
        // A model alone is another one of the same provider.
        let same = provider.is_none() && base_url.is_none();
        any.then(|| Wanted {
            provider: if same { own.provider } else { provider },
            base_url: if same { own.base_url } else { base_url },
            model,
            api_mode: if same { own.api_mode } else { None },
            cache_ttl: own.cache_ttl,
            ..Wanted::default()
        })
    }
}

fn effort(word: &str) -> Result<ReasoningEffort, Failure> {
    use ReasoningEffort as E;
    let all = [E::None, E::Minimal, E::Low, E::Medium, E::High, E::XHigh];
    let words = ["none", "minimal", "low", "medium", "high", "xhigh"];
    let found = words.iter().position(|known| *known == word).and_then(|at| all.get(at).copied());
    found.ok_or_else(|| {
        bad("auxiliary", format!("`reasoning_effort` is one of {}, not `{word}`", words.join(", ")))
    })
}

/// Only where a limit wants to know: figures cost time at a start.
fn spent_today(views: &Views, policy: &Policy, profile: &str) -> Result<u64, Failure> {
    if policy.spending.day_max.is_none() {
        return Ok(0);
    }
    let rows = views.usage_since(SystemClock.now()).map_err(|error| Failure::new(Exit::Failed, error))?;
    Ok(rows.iter().filter(|(key, _)| key.profile == profile).map(|(_, usage)| usage.cost).sum())
}

/// How often each key was used, the longest ago first.
fn uses(views: &Views) -> Result<Vec<(String, String, u64)>, Failure> {
    let mut rows = views.credentials().map_err(|error| Failure::new(Exit::Failed, error))?;
    rows.sort_by_key(|(_, _, usage)| usage.last_used_at);
    Ok(rows.into_iter().map(|(provider, key, usage)| (provider, key, usage.calls)).collect())
}
