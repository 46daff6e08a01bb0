//! What the chosen model can do and costs, and a provider for each of its keys.

use std::sync::Arc;

use herm_schema::events::ModelChoice;
use serde_json::Value;

use super::keys::{HeldKey, Kind, scheme_of};
use super::mode::{self, Asked, Mode};
use super::target::Target;
use super::{Resolved, Sources, Wanted, list_deadlines};
use crate::config::Secret;
use crate::providers::catalog::Vendor;
use crate::providers::credentials::{Lazy, Witnessed};
use crate::providers::dialects::chat_completions::azure;
use crate::providers::dialects::{self, Dialect, ListedModel, canonical};
use crate::providers::http::HttpProvider;
use crate::providers::http::auth::{self, Authorize, Given, Nothing, WithHeaders};
use crate::providers::{Error, Provider};

/// Context window where neither anybody configured one nor the server tells, in tokens.
const CONTEXT_WINDOW_TOKENS: u32 = 32_768;
/// Output limit where none is known, in tokens.
const OUTPUT_TOKENS_MAX: u32 = 8_192;
/// Output limit that is not exceeded unasked, in tokens: what is reserved for an answer is missing
/// for the conversation, and counts against some vendors' limits whether it is used or not.
const OUTPUT_TOKENS_UNASKED_MAX: u32 = 32_000;
/// Part of the window that an answer may take unasked.
const OUTPUT_SHARE: u32 = 4;

pub(super) async fn finish(target: Target, wanted: &Wanted, at: Sources<'_>) -> Result<Resolved, Error> {
    let (model, told) = model(&target, wanted, at).await?;
    let target = target.for_model(&model)?;
    let mode = mode_for(&target, wanted, &model);
    let endpoints = endpoints(&target, &mode, at)?;
    let (_, endpoint) =
        endpoints.first().ok_or_else(|| Error::Credentials { reason: "none is left".into() })?;
    let endpoint = Arc::clone(endpoint);
    let cached = at.catalogue.listed_model(&target.vendor.name, &model).filter(|_| !target.moved);
    let choice = ModelChoice {
        base_url: endpoint.base_url().to_owned(),
        credentials: endpoints.iter().map(|(name, _)| name.clone()).filter(|name| !name.is_empty()).collect(),
        ..choice(&target, wanted, &model, &mode, told.or(cached))
    };
    let provider = |(name, endpoint): (String, Arc<HttpProvider>)| (name, endpoint as Arc<dyn Provider>);
    Ok(Resolved {
        choice,
        credentials: endpoints.into_iter().map(provider).collect(),
        why: target.why,
        why_dialect: mode.why,
        endpoint: Some(endpoint),
    })
}

pub(super) fn mode_for(target: &Target, wanted: &Wanted, model: &str) -> Mode {
    mode::choose(&Asked {
        api_mode: wanted.api_mode.as_deref(),
        vendor: &target.vendor,
        moved: target.moved,
        base_url: &target.base_url,
        model,
    })
}

/// The model that was asked for, the vendor's usual one, or the first that the server has.
async fn model(
    target: &Target,
    wanted: &Wanted,
    at: Sources<'_>,
) -> Result<(String, Option<ListedModel>), Error> {
    let found = target.found.as_ref().map(|found| ListedModel {
        name: found.model.clone(),
        context_window_tokens: found.context_window_tokens,
        ..ListedModel::default()
    });
    if let Some(model) = &wanted.model {
        return Ok((model.clone(), found.filter(|found| found.name == *model)));
    }
    if let Some(found) = found {
        return Ok((found.name.clone(), Some(found)));
    }
    if let Some(model) = target.vendor.model.as_ref().filter(|_| !target.moved) {
        return Ok((model.clone(), None));
    }
    if !target.vendor.models_list || !target.vendor.placeholders.is_empty() {
        return Err(Error::ModelMissing { provider: target.vendor.name.clone() });
    }
    let endpoints = endpoints(target, &mode_for(target, wanted, ""), at)?;
    let (_, endpoint) =
        endpoints.first().ok_or_else(|| Error::Credentials { reason: "none is left".into() })?;
    let unknown = |reason: String| Error::ModelUnknown { base_url: endpoint.base_url().to_owned(), reason };
    let models = endpoint.models(&list_deadlines()).await.map_err(|failure| unknown(failure.message))?;
    let first = models.into_iter().next().ok_or_else(|| unknown("it lists none".to_owned()))?;
    Ok((first.name.clone(), Some(first)))
}

/// What is known of the model: what a person said, then its server, then the catalogue.
pub(super) fn choice(
    target: &Target,
    wanted: &Wanted,
    model: &str,
    mode: &Mode,
    listed: Option<ListedModel>,
) -> ModelChoice {
    let vendor = &target.vendor;
    let known = vendor.model(model);
    let listed = listed.unwrap_or_default();
    let own = known.filter(|known| known.own_window).and_then(|known| known.context_window);
    let usual = |tokens: Option<u32>| tokens.filter(|_| !target.moved);
    let window = wanted
        .context_window
        .or(own)
        .or(listed.context_window_tokens)
        .or(known.and_then(|known| known.context_window))
        .or(usual(vendor.context_window))
        .unwrap_or(CONTEXT_WINDOW_TOKENS);
    let output = known.and_then(|known| known.output_max).or(listed.output_tokens_max);
    let output = output.or(usual(vendor.output_max)).unwrap_or(OUTPUT_TOKENS_MAX);
    let unasked = output.min(OUTPUT_TOKENS_UNASKED_MAX).min(window / OUTPUT_SHARE);
    let reasons = known.and_then(|known| known.reasoning) != Some(false);
    let usual = ModelChoice::new(&vendor.name, model, &mode.dialect);
    ModelChoice {
        context_window_tokens: window,
        output_tokens_max: wanted.output_max.unwrap_or(unasked),
        effort: wanted.effort.filter(|_| reasons),
        cache_ttl: wanted.cache_ttl.unwrap_or(usual.cache_ttl),
        images: known.and_then(|known| known.images).or(listed.images).unwrap_or(false),
        // Somebody else's server has somebody else's prices.
        prices: known.filter(|_| !target.moved).and_then(|known| vendor.prices(known)),
        ..usual
    }
}

/// An endpoint for each key, by its fingerprint; one without a key where there is none.
fn endpoints(
    target: &Target,
    mode: &Mode,
    at: Sources<'_>,
) -> Result<Vec<(String, Arc<HttpProvider>)>, Error> {
    let vendor = &target.vendor;
    let dialect = dialects::build(&mode.dialect, &quirks(vendor, &mode.dialect))?;
    let open = |auth: Arc<dyn Authorize>| -> Result<Arc<HttpProvider>, Error> {
        let auth = WithHeaders::around(Witnessed::around(auth, at.witness), &vendor.headers)?;
        let url = address(target, dialect.as_ref());
        let dialect = Arc::clone(&dialect);
        let is_own = url == vendor.base_url || !target.placeholders.is_empty();
        let endpoint = if is_own { HttpProvider::exactly } else { HttpProvider::new };
        endpoint(&url, auth, dialect).map(Arc::new)
    };
    if target.keys.is_empty() {
        return Ok(vec![(String::new(), open(Arc::new(Nothing))?)]);
    }
    target
        .keys
        .iter()
        .map(|key| Ok((key.fingerprint.clone(), open(authorize(key, target, &mode.dialect, at)?)?)))
        .collect()
}

/// Quirks are a wire format's own.
fn quirks(vendor: &Vendor, dialect: &str) -> Value {
    let own = canonical(&vendor.dialect) == dialect;
    let other = || vendor.quirks_of.iter().find(|(name, _)| canonical(name) == dialect).map(|(_, it)| it);
    let quirks = if own { Some(&vendor.quirks) } else { other() };
    quirks.map_or(Value::Null, |quirks| Value::Object(quirks.clone()))
}

/// The address; where an endpoint is named as people copy it, with the version it lacks.
fn address(target: &Target, dialect: &dyn Dialect) -> String {
    let url = target.base_url.trim_end_matches('/');
    let lacks_version = url.ends_with("/anthropic") && !url.ends_with("/publishers/anthropic");
    match dialect.name() {
        mode::ANTHROPIC if lacks_version => format!("{url}{}", dialect.base_path()),
        // The older form, with deployments, has a path of its own.
        mode::CHAT | mode::RESPONSES if dialect.base_path() == "/v1" => azure::base_url(url),
        _ => url.to_owned(),
    }
}

fn authorize(
    key: &HeldKey,
    target: &Target,
    dialect: &str,
    at: Sources<'_>,
) -> Result<Arc<dyn Authorize>, Error> {
    let scheme = scheme(key, target, dialect);
    match &key.kind {
        Kind::Known(secret) => {
            // What belongs to the second key bears its number.
            let variable = |name: &str| (at.keys)(&format!("{name}{}", key.suffix));
            build(&scheme, secret.clone(), &variable, target)
        }
        Kind::Fetched(source) => {
            let (placeholders, base_url) = (target.known.clone(), target.base_url.clone());
            let make = move |secret: Secret| {
                let given = Given {
                    key: Some(secret),
                    variable: &|_| None,
                    placeholders: &placeholders,
                    base_url: &base_url,
                };
                auth::build(&scheme, &given)
            };
            Ok(Arc::new(Lazy::new(Arc::clone(source), key.fingerprint.clone(), Arc::new(make))))
        }
    }
}

/// How an endpoint of a wire format usually wants its key.
const USUAL_AUTH: [(&str, &str); 4] = [
    ("anthropic_messages", "header:x-api-key"),
    ("gemini", "header:x-goog-api-key"),
    ("chat_completions", "bearer"),
    ("responses", "bearer"),
];

/// The variable's own scheme, else the vendor's; where the vendor is spoken to in a wire format that
/// is not its own, or at Azure, what is usual there, unless it is signed or fetched in ways of its own.
fn scheme(key: &HeldKey, target: &Target, dialect: &str) -> String {
    let vendor = &target.vendor;
    let own = scheme_of(key, vendor);
    let of_variable = key.variable.as_ref().is_some_and(|variable| vendor.auth_of.contains_key(variable));
    let foreign = canonical(&vendor.dialect) != dialect && !of_variable;
    let plain = own == "bearer" || own.starts_with("header:");
    if plain && target.moved && azure::is_azure(&target.base_url) {
        return "azure".to_owned();
    }
    let usual = USUAL_AUTH.iter().find(|(name, _)| *name == dialect).filter(|_| foreign && plain);
    usual.map_or(own, |(_, scheme)| scheme).to_owned()
}

fn build(
    scheme: &str,
    key: Secret,
    variable: &dyn Fn(&str) -> Option<Secret>,
    target: &Target,
) -> Result<Arc<dyn Authorize>, Error> {
    let (placeholders, base_url) = (&target.known, target.base_url.as_str());
    auth::build(scheme, &Given { key: Some(key), variable, placeholders, base_url })
}
