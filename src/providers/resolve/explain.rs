//! What a model name comes to, and why; without a key, and without asking anybody.

use herm_schema::events::ModelChoice;

use super::finish::{choice, mode_for};
use super::mode::Mode;
use super::{Sources, Wanted, asks_for_built_in, target};
use crate::providers::catalog::Model;
use crate::providers::{Error, offline};

/// What would be called.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// As it would be recorded.
    pub choice: ModelChoice,
    /// Where the provider comes from.
    pub why: String,
    /// Where the wire format comes from.
    pub why_dialect: String,
    /// What the catalogue has of the model.
    pub known: Option<Model>,
    /// The vendor's page that the figures are from; empty where there is none.
    pub source: String,
    pub as_of: String,
}

/// Explains `wanted`, as far as it can be told without the network.
///
/// # Errors
/// As [`super::resolve_at`], but for keys that are missing.
pub fn explain(wanted: &Wanted, at: Sources<'_>) -> Result<Explanation, Error> {
    let at = Sources { keys_needed: false, local_servers: false, ..at };
    if let Some(why) = asks_for_built_in(wanted) {
        return Ok(built_in(why));
    }
    let found = match target::asked_for(wanted, at)? {
        Some(target) => Some((target, String::new())),
        None => owner(wanted, at)?,
    };
    let Some((target, note)) = found else {
        return Ok(built_in(format!("{}, and no vendor of the catalogue has such a model", super::NO_KEY)));
    };
    let model = wanted.model.clone().or_else(|| target.vendor.model.clone()).unwrap_or_default();
    let target = target.for_model(&model)?;
    let mode: Mode = mode_for(&target, wanted, &model);
    let listed = at.catalogue.listed_model(&target.vendor.name, &model);
    let choice = ModelChoice {
        base_url: target.base_url.clone(),
        credentials: target.keys.iter().map(|key| key.fingerprint.clone()).collect(),
        ..choice(&target, wanted, &model, &mode, listed)
    };
    Ok(Explanation {
        choice,
        why: format!("{}{note}", target.why),
        why_dialect: mode.why,
        known: target.vendor.model(&model).cloned(),
        source: target.vendor.source,
        as_of: target.vendor.as_of,
    })
}

/// The vendor whose own model this is, although there is no key for it.
fn owner(wanted: &Wanted, at: Sources<'_>) -> Result<Option<(target::Target, String)>, Error> {
    let Some(model) = wanted.model.as_deref() else { return Ok(None) };
    let owner = at.catalogue.headings().find(|heading| heading.owns(model));
    let Some(owner) = owner else { return Ok(None) };
    let named = Wanted { provider: Some(owner.name.clone()), ..wanted.clone() };
    let target = target::asked_for(&named, at)?;
    Ok(target.map(|mut target| {
        target.why = format!("`{model}` is a model of `{}`", owner.name);
        (target, ", for which no key is set".to_owned())
    }))
}

fn built_in(why: String) -> Explanation {
    Explanation {
        choice: offline::choice(),
        why: format!("the built-in offline model, because {why}"),
        why_dialect: "the built-in model needs none".to_owned(),
        known: None,
        source: String::new(),
        as_of: String::new(),
    }
}
