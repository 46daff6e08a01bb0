//! `/model`: which model answers, and another from the next call on.

use herm_schema::events::{Chosen, ModelChoice, Policy};

use crate::config::Loaded;
use crate::entry::engine::{Engine, resolved, wanted};
use crate::entry::model_table::streaming;
use crate::providers::Wanted;
use crate::runtime::{Error, SessionHandle};

/// Where it is asked.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    pub engine: &'a Engine,
    pub loaded: &'a Loaded,
}

/// Says which model answers, or switches to another from the next model call on.
///
/// # Errors
/// The session does not take it.
pub async fn model(asker: Asker<'_>, handle: &SessionHandle, text: &str) -> Result<String, Error> {
    let Some(policy) = handle.state().await?.policy else {
        return Ok(String::new());
    };
    let asked = match Wish::of(text) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            let ModelChoice { model, provider, dialect, .. } = &policy.model;
            return Ok(format!("{model} of {provider} by {dialect}; /model NAME [--provider P] switches"));
        }
        Err(slip) => return Ok(slip),
    };
    let wanted = asked.wanted(asker.loaded, &policy);
    match resolved(asker.loaded, &wanted, Some(&asker.engine.log)).await {
        Ok(found) => {
            let choice = streaming(asker.loaded, &found);
            let fallbacks = policy.fallbacks.iter().filter(|known| **known != choice).cloned().collect();
            let said = format!(
                "{} of {} from the next model call on, because {}",
                choice.model, choice.provider, found.why
            );
            asker.engine.models.add(found);
            let policy = Policy { model: choice, fallbacks, ..policy };
            handle.configure(policy.choosing(Chosen::Model)).await?;
            Ok(said)
        }
        Err(failure) => Ok(failure.error.to_string()),
    }
}

/// What `/model` asks for.
struct Wish {
    model: Option<String>,
    provider: Option<String>,
}

impl Wish {
    /// `NAME`, `--provider P`, or both; `None` for nothing.
    fn of(text: &str) -> Result<Option<Self>, String> {
        let mut asked = Self { model: None, provider: None };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--provider" => {
                    let provider = words.next().ok_or("`--provider` wants a name")?;
                    asked.provider = Some(provider.to_owned());
                }
                slip if slip.starts_with('-') => {
                    return Err(format!("`/model` knows no `{slip}`, only `--provider`"));
                }
                name if asked.model.is_none() => asked.model = Some(name.to_owned()),
                more => return Err(format!("`/model` takes one name, and `{more}` is another")),
            }
        }
        Ok(Some(asked).filter(|asked| asked.model.is_some() || asked.provider.is_some()))
    }

    /// A name alone is first looked for where the session's model is.
    fn wanted(self, loaded: &Loaded, policy: &Policy) -> Wanted {
        let configured = wanted(loaded);
        let same = self.provider.is_none() && !policy.model.base_url.is_empty();
        Wanted {
            provider: self.provider.or(same.then(|| policy.model.provider.clone())),
            base_url: if same { configured.base_url } else { None },
            model: self.model,
            effort: configured.effort,
            cache_ttl: configured.cache_ttl,
            ..Wanted::default()
        }
    }
}
