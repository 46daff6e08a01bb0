//! The models that are called instead, in order: the setting `fallback_providers`.

use serde::Deserialize;
use serde_json::Value;

use super::{Resolved, Sources, Wanted, resolve_at, target};
use crate::providers::{Error, offline};

/// One entry of the setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    #[serde(default)]
    pub provider: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub base_url: Option<String>,
    #[serde(default)]
    pub api_mode: Option<String>,
}

/// What the setting comes to.
#[derive(Clone, Default)]
pub struct Chain {
    pub models: Vec<Resolved>,
    /// Why the others cannot be had. They are worth a warning, and no more: the first model works.
    pub problems: Vec<String>,
}

impl Fallback {
    /// `provider`, `provider/model`, or an object with `provider`, `model`, `base_url`, `api_mode`.
    ///
    /// # Errors
    /// [`Error::BadFallback`].
    pub fn read(entry: &Value, at: Sources<'_>) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadFallback { reason };
        match entry {
            Value::String(text) => Ok(Self::of_text(text, at)),
            Value::Object(_) => {
                let read: Self =
                    serde_json::from_value(entry.clone()).map_err(|error| bad(error.to_string()))?;
                match read == Self::default() {
                    true => Err(bad("it names neither a provider nor a model nor a base URL".to_owned())),
                    false => Ok(read),
                }
            }
            other => Err(bad(format!("`{other}` is neither a text nor an object"))),
        }
    }

    fn of_text(text: &str, at: Sources<'_>) -> Self {
        let known = |name: &str| {
            let name = target::clean(name);
            name == offline::PROVIDER || at.catalogue.name_of(&name).is_some()
        };
        let text = text.trim();
        let own = |text: &str| Some(text.to_owned());
        match text.split_once('/') {
            Some((provider, model)) if known(provider) => {
                Self { provider: own(provider), model: own(model.trim()), ..Self::default() }
            }
            // The name of a model that has a slash of its own, as gateways have them.
            Some(_) => Self { model: own(text), ..Self::default() },
            None => Self { provider: own(text), ..Self::default() },
        }
    }
}

/// Resolves the entries of the setting; `first` gives what they do not say.
pub async fn chain(entries: &[Value], first: &Wanted, at: Sources<'_>) -> Chain {
    let mut chain = Chain::default();
    // What is not there must not become the built-in model, which answers anything.
    let at = Sources { local_servers: false, ..at };
    for entry in entries {
        match one(entry, first, at).await {
            Ok(resolved) => chain.models.push(resolved),
            Err(error) => chain.problems.push(error.to_string()),
        }
    }
    chain
}

async fn one(entry: &Value, first: &Wanted, at: Sources<'_>) -> Result<Resolved, Error> {
    let fallback = Fallback::read(entry, at)?;
    let wanted = Wanted {
        provider: fallback.provider.clone(),
        model: fallback.model.clone(),
        base_url: fallback.base_url,
        api_mode: fallback.api_mode,
        effort: first.effort,
        cache_ttl: first.cache_ttl,
        ..Wanted::default()
    };
    let resolved = resolve_at(&wanted, at).await?;
    let unasked = resolved.choice.provider == offline::PROVIDER
        && fallback.provider.as_deref().map(target::clean).as_deref() != Some(offline::PROVIDER);
    if unasked {
        let model = fallback.model.unwrap_or_default();
        return Err(Error::BadFallback { reason: format!("there is no key for the model `{model}`") });
    }
    Ok(resolved)
}
