//! Which model is called: what was asked for, else a key that is set, else a local server, else
//! the built-in model. The choice comes with a sentence that says why.

use std::sync::Arc;
use std::time::Duration;

use herm_schema::events::ModelChoice;

use super::catalog::{self, LOCAL_SERVERS, LocalServer, VENDORS, Vendor};
use super::dialects::Dialect;
use super::dialects::chat_completions::{self, ChatCompletions, Quirks};
use super::http::HttpProvider;
use super::http::auth::{Authorize, Header, Nothing};
use super::probe::{PROBE_TIME_MAX, probe};
use super::{Deadlines, Error, Provider, offline};
use crate::config::Secret;

/// Provider name of an address that no row of the catalogue knows.
pub const CUSTOM: &str = "custom";
/// Variable of the key for such an address. `OPENAI_API_KEY` is not sent just anywhere.
pub const CUSTOM_KEY_VARIABLE: &str = "HERM_API_KEY";
/// Moves the provider `openai` elsewhere, as with OpenAI's own libraries.
pub const OPENAI_BASE_URL_VARIABLE: &str = "OPENAI_BASE_URL";

/// Context window where neither anybody configured one nor the server tells, in tokens.
const CONTEXT_WINDOW_TOKENS: u32 = 32_768;
/// Output limit where none is configured, in tokens; never more than a quarter of the window.
const OUTPUT_TOKENS_MAX: u32 = 8_192;
/// How long a server may take to list its models.
const LIST_TIME_MAX: Duration = Duration::from_secs(10);
/// Keys of vendors that speak another format may well be set.
const NO_KEY: &str = "no key is set that can be used here";
/// How alike a name must be to be suggested, from 0 to 1.
const SUGGESTION_LIKENESS_MIN: f64 = 0.6;

/// What a person asked for; nothing is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub context_window: Option<u32>,
    pub output_max: Option<u32>,
}

/// A model that can be called.
#[derive(Clone)]
pub struct Resolved {
    pub choice: ModelChoice,
    pub provider: Arc<dyn Provider>,
    /// One sentence: where the choice comes from.
    pub why: String,
    endpoint: Option<Arc<HttpProvider>>,
}

/// Looks up a variable of the environment or of the `.env` file.
pub type Keys<'a> = &'a (dyn Fn(&str) -> Option<Secret> + Sync);

/// Where requests go, before the model is known.
struct Target {
    provider: String,
    base_url: String,
    key: Option<Secret>,
    /// The vendor's own model; `None` asks the server.
    model: Option<String>,
    context_window_tokens: Option<u32>,
    quirks: Quirks,
    why: String,
}

/// Finds the model to call.
///
/// # Errors
/// Something was asked for that cannot be had; the error says what to do.
pub async fn resolve(wanted: &Wanted, keys: Keys<'_>) -> Result<Resolved, Error> {
    resolve_among(wanted, keys, LOCAL_SERVERS).await
}

/// As [`resolve`], with the local servers to look for.
///
/// # Errors
/// As [`resolve`].
pub async fn resolve_among(
    wanted: &Wanted,
    keys: Keys<'_>,
    servers: &[LocalServer],
) -> Result<Resolved, Error> {
    let named = wanted.provider.as_deref().map(|name| name.trim().to_lowercase());
    if named.as_deref() == Some(offline::PROVIDER) {
        return Ok(built_in("it was asked for".to_owned()));
    }
    let target = match (named.as_deref(), &wanted.base_url) {
        (Some(name), base_url) => Some(by_name(name, base_url.as_deref(), keys)?),
        (None, Some(base_url)) => Some(by_address(base_url, keys)),
        (None, None) if wanted.model.as_deref() == Some(offline::MODEL) => {
            return Ok(built_in(format!("the model `{}` was asked for", offline::MODEL)));
        }
        (None, None) => by_key(wanted.model.as_deref(), keys),
    };
    if let Some(target) = target {
        return finish(target, wanted).await;
    }
    match probe(servers, PROBE_TIME_MAX).await {
        Some(found) => {
            let why = format!("{NO_KEY} and {} answers at {}", found.name, found.base_url);
            let target = Target {
                provider: found.name.to_owned(),
                base_url: found.base_url,
                key: None,
                model: Some(found.model),
                context_window_tokens: found.context_window_tokens,
                quirks: Quirks::USUAL,
                why,
            };
            finish(target, wanted).await
        }
        None => Ok(built_in(format!("{NO_KEY} and no local server was found"))),
    }
}

fn built_in(why: String) -> Resolved {
    let why = format!("the built-in offline model, because {why}");
    Resolved { choice: offline::choice(), provider: Arc::new(offline::Offline), why, endpoint: None }
}

fn first_key(vendor: &Vendor, keys: Keys<'_>) -> Option<(&'static str, Secret)> {
    vendor.key_variables.iter().find_map(|name| Some((*name, filled(name, keys)?)))
}

fn filled(variable: &str, keys: Keys<'_>) -> Option<Secret> {
    keys(variable).filter(|secret| !secret.reveal().trim().is_empty())
}

fn of_vendor(vendor: &Vendor, key: Option<Secret>, why: String) -> Target {
    Target {
        provider: vendor.name.to_owned(),
        base_url: vendor.base_url.to_owned(),
        key,
        model: Some(vendor.model.to_owned()),
        context_window_tokens: Some(vendor.context_window_tokens),
        quirks: vendor.quirks.clone(),
        why,
    }
}

/// A provider that was named, at its own address or another.
fn by_name(name: &str, base_url: Option<&str>, keys: Keys<'_>) -> Result<Target, Error> {
    let why = format!("provider `{name}` was asked for");
    if let Some(vendor) = catalog::vendor(name) {
        let key = first_key(vendor, keys).map(|(_, key)| key);
        let moved = base_url.map(str::to_owned).or_else(|| moved_base_url(vendor, keys));
        // A server of one's own that only speaks like the vendor may need no key.
        if key.is_none() && moved.is_none() {
            let variables = vendor.key_variables.iter().map(|name| (*name).to_owned()).collect();
            return Err(Error::KeyMissing { provider: name.to_owned(), variables });
        }
        let target = of_vendor(vendor, key, why);
        return Ok(match moved {
            Some(base_url) => Target { base_url, model: None, context_window_tokens: None, ..target },
            None => target,
        });
    }
    let local = catalog::local_server(name).map(LocalServer::base_url);
    if local.is_none() && name != CUSTOM {
        return Err(unknown(name));
    }
    let base_url = base_url.map(str::to_owned).or(local);
    let base_url = base_url.ok_or_else(|| Error::BaseUrlMissing { provider: name.to_owned() })?;
    let key = filled(CUSTOM_KEY_VARIABLE, keys);
    let target = Target {
        provider: name.to_owned(),
        base_url,
        key,
        model: None,
        context_window_tokens: None,
        quirks: Quirks::USUAL,
        why,
    };
    Ok(target)
}

fn moved_base_url(vendor: &Vendor, keys: Keys<'_>) -> Option<String> {
    let moved = (vendor.name == "openai").then(|| filled(OPENAI_BASE_URL_VARIABLE, keys)).flatten()?;
    Some(moved.reveal().trim().to_owned())
}

fn unknown(name: &str) -> Error {
    let names =
        VENDORS.iter().map(|vendor| vendor.name).chain(LOCAL_SERVERS.iter().map(|server| server.name));
    let names: Vec<&str> = names.chain([CUSTOM, offline::PROVIDER]).collect();
    let likeness = |known: &&str| strsim::jaro_winkler(name, known);
    let best = names.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Error::UnknownProvider {
        name: name.to_owned(),
        suggestion: best.filter(|known| likeness(known) >= SUGGESTION_LIKENESS_MIN).map(str::to_owned),
        known: names.join(", "),
    }
}

/// An address that was named: a vendor's own, or somebody's.
fn by_address(base_url: &str, keys: Keys<'_>) -> Target {
    let why = format!("the base URL `{}` was asked for", base_url.trim());
    let host = |url: &str| url.split("://").nth(1).and_then(|rest| rest.split('/').next()).map(str::to_owned);
    let wanted_host = host(base_url.trim());
    let vendor = VENDORS.iter().find(|vendor| host(vendor.base_url) == wanted_host);
    match vendor {
        Some(vendor) => {
            let key = first_key(vendor, keys).map(|(_, key)| key);
            Target { base_url: base_url.to_owned(), ..of_vendor(vendor, key, why) }
        }
        None => Target {
            provider: CUSTOM.to_owned(),
            base_url: base_url.to_owned(),
            key: filled(CUSTOM_KEY_VARIABLE, keys),
            model: None,
            context_window_tokens: None,
            quirks: Quirks::USUAL,
            why,
        },
    }
}

/// The first vendor whose key is set; one whose own model is asked for comes before.
fn by_key(model: Option<&str>, keys: Keys<'_>) -> Option<Target> {
    let owns = |vendor: &&Vendor| {
        model.is_some_and(|model| vendor.model_prefixes.iter().any(|prefix| model.starts_with(prefix)))
    };
    let (vendor, variable, key) = VENDORS
        .iter()
        .filter(owns)
        .chain(VENDORS)
        .find_map(|vendor| first_key(vendor, keys).map(|(variable, key)| (vendor, variable, key)))?;
    let target = of_vendor(vendor, Some(key), format!("{variable} is set"));
    Some(match moved_base_url(vendor, keys) {
        Some(base_url) => Target {
            why: format!("{variable} and {OPENAI_BASE_URL_VARIABLE} are set"),
            base_url,
            model: None,
            context_window_tokens: None,
            ..target
        },
        None => target,
    })
}

async fn finish(target: Target, wanted: &Wanted) -> Result<Resolved, Error> {
    let auth: Arc<dyn Authorize> = match target.key {
        Some(key) => Arc::new(Header::bearer(key)),
        None => Arc::new(Nothing),
    };
    let credentials = auth.fingerprint().into_iter().collect();
    let dialect: Arc<dyn Dialect> = Arc::new(ChatCompletions { quirks: target.quirks });
    let endpoint = Arc::new(HttpProvider::new(&target.base_url, auth, dialect)?);
    let (model, told) = match wanted.model.clone().or(target.model) {
        Some(model) => (model, None),
        None => listed(&endpoint).await?,
    };
    let window = wanted.context_window.or(told).or(target.context_window_tokens);
    let context_window_tokens = window.unwrap_or(CONTEXT_WINDOW_TOKENS);
    let output_max = OUTPUT_TOKENS_MAX.min(context_window_tokens / 4);
    let choice = ModelChoice {
        base_url: endpoint.base_url().to_owned(),
        credentials,
        context_window_tokens,
        output_tokens_max: wanted.output_max.unwrap_or(output_max),
        ..ModelChoice::new(&target.provider, &model, chat_completions::NAME)
    };
    Ok(Resolved { choice, provider: endpoint.clone(), why: target.why, endpoint: Some(endpoint) })
}

fn list_deadlines() -> Deadlines {
    let limit = LIST_TIME_MAX;
    Deadlines { connect: limit, first_content: limit, between_content: limit, total: limit }
}

/// The first model that the server has.
async fn listed(endpoint: &HttpProvider) -> Result<(String, Option<u32>), Error> {
    let unknown = |reason: String| Error::ModelUnknown { base_url: endpoint.base_url().to_owned(), reason };
    let models = endpoint.models(&list_deadlines()).await.map_err(|failure| unknown(failure.message))?;
    let first = models.into_iter().next().ok_or_else(|| unknown("it lists none".to_owned()))?;
    Ok((first.name, first.context_window_tokens))
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
